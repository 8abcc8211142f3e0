/* saved: a transformation under way as text, and back: transform_save and transform_load. Called by transform.c
 * alone. */
#ifndef PEAKD_CORE_TRANSFORM_SAVED_H
#define PEAKD_CORE_TRANSFORM_SAVED_H

#include "core/transform/transform.h"

void saved_write(const struct transform *x, struct buf *out);
int saved_read(const char *text, size_t len, const struct facts *facts, struct transform **ret_x, struct err *e);

#endif
