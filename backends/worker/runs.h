/* runs: an opened device and the runs that are prepared on it: a binary with one plan, its buffers, and the outputs of
 * its last execution. backends/worker/worker.c forwards the wire's requests about runs; the device is reached only
 * through the backend table. */
#ifndef PEAKD_BACKENDS_WORKER_RUNS_H
#define PEAKD_BACKENDS_WORKER_RUNS_H

#include <stdbool.h>

#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"

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

#endif
