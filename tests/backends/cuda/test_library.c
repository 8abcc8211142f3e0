/* A missing library gives an error that names its package, and never stops anything else from working. */
#include <stdlib.h>
#include <unistd.h>

#include "backends/cuda/cuda.h"
#include "tap.h"

static void missing_driver(void)
{
	struct err e = ERR_INIT;
	struct facts *facts = NULL;
	struct backend_device *device = NULL;
	size_t count = 77;

	setenv("PEAKD_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
	is_int(backend_cuda.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "listing devices without a driver is refused");
	has_str(e.text, "/nonexistent/libcuda.so.1", "the message names the file that was tried");
	has_str(e.text, "libcuda1", "the message names the package");
	ok(facts == NULL && count == 77, "no list is returned");
	is_int(backend_cuda.open(0, &device, &e), -ERR_UNSUPPORTED, "opening a device without a driver is refused");
	ok(device == NULL, "no device is returned");
	/* A library that is something else entirely. */
	setenv("PEAKD_CUDA_DRIVER", "libc.so.6", 1);
	is_int(backend_cuda.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "a library without the driver's functions is refused");
	has_str(e.text, "cuInit", "the message names a missing function");
	unsetenv("PEAKD_CUDA_DRIVER");
}

static void missing_toolkit(void)
{
	char folder[] = "/tmp/peakd-cuda-XXXXXX";
	struct err e = ERR_INIT;
	struct gpu_rtc nvrtc;
	struct facts facts;
	struct wire_compile request = { .backend = (char *)"cuda", .arch = (char *)"sm_90a", .macros = (char *)"",
					.device = (char *)"" };
	struct wire_compiled compiled = { .binary = NULL };

	ok(mkdtemp(folder) != NULL, "make an empty folder");
	setenv("PEAKD_CUDA_TOOLKIT", folder, 1);
	is_int(cuda_library_nvrtc(&nvrtc, &e), -ERR_UNSUPPORTED, "opening NVRTC without a toolkit is refused");
	has_str(e.text, folder, "the message names the searched folder");
	has_str(e.text, "cuda-nvrtc", "the message names the package");
	is_int(backend_cuda.compile(&request, &compiled, &e), -ERR_UNSUPPORTED, "compiling without a toolkit is refused");
	is_int(backend_cuda.describe("sm_90a", &facts, &e), 0, "an architecture is described without a toolkit");
	is_str(facts.driver, "no NVRTC found", "the description says that NVRTC is missing");
	unsetenv("PEAKD_CUDA_TOOLKIT");
	rmdir(folder);
}

static void architectures(void)
{
	struct err e = ERR_INIT;
	struct facts f;

	is_int(backend_cuda.describe("sm_90a", &f, &e), 0, "describe sm_90a");
	is_str(f.id, "cuda:sm_90a", "id");
	is_int(f.shared_optin, 232448, "227 KiB of shared memory");
	is_int(f.registers, 65536, "registers");
	is_int(f.max_cluster, 16, "blocks per cluster");
	ok(!f.runs && !f.shares_cpu, "an architecture does not run kernels");
	ok(f.units == 0 && f.peak_f32 == 0 && !f.uuid[0], "an architecture has no units, clock or UUID");
	is_int(backend_cuda.describe("sm_75", &f, &e), 0, "describe sm_75");
	is_int(f.shared_optin, 65536, "64 KiB of shared memory");
	is_int(f.max_cluster, 1, "no clusters on sm_75");
	is_int(backend_cuda.describe("sm_90ax", &f, &e), -ERR_NOT_FOUND, "sm_90ax is unknown");
	is_int(backend_cuda.describe("gfx90a", &f, &e), -ERR_NOT_FOUND, "gfx90a is unknown");
	is_int(backend_cuda.describe("", &f, &e), -ERR_NOT_FOUND, "the empty architecture is unknown");
}

int main(void)
{
	missing_driver();
	missing_toolkit();
	architectures();
	return tap_done();
}
