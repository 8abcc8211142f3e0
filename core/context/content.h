/* content: what an array is filled with and which values it may hold, as declared behind its type and extents below `inputs:`
 * (`x: f32[n] = random(0.001, 1) closed`, `label: i32[rows] < classes`). core/context/input.c reads it, core/context/host.c puts it
 * into plans; docs/context-format.md has the grammar. */
#ifndef PEAKD_CORE_CONTEXT_CONTENT_H
#define PEAKD_CORE_CONTEXT_CONTENT_H

#include "base/err.h"
#include "core/context/spec.h"

/* The words behind '='; NULL ends them. */
extern const char *const content_fills[];

/* The content of an array that declares none. */
struct spec_content content_default(void);
/* Reads `[= FILL] [DOMAIN]` to the end of the line. What it has read so far is content_fini's, also after a failure. */
int content_read(const struct spec *spec, struct spec_array *a, const char *text, struct err *e);
void content_fini(struct spec_content *c);
/* Sets fill, lo, hi, closed, least and most of a buffer that has its type already. -ERR_INPUT when bounds are no numbers or leave
 * no value. */
int content_place(const struct spec_array *a, const struct value *env, struct plan_buffer *b, struct err *e);

#endif
