/* reader: reads the fields of a front matter into a specification, with messages that name file, line and field. Used
 * by core/context/spec alone. */
#ifndef PEAKD_CORE_CONTEXT_READER_H
#define PEAKD_CORE_CONTEXT_READER_H

#include "base/err.h"
#include "base/front_matter.h"
#include "core/context/spec.h"

/* Fills an empty specification that has a scope; after a failure it is half filled, and spec_free frees it. */
int reader_fill(const char *file, const struct front_matter *front, struct spec *s, struct err *e);

#endif
