/* Finding AMD's libraries: the names and layouts of ROCm 5, 6 and 7 are told apart, against stand-ins that this test
 * builds. A missing library gives an error that names its package, and never stops anything else from working. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/hip/image.h"
#include "backends/hip/hip.h"
#define PLANS_BACKEND backend_hip
#include "backends/plans.h"
#include "tap.h"

static char folder[64];

/* Runs a command; its status. */
static int shell(char *take_command)
{
	int rc = system(take_command);
	free(take_command);
	return rc;
}

/* FOLDER/NAME/lib/FILE, built from the stand-in. */
static bool build(const char *name, const char *file, const char *defines)
{
	return shell(mem_fmt("mkdir -p %s/%s/lib && cc -shared -fPIC -w -x c %s -o %s/%s/lib/%s tests/backends/hip/stub_rocm.h",
			     folder, name, defines, folder, name, file)) == 0;
}

static void use(const char *name)
{
	char *path = mem_fmt("%s/%s", folder, name);
	setenv("PEAKD_ROCM", path, 1);
	free(path);
}

/* Everything from the list of devices to a result of a run. */
static void whole_run(const char *arch, bool graphs)
{
	struct buf im = BUF_INIT;
	struct plan *p = plan_new();
	struct plan_launch *l;
	struct backend_device *device = NULL;
	struct backend_run *run = NULL;
	struct err e = ERR_INIT;
	uint64_t ns = 0;
	int32_t got = 0;

	add_buffer(p, "C", PLAN_OUT, 1, 16);
	l = add_launch(p, "kern", 1, 1, 64, 1);
	add_buffer_arg(l, "C", 0);
	add_int_arg(l, "n", DTYPE_I32, 4711);
	image(&im);
	is_int(backend_hip.open(0, &device, &e), 0, "%s: open the device (%s)", arch, e.text);
	is_int(backend_hip.open(1, &(struct backend_device *){ NULL }, &e), -ERR_NOT_FOUND,
	       "%s: an index beyond the last device is refused", arch);
	if (device && backend_hip.prepare(device, im.data, im.len, p, &run, &e) == 0) {
		is_int(backend_hip.execute(run, 2, WIRE_WARM, &ns, &e), 0, "%s: execute a plan (%s)", arch,
		       graphs ? "graph" : "stream");
		backend_hip.read(run, 0, 0, &got, sizeof got, &e);
		is_int(got, 4711, "%s: the kernel leaves its result", arch);
		is_int(ns, graphs ? 1000000 : 500000, "%s: the time is that of a graph or of a stream", arch);
		backend_hip.release(run);
	} else {
		ok(false, "%s: prepare a plan (%s)", arch, e.text);
	}
	backend_hip.close(device);
	buf_fini(&im);
	plan_free(p);
}

static void rocm(const char *name, int major, const char *arch, const char *driver)
{
	struct facts *f = NULL, limits;
	size_t count = 0;
	struct gpu_driver rt;
	struct gpu_rtc rtc;
	struct err e = ERR_INIT;
	struct wire_compiled c;
	struct plan *p = small_plan("k", 1, 32);

	use(name);
	is_int(hip_library_runtime(&rt, &e), 0, "%s: open the runtime (%s)", name, e.text);
	is_int(rt.major, major, "%s: the runtime's version", name);
	has_str(rt.path, name, "%s: the runtime's path", name);
	is_int(backend_hip.devices(&f, &count, &e), 0, "%s: list the devices (%s)", name, e.text);
	if (count == 1) {
		is_str(f->arch, arch, "%s: the architecture comes from the right layout, without features", name);
		ok(f->warp_size == 64 && f->units == 110 && f->max_threads == 1024 && f->shared_static == 65536 &&
			   f->l2_bytes == 8 << 20 && f->max_block[2] == 1024 && f->clock_khz == 1700000 && f->runs &&
			   f->memory_bytes == (uint64_t)64 << 30,
		   "%s: the device's facts", name);
		ok(f->peak_bytes == 2 * 1600000e3 * 4096 / 8, "%s: the memory's peak is %g bytes/s", name, f->peak_bytes);
		is_str(f->uuid, "PCI-0000:c1:00.0", "%s: the PCI address identifies the device", name);
		is_str(f->driver, driver, "%s: the driver line has both versions", name);
	}
	is_int(hip_library_rtc(&rtc, &e), 0, "%s: open the compiler (%s)", name, e.text);
	ok(hip_library_knows(&rtc, "gfx942", NULL) && !hip_library_knows(&rtc, "gfx94", NULL),
	   "%s: the compiler lists its architectures", name);
	is_int(backend_hip.describe("gfx1100", &limits, &e), 0, "%s: describe gfx1100", name);
	is_int(limits.warp_size, 32, "%s: gfx1100 has waves of 32", name);
	is_int(compile("gfx1100", "", "", p, &c, &e), -ERR_UNSUPPORTED, "%s: a compiler is never asked for an unknown architecture",
	       name);
	whole_run(name, major >= 6);
	plan_free(p);
	free(f);
}

static void versions(void)
{
	ok(build("rocm5", "libamdhip64.so.5", "-DLIB_RUNTIME -DLIB_RTC -DOLD -DDEVICES=1 -DVERSION=50221153 -DRTC_MAJOR=5") &&
	   build("rocm5", "libamd_comgr.so.2", "-DLIB_COMGR"), "build a stand-in for ROCm 5");
	/* ROCm 6 exports both structures, and hiprtc from both libraries. */
	ok(build("rocm6", "libamdhip64.so.6",
		 "-DLIB_RUNTIME -DLIB_RTC -DOLD -DR0600 -DDEVICES=1 -DVERSION=60140093 -DRTC_MAJOR=66") &&
		   build("rocm6", "libhiprtc.so.6", "-DLIB_RTC -DRTC_MAJOR=6") &&
		   build("rocm6", "libamd_comgr.so.2", "-DLIB_COMGR"),
	   "build a stand-in for ROCm 6");
	ok(build("rocm7", "libamdhip64.so.7", "-DLIB_RUNTIME -DR0600 -DDEVICES=1 -DVERSION=70051831 -DRTC_MAJOR=7") &&
		   build("rocm7", "libhiprtc.so.7", "-DLIB_RTC -DRTC_MAJOR=7") &&
		   build("rocm7", "libamd_comgr.so.3", "-DLIB_COMGR"),
	   "build a stand-in for ROCm 7");
	rocm("rocm5", 5, "gfx90a", "HIP 5.2.21153, hiprtc 5.1");
	rocm("rocm6", 6, "gfx942", "HIP 6.1.40093, hiprtc 6.1");
	rocm("rocm7", 7, "gfx942", "HIP 7.0.51831, hiprtc 7.1");
	/* Side by side, the newest wins. */
	ok(shell(mem_fmt("mkdir -p %s/both/lib && ln -s %s/rocm?/lib/lib*.so.[67] %s/both/lib/", folder, folder, folder)) == 0,
	   "put two versions side by side");
	use("both");
	{
		struct gpu_driver rt = { .major = 0 };
		hip_library_runtime(&rt, NULL);
		is_int(rt.major, 7, "the newer version wins");
	}
}

static void missing(void)
{
	struct err e = ERR_INIT;
	struct facts *facts = NULL, limits;
	struct backend_device *device = NULL;
	struct plan *p = small_plan("k", 1, 32);
	struct wire_compiled c;
	size_t count = 77;

	use("nothing");
	is_int(backend_hip.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "listing devices without a runtime is refused");
	has_str(e.text, "/nothing", "the message names the searched folder");
	has_str(e.text, "libamdhip64-5", "the message names the package");
	ok(facts == NULL && count == 77, "no list is returned");
	is_int(backend_hip.open(0, &device, &e), -ERR_UNSUPPORTED, "opening a device without a runtime is refused");
	is_int(compile("gfx90a", "", "", p, &c, &e), -ERR_UNSUPPORTED, "compiling without hiprtc is refused");
	has_str(e.text, "libhiprtc.so", "the message names the missing library");
	is_int(backend_hip.describe("gfx90a", &limits, &e), 0, "an architecture is described without ROCm");
	is_str(limits.driver, "no hiprtc found", "the description says that hiprtc is missing");

	ok(build("empty", "libamdhip64.so.6", "-DLIB_RUNTIME -DR0600 -DDEVICES=0 -DVERSION=60000000"),
	   "build a runtime without a device");
	use("empty");
	is_int(backend_hip.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "listing devices of a runtime without one is refused");
	has_str(e.text, "sees no AMD GPU", "the message says that there is no GPU");
	has_str(e.text, "/dev/kfd", "the message says what to check");
	ok(build("old", "libamdhip64.so.5", "-DLIB_RUNTIME -DDEVICES=1 -DVERSION=0"),
	   "build a runtime without a property structure");
	use("old");
	is_int(backend_hip.devices(&facts, &count, &e), -ERR_UNSUPPORTED, "a runtime without a property structure is refused");
	has_str(e.text, "hipGetDeviceProperties", "the message names the missing function");
	ok(build("nocomgr", "libamdhip64.so.5", "-DLIB_RUNTIME -DLIB_RTC -DOLD -DDEVICES=1 -DVERSION=0 -DRTC_MAJOR=5"),
	   "build hiprtc without comgr");
	use("nocomgr");
	is_int(compile("gfx90a", "", "", p, &c, &e), -ERR_UNSUPPORTED, "compiling without comgr is refused: ROCm 5.2 would crash");
	has_str(e.text, "libamd_comgr", "the message names the missing library");
	plan_free(p);
}

static void architectures(void)
{
	struct err e = ERR_INIT;
	struct facts f;

	use("nothing");
	is_int(backend_hip.describe("gfx90a", &f, &e), 0, "describe gfx90a");
	is_str(f.id, "hip:gfx90a", "id");
	ok(f.shared_static == 65536 && f.warp_size == 64 && f.max_threads == 1024 && f.max_cluster == 1, "limits");
	is_int(f.registers, 131072, "512 registers × 4 SIMDs × 64 lanes");
	ok(!f.runs && f.units == 0 && f.peak_f32 == 0 && !f.uuid[0], "an architecture has no units, peaks or UUID");
	is_int(backend_hip.describe("gfx90x", &f, &e), -ERR_NOT_FOUND, "gfx90x is unknown");
	is_int(backend_hip.describe("sm_90a", &f, &e), -ERR_NOT_FOUND, "sm_90a is unknown");
	is_int(backend_hip.describe("", &f, &e), -ERR_NOT_FOUND, "the empty architecture is unknown");
}

int main(void)
{
	unsetenv("PEAKD_HIP_RUNTIME");
	snprintf(folder, sizeof folder, "/tmp/peakd-hip-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	if (access("tests/backends/hip/stub_rocm.h", R_OK) == 0 && shell(mem_str("command -v cc >/dev/null")) == 0) {
		versions();
		missing();
	} else {
		SKIP(1, "no C compiler or sources here to build the stand-in libraries with");
	}
	architectures();
	shell(mem_fmt("rm -rf %s", folder));
	return tap_done();
}
