/* export_source: what the files of an export are made of; one function per kind of file. Used by core/problems/export.c alone. */
#ifndef PEAKD_CORE_PROBLEMS_EXPORT_SOURCE_H
#define PEAKD_CORE_PROBLEMS_EXPORT_SOURCE_H

#include "base/buf.h"
#include "core/problems/export.h"

/* "matmul-fp32-cuda" as a file name without surprises; free(). */
char *export_stem(const struct context *ctx);
/* Lines of text as a comment, each behind "// ". */
void export_comment(struct buf *out, const char *lines);
/* Constants and tuning parameters as #define lines. */
void export_defines(struct buf *out, const struct context *ctx, const struct params *params);
/* The opposite for those and for what the macros region defines: #undef lines. */
void export_undefines(struct buf *out, const struct context *ctx, const struct params *params);
/* The declarations of buffers and scalars that HLSL code uses by name. `half`: it needs true 16-bit types. */
int export_hlsl_declare(const struct export_request *q, struct buf *out, bool *ret_half, struct err *e);
/* The driver and the reference; -ERR_UNSUPPORTED when the plan cannot be written as source. */
int export_cuda_main(const struct export_request *q, const char *stem, struct buf *out, struct err *e);
int export_cuda_reference(const struct export_request *q, const char *stem, struct buf *out, struct err *e);

#endif
