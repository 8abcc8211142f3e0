/* export_source: what the files of an export are made of. Used by core/problems/export*.c alone. */
#ifndef PEAKD_CORE_PROBLEMS_EXPORT_SOURCE_H
#define PEAKD_CORE_PROBLEMS_EXPORT_SOURCE_H

#include "base/buf.h"
#include "core/problems/export.h"

/* One @KEY@ of a template and what replaces it. */
struct export_word {
	const char *key;
	char *value; /* owned by the table */
};

/* Appends the embedded template core/problems/export/NAME with every @KEY@ replaced. */
void export_fill(struct buf *out, const char *name, const struct export_word *words, size_t count);
/* A name of the context as a C identifier; free(). */
char *export_identifier(const char *name);
/* Lines of text as a comment, each behind "// ". */
void export_comment(struct buf *out, const char *lines);
/* Constants and tuning parameters as #define lines. */
void export_defines(struct buf *out, const struct context *ctx, const struct params *params);
/* The declarations of buffers and scalars that HLSL code uses by name. `half`: it needs true 16-bit types. */
int export_hlsl_declare(const struct context *ctx, const struct plan *plan, struct buf *out, bool *ret_half, struct err *e);
/* The cases as initialised C tables: binaries, then one struct peakd_library called `name`. -ERR_UNSUPPORTED for a table that is
 * too large to be source. */
int export_tables(const struct export_request *q, bool reference, const char *name, struct buf *out, struct err *e);
/* The largest number of buffers, tensor maps and arguments that any case or its reference has, at least 1 each. */
struct export_limits {
	size_t buffers, maps, arguments;
};
struct export_limits export_limits(const struct export_request *q);

#endif
