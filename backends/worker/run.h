/* run: one prepared binary with one plan on the worker's device, and the outputs of its last execution. Called by
 * backends/worker/worker.c; reaches the device only through the backend table. */
#ifndef PEAKD_BACKENDS_WORKER_RUN_H
#define PEAKD_BACKENDS_WORKER_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "backends/worker/backend.h"
#include "backends/worker/cache.h"
#include "backends/wire/plan.h"
#include "backends/values/product.h"
#include "backends/worker/room.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"

struct run;

/* Loads the binary (copied) and allocates the plan's buffers; outputs are read into memory from the room (borrowed). */
int run_new(const struct backend *backend, struct backend_device *device, struct room *room, const void *binary, size_t len,
            struct plan *take_plan, struct run **ret_run, struct err *e);
void run_free(struct run *r);
/* One execution from fresh inputs into poisoned outputs (none with WIRE_LOOK), then reads everything back and looks for damage. Inputs
 * come from and go to the cache. */
int run_execute(struct run *r, const struct wire_execute *m, struct cache *inputs, struct wire_executed *ret_executed,
                struct err *e);
/* The backend's `races` on this binary and plan; -ERR_UNSUPPORTED where it has none. */
int run_races(const struct run *r, uint64_t seed, char **ret_finding, struct err *e);
/* Is c of the last execution a·b of its inputs (product.h)? The gemm is a claim about the plan's buffers, no operation of it. -ERR_INPUT when
 * there is no last execution or the buffers are no matrices of a product. */
int run_product(const struct run *r, const struct plan_gemm *g, double tolerance, uint64_t secret, struct product_found *ret_found,
                struct err *e);
/* Output number `output` of the last execution, packed: borrowed until the next one. ERR_INPUT when there is none. */
int run_output(const struct run *r, uint32_t output, const void **ret_bytes, size_t *ret_len,
               const struct plan_buffer **ret_buffer, struct err *e);
/* Times the plan (measure.h), compares two (pair.h), weighs one (energy.h); each executes from seed 0 before what has never been
 * executed. */
int run_measure(struct run *r, const struct wire_measure *m, struct cache *inputs, struct gpu_monitor *watch,
                struct wire_measured *ret_measured, struct err *e);
int run_pair(struct run *a, struct run *b, const struct wire_pair *m, struct cache *inputs, struct gpu_monitor *watch,
             struct wire_paired *ret_paired, struct err *e);
int run_energy(struct run *r, const struct wire_energy *m, struct cache *inputs, struct gpu_monitor *watch,
               struct wire_energised *ret_energised, struct err *e);

#endif
