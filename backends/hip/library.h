/* library: finds and opens AMD's libraries at run time: the HIP runtime (libamdhip64), hiprtc (libhiprtc; part of libamdhip64
 * up to ROCm 5, in both in ROCm 6) and comgr, the compiler below it. Called by the other files of backends/hip/ and by the
 * sandbox.
 *
 * The newest that is found wins: ROCm 7, 6, 5; in ROCM_PATH, in the vendor's install folders, then wherever ld.so looks. The
 * environment variable PEAKD_ROCM names an install folder (with lib/) that replaces the search; PEAKD_HIP_RUNTIME names the
 * runtime's file alone (tests name an emulated device there). */
#ifndef PEAKD_BACKENDS_HIP_LIBRARY_H
#define PEAKD_BACKENDS_HIP_LIBRARY_H

#include <stdbool.h>

#include "backends/gpu/api.h"
#include "base/buf.h"
#include "base/err.h"

/* Opens the runtime and calls hipInit. -ERR_UNSUPPORTED: no runtime library (names the package), an unusable one, or no
 * device. */
int hip_library_runtime(struct gpu_driver *ret_runtime, struct err *e);
/* Opens hiprtc and the comgr that it needs. -ERR_UNSUPPORTED: none; names the package that brings it and the folders that
 * were searched. */
int hip_library_rtc(struct gpu_rtc *ret_rtc, struct err *e);
/* Whether this compiler knows the architecture ("gfx90a"). Asking hiprtc for an unknown one aborts the process (seen with
 * ROCm 5.2). Appends the names that it knows to `known` (may be NULL). */
bool hip_library_knows(const struct gpu_rtc *rtc, const char *arch, struct buf *known);

#endif
