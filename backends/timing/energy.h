/* energy: what one execution costs in joules, from the device's energy counter over continuous execution. Called by backends/worker/run.c. */
#ifndef PEAKD_BACKENDS_TIMING_ENERGY_H
#define PEAKD_BACKENDS_TIMING_ENERGY_H

#include "backends/worker/backend.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"

/* Executes warm and without pause, for at least min_ns between two steps of the counter (it moves every 20 to 100 ms), and counts
 * executions by their rate. Without a counter nothing is executed, and the note says why. ret_energised owned by the caller. */
int energy_measure(const struct backend *b, struct backend_run *run, struct gpu_monitor *watch, const struct wire_energy *m,
                   struct wire_energised *ret_energised, struct err *e);

#endif
