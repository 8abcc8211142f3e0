/* worker_inside: one worker process and what it serves: worker.c (the loop, devices, compilation) and worker_runs.c (what is prepared on
 * a device) share it. */
#ifndef PEAKD_BACKENDS_WORKER_WORKER_INSIDE_H
#define PEAKD_BACKENDS_WORKER_WORKER_INSIDE_H

#include <stdbool.h>

#include "backends/worker/backend.h"
#include "backends/worker/cache.h"
#include "backends/sandbox/sandbox.h"
#include "backends/worker/run.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"

enum { WORKER_RUNS_MAX = 16 };

struct worker {
	int in, out;                      /* the wire, above 2 */
	const struct backend *backend;    /* of the opened device; NULL before */
	struct backend_device *device;
	struct facts facts;               /* of the opened device */
	struct gpu_monitor *watch;              /* of the opened device */
	struct run *runs[WORKER_RUNS_MAX];       /* number i + 1 on the wire */
	struct wire_tail tail;            /* of the answer that is being made; borrowed from a run */
	struct room *room;                /* for what is large */
	size_t frame_kept;                /* a request's memory up to this many bytes serves the next one; 0 where references could be looked at in it */
	struct cache *inputs;
	struct cache *references;         /* NULL where kernels run in this process and could look */
	struct sandbox_kernel kernel;        /* what the sandbox is made of */
	bool entered, closed;             /* sandbox_enter and sandbox_close were called */
	enum sandbox_role role;              /* of the sandbox, once entered */
};

/* One function per request: it reads the request and appends the answer's body. */
typedef int (*worker_serve_fn)(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);

int worker_runs_prepare(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_execute(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_races(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_product(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_output(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_compare(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_measure(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_pair(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_energy(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);
int worker_runs_release(struct worker *w, struct wire_in *in, struct buf *out, struct err *e);

#endif
