/* Shipped tools whose figures only a GPU gives: each speaks of figures that were made for it, and is silent about a better twin's.
 * The figures of "scoreboard" are those of kernels on an H200 (bench/results/profile-cuda-h200.json);
 * tests/core/measure/test_guidance.c does the same with kernels for tools that an interpreter can serve. */
#include "core/advise/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { MOST = 6 };
struct figured {
	const char *name;
	double value;
};
static const struct {
	const char *tool;
	struct figured trigger[MOST], twin[MOST];
} pairs[] = {
	{ "scoreboard", { { "stalled_memory", 0.968 }, { "issue_percent", 8.78 } },
	  { { "stalled_memory", 0.246 }, { "issue_percent", 85.2 } } },
	{ "l2-reuse",
	  { { "l2_hit", 0.3 }, { "l2_traffic", 4e9 }, { "working_set", 8e8 }, { "l2_bytes", 6e7 } },
	  { { "l2_hit", 0.9 }, { "l2_traffic", 4e9 }, { "working_set", 8e8 }, { "l2_bytes", 6e7 } } },
	{ "async-copy",
	  { { "async_copies", 0 }, { "staged", 1 }, { "stalled_memory", 0.3 }, { "stalled_barrier", 0.15 } },
	  { { "async_copies", 8 }, { "staged", 1 }, { "stalled_memory", 0.3 }, { "stalled_barrier", 0.15 } } },
	{ "async-copy", /* a sum of a row: a block's shared memory holds one number a thread */
	  { { "async_copies", 0 }, { "staged", 1 }, { "stalled_memory", 0.95 }, { "stalled_barrier", 0.003 } },
	  { { "async_copies", 0 }, { "staged", 0.05 }, { "stalled_memory", 0.95 }, { "stalled_barrier", 0.003 } } },
	{ "barrier-wait", { { "stalled_barrier", 0.4 } }, { { "stalled_barrier", 0.05 } } },
	{ "spill", { { "spill_bytes", 664 }, { "registers", 32 } }, { { "spill_bytes", 0 }, { "registers", 64 } } },
	{ "occupancy",
	  { { "occupancy", 0.2 }, { "waves", 4 }, { "registers", 168 }, { "shared_bytes", 0 }, { "threads", 256 } },
	  { { "occupancy", 0.6 }, { "waves", 4 }, { "registers", 40 }, { "shared_bytes", 0 }, { "threads", 256 } } },
	{ "wave-tail", { { "waves", 2.1 }, { "tail", 0.9 } }, { { "waves", 2 }, { "tail", 0 } } },
	{ "tensor-path", { { "tensor_permitted", 1 }, { "pipe_percent", 3 } },
	  { { "tensor_permitted", 1 }, { "pipe_percent", 70 } } },
	{ "traffic-roof", { { "copy_percent", 90 } }, { { "copy_percent", 40 } } },
	{ "arithmetic-roof", { { "pipe_percent", 90 } }, { { "pipe_percent", 40 } } },
	{ "launch-overhead", { { "launch_percent", 60 }, { "launches", 12 } }, { { "launch_percent", 5 }, { "launches", 1 } } },
	{ "energy",
	  { { "joules", 0.6 }, { "watts", 500 }, { "pipe_percent", 5 }, { "copy_percent", 5 } },
	  { { "joules", 0.6 }, { "watts", 500 }, { "pipe_percent", 70 }, { "copy_percent", 5 } } },
};

static bool speaks(const struct advisors *advisors, const char *tool, const struct figured figures[MOST])
{
	struct figures f;
	struct advice *said;
	size_t count;
	char *closed;
	bool found = false;
	figures_init(&f);
	for (int i = 0; i < MOST && figures[i].name; i++)
		figures_set(&f, figures[i].name, figures[i].value);
	figures_set(&f, "shares_cpu", 0);
	advice_ask(advisors, &f, ADVICE_CLASSES, &said, &count, &closed);
	for (size_t i = 0; i < count; i++) {
		found |= strcmp(said[i].tool, tool) == 0;
		ok(isfinite(said[i].gain) && said[i].gain >= 1, "%s: what %s may gain is a number", tool, said[i].tool);
	}
	advice_free(said, count);
	free(closed);
	figures_fini(&f);
	return found;
}

int main(void)
{
	static const char *const folders[] = { "transforms/tools" };
	struct advisors advisors;
	struct err e = ERR_INIT;
	is_int(advice_read(folders, 1, &advisors, &e), 0, "the shipped tools are read %s", e.text);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		ok(speaks(&advisors, pairs[i].tool, pairs[i].trigger), "%s speaks of what was made for it", pairs[i].tool);
		ok(!speaks(&advisors, pairs[i].tool, pairs[i].twin), "%s is silent about the better one", pairs[i].tool);
	}
	advice_fini(&advisors);
	return tap_done();
}
