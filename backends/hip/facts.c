/* facts: see hip.h. */
#include "backends/hip/hip.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/api.h"
#include "base/mem.h"

/* Registers, waves and SIMDs: LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp (getTotalNumVGPRs: 256 before gfx90a,
 * 512 with its instructions, 1024 from gfx10 on, 1536 with Feature1_5xVGPRs: gfx1100, gfx1101, gfx1151, gfx120x;
 * getVGPRAllocGranule: 4, 8, 8, 16 from gfx10.3 on, 24; getMaxWavesPerEU: 10, 8, 20, 16; getEUsPerCU: 4 in work-group
 * processor mode); gfx10 and newer as compiled by default (wave32, work-group processor mode). LDS: "AMD GPU
 * specifications", rocm.docs.amd.com/en/latest/reference/gpu-specs.html (64 KiB a compute unit, 160 on gfx950). Rates: AMD's
 * CDNA, CDNA 2 and CDNA 3 white papers: MI100 46.1 (fp32 matrix) and 184.6 TFLOP/s f16 = 120 units × 1502 MHz; MI250X 95.7
 * and 383 = 220 × 1700 MHz; MI300X 163.4, 653.7 tf32 and 1307.4 f16 = 304 × 2100 MHz. */
static const struct hip_arch archs[] = {
	{ "gfx900", 64, 4, 10, 256, 4, false, 64, 64, { 64, 0, 0 } },
	{ "gfx906", 64, 4, 10, 256, 4, false, 64, 64, { 64, 0, 0 } },
	{ "gfx908", 64, 4, 10, 256, 4, false, 64, 64, { 128, 512, 0 } },
	{ "gfx90a", 64, 4, 8, 512, 8, true, 64, 64, { 128, 512, 0 } },
	{ "gfx942", 64, 4, 8, 512, 8, true, 64, 64, { 128, 1024, 512 } },
	{ "gfx950", 64, 4, 8, 512, 8, true, 160, 160, { 0, 0, 0 } },
	{ "gfx101*", 32, 4, 20, 1024, 8, false, 128, 64, { 0, 0, 0 } },
	{ "gfx103*", 32, 4, 16, 1024, 16, false, 128, 64, { 0, 0, 0 } },
	{ "gfx1100", 32, 4, 16, 1536, 24, false, 128, 64, { 0, 0, 0 } },
	{ "gfx1101", 32, 4, 16, 1536, 24, false, 128, 64, { 0, 0, 0 } },
	{ "gfx1102", 32, 4, 16, 1024, 16, false, 128, 64, { 0, 0, 0 } },
	{ "gfx1103", 32, 4, 16, 1024, 16, false, 128, 64, { 0, 0, 0 } },
	{ "gfx1151", 32, 4, 16, 1536, 24, false, 128, 64, { 0, 0, 0 } },
	{ "gfx115*", 32, 4, 16, 1024, 16, false, 128, 64, { 0, 0, 0 } },
	{ "gfx120*", 32, 4, 16, 1536, 24, false, 128, 64, { 0, 0, 0 } },
};

const struct hip_arch *hip_facts_arch(const char *arch)
{
	for (size_t i = 0; i < MEM_COUNT(archs); i++) {
		const char *star = strchr(archs[i].name, '*');
		if (star ? strncmp(archs[i].name, arch, (size_t)(star - archs[i].name)) == 0 : strcmp(archs[i].name, arch) == 0)
			return &archs[i];
	}
	return NULL;
}

static struct facts common(void)
{
	/* HIP programming manual: at most 1024 threads per block in any shape; grids of up to 2^32 - 1 threads a dimension. */
	return (struct facts){ .backend = "hip",
			       .warp_size = 64,
			       .max_threads = 1024,
			       .max_block = { 1024, 1024, 1024 },
			       .max_grid = { 2147483647, 65535, 65535 },
			       .shared_static = 64 * 1024,
			       .shared_optin = 64 * 1024,
			       .max_cluster = 1 };
}

static bool is_arch_name(const char *arch)
{
	size_t n = strlen(arch);
	if (n < 6 || n > 16 || strncmp(arch, "gfx", 3) != 0)
		return false;
	for (size_t i = 3; i < n; i++)
		if (!isdigit((unsigned char)arch[i]) && !(arch[i] >= 'a' && arch[i] <= 'f'))
			return false;
	return true;
}

static int unknown(const char *arch, const struct buf *known, struct err *e)
{
	struct buf list = BUF_INIT;
	for (size_t i = 0; i < MEM_COUNT(archs); i++)
		buf_addf(&list, " %s", archs[i].name);
	int rc = err_set(e, ERR_NOT_FOUND, "unknown AMD architecture \"%.40s\": expected one of%s%s%s", arch, buf_text(&list),
			 known->len ? "; this compiler knows " : "", buf_text(known));
	buf_fini(&list);
	return rc;
}

int hip_facts_describe(const char *arch, struct facts *ret_facts, struct err *e)
{
	const struct hip_arch *a = is_arch_name(arch) ? hip_facts_arch(arch) : NULL;
	struct facts f = common();
	struct buf known = BUF_INIT;
	struct gpu_rtc rtc;
	if (!a) {
		int rc;
		if (hip_library_rtc(&rtc, NULL) == 0)
			hip_library_knows(&rtc, arch, &known);
		rc = unknown(arch, &known, e);
		buf_fini(&known);
		return rc;
	}
	f.warp_size = a->wave;
	f.registers = a->vgprs * a->simds * a->wave;
	f.shared_static = f.shared_optin = a->lds_block * 1024;
	snprintf(f.arch, sizeof f.arch, "%s", arch);
	snprintf(f.id, sizeof f.id, "hip:%s", arch);
	snprintf(f.name, sizeof f.name, "AMD %s (compile only)", arch);
	if (hip_library_rtc(&rtc, NULL) == 0)
		snprintf(f.driver, sizeof f.driver, "hiprtc %d.%d", rtc.version_major, rtc.version_minor);
	else
		snprintf(f.driver, sizeof f.driver, "no hiprtc found");
	*ret_facts = f;
	return 0;
}

/* --- a device --------------------------------------------------------------------------------------------------------- */
#define ATTRIBUTE(member, cuda, cuda_number, name, number) .member = (name),
static const struct gpu_attributes attributes = { .vendor = "AMD", GPU_ATTRIBUTE_LIST(ATTRIBUTE) };

/* "gfx90a:sramecc+:xnack-" → "gfx90a": code compiled without features runs with any of them (AMDGPU user guide, "Target
 * ID"). */
static bool ask_arch(const struct gpu_driver *rt, int device, char arch[32])
{
	/* Larger than any version's structure, in case a runtime writes more than expected. */
	_Alignas(16) char properties[4 * HIP_PROPERTIES_R0600];
	const char *name = NULL;

	memset(properties, 0, sizeof properties);
	if (rt->properties_r0600 && rt->properties_r0600(properties, device) == GPU_SUCCESS)
		name = properties + HIP_PROPERTIES_R0600_ARCH;
	else if (!rt->properties_r0600 && rt->properties_old && rt->properties_old(properties, device) == GPU_SUCCESS)
		name = properties + HIP_PROPERTIES_OLD_ARCH;
	if (!name || strncmp(name, "gfx", 3) != 0)
		return false;
	snprintf(arch, 32, "%.*s", (int)strcspn(name, ":"), name);
	return is_arch_name(arch);
}

int hip_facts_device(const struct gpu_driver *rt, uint32_t index, struct facts *ret_facts, struct err *e)
{
	const struct hip_arch *arch;
	struct facts f = common();
	struct gpu_rtc rtc;
	gpu_uuid u;
	char bus[32] = "";
	int version = 0, device, n, rc = gpu_facts_limits(rt, index, &attributes, &device, &f, e);
	if (rc < 0)
		return rc;
	/* shares_cpu stays false: prompts and timing use it for devices whose speed is the CPU's. */
	f.emulated = rt->emulated != NULL;
	if (!ask_arch(rt, device, f.arch))
		return err_set(e, ERR_UNSUPPORTED,
			       "hip:%u: the HIP runtime (%s) does not report the device's architecture; see rocminfo", index,
			       rt->path);
	arch = hip_facts_arch(f.arch);
	gpu_facts_peaks(rt, device, &attributes, arch ? &arch->rates : NULL, &f);
	/* Without hipDeviceGetUuid, the PCI address identifies the physical device. */
	if (rt->device_uuid && rt->device_uuid(&u, device) == GPU_SUCCESS) {
		n = snprintf(f.uuid, sizeof f.uuid, "GPU-");
		for (int i = 0; i < 16; i++)
			n += snprintf(f.uuid + n, sizeof f.uuid - (size_t)n, "%02x", u.bytes[i]);
	} else if (rt->device_bus(bus, sizeof bus, device) == GPU_SUCCESS) {
		snprintf(f.uuid, sizeof f.uuid, "PCI-%.31s", bus);
	}
	rt->version(&version);
	/* HIP_VERSION = major·10^7 + minor·10^5 + patch (HIP's hip_version.h). */
	n = f.emulated ? snprintf(f.driver, sizeof f.driver, "no driver")
		       : snprintf(f.driver, sizeof f.driver, "HIP %d.%d.%d", version / 10000000, version / 100000 % 100,
				  version % 100000);
	if (hip_library_rtc(&rtc, NULL) == 0)
		snprintf(f.driver + n, sizeof f.driver - (size_t)n, ", hiprtc %d.%d", rtc.version_major, rtc.version_minor);
	*ret_facts = f;
	return 0;
}

int hip_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct gpu_driver rt;
	int rc = hip_library_runtime(&rt, e);
	return rc < 0 ? rc : gpu_facts_devices(&rt, hip_facts_device, ret_facts, ret_count, e);
}
