/* NVML as a GPU monitor, against a stand-in library: what it reads, and what stays unknown. */
#include "backends/gpu/gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include "backends/cuda/stub.h"
#include "tap.h"

int main(void)
{
	char folder[] = "/tmp/peakd-nvml-XXXXXX";
	ok(mkdtemp(folder) != NULL, "make a folder");
	char *file = mem_fmt("%s/libnvidia-ml.so.1", folder);
	setenv("PEAKD_CUDA_NVML", file, 1);
	struct gpu_monitor *w = gpu_monitor_new(&gpu_nvml_monitor, "cuda", "GPU-1");
	has_str(gpu_monitor_note(w), "libnvidia-ml1", "without the library the note names the package");
	ok(gpu_monitor_look(w).core_mhz == 0 && !gpu_monitor_look(w).disturbed, "without the library nothing is known");
	gpu_monitor_free(w);
	if (!stub_build("LIB_NVML", file)) {
		SKIP(1, "no C compiler");
		return tap_done();
	}
	void *stub = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	int *known = dlsym(stub, "stub_known"), *listed = dlsym(stub, "stub_listed");
	unsigned *load = dlsym(stub, "stub_load");
	w = gpu_monitor_new(&gpu_nvml_monitor, "cuda", "GPU-1");
	is_str(gpu_monitor_note(w), "", "with the library there is no note");
	struct wire_condition c = gpu_monitor_look(w);
	ok(c.core_mhz == 1755 && c.memory_mhz == 2619 && c.milliwatts == 412345 && c.celsius == 61,
	   "clocks, power and temperature are read");
	is_int(c.throttle, WIRE_THROTTLE_POWER_CAP, "throttle reasons are read through the older function");
	ok(c.foreign == 0 && !c.disturbed, "own load and earlier load are not foreign load");
	*load = 40;
	gpu_monitor_begin(w, false);
	c = gpu_monitor_look(w);
	ok(c.foreign == 40 && c.disturbed, "load of another process is foreign load");
	*listed = 0;
	gpu_monitor_begin(w, false);
	c = gpu_monitor_look(w);
	ok(c.foreign == WIRE_UNKNOWN && !c.disturbed, "foreign load is unknown when the process list lacks this process");
	uint64_t mj = 0;
	ok(gpu_monitor_energy(w, &mj) && mj == 123456, "the energy counter is read");
	gpu_monitor_free(w);
	w = gpu_monitor_new(&gpu_nvml_monitor, "hlsl", "vulkan-0123456789abcdef0123456789abcdef-0");
	is_str(dlsym(stub, "stub_uuid"), "GPU-01234567-89ab-cdef-0123-456789abcdef",
	       "a Vulkan device is asked for by its GPU's UUID");
	is_int(gpu_monitor_look(w).core_mhz, 1755, "its clock is read");
	gpu_monitor_free(w);
	*known = 0;
	w = gpu_monitor_new(&gpu_nvml_monitor, "cuda", "GPU-1");
	has_str(gpu_monitor_note(w), "Not Found", "the note says that NVML does not know the device");
	gpu_monitor_free(w);
	unlink(file);
	rmdir(folder);
	free(file);
	return tap_done();
}
