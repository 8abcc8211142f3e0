/* diagnostic: a compiler's messages, put into the order and form in which a person or a model reads them. cuda/, hip/ and
 * hlsl/ take their compiler's log apart; this prints what they found. */
#ifndef PEAKD_BACKENDS_GPU_DIAGNOSTIC_H
#define PEAKD_BACKENDS_GPU_DIAGNOSTIC_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/wire/wire.h"
#include "base/buf.h"

/* CONTINUES: a quoted line or note that belongs to the message before it. */
enum gpu_severity { GPU_CONTINUES, GPU_ERROR, GPU_WARNING };

struct gpu_message {
	enum gpu_severity severity;
	char *text;
};
struct gpu_messages {
	struct gpu_message *list;
	size_t count;
};

/* The next line of a text as fresh memory, without its end; NULL at the end of the text. Moves *io_at. */
char *gpu_diagnostic_line(const char **io_at);
void gpu_diagnostic_add(struct gpu_messages *m, enum gpu_severity severity, char *take_text);
/* Appends the errors, then (unless errors_only) the warnings, each with its continuations. Control characters become '?'. */
void gpu_diagnostic_print(const struct gpu_messages *m, bool errors_only, struct buf *out);
void gpu_diagnostic_fini(struct gpu_messages *m);
/* Line `number` (from 1) of the region "macros" or "device" as fresh text; NULL when `file` is neither or has no such line. */
char *gpu_diagnostic_source(const struct wire_compile *request, const char *file, unsigned number);

#endif
