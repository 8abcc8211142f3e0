/* wire_facts: failures and device facts to bytes and back; declared in wire.h. */
#include <stdlib.h>
#include <string.h>

#include "backends/wire/wire.h"
#include "base/mem.h"

/* A number that the protocol bounds: anything above poisons the reader. */
static uint32_t get_below(struct wire_in *in, uint32_t limit)
{
	uint32_t v = wire_get_u32(in);
	if (v < limit)
		return v;
	in->bad = true;
	return 0;
}

/* A text into a fixed array. */
static void get_fixed(struct wire_in *in, char *to, size_t size)
{
	char *text = wire_get_text(in);
	if (strlen(text) < size)
		memcpy(to, text, strlen(text) + 1);
	else
		in->bad = true;
	free(text);
}

void wire_failed_encode(const struct err *failure, struct buf *out)
{
	wire_put_u32(out, failure->code);
	wire_put_text(out, failure->text);
}

int wire_failed_decode(struct wire_in *in, struct err *e)
{
	uint32_t code = get_below(in, ERR_INTERNAL + 1);
	char *text = wire_get_text(in);
	int r = code ? wire_end(in, "failed", e) : err_set(e, ERR_NETWORK, "the worker reports a failure without a code");
	if (r == 0)
		r = err_set(e, (enum err_code)code, "%s", text);
	free(text);
	return r;
}

void wire_facts_encode(const struct facts *f, struct buf *out)
{
	const char *texts[] = { f->id, f->backend, f->name, f->uuid, f->arch, f->driver };
	for (size_t i = 0; i < MEM_COUNT(texts); i++)
		wire_put_text(out, texts[i]);
	uint32_t numbers[] = {
		f->runs, f->shares_cpu, f->emulated, f->index, f->warp_size, f->max_threads,
		f->max_block[0], f->max_block[1], f->max_block[2], f->max_grid[0], f->max_grid[1], f->max_grid[2],
		f->shared_static, f->shared_optin, f->registers, f->units, f->clock_khz, f->max_cluster,
	};
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		wire_put_u32(out, numbers[i]);
	wire_put_u64(out, f->l2_bytes);
	wire_put_u64(out, f->memory_bytes);
	double peaks[] = { f->peak_f32, f->peak_tensor_f16, f->peak_tensor_tf32, f->peak_bytes };
	for (size_t i = 0; i < MEM_COUNT(peaks); i++)
		wire_put_f64(out, peaks[i]);
}

void wire_facts_decode(struct wire_in *in, struct facts *ret_f)
{
	struct facts f = { 0 };
	get_fixed(in, f.id, sizeof f.id);
	get_fixed(in, f.backend, sizeof f.backend);
	get_fixed(in, f.name, sizeof f.name);
	get_fixed(in, f.uuid, sizeof f.uuid);
	get_fixed(in, f.arch, sizeof f.arch);
	get_fixed(in, f.driver, sizeof f.driver);
	f.runs = get_below(in, 2);
	f.shares_cpu = get_below(in, 2);
	f.emulated = get_below(in, 2);
	uint32_t *numbers[] = {
		&f.index, &f.warp_size, &f.max_threads,
		&f.max_block[0], &f.max_block[1], &f.max_block[2], &f.max_grid[0], &f.max_grid[1], &f.max_grid[2],
		&f.shared_static, &f.shared_optin, &f.registers, &f.units, &f.clock_khz, &f.max_cluster,
	};
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		*numbers[i] = wire_get_u32(in);
	f.l2_bytes = wire_get_u64(in);
	f.memory_bytes = wire_get_u64(in);
	double *peaks[] = { &f.peak_f32, &f.peak_tensor_f16, &f.peak_tensor_tf32, &f.peak_bytes };
	for (size_t i = 0; i < MEM_COUNT(peaks); i++)
		*peaks[i] = wire_get_f64(in);
	*ret_f = f;
}
