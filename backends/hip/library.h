/* library: finds and opens AMD's libraries at run time: the HIP runtime (libamdhip64), hiprtc (libhiprtc; part of libamdhip64 up to
 * ROCm 5, in both in ROCm 6) and comgr, the compiler below it. Called by the other files of backends/hip/.
 *
 * The newest that is found wins: ROCm 7, 6, 5; in ROCM_PATH, in the vendor's install folders, then wherever ld.so looks. The
 * environment variable PEAKD_ROCM names an install folder (with lib/) that replaces the search; PEAKD_HIP_RUNTIME names the runtime's
 * file alone (tests name an emulated device there). Libraries stay loaded for the life of
 * the process, so opening again is cheap and needs no global. */
#ifndef PEAKD_BACKENDS_HIP_LIBRARY_H
#define PEAKD_BACKENDS_HIP_LIBRARY_H

#include <stdbool.h>

#include "backends/hip/api.h"
#include "base/buf.h"
#include "base/err.h"

enum { HIP_LIBRARY_PATH = 512 };

#define HIP_MEMBER_TEXT(need, member, symbol, parameters) const char *(*member) parameters;
#define HIP_MEMBER(need, member, symbol, parameters) hipError_t (*member) parameters;
#define HIP_MEMBER_RTC(need, member, symbol, parameters) hiprtcResult (*member) parameters;
#define HIP_MEMBER_COMGR(need, member, symbol, parameters) amd_comgr_status_t (*member) parameters;

/* The runtime's functions. */
struct hip_runtime {
	HIP_TEXT_LIST(HIP_MEMBER_TEXT)
	HIP_RUNTIME_LIST(HIP_MEMBER)
	int major;                    /* of the library's name: 5, 6, 7; 0 when it has none */
	char path[HIP_LIBRARY_PATH];  /* the file that was opened */
};

/* hiprtc's functions, and comgr's. */
struct hip_rtc {
	HIP_RTC_LIST(HIP_MEMBER_RTC)
	HIP_COMGR_LIST(HIP_MEMBER_COMGR)
	int version_major, version_minor;
	char path[HIP_LIBRARY_PATH];  /* the file that was opened */
};

/* Opens the runtime and calls hipInit. -ERR_UNSUPPORTED: no runtime library (names the package), an unusable one, or no device. */
int hip_library_runtime(struct hip_runtime *ret_runtime, struct err *e);
/* Opens hiprtc and the comgr that it needs. -ERR_UNSUPPORTED: none; says which package brings it and where was looked. */
int hip_library_rtc(struct hip_rtc *ret_rtc, struct err *e);
/* Whether this compiler knows the architecture ("gfx90a"): hiprtc must not be asked for another one, since it aborts the process (seen
 * with ROCm 5.2). Appends the names that it knows to `known` (may be NULL). */
bool hip_library_knows(const struct hip_rtc *rtc, const char *arch, struct buf *known);

#endif
