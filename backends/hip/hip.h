/* hip: what the files of the HIP backend call of each other, and its table for backends/worker/backend.c. */
#ifndef PEAKD_BACKENDS_HIP_HIP_H
#define PEAKD_BACKENDS_HIP_HIP_H

#include <stdbool.h>

#include "backends/gpu/gpu.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "base/buf.h"
#include "base/err.h"

/* --- facts.c: AMD devices and architectures: names, limits, register files, peaks. Fills backend.h's devices and describe;
 * backend.c asks for the device that it opens, compile.c for an architecture. */

/* What occupancy is computed from; see facts.c for the sources. Sizes are of one SIMD unless said otherwise. */
struct hip_arch {
	const char *name;   /* "gfx90a"; a family when it ends in '*' */
	uint32_t wave;      /* lanes per wave that the compiler chooses */
	uint32_t simds;     /* per compute unit; of a work-group processor from gfx10 on */
	uint32_t waves;     /* at most resident on one SIMD */
	uint32_t vgprs;     /* per lane, to be shared by the resident waves */
	uint32_t vgpr_step; /* granularity in which registers are allocated */
	bool unified;       /* accumulation registers share the file (else they have their own of the same size) */
	uint32_t lds_unit;  /* KiB of LDS that the blocks of one compute unit (work-group processor) share */
	uint32_t lds_block; /* KiB at most for one block */
	struct gpu_rates rates;
};

/* backend.h: devices. */
int hip_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e);
/* backend.h: describe. "gfx90a", "gfx1100", …; units, clocks and peaks stay 0: those belong to a product. */
int hip_facts_describe(const char *arch, struct facts *ret_facts, struct err *e);
/* Of the device with that index, through an opened runtime. -ERR_NOT_FOUND when there are fewer. */
int hip_facts_device(const struct gpu_driver *runtime, uint32_t index, struct facts *ret_facts, struct err *e);
/* NULL for an architecture whose registers peakd does not know. `arch` without features ("gfx90a", not "gfx90a:xnack-"). */
const struct hip_arch *hip_facts_arch(const char *arch);

/* --- library.c: finds and opens AMD's libraries at run time: the HIP runtime (libamdhip64), hiprtc (libhiprtc; part of libamdhip64
 * up to ROCm 5, in both in ROCm 6) and comgr, the compiler below it. Called by the other files of backends/hip/ and by the
 * sandbox.
 *
 * The newest that is found wins: ROCm 7, 6, 5; in ROCM_PATH, in the vendor's install folders, then wherever ld.so looks. The
 * environment variable PEAKD_ROCM names an install folder (with lib/) that replaces the search; PEAKD_HIP_RUNTIME names the
 * runtime's file alone (tests name an emulated device there). */

/* Opens the runtime and calls hipInit. -ERR_UNSUPPORTED: no runtime library (names the package), an unusable one, or no
 * device. */
int hip_library_runtime(struct gpu_driver *ret_runtime, struct err *e);
/* Opens hiprtc and the comgr that it needs. -ERR_UNSUPPORTED: none; names the package that brings it and the folders that
 * were searched. */
int hip_library_rtc(struct gpu_rtc *ret_rtc, struct err *e);
/* Whether this compiler knows the architecture ("gfx90a"). Asking hiprtc for an unknown one aborts the process (seen with
 * ROCm 5.2). Appends the names that it knows to `known` (may be NULL). */
bool hip_library_knows(const struct gpu_rtc *rtc, const char *arch, struct buf *known);

/* --- object.c: reads what a compiled AMD code object says about its kernels, without a driver or a GPU. Called by compile.c, to
 * report and check, and by backend.c.
 *
 * Format: LLVM's "User Guide for AMDGPU Backend", code object V3 and later: an ELF note "AMDGPU" of type NT_AMDGPU_METADATA
 * (32) whose content is a MessagePack map. */

/* -ERR_INTERNAL when the bytes are not an AMD code object with kernel metadata. gpu_module_fini frees the result. */
int hip_object_read(const void *bytes, size_t len, struct gpu_module *ret_module, struct err *e);

/* --- occupancy.c: how many waves of a kernel run at once on an AMD device, computed from registers, LDS and the block's size.
 * Called by compile.c for its report. */

struct hip_occupancy {
	uint32_t waves;    /* resident on one SIMD, rounded down when blocks do not divide evenly */
	uint32_t max;      /* that the architecture allows */
	uint32_t blocks;   /* resident on one compute unit (work-group processor) */
	const char *limit; /* what allows no more waves: "the architecture", "vector registers", …; static storage */
};

/* `shared`: dynamic LDS, bytes. */
struct hip_occupancy hip_occupancy(const struct gpu_kernel *k, const struct hip_arch *a, uint64_t threads, uint32_t shared);

/* --- diagnostic.c: turns hiprtc's log (clang's words) into what a person or a model can act on. Called by compile.c. */

/* Appends the log's messages, errors first (or only them), each with its source lines and notes, without counts.
 * "device:7:38: error:" becomes "device(7): error:", as the CUDA backend writes it. */
void hip_diagnostic_clean(const char *log, bool errors_only, struct buf *out);
/* --- compile.c: HIP C++ to an AMD code object in this process, through hiprtc. Fills backend.h's compile; needs no driver and no
 * GPU. */

/* backend.h: compile. The log starts with one line per launched kernel: vector, accumulation and scalar registers, LDS, scratch,
 * spills and the computed occupancy. Besides backend.h's errors: -ERR_PRUNED when no device of the architecture can launch a kernel
 * as the plan wants; -ERR_INPUT when arguments do not fit or a launched kernel is missing; -ERR_UNSUPPORTED when hiprtc is missing
 * or does not know the architecture (comgr is asked before: hiprtc would abort the process). */
int hip_compile(const struct wire_compile *request, struct wire_compiled *ret_compiled, struct err *e);

/* The text before and after every translation unit. It adds HIP's older names of the indices, which hiprtc lacks. Helper functions
 * without __device__ become device code (there is no host code in a device region). */
extern const char hip_compile_begin[], hip_compile_end[];

/* --- backend.c: the HIP backend's entry in backends/worker/backend.c. */

extern const struct backend backend_hip;

#endif
