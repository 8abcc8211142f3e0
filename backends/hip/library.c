/* library: see hip.h. */
#include "backends/hip/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/hip/api.h"
#include "base/mem.h"

enum { MAJOR_NEWEST = 7, MAJOR_OLDEST = 5, RTC_IN_RUNTIME = 6 };

static struct gpu_places places_new(void)
{
	static const char *const variables[] = { "ROCM_PATH", NULL }, *const patterns[] = { "/opt/rocm", "/opt/rocm-[5-9]*", NULL };
	return gpu_places_new("PEAKD_ROCM", variables, patterns);
}

/* Opens NAME.so.NUMBER from the folders, then from where ld.so looks (unless PEAKD_ROCM names a folder). */
static void *open_numbered(const struct gpu_places *places, const char *name, int number, struct buf *tried)
{
	char file[64];
	const char *names[] = { file };
	snprintf(file, sizeof file, "%s.so.%d", name, number);
	return gpu_library_search(places, names, 1, !gpu_library_setting("PEAKD_ROCM"), tried);
}

#define RUNTIME_SYMBOL(result, member, cuda_need, cuda, need, symbol, parameters) GPU_SYMBOL(gpu_driver, member, symbol, need)
#define RTC_SYMBOL(result, member, cuda_need, cuda, need, symbol, parameters) GPU_SYMBOL(gpu_rtc, member, symbol, need)
static const struct gpu_symbol runtime_symbols[] = { GPU_DRIVER_LIST(RUNTIME_SYMBOL) };
static const struct gpu_symbol rtc_symbols[] = { GPU_RTC_LIST(RTC_SYMBOL) };
/* The compiler library below hiprtc; it is only asked which architectures it knows. */
static const struct gpu_symbol comgr_symbols[] = { GPU_SYMBOL(gpu_rtc, isa_count, amd_comgr_get_isa_count, true)
							   GPU_SYMBOL(gpu_rtc, isa_name, amd_comgr_get_isa_name, true) };

int hip_library_runtime(struct gpu_driver *ret_runtime, struct err *e)
{
	struct gpu_driver rt = { .major = 0 };
	struct gpu_places places = places_new();
	struct buf tried = BUF_INIT;
	const char *file = gpu_library_setting("PEAKD_HIP_RUNTIME"), *missing;
	void *handle = file ? gpu_library_open(file, &tried) : NULL;
	gpu_result result;
	int count = 0, rc = 0;
	for (int major = MAJOR_NEWEST; !file && !handle && major >= MAJOR_OLDEST; major--) {
		handle = open_numbered(&places, "libamdhip64", major, &tried);
		rt.major = major;
	}
	if (!handle) {
		gpu_places_describe(&places, &tried);
		rc = err_set(e, ERR_UNSUPPORTED,
			     "no HIP runtime: libamdhip64.so cannot be loaded (%s). Install ROCm 5, 6 or 7 (Debian: "
			     "libamdhip64-5), or name its folder in PEAKD_ROCM or ROCM_PATH",
			     buf_text(&tried));
		goto out;
	}
	missing = gpu_library_fill(handle, runtime_symbols, MEM_COUNT(runtime_symbols), &rt);
	if (!rt.properties_r0600 && !rt.properties_old && !missing)
		missing = "hipGetDeviceProperties";
	if (missing) {
		rc = err_set(e, ERR_UNSUPPORTED, "the HIP runtime is too old: it has no %s; install ROCm 5.2 or newer", missing);
		goto out;
	}
	gpu_library_path(*(void **)&rt.init, rt.path);
	result = rt.init(0);
	if (result == GPU_SUCCESS)
		result = rt.device_count(&count);
	if (result == GPU_NO_DEVICE || result == GPU_INVALID_DEVICE || (result == GPU_SUCCESS && count < 1))
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the HIP runtime (%s) is installed, but sees no AMD GPU: check rocminfo, the amdgpu kernel driver, "
			     "HIP_VISIBLE_DEVICES and the permissions of /dev/kfd and /dev/dri/render*. Compiling for a named "
			     "architecture (--device hip:gfx90a) needs no GPU",
			     rt.path);
	else if (result != GPU_SUCCESS)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the HIP runtime (%s) cannot be initialised: hipInit answers %d (%s); see rocminfo and dmesg", rt.path,
			     result, rt.text_of_error(result));
	else
		*ret_runtime = rt;
out:
	buf_fini(&tried);
	gpu_places_fini(&places);
	return rc;
}

/* The comgr that hiprtc uses. One that is in the process already came with it; else hiprtc loads it by this name at its
 * first use, and ROCm 5.2's crashes when it cannot. */
static void *open_comgr(const struct gpu_places *places, int major, struct buf *tried)
{
	static const int newer[] = { 3, 2 }, older[] = { 2, 3 };
	const int *numbers = major >= MAJOR_NEWEST ? newer : older;
	char name[32];
	void *handle = NULL;
	for (int i = 0; i < 2 && !handle; i++) {
		snprintf(name, sizeof name, "libamd_comgr.so.%d", numbers[i]);
		handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	}
	for (int i = 0; i < 2 && !handle; i++)
		handle = open_numbered(places, "libamd_comgr", numbers[i], tried);
	return handle;
}

int hip_library_rtc(struct gpu_rtc *ret_rtc, struct err *e)
{
	struct gpu_rtc rtc = { .version_major = 0 };
	struct gpu_places places = places_new();
	struct buf tried = BUF_INIT;
	void *handle = NULL, *comgr = NULL;
	const char *missing;
	int rc = 0;
	for (int major = MAJOR_NEWEST; !handle && major >= MAJOR_OLDEST; major--) {
		handle = open_numbered(&places, "libhiprtc", major, &tried);
		if (!handle && major <= RTC_IN_RUNTIME)
			handle = open_numbered(&places, "libamdhip64", major, &tried);
		if (handle)
			comgr = open_comgr(&places, major, &tried);
	}
	if (!handle || !comgr) {
		gpu_places_describe(&places, &tried);
		rc = err_set(e, ERR_UNSUPPORTED,
			     "no HIP compiler library: %s cannot be loaded (%s). Install ROCm 5, 6 or 7 (Debian: libamdhip64-5 and "
			     "libamd-comgr2), or name its folder in PEAKD_ROCM or ROCM_PATH",
			     handle ? "libamd_comgr.so" : "libhiprtc.so", buf_text(&tried));
		goto out;
	}
	missing = gpu_library_fill(handle, rtc_symbols, MEM_COUNT(rtc_symbols), &rtc);
	if (!missing)
		missing = gpu_library_fill(comgr, comgr_symbols, MEM_COUNT(comgr_symbols), &rtc);
	if (missing || rtc.version(&rtc.version_major, &rtc.version_minor) != GPU_RTC_SUCCESS) {
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the HIP compiler library is too old: it has no working %s; install ROCm 5.2 or newer",
			     missing ? missing : "hiprtcVersion");
		goto out;
	}
	gpu_library_path(*(void **)&rtc.version, rtc.path);
	*ret_rtc = rtc;
out:
	buf_fini(&tried);
	gpu_places_fini(&places);
	return rc;
}

bool hip_library_knows(const struct gpu_rtc *rtc, const char *arch, struct buf *known)
{
	size_t count = 0;
	bool found = false;
	if (rtc->isa_count(&count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *isa = NULL, *name;
		if (rtc->isa_name(i, &isa) || !isa)
			continue;
		/* "amdgcn-amd-amdhsa--gfx90a" */
		name = strrchr(isa, '-');
		name = name ? name + 1 : isa;
		found = found || strcmp(name, arch) == 0;
		if (known)
			buf_addf(known, "%s%s", known->len ? " " : "", name);
	}
	return found;
}
