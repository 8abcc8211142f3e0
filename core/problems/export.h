/* export: a checkpoint as a library that runs anywhere: C source with the validated binaries inside, a header, a Python file for
 * PyTorch and CuPy, a check program, CMake, and the context itself. People ship kernels, not databases. Called by the workflow
 * tool, which adds what is JSON; the files are written by its client. docs/export.md says how each is used. */
#ifndef PEAKD_CORE_PROBLEMS_EXPORT_H
#define PEAKD_CORE_PROBLEMS_EXPORT_H

#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/params.h"
#include "core/workers/variant.h"

/* One file: a plain name without folders, and its whole text; both owned. */
struct export_file {
	char *name, *text;
};

/* One configuration: the fastest validated one of its input size. */
struct export_case {
	struct variant built;     /* parameters, plan and binary */
	struct variant reference; /* of export_request.reference; zeroed: this size has none */
};

/* What is exported. All borrowed. */
struct export_request {
	const struct context *ctx;
	const struct context *reference; /* what the check program compares with; NULL: it only times, and says so */
	const struct export_case *cases; /* at least one, each of another input size */
	size_t count;
	const char *arch;       /* of the binaries: "sm_90a" */
	const char *provenance; /* plain text lines for the source's head: where it comes from, how fast it was; NULL */
};

/* How one scalar input reaches the library: a tensor's extent (Python and TVM-FFI leave it out then) or a number of its own. */
bool export_is_extent(const struct export_request *q, size_t var);
/* The library's name: the kernel's as a C identifier. free() */
char *export_name(const struct context *ctx);
/* The files for CUDA and HIP (NAME = export_name):
 *   NAME.h NAME.c         the library and its TVM-FFI entry
 *   NAME.cu or NAME.hip   the device code, for reading and for other architectures: -DPEAKD_CONFIGURATION=0 chooses parameters
 *   NAME_check.c          compares with the reference and times
 *   NAME.py               a PyTorch operator and a function for CuPy; reads NAME.json
 *   NAME_kernels.py       writes the above in the layout of Hugging Face's kernel-builder
 *   CMakeLists.txt
 * for HLSL NAME.hlsl with the declarations that peakd generates; and NAME.peak.md for all. The array and its
 * files are the caller's (export_files_free). -ERR_UNSUPPORTED for what cannot be written as source, with the reason. */
int export_request(const struct export_request *request, struct export_file **ret_files, size_t *ret_count, struct err *e);
/* What the check program compares with: the baseline (its `reference` block where it has one) for the inputs of `params`, under the
 * first of its own configurations that host code accepts. Both are the caller's. Errors as space_new's and host_run's; -ERR_PRUNED
 * when no configuration is accepted. */
int export_reference(const struct context *root, const struct params *params, const struct facts *facts,
		     struct context **ret_reference, struct params **ret_params, struct err *e);
void export_files_free(struct export_file *files, size_t count);

#endif
