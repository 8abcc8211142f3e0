/* measure: how long a prepared run takes, by as many samples as it needs and no more. Called by backends/run.c. */
#ifndef PEAKD_BACKENDS_MEASURE_H
#define PEAKD_BACKENDS_MEASURE_H

#include "backends/backend.h"
#include "backends/wire.h"

/* For a run that was executed before (drivers finish compiling then). Executions of 2 ms together, or one, are
 * thrown away; the first tells how many executions make a sample that the device's clock resolves (at least 50 µs).
 * Samples are taken until max_samples, until min_samples with a relative standard error of at most rse, until cap_ns
 * of wall time have passed, or until the first three (or the first, when the discarded one took four times as long)
 * are all slower than hopeless_ns. At least one sample is returned. ret_measured owned by the caller.
 * -ERR_UNSUPPORTED when the device gives no times. */
int measure_samples(const struct backend *b, struct backend_run *run, const struct wire_measure *m,
                    struct wire_measured *ret_measured, struct err *e);

#endif
