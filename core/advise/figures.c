/* figures: see figures.h. */
#include "core/advise/figures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/metric.h"

const struct figure_kind figures_known[] = {
	/* measured */
	{ "time_us", "us", "cold time of one execution" },
	{ "warm_us", "us", "warm time of one execution" },
	{ "launches", "", "kernels that one execution launches" },
	{ "launch_percent", "%", "of the time that launches cost at least" },
	{ "joules", "J", "energy of one execution" },
	{ "watts", "W", "power meanwhile" },
	{ "library_percent", "%", "library time / ours" },
	/* against the roofs */
	{ "gflops", "GFLOP/s", "operations on floats a second" },
	{ "gbs", "GB/s", "bytes that must move a second" },
	{ "intensity", "FLOP/byte", "operations for each byte that must move" },
	{ "ridge", "FLOP/byte", "intensity at which both roofs meet" },
	{ "pipe_percent", "%", "of the arithmetic ceiling" },
	{ "copy_percent", "%", "of the copy ceiling" },
	{ "tensor_permitted", "", "1 where precision: permits tensor cores" },
	{ "working_set", "bytes", "all buffers of the plan" },
	{ "l2_bytes", "bytes", "last-level cache of the device" },
	/* of the compiler, and what follows from it; of the longest launch */
	{ "registers", "", "of a thread" },
	{ "spill_bytes", "bytes", "of a thread, in local memory" },
	{ "shared_bytes", "bytes", "of a block, static and dynamic" },
	{ "threads", "", "of a block" },
	{ "blocks", "", "of the grid" },
	{ "units", "", "multiprocessors, compute units or cores" },
	{ "occupancy", "share", "of the threads that a unit can hold" },
	{ "waves", "", "grid / blocks that the device holds at once" },
	{ "tail", "share", "of the last wave that stays empty" },
	{ "shares_cpu", "", "1 where the device is the CPU" },
	/* interpreted; of all launches of one execution */
	{ "instructions", "", "of all threads" },
	{ "flops_per_instruction", "", "operations on floats for each instruction" },
	{ "load_width", "bytes", "of one load from a buffer" },
	{ "load_efficiency", "share",
	  "bytes that lanes ask for / bytes of the sectors that a wave fetches; above 1 where lanes share" },
	{ "store_efficiency", "share", "the same for stores" },
	{ "reuse", "", "bytes fetched by waves / different bytes: how often each is read again" },
	{ "loads_per_flop", "", "loads from buffers for each operation on floats" },
	{ "shared_per_flop", "", "accesses to shared memory for each operation on floats" },
	{ "staged", "", "stores to shared memory for each load from global memory: 1 for tiles, little for sums" },
	{ "bank_conflicts", "", "passes over shared memory / the fewest possible" },
	{ "barriers", "", "of a group" },
	{ "instructions_per_barrier", "", "of a thread, between two barriers" },
	{ "atomics_per_thread", "", "atomic operations" },
	/* of the disassembler: instructions in the loops of the longest kernel, or in all of it */
	{ "float_share", "share", "of instructions that compute with floats" },
	{ "integer_share", "share", "of instructions on integers and addresses" },
	{ "tensor_instructions", "", "matrix instructions" },
	{ "async_copies", "", "copies to shared memory that bypass registers" },
	{ "spill_instructions", "", "loads and stores of local memory" },
	/* hardware counters, of the longest kernel */
	{ "dram_bytes", "bytes", "moved to and from memory" },
	{ "dram_percent", "%", "of the time that memory is busy" },
	{ "l2_traffic", "bytes", "through the L2" },
	{ "l2_hit", "share", "of sectors found in the L2" },
	{ "l1_traffic", "bytes", "through the L1" },
	{ "l1_hit", "share", "of sectors found in the L1" },
	{ "achieved_occupancy", "share", "of the warps that a unit can hold, while it works" },
	{ "issue_percent", "%", "of the cycles in which an instruction is issued" },
	{ "tensor_percent", "%", "of the cycles in which tensor cores work" },
	{ "fma_percent", "%", "of the cycles in which the multiply-add pipe works" },
	{ "lsu_percent", "%", "of the rate of the load/store pipe" },
	{ "stalled_memory", "share", "of a warp's time, waiting for global memory" },
	{ "stalled_shared", "share", "waiting for shared memory or its queue" },
	{ "stalled_barrier", "share", "waiting at barriers" },
	{ "stalled_arithmetic", "share", "waiting for a pipe, or for the last result" },
};
const size_t figures_known_count = MEM_COUNT(figures_known);

void figures_init(struct figures *f)
{
	*f = (struct figures){ .values = MEM_NEW_N(double, MEM_COUNT(figures_known)) };
	for (size_t i = 0; i < MEM_COUNT(figures_known); i++)
		f->values[i] = NAN;
}

void figures_fini(struct figures *f)
{
	free(f->values);
	free(f->uncounted);
	*f = (struct figures){ .values = NULL };
}

static size_t place(const char *name)
{
	size_t i = 0;
	while (i < MEM_COUNT(figures_known) && strcmp(figures_known[i].name, name) != 0)
		i++;
	return i;
}

void figures_set(struct figures *f, const char *name, double value)
{
	size_t i = place(name);
	assert(i < MEM_COUNT(figures_known));
	f->values[i] = value;
}

void figures_add(struct figures *f, const char *name, double value)
{
	if (isfinite(value) && isnan(figures_get(f, name)))
		figures_set(f, name, value);
}

double figures_get(const struct figures *f, const char *name)
{
	size_t i = place(name);
	return f->values && i < MEM_COUNT(figures_known) ? f->values[i] : NAN;
}

/* --- expressions over figures ---------------------------------------------------------------------------------------- */

int figures_parse(const char *text, struct expr **ret_expr, struct err *e)
{
	struct expr_scope *scope = expr_scope_new();
	for (size_t i = 0; i < figures_known_count; i++)
		expr_scope_add(scope, figures_known[i].name);
	int rc = expr_parse(scope, text, strlen(text), ret_expr, e);
	expr_scope_free(scope);
	return rc;
}

const char *figures_missing(const struct expr *x, const struct figures *f)
{
	size_t count;
	const uint16_t *slots = expr_slots(x, &count);
	for (size_t i = 0; i < count; i++)
		if (isnan(f->values[slots[i]]))
			return figures_known[slots[i]].name;
	return NULL;
}

struct value figures_evaluate(const struct expr *x, const struct figures *f)
{
	struct value *env = MEM_NEW_N(struct value, figures_known_count), v = { .kind = VALUE_NONE };
	for (size_t i = 0; i < figures_known_count; i++)
		env[i] = value_of_float(f->values[i]);
	if (expr_eval(x, env, &v) != VALUE_OK)
		v.kind = VALUE_NONE;
	free(env);
	return v;
}

/* --- recorded figures ------------------------------------------------------------------------------------------------- */

/* The parameters of the newest profile; NULL: there is none. Borrowed. */
static const char *newest(const struct metric_list *all)
{
	const struct metric *found = NULL;
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->at[i].name, FIGURES_METRIC "time_us") == 0 &&
		    (found == NULL || all->at[i].created_ms >= found->created_ms))
			found = &all->at[i];
	return found ? found->params : NULL;
}

int figures_recall(struct db *db, int64_t checkpoint, const char *device, struct figures *ret_figures, char **ret_params,
		   struct err *e)
{
	struct metric_list all = { .count = 0 };
	size_t prefix = strlen(FIGURES_METRIC);
	int rc = metric_list(db, checkpoint, device, NULL, &all, e);
	if (rc < 0)
		return rc;
	const char *params = newest(&all);
	figures_init(ret_figures);
	for (size_t i = 0; params && i < all.count; i++) {
		const struct metric *m = &all.at[i];
		size_t k = strncmp(m->name, FIGURES_METRIC, prefix) == 0 ? place(m->name + prefix) : figures_known_count;
		if (k < figures_known_count && strcmp(m->params, params) == 0)
			ret_figures->values[k] = m->value;
	}
	*ret_params = mem_str(params);
	metric_list_fini(&all);
	return 0;
}
