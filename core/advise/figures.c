/* figures: see figures.h. */
#include "core/advise/figures.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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
	{ "load_efficiency", "share", "bytes that lanes ask for / bytes of the sectors that a wave fetches; above 1 where lanes share" },
	{ "store_efficiency", "share", "the same for stores" },
	{ "reuse", "", "bytes fetched by waves / different bytes: how often each is read again" },
	{ "loads_per_flop", "", "loads from buffers for each operation on floats" },
	{ "shared_per_flop", "", "accesses to shared memory for each operation on floats" },
	{ "bank_conflicts", "", "passes over shared memory / the fewest possible" },
	{ "barriers", "", "of a group" },
	{ "instructions_per_barrier", "", "of a thread, between two barriers" },
	{ "atomics_per_thread", "", "atomic operations" },
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

double figures_get(const struct figures *f, const char *name)
{
	size_t i = place(name);
	return f->values && i < MEM_COUNT(figures_known) ? f->values[i] : NAN;
}
