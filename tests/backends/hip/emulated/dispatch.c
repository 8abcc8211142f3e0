/* dispatch: a launch: blocks one after another, the waves of a block in turns, from barrier to barrier. */
#include "tests/backends/hip/emulated/emulated.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* Instructions before another wave of the block runs, so that waves may wait for one another. */
enum { TURN = 200000 };
/* What registers and LDS hold before anything is written: a signaling NaN's bits, so that a kernel that relies on
 * zeros is found. */
static const uint32_t UNSET = 0xffa0dead;
enum { UNSET_LDS = 0xff };
/* kernel_code_properties and compute_pgm_rsrc2 (LLVM's AMDGPU user guide, "Kernel Descriptor"). */
enum { HAS_PRIVATE = 1, HAS_PACKET = 2, HAS_QUEUE = 4, HAS_ARGS = 8, HAS_ID = 16, HAS_FLAT = 32, HAS_PRIVATE_SIZE = 64 };
enum { PACKET_BYTES = 64 };

void dispatch_stop(struct wave *w, const struct op *o, hipError_t code, const char *fmt, ...)
{
	struct stop *s = &w->group->stop;
	va_list ap;
	int n;

	if (s->code)
		return;
	s->code = code;
	va_start(ap, fmt);
	n = vsnprintf(s->text, sizeof s->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof s->text)
		snprintf(s->text + n, sizeof s->text - (size_t)n, ", in kernel %s at 0x%x: %s", w->group->kernel->name,
			 o ? o->at : 0, o ? o->text : "?");
}

void dispatch_jump(struct wave *w, const struct op *o, uint64_t at)
{
	const struct code *c = w->group->kernel->code;

	if (at % 4 || at >= c->text_bytes || c->op_at[at / 4] < 0)
		dispatch_stop(w, o, hipErrorIllegalAddress, "a jump to 0x%llx, where no code is", (unsigned long long)at);
	else
		w->pc = (uint32_t)c->op_at[at / 4];
}

/* --- one block -------------------------------------------------------------------------------------------------------------- */
static void run_wave(struct wave *w)
{
	const struct code *c = w->group->kernel->code;

	for (unsigned i = 0; i < TURN && !w->waits && !w->ended && !w->group->stop.code; i++) {
		const struct op *o = &c->ops[w->pc];
		if (w->pc >= c->op_count) {
			dispatch_stop(w, NULL, hipErrorIllegalAddress, "the code ends without s_endpgm");
			return;
		}
		w->pc++;
		o->execute(w, o);
	}
}

static void run_waves(struct wave *waves, unsigned count, struct group *g)
{
	unsigned ended = 0;

	while (ended < count && !g->stop.code) {
		unsigned waiting = 0;
		ended = 0;
		for (unsigned i = 0; i < count; i++) {
			run_wave(&waves[i]);
			ended += waves[i].ended;
			waiting += waves[i].waits;
		}
		/* Ended waves count as arrived. */
		if (waiting + ended == count)
			for (unsigned i = 0; i < count; i++)
				waves[i].waits = false;
	}
}

/* --- registers at the start ------------------------------------------------------------------------------------------------- */
static void start_scalars(struct wave *w, const struct group *g, const uint32_t block[3])
{
	const struct kernel *k = g->kernel;
	unsigned n = 0;

	if (k->properties & HAS_PRIVATE) {
		w->s[0] = 0;
		w->s[1] = 0x80000000; /* swizzled: access.c knows it by that */
		w->s[2] = UINT32_MAX;
		w->s[3] = 0;
		n = 4;
	}
	if (k->properties & HAS_PACKET)
		wave_set64(w, n, (uintptr_t)g->packet), n += 2;
	if (k->properties & HAS_QUEUE)
		wave_set64(w, n, 0), n += 2;
	if (k->properties & HAS_ARGS)
		wave_set64(w, n, (uintptr_t)g->args), n += 2;
	if (k->properties & HAS_ID)
		wave_set64(w, n, 0), n += 2;
	if (k->properties & HAS_FLAT)
		wave_set64(w, n, 0), n += 2;
	if (k->properties & HAS_PRIVATE_SIZE)
		w->s[n++] = k->private_;
	n = k->rsrc2 >> 1 & 31;
	for (unsigned i = 0; i < 3; i++)
		if (k->rsrc2 >> (7 + i) & 1)
			w->s[n++] = block[i];
	if (k->rsrc2 >> 10 & 1)
		w->s[n++] = 0;
	if (k->rsrc2 & 1)
		w->s[n] = 0; /* this wave's offset in private memory: each has its own */
}

static void start_wave(struct wave *w, struct group *g, const struct launch *l, const uint32_t block[3], unsigned number)
{
	unsigned threads = l->block[0] * l->block[1] * l->block[2], first = number * LANES;
	unsigned lanes = threads - first < LANES ? threads - first : LANES;

	for (unsigned i = 0; i < VGPRS; i++)
		for (unsigned j = 0; j < LANES; j++)
			w->v[i][j] = UNSET;
	for (unsigned i = 0; i < SGPRS; i++)
		w->s[i] = UNSET;
	/* gfx90a packs the three indices into one register. */
	for (unsigned i = 0; i < lanes; i++) {
		unsigned t = first + i;
		w->v[0][i] = t % l->block[0] | t / l->block[0] % l->block[1] << 10 | t / l->block[0] / l->block[1] << 20;
	}
	start_scalars(w, g, block);
	wave_set64(w, SGPR_VCC, 0);
	wave_set64(w, SGPR_EXEC, lanes == LANES ? UINT64_MAX : (UINT64_C(1) << lanes) - 1);
	w->mask_of = 0;
	memset(w->mask, 0, sizeof w->mask);
	w->scc = w->waits = w->ended = false;
	w->group = g;
	w->pc = (uint32_t)g->kernel->code->op_at[g->kernel->entry / 4];
}

static void fill_packet(uint8_t packet[PACKET_BYTES], const struct launch *l, const struct group *g)
{
	const uint8_t *args = g->args;
	memset(packet, 0, PACKET_BYTES);
	for (unsigned i = 0; i < 3; i++) {
		uint16_t block = (uint16_t)l->block[i];
		uint32_t threads = l->grid[i] * l->block[i];
		memcpy(packet + 4 + 2 * i, &block, sizeof block);
		memcpy(packet + 12 + 4 * i, &threads, sizeof threads);
	}
	memcpy(packet + 24, &g->kernel->private_, 4);
	memcpy(packet + 28, &g->lds_bytes, 4);
	memcpy(packet + 40, &args, sizeof args);
}

static void run_blocks(const struct launch *l, struct group *g, struct wave *waves, unsigned count)
{
	uint32_t b[3];

	for (b[2] = 0; b[2] < l->grid[2]; b[2]++)
		for (b[1] = 0; b[1] < l->grid[1]; b[1]++)
			for (b[0] = 0; b[0] < l->grid[0] && !g->stop.code; b[0]++) {
				memset(g->lds, UNSET_LDS, g->lds_bytes);
				for (unsigned i = 0; i < count; i++)
					start_wave(&waves[i], g, l, b, i);
				run_waves(waves, count, g);
			}
}

void dispatch_run(const struct launch *l, struct stop *ret_stop)
{
	const struct kernel *k = l->kernel;
	unsigned count = (l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES;
	struct group g = { .kernel = k, .lds_bytes = k->shared + l->shared, .args = l->args };
	uint8_t packet[PACKET_BYTES];
	struct wave *waves = aligned_alloc(64, count * sizeof *waves);
	size_t private_bytes = (size_t)k->private_ * LANES;

	g.lds = mem_new(g.lds_bytes + 1, 1);
	g.packet = packet;
	fill_packet(packet, l, &g);
	memory_lend(packet, sizeof packet);
	for (unsigned i = 0; waves && i < count; i++)
		waves[i].private_ = mem_new(private_bytes + 1, 1);
	if (waves)
		run_blocks(l, &g, waves, count);
	*ret_stop = g.stop;
	for (unsigned i = 0; waves && i < count; i++)
		free(waves[i].private_);
	memory_take(packet);
	free(g.lds);
	free(waves);
}
