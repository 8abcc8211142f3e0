/* diagnostic: turns NVRTC's log into what a person or a model can act on. Called by compile.c. */
#ifndef PEAKD_BACKENDS_CUDA_DIAGNOSTIC_H
#define PEAKD_BACKENDS_CUDA_DIAGNOSTIC_H

#include <stdbool.h>

#include "backends/wire/wire.h"
#include "base/buf.h"

/* Appends the log's messages, errors first (or only them), each with its source lines, without counts and hints about
 * compiler options. `ptx` (or NULL) is the intermediate code that ptxas' line numbers refer to: its messages get the
 * instruction and, when the code was made with line information, the line of the region. */
void cuda_diagnostic_clean(const char *log, const char *ptx, const struct wire_compile *request, bool errors_only, struct buf *out);
/* True when ptxas, not the C++ compiler, refused the code. */
bool cuda_diagnostic_is_ptxas(const char *log);
/* When the log says that shared memory does not fit: bytes asked and allowed. */
bool cuda_diagnostic_shared(const char *log, unsigned *ret_asked, unsigned *ret_allowed);
/* The header that could not be opened, as fresh text, or NULL. */
char *cuda_diagnostic_header(const char *log);

#endif
