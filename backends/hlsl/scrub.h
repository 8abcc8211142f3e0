/* scrub: a kernel of ours that overwrites the shared memory of every unit. Shared memory keeps what the last launch left,
 * and a kernel could find its results there. Called by backend.c, before executions that are judged or timed and outside of their windows. */
#ifndef PEAKD_BACKENDS_HLSL_SCRUB_H
#define PEAKD_BACKENDS_HLSL_SCRUB_H

#include <stdbool.h>

#include "backends/hlsl/device.h"
#include "base/err.h"

/* Makes the kernel, once for each device; hlsl_device_close calls fini. */
int hlsl_scrub_prepare(struct backend_device *d, struct err *e);
void hlsl_scrub_fini(struct backend_device *d);
bool hlsl_scrub_works(const struct backend_device *d);
/* Records a launch that writes one of backend.h's two words, and is over before what follows, into the device's commands. */
void hlsl_scrub_record(struct backend_device *d, uint32_t word);

#endif
