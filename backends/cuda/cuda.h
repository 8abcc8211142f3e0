/* cuda: what the files of the CUDA backend call of each other, and its table for backends/worker/backend.c. */
#ifndef PEAKD_BACKENDS_CUDA_CUDA_H
#define PEAKD_BACKENDS_CUDA_CUDA_H

#include <stdbool.h>

#include "backends/gpu/gpu.h"
#include "backends/gpu/run.h"
#include "backends/timing/ceilings.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "base/buf.h"
#include "base/err.h"

extern const struct backend backend_cuda;

/* --- library.c: finds and opens NVIDIA's libraries at run time. The driver (libcuda.so.1) comes with the GPU's driver; NVRTC, its
 * built-in headers and the fp16/bf16/mma headers come with the CUDA toolkit. Called by the other files of backends/cuda/ and by
 * the sandbox.
 *
 * Two environment variables replace the search: PEAKD_CUDA_DRIVER (the file of libcuda) and PEAKD_CUDA_TOOLKIT (a toolkit's
 * folder, with lib64/ or lib/, and include/). */

/* Opens libcuda and calls cuInit. -ERR_UNSUPPORTED: no driver library (names the package), an unusable one, or no device. */
int cuda_library_driver(struct gpu_driver *ret_driver, struct err *e);
/* Opens the newest NVRTC. -ERR_UNSUPPORTED: none; names the package that brings it and the folders that were searched. */
int cuda_library_nvrtc(struct gpu_rtc *ret_nvrtc, struct err *e);
/* Opens another library of the toolkit by the first of its names, as a dlopen handle. NULL: none; `tried` gets what went wrong. */
void *cuda_library_open(const char *const *names, size_t count, struct buf *tried);
/* A library of the toolkit besides NVRTC: the names of its file, the newest first, and what peakd calls of it. */
struct cuda_library {
	const char *without, *package; /* for messages: what is not possible without it, and what brings it */
	const char *const *names;
	size_t name_count;
	const struct gpu_symbol *symbols;
	size_t symbol_count;
};
/* Opens it and fills *ret. -ERR_UNSUPPORTED: there is none, or it is too old; names the package. */
int cuda_library_load(const struct cuda_library *library, void *ret, struct err *e);
/* Finds the file without opening it. What only ld.so would find does not count. */
bool cuda_library_find(const char *const *names, size_t count, char ret_file[GPU_PATH]);
/* The folders where headers were looked for, on one line, for messages. */
void cuda_library_include_places(struct buf *out);

/* --- facts.c: NVIDIA devices and architectures: names, limits, peaks. Fills backend.h's devices and describe; backend.c asks for
 * the device that it opens, compile.c for the limits of an architecture. */

/* backend.h: devices. */
int cuda_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* backend.h: describe. "sm_70" … "sm_121", with NVRTC's suffixes a and f. Units, clocks and peaks stay 0: those belong to a
 * product. */
int cuda_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);
/* Of the device with that index, through an opened driver. -ERR_NOT_FOUND when there are fewer. */
int cuda_facts_device(const struct gpu_driver *driver, uint32_t index, struct facts *ret_facts, struct err *e);

/* --- compile.c: CUDA C++ to a binary in this process, through NVRTC. Fills backend.h's compile; needs no driver and no GPU. */

/* backend.h: compile. Besides its errors: -ERR_PRUNED when no device of the architecture can launch a kernel as the plan wants;
 * -ERR_INPUT when arguments do not fit or a launched kernel is missing; -ERR_UNSUPPORTED when NVRTC, its headers or the
 * architecture are missing. */
int cuda_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

/* What `#include <stdint.h>` and the like give. */
extern const struct gpu_header cuda_compile_headers[];

/* --- diagnostic.c: turns NVRTC's log into what a person or a model can act on. Called by compile.c. */

/* Appends the log's messages, errors first (or only them), each with its source lines, without counts and hints about
 * compiler options. `ptx` (or NULL) is the intermediate code that ptxas' line numbers refer to: its messages get the
 * instruction and, when the code was made with line information, the line of the region. */
void cuda_diagnostic_clean(const char *log, const char *ptx, const struct wire_compile *request, bool errors_only, struct buf *out);

/* --- object.c: reads what a compiled CUDA binary (a cubin) says about its kernels, without a driver or a GPU. Called by
 * compile.c, to report and check, and by backend.c. */

/* ptx: what the binary was made from; variables that code only reads are not the module's state. NULL: those that begin as zeros
 * are. -ERR_INTERNAL when the bytes are not a CUDA ELF image or contradict themselves. gpu_module_fini frees the result. */
int cuda_object_read(const void *bytes, size_t len, const char *ptx, struct gpu_module *ret_module, struct err *e);

/* --- variables.c: whether code can keep something in the module's variables. */

struct cuda_variable {
	const char *name; /* as PTX has it */
	uint64_t bytes;
};

/* The first that code may write, or whose address it hands on to where nobody sees what becomes of it; NULL: they are all only
 * read, if that. variables: sorted by name, at least one. */
const struct cuda_variable *cuda_variables_kept(const char *ptx, const struct cuda_variable *variables, size_t count);

/* Whether this word of PTX begins a directive that ends with its line, and not with `;`. */
bool cuda_ptx_ends_with_line(const char *word, size_t len);

/* --- probe.c: a kernel rewritten so that its loads or stores nearly cost nothing: its PTX accesses global memory at addresses
 * rounded down to 64 KiB, which a buffer's red zone makes legal. So all lanes of a warp meet at one sector that caches hold.
 * Results are wrong. Only accesses to floats change: an integer may be an index. Called by compile.c. */

/* Appends the rewritten PTX; returns the number of accesses that changed. probe: LOADS or STORES. */
size_t cuda_probe_rewrite(const char *ptx, enum wire_probe probe, struct buf *out);
/* Replaces the compiled binary by that of the rewritten PTX. -ERR_UNSUPPORTED as cuda_link, or nothing to rewrite. */
int cuda_probe_apply(const char *ptx, const char *arch, enum wire_probe probe, struct wire_compiled *io_compiled, struct err *e);

/* --- disturb.c: a kernel rewritten so that its results show what it leaves to chance. Other results mean a race, or memory or a
 * clock that it must not depend on: what changes here may change in any execution (PTX ISA, CUDA C++ Programming Guide). Called
 * by compile.c.
 *
 * - Blocks and warps start up to a millisecond late, and pause as long before accesses to memory that they share and before
 *   barriers, at places that are drawn anew in every execution. Where code waits for memory to change, one block or warp is 30 or
 *   300 ms late.
 * - Asynchronous copies (cp.async, but not bulk copies) are made when they are waited for. Sleeps take no time.
 * - Clocks jump, and %smid, %warpid and %gridid have any value.
 * - Shared and local memory begin as NaN, ones, minus ones or anything. */

/* Appends the rewritten PTX. plan: how many threads a block has; NULL: not known. reduced: only starts are late, and unwritten
 * memory filled, for code that cannot be rewritten otherwise. */
void cuda_disturb(const char *ptx, const struct plan *plan, bool reduced, struct buf *out);

/* --- link.c: PTX to a binary by nvJitLink, a library of the toolkit. Called by compile.c and probe.c. */

/* Replaces the compiled binary. ptx ends with a NUL. -ERR_UNSUPPORTED: there is no such library, or it refuses the code. */
int cuda_link(const struct buf *ptx, const char *arch, struct wire_compiled *io_compiled, struct err *e);

/* --- ceilings.c: the kernels that keep one pipe of an NVIDIA GPU busy; see backends/timing/ceilings.h. Listed in backend.c. */

/* Ends with a NULL name. */
extern const struct ceilings_kernel cuda_ceilings[];

/* --- gemm.c: a plan's matrix product by cuBLASLt at its best, which contexts with a `library:` line are compared with. Every
 * algorithm that the library proposes is timed with cold caches, and the fastest is kept. While it is open, the device
 * remembers the finalists of a product: the next time only they are timed. Called by backend.c; facts.c asks for the
 * version. */

struct cuda_gemm;

/* For a plan with one gemm and nothing else. Products of f16 and bf16 accumulate in fp32, f32 in fp32 without TF32 unless
 * the plan permits it. -ERR_UNSUPPORTED without the library, or when it has no algorithm for these matrices. */
int cuda_gemm_new(struct backend_device *device, const struct plan *plan, struct cuda_gemm **ret_gemm, struct err *e);
void cuda_gemm_free(struct cuda_gemm *g);
/* Times the algorithms on these buffers, which hold the inputs. Once; later calls do nothing. */
int cuda_gemm_search(struct cuda_gemm *g, const gpu_address *buffers, struct err *e);
/* Submits the product to the device's stream (also while it is captured). 0, or cuBLASLt's status. */
int cuda_gemm_issue(const struct cuda_gemm *g, const gpu_address *buffers);
/* Records run->gemm on the set that gpu_run_add_set has just allocated. */
int cuda_gemm_record(struct backend_run *run, struct err *e);
/* "13.0.2.14", from the library's file name, without opening it; "" when there is none. */
void cuda_gemm_version(char version[32]);

/* --- counters.c: hardware counters of a plan's kernels by CUPTI's range profiler, in a worker that the daemon started for that
 * alone (PEAKD_COUNTERS_WORKER=1 in its environment): the library changes how the driver launches, so nothing is timed there.
 * Called by cuda/backend.c. */

/* After the device was opened and before any binary is loaded: opens the library where the worker is for counters. What fails is
 * said by cuda_counters_read. gpu_device_close frees it. */
void cuda_counters_start(struct backend_device *device);
/* backend.h: counters. One launch of each kernel is counted, its largest, from cold caches; the plan is executed once for each pass
 * that the metrics need. */
int cuda_counters_read(struct backend_run *run, struct wire_counters *ret_counters, struct err *e);

/* --- stalls.c: where and why warps wait, by CUPTI's PC sampling: source line, reason, samples. Called by counters.c, in a worker
 * that was started for counters. */

/* Before any binary is loaded, so that the library knows their functions. What fails is kept for cuda_stalls_read. */
void cuda_stalls_enable(struct backend_device *device);
/* Samples some executions and adds the stalls, the most frequent first; then sampling is disabled, because it and range profiling
 * exclude each other. -ERR_UNSUPPORTED says why there are none. */
int cuda_stalls_read(struct backend_run *run, struct wire_counters *io_counters, struct err *e);

#endif
