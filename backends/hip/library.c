/* library: see library.h. */
#include "backends/hip/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum { MAJOR_NEWEST = 7, MAJOR_OLDEST = 5, RTC_IN_RUNTIME = 6 };

static const char *const lib_folders[] = { "lib", "lib64", "lib/x86_64-linux-gnu" };

static const char *setting(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* NODELETE: a vendor's library does not survive being unloaded, and the next open is then only a look-up. */
static void *open_file(const char *file, struct buf *tried)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		buf_addf(tried, "%s%s", tried->len ? "; " : "", dlerror());
	return handle;
}

/* --- install folders, in the order in which they are searched ------------------------------------------------------------ */
struct places { char **list; size_t count; };

static void places_fini(struct places *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i]);
	free(p->list);
}

static struct places places_new(void)
{
	struct places p = { .list = NULL, .count = 0 };
	glob_t versions;

	if (setting("PEAKD_ROCM")) {
		*MEM_PUSH(p.list, p.count) = mem_str(setting("PEAKD_ROCM"));
		return p;
	}
	if (setting("ROCM_PATH"))
		*MEM_PUSH(p.list, p.count) = mem_str(setting("ROCM_PATH"));
	*MEM_PUSH(p.list, p.count) = mem_str("/opt/rocm");
	/* glob sorts upwards. */
	if (glob("/opt/rocm-[5-9]*", 0, NULL, &versions) == 0) {
		for (size_t i = versions.gl_pathc; i-- > 0;)
			*MEM_PUSH(p.list, p.count) = mem_str(versions.gl_pathv[i]);
		globfree(&versions);
	}
	return p;
}

/* A library by its name and the number behind it, in the folders, then where ld.so looks (unless a folder was named). */
static void *open_library(const struct places *places, const char *name, int number, struct buf *tried)
{
	char file[PATH_MAX];
	void *handle = NULL;

	for (size_t p = 0; p < places->count; p++)
		for (size_t f = 0; f < MEM_COUNT(lib_folders); f++) {
			snprintf(file, sizeof file, "%s/%s/%s.so.%d", places->list[p], lib_folders[f], name, number);
			if (access(file, R_OK) == 0 && (handle = open_file(file, tried)))
				return handle;
		}
	if (setting("PEAKD_ROCM"))
		return NULL;
	snprintf(file, sizeof file, "%s.so.%d", name, number);
	return open_file(file, tried);
}

static void *open_runtime(const struct places *places, int *ret_major, struct buf *tried)
{
	void *handle = NULL;

	*ret_major = 0;
	if (setting("PEAKD_HIP_RUNTIME"))
		return open_file(setting("PEAKD_HIP_RUNTIME"), tried);
	for (*ret_major = MAJOR_NEWEST; *ret_major >= MAJOR_OLDEST && !handle; --*ret_major)
		handle = open_library(places, "libamdhip64", *ret_major, tried);
	++*ret_major;
	return handle;
}

static void find_path(void *function, char path[HIP_LIBRARY_PATH])
{
	Dl_info where;
	if (dladdr(function, &where) && where.dli_fname)
		snprintf(path, HIP_LIBRARY_PATH, "%s", where.dli_fname);
}

#define RESOLVE(need, member, symbol, parameters) \
	*(void **)&ret->member = dlsym(handle, #symbol); \
	if ((need) && !ret->member && !missing) \
		missing = #symbol;

static const char *resolve_runtime(void *handle, struct hip_runtime *ret)
{
	const char *missing = NULL;
	HIP_TEXT_LIST(RESOLVE)
	HIP_RUNTIME_LIST(RESOLVE)
	if (!ret->properties_r0600 && !ret->properties_old && !missing)
		missing = "hipGetDeviceProperties";
	return missing;
}

static const char *resolve_rtc(void *handle, struct hip_rtc *ret)
{
	const char *missing = NULL;
	HIP_RTC_LIST(RESOLVE)
	return missing;
}

static const char *resolve_comgr(void *handle, struct hip_rtc *ret)
{
	const char *missing = NULL;
	HIP_COMGR_LIST(RESOLVE)
	return missing;
}

static void add_places(const struct places *places, struct buf *tried)
{
	for (size_t i = 0; i < places->count; i++)
		buf_addf(tried, "%s%s", i ? ", " : tried->len ? "; looked below " : "looked below ", places->list[i]);
}

/* --- runtime ---------------------------------------------------------------------------------------------------------- */
static int start(struct hip_runtime *rt, struct err *e)
{
	hipError_t result = rt->init(0);
	int count = 0;

	if (result == hipSuccess)
		result = rt->device_count(&count);
	if (result == hipErrorNoDevice || result == hipErrorInvalidDevice || (result == hipSuccess && count < 1))
		return err_set(e, ERR_UNSUPPORTED, "the HIP runtime (%s) is installed, but sees no AMD GPU: check rocminfo, the amdgpu kernel driver, "
		               "HIP_VISIBLE_DEVICES and the rights on /dev/kfd and /dev/dri/render*. Compiling for a named architecture "
		               "(--device hip:gfx90a) needs no GPU", rt->path);
	if (result != hipSuccess)
		return err_set(e, ERR_UNSUPPORTED, "the HIP runtime (%s) cannot be initialised: hipInit answers %d (%s); see rocminfo and dmesg",
		               rt->path, result, rt->error_text(result));
	return 0;
}

int hip_library_runtime(struct hip_runtime *ret_runtime, struct err *e)
{
	struct hip_runtime rt = { .major = 0 };
	struct places places = places_new();
	struct buf tried = BUF_INIT;
	void *handle = open_runtime(&places, &rt.major, &tried);
	const char *missing;
	int rc;

	if (!handle) {
		add_places(&places, &tried);
		rc = err_set(e, ERR_UNSUPPORTED, "no HIP runtime: libamdhip64.so cannot be loaded (%s). Install ROCm 5, 6 or 7 (Debian: "
		             "libamdhip64-5), or name its folder in PEAKD_ROCM or ROCM_PATH", buf_text(&tried));
		goto out;
	}
	missing = resolve_runtime(handle, &rt);
	if (missing) {
		rc = err_set(e, ERR_UNSUPPORTED, "the HIP runtime is too old: it has no %s; install ROCm 5.2 or newer", missing);
		goto out;
	}
	find_path(*(void **)&rt.init, rt.path);
	rc = start(&rt, e);
	if (!rc)
		*ret_runtime = rt;
out:
	buf_fini(&tried);
	places_fini(&places);
	return rc;
}

/* --- compiler --------------------------------------------------------------------------------------------------------- */
static void *open_rtc(const struct places *places, int *ret_major, struct buf *tried)
{
	for (int major = MAJOR_NEWEST; major >= MAJOR_OLDEST; major--) {
		void *handle = open_library(places, "libhiprtc", major, tried);
		if (!handle && major <= RTC_IN_RUNTIME)
			handle = open_library(places, "libamdhip64", major, tried);
		*ret_major = major;
		if (handle)
			return handle;
	}
	return NULL;
}

/* Which comgr hiprtc uses. One that is in the process already came with it; else hiprtc loads it by this name at its first use,
 * and ROCm 5.2's crashes when it cannot. */
static void *open_comgr(const struct places *places, int major, struct buf *tried)
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
		handle = open_library(places, "libamd_comgr", numbers[i], tried);
	return handle;
}

int hip_library_rtc(struct hip_rtc *ret_rtc, struct err *e)
{
	struct hip_rtc rtc = { .version_major = 0 };
	struct places places = places_new();
	struct buf tried = BUF_INIT;
	int major = 0, rc;
	void *handle = open_rtc(&places, &major, &tried), *comgr = handle ? open_comgr(&places, major, &tried) : NULL;
	const char *missing;

	if (!handle || !comgr) {
		add_places(&places, &tried);
		rc = err_set(e, ERR_UNSUPPORTED, "no HIP compiler library: %s cannot be loaded (%s). Install ROCm 5, 6 or 7 (Debian: libamdhip64-5 and "
		             "libamd-comgr2), or name its folder in PEAKD_ROCM or ROCM_PATH", handle ? "libamd_comgr.so" : "libhiprtc.so",
		             buf_text(&tried));
		goto out;
	}
	missing = resolve_rtc(handle, &rtc);
	if (!missing)
		missing = resolve_comgr(comgr, &rtc);
	if (missing || rtc.version(&rtc.version_major, &rtc.version_minor) != HIPRTC_SUCCESS) {
		rc = err_set(e, ERR_UNSUPPORTED, "the HIP compiler library is too old: it has no working %s; install ROCm 5.2 or newer",
		             missing ? missing : "hiprtcVersion");
		goto out;
	}
	find_path(*(void **)&rtc.version, rtc.path);
	*ret_rtc = rtc;
	rc = 0;
out:
	buf_fini(&tried);
	places_fini(&places);
	return rc;
}

bool hip_library_knows(const struct hip_rtc *rtc, const char *arch, struct buf *known)
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
