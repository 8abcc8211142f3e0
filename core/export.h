/* export: a checkpoint as plain files: device source with macros and parameters resolved, a launcher, and the context itself.
 * People ship kernels, not databases. Called by the workflow tool; the files are written by whoever asked. */
#ifndef PEAKD_CORE_EXPORT_H
#define PEAKD_CORE_EXPORT_H

#include <stddef.h>

#include "backends/facts.h"
#include "backends/plan.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/params.h"

/* One file: a plain name without folders, and its whole text; both owned. */
struct export_file {
	char *name, *text;
};

/* The files for one set of execution parameters: `plan` is what host code recorded for them, `params` is complete.
 * `provenance` (may be NULL) is lines of plain text about where this comes from and how fast it was; they become a comment.
 *   cuda   KERNEL.cu (device code, nothing else needed), KERNEL_main.cu (a driver that fills, launches, times and checks;
 *          `nvcc -o KERNEL KERNEL_main.cu` builds it; the command with architecture and options is in its first lines)
 *   hip    KERNEL.hip
 *   hlsl   KERNEL.hlsl, with the declarations that peakd generates for it
 * and KERNEL.peak.md for all. The array and its files are the caller's (export_files_free). -ERR_UNSUPPORTED for what cannot
 * be written as source, with the reason. */
int export_context(const struct context *ctx, const struct params *params, const struct plan *plan, const char *provenance,
                   struct export_file **ret_files, size_t *ret_count, struct err *e);
void export_files_free(struct export_file *files, size_t count);

#endif
