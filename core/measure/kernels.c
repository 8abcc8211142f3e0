/* kernels: see kernels.h. */
#include "core/measure/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/measure/counters.h"

enum { SECTOR = 32 }; /* bytes */

static const char *name_of(const struct plan_op *op)
{
	switch (op->kind) {
	case PLAN_OP_LAUNCH: return op->launch.kernel;
	case PLAN_OP_MEMSET: return "memset";
	case PLAN_OP_COPY: return "copy";
	case PLAN_OP_GEMM: break;
	}
	return "library";
}

static int64_t known(uint32_t value)
{
	return value == WIRE_UNKNOWN ? -1 : (int64_t)value;
}

static struct kernel_profile *add(struct kernel_profiles *k, const struct variant *v, const struct plan_op *op)
{
	const char *name = name_of(op);
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->at[i].name, name) == 0)
			return &k->at[i];
	struct kernel_profile *p = MEM_PUSH(k->at, k->count);
	*p = (struct kernel_profile){ .name = mem_str(name), .registers = -1, .shared = -1, .spill = -1 };
	for (size_t i = 0; op->kind == PLAN_OP_LAUNCH && i < v->compiled.kernel_count; i++) {
		const struct wire_kernel *w = &v->compiled.kernels[i];
		if (strcmp(w->name, name) != 0)
			continue;
		p->registers = known(w->registers);
		p->spill = known(w->spill);
		p->shared = w->shared == WIRE_UNKNOWN ? -1 : (int64_t)w->shared + op->launch.shared;
	}
	return p;
}

static int by_time(const void *a, const void *b)
{
	const struct kernel_profile *x = a, *y = b;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

int kernels_time(struct trial *t, double cold_ns, struct kernel_profiles *ret_kernels, struct err *e)
{
	const struct plan *plan = t->variant->plan;
	struct kernel_profiles k = { .at = NULL };
	struct wire_split split = { .ns = NULL };
	struct err why = ERR_INIT;
	double sum = 0;
	bool alone = plan->op_count == 1, timed = alone || trial_split(t, &split, &why) == 0;
	if (!timed && why.code != ERR_UNSUPPORTED) {
		*e = why;
		return -(int)why.code;
	}
	for (size_t i = 0; i < plan->op_count; i++) {
		struct kernel_profile *p = add(&k, t->variant, &plan->ops[i]);
		p->launches++;
		p->ns += !timed ? NAN : alone ? cold_ns : (double)split.ns[i];
	}
	for (size_t i = 0; i < k.count; i++)
		sum += k.at[i].ns;
	for (size_t i = 0; i < k.count; i++)
		k.at[i].share = k.at[i].ns / sum;
	if (timed && k.count)
		qsort(k.at, k.count, sizeof *k.at, by_time);
	wire_split_fini(&split);
	*ret_kernels = k;
	return 0;
}

void kernels_fini(struct kernel_profiles *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->at[i].name);
		free(k->at[i].instructions);
		free(k->at[i].traffic);
		free(k->at[i].waits);
	}
	free(k->at);
	*k = (struct kernel_profiles){ .at = NULL };
}

static void set_sass(const struct sass_mix *m, struct figures *f)
{
	double all = m->in_loops ? (double)m->in_loops : (double)m->instructions;
	figures_add(f, "float_share", (double)m->kinds[SASS_FLOAT] / all);
	figures_add(f, "integer_share", (double)m->kinds[SASS_INTEGER] / all);
	figures_add(f, "tensor_instructions", (double)m->kinds[SASS_TENSOR]);
	figures_add(f, "async_copies", (double)m->kinds[SASS_ASYNC]);
	figures_add(f, "spill_instructions", (double)m->kinds[SASS_LOCAL]);
	figures_add(f, "load_width", m->load_bytes);
}

void kernels_add_sass(struct kernel_profiles *k, const struct sass *s, const struct wire_counters *c, struct figures *f)
{
	for (size_t i = 0; i < k->count; i++) {
		const struct sass_mix *m = sass_find(s, k->at[i].name);
		struct buf text = BUF_INIT;
		if (m == NULL)
			continue;
		sass_describe(m, &text);
		k->at[i].instructions = buf_steal(&text);
		if (i == 0) {
			set_sass(m, f);
			counters_mixed_figures(c, k->at[i].name, m, f);
		}
	}
}

void kernels_add_counters(struct kernel_profiles *k, const struct wire_counters *c, struct figures *f)
{
	for (size_t i = 0; i < k->count; i++) {
		struct buf traffic = BUF_INIT, waits = BUF_INIT;
		counters_describe(c, k->at[i].name, &traffic);
		counters_waits(c, k->at[i].name, &waits);
		k->at[i].traffic = traffic.len ? buf_steal(&traffic) : NULL;
		k->at[i].waits = waits.len ? buf_steal(&waits) : NULL;
		buf_fini(&traffic);
		buf_fini(&waits);
	}
	if (k->count)
		counters_figures(c, k->at[0].name, f);
}

void kernels_work(const struct kernel_profiles *k, const struct wire_counters *c, const struct sass *s, struct kernel_work *io_work)
{
	double flops = 0, read = 0, written = 0;
	if (c->counter_count == 0)
		return;
	for (size_t i = 0; i < k->count; i++) {
		const char *name = k->at[i].name;
		const struct sass_mix *m = sass_find(s, name);
		double n = (double)k->at[i].launches;
		/* Copies and fills have no counters. Where a kernel has none, nothing is known of the whole. */
		bool kernel = strcmp(name, "copy") != 0 && strcmp(name, "memset") != 0;
		if (isnan(counters_get(c, name, "instructions")) && !kernel)
			continue;
		flops += m ? n * counters_flops(c, name, m) : NAN;
		read += n * counters_get(c, name, "dram_read");
		written += n * SECTOR * counters_get(c, name, "store_sectors");
	}
	io_work->flops = isnan(io_work->flops) ? flops : io_work->flops;
	if (isnan(io_work->bytes) && isfinite(read) && isfinite(written))
		io_work->bytes = fmin(read, io_work->buffers) + fmin(written, io_work->buffers);
}
