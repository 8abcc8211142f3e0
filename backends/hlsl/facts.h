/* facts: what Vulkan says about its devices, for the table in backend.c. */
#ifndef PEAKD_BACKENDS_HLSL_FACTS_H
#define PEAKD_BACKENDS_HLSL_FACTS_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"

/* Compile target of everything here. */
#define FACTS_ARCH "spirv1.3"

int hlsl_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* "spirv1.3": the limits that every Vulkan device has at least. */
int hlsl_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);

#endif
