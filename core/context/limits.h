/* limits: the facts of a device that front matter and host code may ask for, as `device.NAME`. Used by
 * core/context/{spec,host} and by the prompts that list them. */
#ifndef PEAKD_CORE_CONTEXT_LIMITS_H
#define PEAKD_CORE_CONTEXT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "backends/wire/facts.h"

/* How many there are, and the name ("warp_size") and value of number k. */
size_t limits_count(void);
const char *limits_name(size_t k);
int64_t limits_value(const struct facts *facts, size_t k);

#endif
