/* facts: NVIDIA devices and architectures: names, limits, peaks. Fills backend.h's devices and describe; backend.c asks for
 * the device that it opens, compile.c for the limits of an architecture. */
#ifndef PEAKD_BACKENDS_CUDA_FACTS_H
#define PEAKD_BACKENDS_CUDA_FACTS_H

#include "backends/gpu/api.h"
#include "backends/wire/facts.h"
#include "base/err.h"

/* backend.h: devices. */
int cuda_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* backend.h: describe. "sm_70" … "sm_121", with NVRTC's suffixes a and f. Units, clocks and peaks stay 0: those belong to a
 * product. */
int cuda_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);
/* Of the device with that index, through an opened driver. -ERR_NOT_FOUND when there are fewer. */
int cuda_facts_device(const struct gpu_driver *driver, uint32_t index, struct facts *ret_facts, struct err *e);

#endif
