/* gemm: the value of `library:`, the vendor's equivalent of a context: `gemm C = A * B`. Called by reader.c; core/measure/library_baseline.c makes the
 * plan of it. */
#ifndef PEAKD_CORE_CONTEXT_GEMM_H
#define PEAKD_CORE_CONTEXT_GEMM_H

#include "base/err.h"
#include "core/context/spec.h"

/* -ERR_INPUT says what was found and what was expected. The arrays of `spec` are known already. ret_gemm: free(). */
int gemm_parse(const struct spec *spec, const char *text, struct spec_gemm **ret_gemm, struct err *e);

#endif
