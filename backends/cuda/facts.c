/* facts: see cuda.h. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/api.h"
#include "base/mem.h"

/* One compute capability. Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". fp32 lanes
 * and tensor rates: the architecture white papers (Volta, Turing, GA100, GA102, Ada, H100, Blackwell) as multiply-adds per
 * clock and multiprocessor, dense, fp32 accumulation, of the fastest product: consumer parts run at half of it, so these
 * peaks are never too low. H100's 989 TFLOP/s dense f16 = 132 units × 2048 × 2 × 1.83 GHz. 0: not published. */
struct capability {
	unsigned cc;           /* 10·major + minor */
	const char *suffix;    /* of the compile target that has all of the chip's instructions */
	uint32_t shared_optin; /* KiB per block */
	uint32_t max_cluster;  /* blocks, with the opt-in beyond the portable 8 */
	struct gpu_rates rates;
};
static const struct capability capabilities[] = {
	{ 70, "", 96, 1, { 64, 512, 0 } },          { 72, "", 96, 1, { 64, 512, 0 } },
	{ 75, "", 64, 1, { 64, 512, 0 } },          { 80, "", 163, 1, { 64, 1024, 512 } },
	{ 86, "", 99, 1, { 128, 512, 256 } },       { 87, "", 163, 1, { 128, 512, 256 } },
	{ 88, "", 99, 1, { 128, 512, 256 } },       { 89, "", 99, 1, { 128, 512, 256 } },
	{ 90, "a", 227, 16, { 128, 2048, 1024 } },  { 100, "a", 227, 16, { 128, 4096, 2048 } },
	{ 103, "a", 227, 16, { 128, 4096, 2048 } }, { 110, "a", 227, 16, { 128, 0, 0 } },
	{ 120, "a", 99, 8, { 128, 512, 256 } },     { 121, "a", 99, 8, { 128, 512, 256 } },
};

static const struct capability *capability_find(unsigned cc)
{
	for (size_t i = 0; i < MEM_COUNT(capabilities); i++)
		if (capabilities[i].cc == cc)
			return &capabilities[i];
	return NULL;
}

static struct facts common(void)
{
	/* The same since compute capability 3.0 (Programming Guide, same table). */
	return (struct facts){
		.backend = "cuda",
		.warp_size = 32,
		.max_threads = 1024,
		.max_block = { 1024, 1024, 64 },
		.max_grid = { 2147483647, 65535, 65535 },
		.shared_static = 48 * 1024,
		.shared_optin = 48 * 1024,
		.registers = 65536,
		.max_cluster = 1,
	};
}

int cuda_facts_describe(const char *arch, struct facts *ret_facts, struct err *e)
{
	const struct capability *c = NULL;
	struct facts f = common();
	struct gpu_rtc nvrtc;
	unsigned cc = 0;
	char suffix = 0, rest = 0;
	int n = sscanf(arch, "sm_%3u%c%c", &cc, &suffix, &rest);

	if (n >= 1 && n <= 2 && (suffix == 0 || suffix == 'a' || suffix == 'f'))
		c = capability_find(cc);
	if (!c || strlen(arch) >= sizeof f.arch) {
		struct buf list = BUF_INIT;
		int rc;
		for (size_t i = 0; i < MEM_COUNT(capabilities); i++)
			buf_addf(&list, " sm_%u%s", capabilities[i].cc, capabilities[i].suffix);
		rc = err_set(e, ERR_NOT_FOUND, "unknown NVIDIA architecture \"%.40s\": expected one of%s", arch, buf_text(&list));
		buf_fini(&list);
		return rc;
	}
	snprintf(f.arch, sizeof f.arch, "%s", arch);
	snprintf(f.id, sizeof f.id, "cuda:%s", arch);
	snprintf(f.name, sizeof f.name, "NVIDIA compute capability %u.%u (compile only)", cc / 10, cc % 10);
	if (cuda_library_nvrtc(&nvrtc, NULL) == 0)
		snprintf(f.driver, sizeof f.driver, "NVRTC %d.%d", nvrtc.version_major, nvrtc.version_minor);
	else
		snprintf(f.driver, sizeof f.driver, "no NVRTC found");
	f.shared_optin = c->shared_optin * 1024;
	f.max_cluster = c->max_cluster;
	*ret_facts = f;
	return 0;
}

/* One line of versions: the kernel module's own ("580.95.05"; the driver API only tells which CUDA it implements), CUDA,
 * libraries. */
static void describe_driver(const struct gpu_driver *driver, struct facts *f)
{
	FILE *file = fopen("/proc/driver/nvidia/version", "re");
	struct buf text = BUF_INIT;
	struct gpu_rtc nvrtc;
	char line[512] = "", blas[32];
	int version = 0;

	if (file && fgets(line, sizeof line, file))
		for (char *rest = NULL, *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
			if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
				buf_addf(&text, "driver %.31s, ", word);
				break;
			}
	if (file)
		fclose(file);
	driver->version(&version);
	buf_addf(&text, "CUDA %d.%d", version / 1000, version % 1000 / 10);
	if (cuda_library_nvrtc(&nvrtc, NULL) == 0)
		buf_addf(&text, ", NVRTC %d.%d", nvrtc.version_major, nvrtc.version_minor);
	cuda_gemm_version(blas);
	if (blas[0])
		buf_addf(&text, ", cuBLASLt %s", blas);
	snprintf(f->driver, sizeof f->driver, "%s", buf_text(&text));
	buf_fini(&text);
}

#define ATTRIBUTE(member, name, ...) .member = (name),
static const struct gpu_attributes attributes = { .vendor = "NVIDIA", GPU_ATTRIBUTE_LIST(ATTRIBUTE) };

int cuda_facts_device(const struct gpu_driver *driver, uint32_t index, struct facts *ret_facts, struct err *e)
{
	const struct capability *c;
	struct facts f = common();
	gpu_uuid u;
	int device;
	unsigned cc;
	uint32_t optin;
	int rc = gpu_facts_limits(driver, index, &attributes, &device, &f, e);

	if (rc < 0)
		return rc;
	cc = 10 * gpu_facts_ask(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
	     gpu_facts_ask(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	c = capability_find(cc);
	snprintf(f.arch, sizeof f.arch, "sm_%u%s", cc, c ? c->suffix : cc >= 90 ? "a" : "");
	gpu_facts_peaks(driver, device, &attributes, c ? &c->rates : NULL, &f);
	optin = gpu_facts_ask(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	if (optin > f.shared_static)
		f.shared_optin = optin;
	/* As nvidia-smi writes it, so that peakd's lock per device and CUDA_VISIBLE_DEVICES mean the same. */
	if (driver->device_uuid(&u, device) == GPU_SUCCESS) {
		int n = snprintf(f.uuid, sizeof f.uuid, "GPU-");
		for (int i = 0; i < 16; i++)
			n += snprintf(f.uuid + n, sizeof f.uuid - (size_t)n,
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u.bytes[i]);
	}
	describe_driver(driver, &f);
	if (gpu_facts_ask(driver, device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
		f.max_cluster = c ? c->max_cluster : 8;
	*ret_facts = f;
	return 0;
}

int cuda_facts_devices(struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct gpu_driver driver;
	int rc = cuda_library_driver(&driver, e);
	return rc < 0 ? rc : gpu_facts_devices(&driver, cuda_facts_device, ret_facts, ret_count, e);
}
