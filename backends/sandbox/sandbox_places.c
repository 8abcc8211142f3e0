/* sandbox_places: see sandbox_places.h. What is listed holds packages' and the kernel's files and nobody's own: no home, no /tmp, no
 * /var, of /etc only what loaders read. */
#include "backends/sandbox/sandbox_places.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/sandbox/sandbox_scratch.h"
#include "backends/cuda/library.h"
#include "backends/hip/library.h"
#include "base/mem.h"

/* The folder that a file is in, as it is written and as it really is: libraries are often links into a versioned folder. */
static void allow_folder_of(struct sandbox_files *f, const char *file)
{
	char real[PATH_MAX];
	const char *const names[] = { file, realpath(file, real) };
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		const char *end = names[i] ? strrchr(names[i], '/') : NULL;
		if (end == NULL || end == names[i])
			continue;
		char *folder = mem_strn(names[i], (size_t)(end - names[i]));
		sandbox_files_allow(f, folder, SANDBOX_FILES_READ);
		free(folder);
	}
}

/* NVRTC opens this library when it first compiles, by its name alone, which ld.so seeks in places that the sandbox closes; a library of
 * that name which is there already is taken as it is. */
static void open_builtins(const struct gpu_rtc *nvrtc)
{
	char real[PATH_MAX];
	const char *end = realpath(nvrtc->path, real) ? strrchr(real, '/') : NULL;
	char *name = mem_fmt("libnvrtc-builtins.so.%d.%d", nvrtc->version_major, nvrtc->version_minor);
	char *file = mem_fmt("%.*s/%s", end ? (int)(end - real) : 0, end ? real : "", name);
	if (end == NULL || dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) == NULL)
		dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	free(name);
	free(file);
}

/* Headers are opened whenever code includes them. */
static void allow_nvrtc(struct sandbox_files *f)
{
	struct gpu_rtc nvrtc;
	if (cuda_library_nvrtc(&nvrtc, NULL) < 0)
		return;
	open_builtins(&nvrtc);
	allow_folder_of(f, nvrtc.path);
	for (unsigned i = 0; i < nvrtc.include_count; i++)
		sandbox_files_allow(f, nvrtc.include[i], SANDBOX_FILES_READ);
}

/* hiprtc and comgr are opened here, and read no file of the machine after that. */
bool sandbox_places_compile(struct sandbox_files *f)
{
	struct gpu_rtc rtc;
	allow_nvrtc(f);
	return hip_library_rtc(&rtc, NULL) == 0 && sandbox_scratch_make(f);
}

/* Folders (or, with files, folders of files) in a variable that ld.so or a loader reads, separated by colons. */
static void allow_listed(struct sandbox_files *f, const char *variable, bool files)
{
	const char *at = getenv(variable);
	while (at && *at) {
		size_t n = strcspn(at, ":");
		char *path = mem_strn(at, n);
		if (files)
			allow_folder_of(f, path);
		else if (path[0] == '/' && path[1])
			sandbox_files_allow(f, path, SANDBOX_FILES_READ);
		free(path);
		at += n + (at[n] == ':');
	}
}

void sandbox_places_device(struct sandbox_files *f)
{
	static const char *const read[] = {
		"/usr", "/lib", "/lib64", "/opt/cuda", "/opt/nvidia", "/opt/rocm", "/nix/store", "/run/opengl-driver", "/run/nvidia", "/sys",
		"/etc/ld.so.cache", "/etc/vulkan", "/etc/glvnd", "/etc/drirc", "/etc/nvidia", "/etc/localtime",
		"/proc/driver", "/proc/cpuinfo", "/proc/meminfo", "/proc/devices", "/proc/modules", "/proc/version", "/proc/stat",
		"/proc/filesystems", "/proc/sys/vm", "/proc/sys/kernel",
	};
	static const char *const use[] = {
		"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dri", "/dev/dxg", "/dev/kfd", "/dev/udmabuf",
		"/proc/self", /* drivers name their threads there */
		"/tmp/nvidia-mps",
	};
	for (size_t i = 0; i < MEM_COUNT(read); i++)
		sandbox_files_allow(f, read[i], SANDBOX_FILES_READ);
	for (size_t i = 0; i < MEM_COUNT(use); i++)
		sandbox_files_allow(f, use[i], SANDBOX_FILES_DEVICE);
	sandbox_files_allow_all(f, "/dev/nvidia*", SANDBOX_FILES_DEVICE);
	allow_listed(f, "CUDA_MPS_PIPE_DIRECTORY", false);
	allow_listed(f, "LD_LIBRARY_PATH", false);
	allow_listed(f, "VK_DRIVER_FILES", true);
	allow_listed(f, "VK_ICD_FILENAMES", true);
	allow_listed(f, "VK_LAYER_PATH", false);
	allow_listed(f, "PEAKD_CUDA_DRIVER", true);
	allow_listed(f, "PEAKD_HIP_RUNTIME", true);
	allow_nvrtc(f); /* facts name NVRTC's version */
}
