/* library: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Newest first. CUDA 11.2 to 11.8 share one library name. */
static const char *const nvrtc_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
#define DRIVER_SYMBOL(result, member, need, symbol, ...) GPU_SYMBOL(gpu_driver, member, symbol, need)
#define NVRTC_SYMBOL(result, member, need, symbol, ...) GPU_SYMBOL(gpu_rtc, member, symbol, need)
static const struct gpu_symbol driver_symbols[] = { GPU_DRIVER_LIST(DRIVER_SYMBOL) };
static const struct gpu_symbol nvrtc_symbols[] = { GPU_RTC_LIST(NVRTC_SYMBOL) };

static struct gpu_places places_new(void)
{
	static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH", NULL };
	/* cuda-9 is too old to matter. */
	static const char *const patterns[] = { "/usr/local/cuda", "/usr/local/cuda-[1-9][0-9]*", "/opt/cuda", "/usr", NULL };
	return gpu_places_new("PEAKD_CUDA_TOOLKIT", variables, patterns);
}

int cuda_library_driver(struct gpu_driver *ret_driver, struct err *e)
{
	struct gpu_driver driver = { .init = NULL };
	struct buf tried = BUF_INIT;
	void *handle = gpu_library_open_driver("PEAKD_CUDA_DRIVER", "libcuda.so.1", &tried);
	const char *missing, *text = NULL;
	gpu_result result;
	int rc = 0;

	if (!handle) {
		rc = err_set(
			e, ERR_UNSUPPORTED,
			"no NVIDIA driver: libcuda.so.1 cannot be loaded (%s). Install the GPU's driver (Debian: nvidia-driver and "
			"libcuda1 from non-free; containers: start them with the NVIDIA runtime), or name the file in "
			"PEAKD_CUDA_DRIVER. Compiling for a named architecture (--device cuda:sm_90a) needs no driver",
			buf_text(&tried));
		buf_fini(&tried);
		return rc;
	}
	buf_fini(&tried);
	missing = gpu_library_fill(handle, driver_symbols, MEM_COUNT(driver_symbols), &driver);
	if (missing)
		return err_set(e, ERR_UNSUPPORTED,
			       "the NVIDIA driver is too old: libcuda has no %s; peakd needs driver 525 (CUDA 12.0) or newer",
			       missing);
	result = driver.init(0);
	if (result == GPU_NO_DEVICE)
		return err_set(e, ERR_UNSUPPORTED,
			       "the NVIDIA driver is installed, but sees no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES and the "
			       "permissions of /dev/nvidia*");
	if (result == GPU_STUB_LIBRARY)
		return err_set(e, ERR_UNSUPPORTED,
			       "libcuda.so.1 is the toolkit's stub for linking, not a driver: remove its folder from "
			       "LD_LIBRARY_PATH, or install the GPU's driver");
	if (result != GPU_SUCCESS) {
		driver.error_text(result, &text);
		return err_set(e, ERR_UNSUPPORTED,
			       "the NVIDIA driver cannot be initialised: cuInit answers %d (%s); see nvidia-smi and dmesg", result,
			       text ? text : "unknown");
	}
	*ret_driver = driver;
	return 0;
}

void *cuda_library_open(const char *const *names, size_t count, struct buf *tried)
{
	struct gpu_places places = places_new();
	void *handle = gpu_library_search(&places, names, count, !gpu_library_setting("PEAKD_CUDA_TOOLKIT"), tried);

	gpu_places_fini(&places);
	return handle;
}

int cuda_library_load(const struct cuda_library *library, void *ret, struct err *e)
{
	struct buf tried = BUF_INIT;
	void *handle = cuda_library_open(library->names, library->name_count, &tried);
	const char *missing = handle ? gpu_library_fill(handle, library->symbols, library->symbol_count, ret) : NULL;
	int rc = 0;

	if (!handle)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "%s: %s cannot be loaded%s%s. Install NVIDIA's package %s, or name the toolkit's folder in "
			     "PEAKD_CUDA_TOOLKIT or CUDA_HOME",
			     library->without, library->names[0], tried.len ? ": " : "", buf_text(&tried), library->package);
	else if (missing)
		rc = err_set(e, ERR_UNSUPPORTED, "%s: the library is too old: it has no %s. Install NVIDIA's package %s",
			     library->without, missing, library->package);
	buf_fini(&tried);
	return rc;
}

bool cuda_library_find(const char *const *names, size_t count, char ret_file[GPU_PATH])
{
	struct gpu_places places = places_new();
	size_t at = 0;
	bool found = gpu_library_next(&places, names, count, &at, ret_file);

	gpu_places_fini(&places);
	return found;
}

/* cuda_fp16.h is in every toolkit, and nowhere else. */
static bool is_include(const char *folder)
{
	char *file = mem_fmt("%s/cuda_fp16.h", folder);
	bool is = access(file, R_OK) == 0;

	free(file);
	return is;
}

/* The headers beside the library that was opened fit it; another toolkit's may not, so they come last. */
static void find_includes(const struct gpu_places *places, struct gpu_rtc *nvrtc)
{
	struct buf folder = BUF_INIT;
	char *end = strrchr(nvrtc->path, '/');
	bool found = false;

	/* A toolkit that the user named is used alone. */
	if (end && end != nvrtc->path && !gpu_library_setting("PEAKD_CUDA_TOOLKIT")) {
		buf_addf(&folder, "%.*s/../include", (int)(end - nvrtc->path), nvrtc->path);
		found = is_include(buf_text(&folder));
	}
	for (size_t i = 0; !found && i < places->count; i++) {
		buf_clear(&folder);
		buf_addf(&folder, "%s/include", places->list[i]);
		found = is_include(buf_text(&folder));
	}
	nvrtc->include_count = 0;
	if (found && folder.len + sizeof "/cccl" <= GPU_PATH) {
		memcpy(nvrtc->include[nvrtc->include_count++], buf_text(&folder), folder.len + 1);
		buf_adds(&folder, "/cccl");
		if (access(buf_text(&folder), R_OK) == 0)
			memcpy(nvrtc->include[nvrtc->include_count++], buf_text(&folder), folder.len + 1);
	}
	buf_fini(&folder);
}

void cuda_library_include_places(struct buf *out)
{
	struct gpu_places places = places_new();

	for (size_t i = 0; i < places.count; i++)
		buf_addf(out, "%s%s/include", i ? ", " : "", places.list[i]);
	gpu_places_fini(&places);
}

int cuda_library_nvrtc(struct gpu_rtc *ret_nvrtc, struct err *e)
{
	struct gpu_rtc nvrtc = { .include_count = 0 };
	struct gpu_places places = places_new();
	struct buf tried = BUF_INIT;
	void *handle = cuda_library_open(nvrtc_names, MEM_COUNT(nvrtc_names), &tried);
	const char *missing;
	int rc = 0;

	if (!handle) {
		gpu_places_describe(&places, &tried);
		rc = err_set(e, ERR_UNSUPPORTED,
			     "no CUDA compiler library: libnvrtc.so cannot be loaded (%s). Install the CUDA toolkit 12 or 13 "
			     "(NVIDIA's packages cuda-nvrtc-13-0, cuda-cudart-dev-13-0 and cuda-crt-13-0 are enough), or name its "
			     "folder in PEAKD_CUDA_TOOLKIT or CUDA_HOME",
			     buf_text(&tried));
		goto out;
	}
	missing = gpu_library_fill(handle, nvrtc_symbols, MEM_COUNT(nvrtc_symbols), &nvrtc);
	if (missing || nvrtc.version(&nvrtc.version_major, &nvrtc.version_minor) != GPU_RTC_SUCCESS) {
		rc = err_set(e, ERR_UNSUPPORTED,
			     "the CUDA compiler library is too old: it has no working %s; install the CUDA toolkit 12 or 13",
			     missing ? missing : "nvrtcVersion");
		goto out;
	}
	gpu_library_path(*(void **)&nvrtc.version, nvrtc.path);
	find_includes(&places, &nvrtc);
	*ret_nvrtc = nvrtc;
out:
	buf_fini(&tried);
	gpu_places_fini(&places);
	return rc;
}
