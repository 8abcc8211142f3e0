/* runs: an opened device and the runs that are prepared on it: a binary with one plan, its buffers, and the outputs of
 * its last execution. backends/worker/worker.c forwards the wire's requests about runs; the device is reached only
 * through the backend table. */
#ifndef PEAKD_BACKENDS_WORKER_RUNS_H
#define PEAKD_BACKENDS_WORKER_RUNS_H

#include <stdbool.h>

#include "backends/timing/gpu_monitor.h"
#include "backends/values/compare.h"
#include "backends/values/fill.h"
#include "backends/values/room.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "base/hash.h"

struct runs;

/* shares_cpu: kernels run in this process and could look around, so it keeps no reference outputs. */
struct runs *runs_new(const struct backend *backend, struct backend_device *take_device, struct gpu_monitor *take_monitor,
		      bool shares_cpu);
/* NULL is fine. */
void runs_free(struct runs *all);
/* Serves a request that names a run, or PREPARE; *ret_answer is cleared on entry and freed with wire_fini. Both are the
 * structs of wire_calls[type]. PREPARE takes the request's plan. The bytes of WIRE_OUTPUT are borrowed until the next
 * request. */
int runs_serve(struct runs *all, enum wire_type type, void *request, void *ret_answer, struct err *e);
/* True for the requests above. */
bool runs_serves(enum wire_type type);

/* --- prepared runs and the steps of an execution, which timed.c takes, too ---------------------------------------------- */

enum { RUNS_MAX = 16 };

/* Random numbers of executions with different inputs, which show what those of one do not; numbers.c. */
struct numbers;

struct output {
	unsigned buffer; /* in the plan */
	uint8_t *bytes;  /* logical content of the last execution, packed; from the room */
	size_t len;
	bool fetched;            /* bytes are those of the last execution */
	struct numbers *numbers; /* DISTRIBUTION; NULL: none yet */
};

/* Outputs of a timed execution that are still to be examined. */
struct runs_left {
	uint64_t seed;
	uint8_t **bytes; /* of each output; from the room */
	struct wire_executed damage;
};

struct run {
	uint32_t number; /* on the wire, from 1 */
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
int runs_execute(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
/* What is timed was executed before: drivers finish compiling then. */
int runs_need_executed(struct runs *all, struct run *r, struct err *e);
int runs_find(const struct runs *all, uint32_t number, struct run **ret_run, struct err *e);

/* --- timed.c: times prepared runs so that no kernel gains by keeping results. Every timed execution has other values than the one
 * before, at other addresses. Nothing that an earlier one computed is left (backend.h). Outputs of timed executions, drawn by lot,
 * are kept until the daemon has examined them. */

/* Requests and answers as in wire_calls. */
int timed_measure(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
int timed_pair(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
/* WIRE_SPLIT: the time of each operation. What the last execution left is gone afterwards. */
int timed_split(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
int timed_energy(struct runs *all, struct run *r, void *request, void *answer, struct err *e);
/* Makes what a timed execution with these values left the run's outputs. False when none was kept. */
bool timed_look(struct runs *all, struct run *r, const struct fill_choice *choice, struct wire_executed *ret_executed);
/* Where another process writes the buffers: keeps what inout holds, for timed executions to start from. */
int timed_keep_inout(struct runs *all, struct run *r, struct err *e);
/* Drops what timed executions left. */
void timed_forget(struct runs *all, struct run *r);

/* --- numbers.c: random numbers of one execution beside those of others ------------------------------------------------- */

/* Call it when the output was compared with the reference; what it finds goes to io_compared. */
void numbers_watch(const struct plan_buffer *b, struct output *out, const struct fill_choice *choice,
		   const struct compare_wanted *want, struct wire_compared *io_compared);
/* Compares the first elements only, for executions that are there to be compared with each other: a million take a second. */
void numbers_compare_first(const struct plan_buffer *b, const struct output *out, const struct compare_wanted *want,
			   struct wire_compared *ret_compared);
void numbers_forget(struct output *out);

#endif
