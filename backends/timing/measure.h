/* measure: how long a prepared run takes, by as many samples as it needs and no more. Called by backends/worker/run.c. */
#ifndef PEAKD_BACKENDS_TIMING_MEASURE_H
#define PEAKD_BACKENDS_TIMING_MEASURE_H

#include "backends/worker/backend.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"

/* For a run that was executed before (drivers finish compiling then). After the warm-up (sample.h) samples are taken until
 * max_samples, until min_samples with a relative standard error of at most rse, until cap_ns of wall time have passed, or until the
 * first three (or the first, when the discarded one took four times as long) are all slower than hopeless_ns. At least one sample is
 * returned. Samples that the watch calls disturbed are thrown away and taken again; when too few others could be taken, all are
 * returned, marked. ret_measured owned by the caller. -ERR_UNSUPPORTED when the device gives no times. */
int measure_samples(const struct backend *b, struct backend_run *run, struct gpu_monitor *watch, const struct wire_measure *m,
                    struct wire_measured *ret_measured, struct err *e);

#endif
