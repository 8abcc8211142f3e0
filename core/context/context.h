/* context: a kernel context, the immutable unit that everything else works on: front matter (kernel, backend, inputs,
 * tuning parameters, constraints, …) and the regions of code, read from one Markdown file (docs/context-format.md).
 * Used by core/judge, core/transform, core/record and daemon/tools.
 *
 * A context never changes after it was made, so threads share it freely; context_with_* make a new one. */
#ifndef PEAKD_CORE_CONTEXT_CONTEXT_H
#define PEAKD_CORE_CONTEXT_CONTEXT_H

#include <stddef.h>

#include "backends/wire/wire.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/context/params.h"
#include "core/context/spec.h"

struct context;

enum region { REGION_DEVICE, REGION_HOST, REGION_MACROS, REGION_COUNT };

/* "device", "host", "macros"; region_parse gives -1 for any other word. */
const char *context_region_name(enum region region);
int context_region_parse(const char *name);

/* Reads a context. `file_name` begins every message ("matmul.peak.md:7: inputs: …"). -ERR_INPUT with
 * file, line, field, what was found and what was expected. Host code is not run or compiled here: host_check does
 * that. */
int context_parse(const char *file_name, const char *text, struct context **ret_ctx, struct err *e);
/* As context_parse, from a file. -ERR_NOT_FOUND or -ERR_IO when it cannot be read. */
int context_load(const char *path, struct context **ret_ctx, struct err *e);

/* One more owner; returns ctx. context_free gives one up (NULL is fine); both may be called from any thread. */
struct context *context_ref(const struct context *ctx);
void context_free(struct context *ctx);

/* The context as a file: fields in their order, comments and prose kept, white space normalised. Parsing it gives a
 * context with the same render and hash. Borrowed. */
const char *context_render(const struct context *ctx);
/* SHA-256 of the canonical text without its `library:`: fields in a fixed order without comments, then the regions byte for
 * byte. Prose outside the fences does not count; comments inside the regions do. Borrowed. */
const struct hash *context_hash(const struct context *ctx);
/* The canonical text itself; owned by the caller. */
char *context_canonical(const struct context *ctx);

const char *context_file(const struct context *ctx);    /* as given to context_parse */
const char *context_kernel(const struct context *ctx);  /* kernel: */
const char *context_backend(const struct context *ctx); /* "cuda", "hip" or "hlsl" */
/* The region's text, ending in a newline unless empty ("" for a missing macros region). Borrowed. */
const char *context_region(const struct context *ctx, enum region region);
/* Line `line` (from 1) of the region of that name, without its indentation; NULL when there is none. free() */
char *context_line(const struct context *ctx, const char *region, long line);
/* Device code that replaces the device region when a reference is computed (always launched by the root context's host
 * code, with its macros); NULL when the context has none. */
const char *context_reference(const struct context *ctx);
/* Python code that says what the outputs are, from a ```python reference fence; NULL when the context has none. core/judge/oracle.h
 * runs it. Borrowed. */
const char *context_oracle(const struct context *ctx);
/* Inputs, tuning parameters, constraints, options, precision, … as typed data. Borrowed. */
const struct spec *context_spec(const struct context *ctx);

/* A context with one region replaced; everything else, the file name included, stays. -ERR_INPUT when the text cannot
 * be a region (an empty device or host region, or too large). */
int context_with_region(const struct context *ctx, enum region region, const char *text, struct context **ret_ctx, struct err *e);
/* A context from a whole file, or from some of its front matter and fences: what the text leaves out stays as it is here, and a
 * field with nothing in it is removed. Errors as context_parse's. */
int context_with_source(const struct context *ctx, const char *file_name, const char *text, struct context **ret_ctx,
			struct err *e);
/* This context with the device region replaced by its `reference` fence: what computes reference outputs.
 * -ERR_NOT_FOUND when there is none. */
int context_as_reference(const struct context *ctx, struct context **ret_ctx, struct err *e);

/* For lift.c: this context with other device code and macros, whose plans lift_plan widens. */
struct lift;
int context_with_lift(const struct context *ctx, const char *device, const char *macros, struct lift *take_lift,
		      struct context **ret_ctx, struct err *e);
/* NULL for a context that is not lifted. Borrowed. */
const struct lift *context_lift(const struct context *ctx);

/* What a transformation may change of the front matter, and nothing else. */
enum context_edit_kind {
	CONTEXT_TUNE_SET,     /* adds tuning parameter `name` with the value set `text`, or replaces its values */
	CONTEXT_TUNE_DROP,    /* removes tuning parameter `name`, and the where: entries that mention it */
	CONTEXT_WHERE_ADD,    /* adds constraint `text`; it must mention a tuning parameter */
	CONTEXT_WHERE_DROP,   /* removes the where: entry that reads `text`; it must mention a tuning parameter */
	CONTEXT_REQUIRES_ADD, /* adds requirement `text` on inputs or device */
};
struct context_edit {
	enum context_edit_kind kind;
	const char *name; /* TUNE_*; else NULL */
	const char *text; /* all but TUNE_DROP */
};
/* Edits are applied in order, then the whole is checked as by context_parse. Adding what is there already is not an error.
 * -ERR_INPUT for a text that does not parse, -ERR_NOT_FOUND for a parameter or constraint that is not there. */
int context_with_tuning(const struct context *ctx, const struct context_edit *edits, size_t count, struct context **ret_ctx,
			struct err *e);

/* What the compiler gets as -D: constants, then tuning parameters. An array owned by the caller, as are its strings
 * (context_defines_free). */
struct wire_define *context_defines(const struct context *ctx, const struct params *params, size_t *ret_count);
void context_defines_free(struct wire_define *defines, size_t count);

#endif
