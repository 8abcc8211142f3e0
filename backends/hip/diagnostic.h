/* diagnostic: turns hiprtc's log (clang's words) into what a person or a model can act on. Called by compile.c. */
#ifndef PEAKD_BACKENDS_HIP_DIAGNOSTIC_H
#define PEAKD_BACKENDS_HIP_DIAGNOSTIC_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the log's messages, errors first (or only them), each with its source lines and notes, without counts.
 * "device:7:38: error:" becomes "device(7): error:", as the CUDA backend writes it. */
void hip_diagnostic_clean(const char *log, bool errors_only, struct buf *out);
/* True when the assembler refused inline assembly: its words are on stderr, not in the log. */
bool hip_diagnostic_is_assembler(const char *log);
/* When the log says that LDS does not fit: bytes asked and allowed. */
bool hip_diagnostic_shared(const char *log, unsigned *ret_asked, unsigned *ret_allowed);
/* The header that could not be opened, as fresh text, or NULL. */
char *hip_diagnostic_header(const char *log);

#endif
