/* library: see library.h. */
#include "backends/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Newest first. CUDA 11.2 to 11.8 share one library name. */
static const char *const nvrtc_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
static const char *const toolkit_folders[] = { "lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu" };
/* Where distributions and container runtimes put the driver's library when ld.so does not know it. */
static const char *const driver_files[] = {
	"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
};

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

/* --- toolkit folders, in the order in which they are searched ------------------------------------------------------------ */
struct places { char **list; size_t count; };

static void places_add(struct places *p, const char *folder)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->list[i], folder) == 0)
			return;
	*MEM_PUSH(p->list, p->count) = mem_str(folder);
}

static void places_fini(struct places *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i]);
	free(p->list);
}

static struct places places_new(void)
{
	struct places p = { .list = NULL, .count = 0 };
	static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
	glob_t versions;

	if (setting("PEAKD_CUDA_TOOLKIT")) {
		places_add(&p, setting("PEAKD_CUDA_TOOLKIT"));
		return p;
	}
	for (size_t i = 0; i < MEM_COUNT(variables); i++)
		if (setting(variables[i]))
			places_add(&p, setting(variables[i]));
	places_add(&p, "/usr/local/cuda");
	/* glob sorts upwards; cuda-9 is too old to matter. */
	if (glob("/usr/local/cuda-[1-9][0-9]*", 0, NULL, &versions) == 0) {
		for (size_t i = versions.gl_pathc; i-- > 0;)
			places_add(&p, versions.gl_pathv[i]);
		globfree(&versions);
	}
	places_add(&p, "/opt/cuda");
	places_add(&p, "/usr");
	return p;
}

/* --- driver ----------------------------------------------------------------------------------------------------------- */
#define RESOLVE(need, member, symbol, parameters) \
	*(void **)&ret->member = dlsym(handle, #symbol); \
	if ((need) && !ret->member && !missing) \
		missing = #symbol;

static const char *resolve_driver(void *handle, struct cuda_driver *ret)
{
	const char *missing = NULL;
	CUDA_DRIVER_LIST(RESOLVE)
	return missing;
}

static const char *resolve_nvrtc(void *handle, struct cuda_nvrtc *ret)
{
	const char *missing = NULL;
	CUDA_NVRTC_LIST(RESOLVE)
	return missing;
}

int cuda_library_driver(struct cuda_driver *ret_driver, struct err *e)
{
	struct cuda_driver driver;
	struct buf tried = BUF_INIT;
	const char *file = setting("PEAKD_CUDA_DRIVER"), *missing;
	void *handle = NULL;
	CUresult result;
	int rc = -1;

	if (file)
		handle = open_file(file, &tried);
	for (size_t i = 0; !file && !handle && i < MEM_COUNT(driver_files); i++)
		handle = open_file(driver_files[i], &tried);
	if (!handle) {
		rc = err_set(e, ERR_UNSUPPORTED, "no NVIDIA driver: libcuda.so.1 cannot be loaded (%s). Install the GPU's driver (Debian: "
		             "nvidia-driver and libcuda1 from non-free; containers: start them with the NVIDIA runtime), or name the file in "
		             "PEAKD_CUDA_DRIVER. Compiling for a named architecture (--device cuda:sm_90a) needs no driver",
		             buf_text(&tried));
		goto out;
	}
	missing = resolve_driver(handle, &driver);
	if (missing) {
		rc = err_set(e, ERR_UNSUPPORTED, "the NVIDIA driver is too old: libcuda has no %s; peakd needs driver 525 (CUDA 12.0) or newer",
		             missing);
		goto out;
	}
	result = driver.init(0);
	if (result == CUDA_ERROR_NO_DEVICE) {
		rc = err_set(e, ERR_UNSUPPORTED, "the NVIDIA driver is installed, but sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES and "
		             "the rights on /dev/nvidia*");
	} else if (result == CUDA_ERROR_STUB_LIBRARY) {
		rc = err_set(e, ERR_UNSUPPORTED, "libcuda.so.1 is the toolkit's stub for linking, not a driver: remove its folder from "
		             "LD_LIBRARY_PATH, or install the GPU's driver");
	} else if (result != CUDA_SUCCESS) {
		const char *text = NULL;
		driver.error_text(result, &text);
		rc = err_set(e, ERR_UNSUPPORTED, "the NVIDIA driver cannot be initialised: cuInit answers %d (%s); see nvidia-smi and dmesg",
		             result, text ? text : "unknown");
	} else {
		*ret_driver = driver;
		rc = 0;
	}
out:
	buf_fini(&tried);
	return rc;
}

/* --- NVRTC ------------------------------------------------------------------------------------------------------------ */
/* The next readable file of one of the names, from *io_at on; false when there is none left. */
static bool next_file(const struct places *places, const char *const *names, size_t count, size_t *io_at, char file[PATH_MAX])
{
	for (size_t all = places->count * MEM_COUNT(toolkit_folders) * count; *io_at < all;) {
		size_t at = (*io_at)++, n = at % count, f = at / count % MEM_COUNT(toolkit_folders), p = at / count / MEM_COUNT(toolkit_folders);
		snprintf(file, PATH_MAX, "%s/%s/%s", places->list[p], toolkit_folders[f], names[n]);
		if (access(file, R_OK) == 0)
			return true;
	}
	return false;
}

static void *open_toolkit(const struct places *places, const char *const *names, size_t count, struct buf *tried)
{
	char file[PATH_MAX];
	void *handle = NULL;
	size_t at = 0;

	while (next_file(places, names, count, &at, file))
		if ((handle = open_file(file, tried)))
			return handle;
	for (size_t n = 0; !setting("PEAKD_CUDA_TOOLKIT") && n < count; n++)
		if ((handle = open_file(names[n], tried)))
			return handle;
	return NULL;
}

void *cuda_library_open(const char *const *names, size_t count, struct buf *tried)
{
	struct places places = places_new();
	void *handle = open_toolkit(&places, names, count, tried);
	places_fini(&places);
	return handle;
}

bool cuda_library_find(const char *const *names, size_t count, char *to)
{
	struct places places = places_new();
	size_t at = 0;
	bool found = next_file(&places, names, count, &at, to);
	places_fini(&places);
	return found;
}

/* cuda_fp16.h is in every toolkit, and in nothing else. */
static bool is_include(const char *folder)
{
	char file[PATH_MAX];
	snprintf(file, sizeof file, "%s/cuda_fp16.h", folder);
	return access(file, R_OK) == 0;
}

/* The headers beside the library that was opened fit it; another toolkit's may not, so they come last. */
static void find_includes(const struct places *places, struct cuda_nvrtc *nvrtc)
{
	struct buf folder = BUF_INIT;
	char *end = strrchr(nvrtc->path, '/');
	bool found = false;

	/* A toolkit that was named is taken as it is. */
	if (end && end != nvrtc->path && !setting("PEAKD_CUDA_TOOLKIT")) {
		buf_addf(&folder, "%.*s/../include", (int)(end - nvrtc->path), nvrtc->path);
		found = is_include(buf_text(&folder));
	}
	for (size_t i = 0; !found && i < places->count; i++) {
		buf_clear(&folder);
		buf_addf(&folder, "%s/include", places->list[i]);
		found = is_include(buf_text(&folder));
	}
	nvrtc->include_count = 0;
	if (found && folder.len + sizeof "/cccl" <= CUDA_LIBRARY_PATH) {
		char (*to)[CUDA_LIBRARY_PATH] = nvrtc->include;
		memcpy(to[nvrtc->include_count++], buf_text(&folder), folder.len + 1);
		buf_adds(&folder, "/cccl");
		if (access(buf_text(&folder), R_OK) == 0)
			memcpy(to[nvrtc->include_count++], buf_text(&folder), folder.len + 1);
	}
	buf_fini(&folder);
}

void cuda_library_include_places(struct buf *out)
{
	struct places places = places_new();
	for (size_t i = 0; i < places.count; i++)
		buf_addf(out, "%s%s/include", i ? ", " : "", places.list[i]);
	places_fini(&places);
}

int cuda_library_nvrtc(struct cuda_nvrtc *ret_nvrtc, struct err *e)
{
	struct cuda_nvrtc nvrtc = { .include_count = 0 };
	struct places places = places_new();
	struct buf tried = BUF_INIT;
	void *handle = open_toolkit(&places, nvrtc_names, MEM_COUNT(nvrtc_names), &tried);
	const char *missing;
	Dl_info where;
	int rc;

	if (!handle) {
		for (size_t i = 0; i < places.count; i++)
			buf_addf(&tried, "%s%s", i ? ", " : tried.len ? "; looked below " : "looked below ", places.list[i]);
		rc = err_set(e, ERR_UNSUPPORTED, "no CUDA compiler library: libnvrtc.so cannot be loaded (%s). Install the CUDA toolkit 12 or 13 "
		             "(NVIDIA's packages cuda-nvrtc-13-0, cuda-cudart-dev-13-0 and cuda-crt-13-0 are enough), or name its folder in "
		             "PEAKD_CUDA_TOOLKIT or CUDA_HOME", buf_text(&tried));
		goto out;
	}
	missing = resolve_nvrtc(handle, &nvrtc);
	if (missing || nvrtc.version(&nvrtc.version_major, &nvrtc.version_minor) != NVRTC_SUCCESS) {
		rc = err_set(e, ERR_UNSUPPORTED, "the CUDA compiler library is too old: it has no working %s; install the CUDA toolkit 12 or 13",
		             missing ? missing : "nvrtcVersion");
		goto out;
	}
	if (dladdr(*(void **)&nvrtc.version, &where) && where.dli_fname)
		snprintf(nvrtc.path, sizeof nvrtc.path, "%s", where.dli_fname);
	find_includes(&places, &nvrtc);
	*ret_nvrtc = nvrtc;
	rc = 0;
out:
	buf_fini(&tried);
	places_fini(&places);
	return rc;
}
