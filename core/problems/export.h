/* export: a checkpoint as plain files: device source with macros and parameters resolved, a launcher, and the context itself.
 * People ship kernels, not databases. Called by the workflow tool; the files are written by whoever asked. */
#ifndef PEAKD_CORE_PROBLEMS_EXPORT_H
#define PEAKD_CORE_PROBLEMS_EXPORT_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/params.h"

/* One file: a plain name without folders, and its whole text; both owned. */
struct export_file {
	char *name, *text;
};

/* What is exported: one context under one set of execution parameters. All borrowed. */
struct export_request {
	const struct context *ctx;
	const struct params *params; /* complete */
	const struct plan *plan;     /* what host code recorded for them */
	const char *provenance;      /* plain text lines: where this comes from, how fast it was; NULL */
	/* What the driver checks against: the root context, or context_as_reference of it, for the same input sizes. NULL: the
	 * driver only times, and says that it checked nothing. */
	const struct context *reference;
	const struct params *reference_params;
	const struct plan *reference_plan;
};

/* The files of a request:
 *   cuda   KERNEL.cu (device code, nothing else needed), KERNEL_main.cu with KERNEL_driver.h (fills, launches as the
 *          plan says, times and checks) and KERNEL_reference.cu; the first lines say how to build: one nvcc command
 *   hip    KERNEL.hip
 *   hlsl   KERNEL.hlsl, with the declarations that peakd generates for it
 * and KERNEL.peak.md for all. The array and its files are the caller's (export_files_free). -ERR_UNSUPPORTED for what cannot
 * be written as source, with the reason. */
int export_request(const struct export_request *request, struct export_file **ret_files, size_t *ret_count, struct err *e);
/* What the driver is to check against: the root context (its `reference` block where it has one) for the inputs of `params`, under
 * the first of the root's own configurations that host code accepts. The three are the caller's. Errors as space_new's and
 * host_run's; -ERR_PRUNED when no configuration is accepted. */
int export_reference(const struct context *root, const struct params *params, const struct facts *facts,
		     struct context **ret_reference, struct params **ret_params, struct plan **ret_plan, struct err *e);
void export_files_free(struct export_file *files, size_t count);

#endif
