/* Missing libraries are said, with what brings them; they never stop anything else from working. */
#include <stdlib.h>
#include <unistd.h>

#include "backends/cuda/backend.h"
#include "backends/cuda/library.h"
#include "tap.h"

static void missing_driver(void)
{
	struct err e = ERR_INIT;
	struct facts *facts = NULL;
	struct backend_device *device = NULL;
	size_t count = 77;

	setenv("PEAKD_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
	is_int(backend_cuda.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "no driver, no devices");
	has_str(e.text, "/nonexistent/libcuda.so.1", "says what was tried");
	has_str(e.text, "libcuda1", "says which package brings it");
	ok(facts == NULL && count == 77, "nothing is returned");
	is_int(backend_cuda.open(0, &device, &e), -ERR_UNSUPPORTED, "nor can one be opened");
	ok(device == NULL, "nothing is returned");
	/* A library that is something else entirely. */
	setenv("PEAKD_CUDA_DRIVER", "libc.so.6", 1);
	is_int(backend_cuda.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "a library without the driver's functions");
	has_str(e.text, "cuInit", "says what it lacks");
	unsetenv("PEAKD_CUDA_DRIVER");
}

static void missing_toolkit(void)
{
	char folder[] = "/tmp/peakd-cuda-XXXXXX";
	struct err e = ERR_INIT;
	struct gpu_rtc nvrtc;
	struct facts facts;
	struct wire_compile request = { .backend = (char *)"cuda", .arch = (char *)"sm_90a", .macros = (char *)"", .device = (char *)"" };
	struct wire_compiled compiled = { .binary = NULL };

	ok(mkdtemp(folder) != NULL, "an empty folder");
	setenv("PEAKD_CUDA_TOOLKIT", folder, 1);
	is_int(cuda_library_nvrtc(&nvrtc, &e), -ERR_UNSUPPORTED, "no compiler library");
	has_str(e.text, folder, "says where it looked");
	has_str(e.text, "cuda-nvrtc", "says which package brings it");
	is_int(backend_cuda.compile(&request, &compiled, &e), -ERR_UNSUPPORTED, "nothing compiles");
	is_int(backend_cuda.describe("sm_90a", &facts, &e), 0, "an architecture is described all the same");
	is_str(facts.driver, "no NVRTC found", "which is said");
	unsetenv("PEAKD_CUDA_TOOLKIT");
	rmdir(folder);
}

static void architectures(void)
{
	struct err e = ERR_INIT;
	struct facts f;

	is_int(backend_cuda.describe("sm_90a", &f, &e), 0, "sm_90a is known");
	is_str(f.id, "cuda:sm_90a", "its id");
	is_int(f.shared_optin, 232448, "227 KiB of shared memory");
	is_int(f.registers, 65536, "registers");
	is_int(f.max_cluster, 16, "blocks per cluster");
	ok(!f.runs && !f.shares_cpu, "it cannot run");
	ok(f.units == 0 && f.peak_f32 == 0 && !f.uuid[0], "nothing is said of a product");
	is_int(backend_cuda.describe("sm_75", &f, &e), 0, "sm_75 is known");
	is_int(f.shared_optin, 65536, "64 KiB");
	is_int(f.max_cluster, 1, "no clusters");
	is_int(backend_cuda.describe("sm_90ax", &f, &e), -ERR_NOT_FOUND, "sm_90ax is not");
	is_int(backend_cuda.describe("gfx90a", &f, &e), -ERR_NOT_FOUND, "nor gfx90a");
	is_int(backend_cuda.describe("", &f, &e), -ERR_NOT_FOUND, "nor nothing");
}

int main(void)
{
	missing_driver();
	missing_toolkit();
	architectures();
	return tap_done();
}
