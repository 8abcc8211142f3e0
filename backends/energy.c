/* energy: see energy.h. */
#include "backends/energy.h"

#include "backends/sample.h"
#include "base/clock.h"
#include "base/mem.h"

/* Between two looks at the counter: short enough to see its steps, long enough for the looks to be no pause. */
#define BATCH_NS UINT64_C(5000000)
#define GIVE_UP_NS (2 * CLOCK_S) /* a counter that has not moved for so long does not count */

/* Executes until the counter moves, and at least until `until`; adds the executions. False in *ret_moved when it does not. */
static int run_to_step(const struct backend *b, struct backend_run *run, struct watch *watch, uint32_t batch, int64_t until,
                       uint64_t *io_millijoules, uint64_t *io_executions, bool *ret_moved, struct err *e)
{
	uint64_t before = *io_millijoules, ns;
	int64_t give_up = (until > clock_now() ? until : clock_now()) + GIVE_UP_NS;
	*ret_moved = false;
	while (!*ret_moved && clock_now() < give_up) {
		int r = sample_take(b, run, batch, false, &ns, e);
		if (r < 0)
			return r;
		*io_executions += batch;
		if (!watch_energy(watch, io_millijoules))
			return 0;
		if (clock_now() < until)
			before = *io_millijoules;
		else
			*ret_moved = *io_millijoules != before;
	}
	return 0;
}

int energy_measure(const struct backend *b, struct backend_run *run, struct watch *watch, const struct wire_energy *m,
                   struct wire_energised *ret_energised, struct err *e)
{
	struct wire_energised out = { 0 };
	uint64_t first, ns, start_mj = 0, end_mj, ignored = 0;
	bool moved = false;
	if (!watch_energy(watch, &start_mj)) {
		out.note = mem_str(*watch_note(watch) ? watch_note(watch) : "the device has no energy counter");
		*ret_energised = out;
		return 0;
	}
	watch_begin(watch);
	int r = sample_warm_up(b, run, BATCH_NS * 20, &first, &ns, e);
	if (r < 0)
		return r;
	uint64_t batch = BATCH_NS / ns < 1 ? 1 : BATCH_NS / ns;
	r = run_to_step(b, run, watch, (uint32_t)batch, 0, &start_mj, &ignored, &moved, e);
	int64_t start = clock_now();
	end_mj = start_mj;
	if (r == 0 && moved)
		r = run_to_step(b, run, watch, (uint32_t)batch, start + (int64_t)m->min_ns, &end_mj, &out.executions, &moved, e);
	if (r < 0)
		return r;
	out.seconds = (double)(clock_now() - start) / 1e9;
	out.joules = moved && end_mj > start_mj ? (double)(end_mj - start_mj) / 1e3 : 0;
	out.condition = watch_look(watch);
	out.note = mem_str(out.joules > 0 ? watch_note(watch) : "the device's energy counter does not move");
	*ret_energised = out;
	return 0;
}
