/* runs_parts: what runs.c (requests about one execution) and timed.c (timing) share: prepared runs, and the steps of an
 * execution. */
#ifndef PEAKD_BACKENDS_WORKER_RUNS_PARTS_H
#define PEAKD_BACKENDS_WORKER_RUNS_PARTS_H

#include "backends/timing/gpu_monitor.h"
#include "backends/values/fill.h"
#include "backends/values/room.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "base/hash.h"

enum { RUNS_MAX = 16 };

struct output {
	unsigned buffer; /* in the plan */
	uint8_t *bytes;  /* logical content of the last execution, packed; from the room */
	size_t len;
	bool fetched; /* bytes are those of the last execution */
	/* DISTRIBUTION: the numbers compared last, and the reference that they were compared with */
	struct hash numbers, reference;
};

/* Outputs of a timed execution that are still to be examined. */
struct runs_left {
	uint64_t seed;
	uint8_t **bytes; /* of each output; from the room */
	struct wire_executed damage;
};

struct run {
	struct backend_run *on_device;
	void *binary;
	size_t binary_len;
	struct plan *plan;
	struct output *outputs;
	uint32_t output_count;
	bool executed;
	bool apart;                /* another process writes and examines the buffers (WIRE_LAUNCH) */
	struct fill_choice choice; /* of the last execution */
	struct runs_left *left;    /* by timed executions; timed.c */
	size_t left_count;
	struct fill_choice sets[BACKEND_SETS_MAX]; /* what the inputs in each set of buffers hold */
	bool filled[BACKEND_SETS_MAX];             /* the set holds that, and its red zones are armed */
};

struct runs {
	const struct backend *backend;
	struct backend_device *device;
	struct gpu_monitor *monitor;
	struct room *room; /* for large blocks */
	struct room_cache *inputs;
	struct room_cache *references; /* NULL where kernels run in this process and could read them */
	struct run *at[RUNS_MAX];      /* number i + 1 on the wire */
};

/* Writes what buffer i of the selected set holds before an execution: its values, poison where it is not kept, red zones. */
int runs_set_up(struct runs *all, const struct run *r, unsigned i, const struct wire_execute *m, struct err *e);
/* Reads one output of the selected set into *io_bytes (NULL: from the room), without the padding between its rows. */
int runs_fetch(struct runs *all, const struct run *r, const struct output *out, uint8_t **io_bytes, struct err *e);
/* Notes in *x whether the kernel wrote to an input of the selected set, which held m's values, or to a red zone. */
int runs_look_for_damage(struct runs *all, const struct run *r, const struct wire_execute *m, struct wire_executed *x,
			 struct err *e);
/* Executes once and reads the outputs. */
int runs_execute(struct runs *all, struct run *r, const void *request, void *answer, struct err *e);
/* What is timed was executed before: drivers finish compiling then. */
int runs_need_executed(struct runs *all, struct run *r, struct err *e);
int runs_find(const struct runs *all, uint32_t number, struct run **ret_run, struct err *e);

#endif
