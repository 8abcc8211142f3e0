/* nvrtc: tests whether there is a faster way to a binary than the one call in backends/cuda/compile.c: `build/bench/nvrtc FILE…`.
 *
 * It compiles a sample of each context's configurations in one loaded process, alternately in four ways:
 *	whole        as compile.c does: one translation unit to a binary
 *	hoisted      the device code's #include lines come before the parameters
 *	pch          the same with precompiled headers up to there, in a folder of this process; the first one writes them
 *	split        to PTX, from which nvJitLink makes the binary; both parts are timed
 * It prints the median CPU milliseconds of each way and the median of each configuration's ratios to whole. Compilation runs on one
 * thread, so other load on the machine matters little. NVRTC's own cache is off. One line of JSON a file on stdout. Needs a CUDA
 * toolkit, no GPU. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/cuda/cuda.h"
#include "base/buf.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/space.h"

enum { SAMPLE = 24, NVJITLINK_PTX = 2 };
enum way { WHOLE, HOISTED, PCH, SPLIT, WAYS };
static const char *const way_names[WAYS] = { "whole", "hoisted", "pch", "split" };
#define ARCH "90a"

/* The part of nvJitLink's published interface that is needed. */
struct linker {
	int (*create)(void **handle, uint32_t option_count, const char **options);
	int (*add)(void *handle, int type, const void *data, size_t bytes, const char *name);
	int (*complete)(void *handle);
	int (*size)(void *handle, size_t *bytes);
	int (*destroy)(void **handle);
};

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool linker_open(struct linker *l)
{
	static const char *const names[] = { "libnvJitLink.so.13", "libnvJitLink.so.12" };
	struct buf tried = BUF_INIT;
	void *library = cuda_library_open(names, MEM_COUNT(names), &tried);
	buf_fini(&tried);
	if (library == NULL)
		return false;
	*(void **)&l->create = dlsym(library, "nvJitLinkCreate");
	*(void **)&l->add = dlsym(library, "nvJitLinkAddData");
	*(void **)&l->complete = dlsym(library, "nvJitLinkComplete");
	*(void **)&l->size = dlsym(library, "nvJitLinkGetLinkedCubinSize");
	*(void **)&l->destroy = dlsym(library, "nvJitLinkDestroy");
	return l->create && l->add && l->complete && l->size && l->destroy;
}

/* Adds the lines that begin with #include, in order. */
static void add_includes(const char *text, struct buf *out)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		if (strncmp(line, "#include", 8) == 0)
			buf_addf(out, "%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static char *source_of(const struct context *ctx, const struct params *params, enum way way)
{
	struct buf out = BUF_INIT;
	size_t count;
	struct wire_define *defines = context_defines(ctx, params, &count);
	if (way == HOISTED || way == PCH) {
		add_includes(context_region(ctx, REGION_MACROS), &out);
		add_includes(context_region(ctx, REGION_DEVICE), &out);
		/* The precompiled part ends here, because parameters differ. */
		buf_adds(&out, way == PCH && out.len ? "#pragma nv_hdrstop\n" : "");
	}
	for (size_t i = 0; i < count; i++)
		buf_addf(&out, "#define %s %s\n", defines[i].name, defines[i].value);
	buf_addf(&out, "%s\n%s\n", context_region(ctx, REGION_MACROS), context_region(ctx, REGION_DEVICE));
	context_defines_free(defines, count);
	return buf_steal(&out);
}

static bool link_ptx(const struct linker *l, const char *ptx)
{
	const char *options[] = { "-arch=sm_" ARCH };
	void *handle = NULL;
	size_t bytes = 0;
	if (l->create(&handle, 1, options) != 0)
		return false;
	bool good = l->add(handle, NVJITLINK_PTX, ptx, strlen(ptx) + 1, "device") == 0 && l->complete(handle) == 0 &&
	            l->size(handle, &bytes) == 0 && bytes > 0;
	l->destroy(&handle);
	return good;
}

/* CPU milliseconds; NAN when it does not compile. *ret_link: the part in nvJitLink, set only where it is used. */
static double compile(const struct gpu_rtc *nvrtc, const struct linker *l, const char *source, enum way way, const char *folder,
                      double *ret_link)
{
	const char *options[16];
	int count = 0;
	char *includes[GPU_INCLUDES], *pch = mem_fmt("--pch-dir=%s", folder);
	const char *names[32], *texts[32];
	gpu_program program = NULL;
	size_t bytes = 0;
	int header_count = 0;
	for (const struct gpu_header *h = cuda_compile_headers; h->name; h++) {
		names[header_count] = h->name;
		texts[header_count++] = h->text;
	}
	options[count++] = way == SPLIT ? "--gpu-architecture=compute_" ARCH : "--gpu-architecture=sm_" ARCH;
	options[count++] = "--std=c++17";
	options[count++] = "-default-device";
	options[count++] = "--no-cache";
	for (unsigned i = 0; i < nvrtc->include_count; i++)
		options[count++] = includes[i] = mem_fmt("--include-path=%s", nvrtc->include[i]);
	if (way == PCH && strstr(source, "#pragma nv_hdrstop")) {
		options[count++] = "--pch";
		options[count++] = pch;
	}
	double start = cpu_ms(), took = NAN;
	if (nvrtc->program_new(&program, source, "parameters", header_count, texts, names) == GPU_RTC_SUCCESS &&
	    nvrtc->program_compile(program, count, options) == GPU_RTC_SUCCESS) {
		bool good;
		if (way == SPLIT) {
			nvrtc->ptx_size(program, &bytes);
			char *ptx = mem_new(bytes + 1, 1);
			nvrtc->ptx(program, ptx);
			double linking = cpu_ms();
			good = link_ptx(l, ptx);
			*ret_link = cpu_ms() - linking;
			free(ptx);
		} else {
			good = nvrtc->binary_size(program, &bytes) == GPU_RTC_SUCCESS && bytes > 0;
		}
		took = good ? cpu_ms() - start : NAN;
	}
	if (program)
		nvrtc->program_free(&program);
	for (unsigned i = 0; i < nvrtc->include_count; i++)
		free(includes[i]);
	free(pch);
	return took;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof *values, ascending);
	return n ? (values[n / 2] + values[(n - 1) / 2]) / 2 : NAN;
}

static int measure(const struct gpu_rtc *nvrtc, const struct linker *l, const char *path, const char *folder)
{
	struct context *ctx = NULL;
	struct space *space = NULL;
	struct err e = ERR_INIT;
	size_t points[SAMPLE], n, counted = 0;
	double ms[WAYS][SAMPLE + 1], ratio[WAYS][SAMPLE + 1], link[SAMPLE + 1], first = NAN;
	if (context_load(path, &ctx, &e) < 0 || space_new(ctx, NULL, NULL, &space, &e) < 0) {
		fprintf(stderr, "nvrtc: %s\n", e.text);
		return 1;
	}
	n = space_sample(space, 1, SAMPLE, points);
	/* The first run of each way does not count: it loads libraries and writes the precompiled header. */
	for (size_t i = 0; i < n + 1; i++) {
		struct params *params = space_at(space, points[i ? i - 1 : 0]);
		bool good = true;
		for (unsigned k = 0; k < WAYS; k++) {
			enum way way = (enum way)((i + k) % WAYS); /* each way comes first equally often */
			char *source = source_of(ctx, params, way);
			ms[way][counted] = compile(nvrtc, l, source, way, folder, &link[counted]);
			good = good && isfinite(ms[way][counted]);
			free(source);
		}
		params_free(params);
		first = i ? first : ms[PCH][0];
		counted += i > 0 && good;
	}
	printf("{\"context\": \"%s\", \"nvrtc\": \"%d.%d\", \"arch\": \"sm_" ARCH "\", \"configurations\": %zu, \"refused\": %zu",
	       context_kernel(ctx), nvrtc->version_major, nvrtc->version_minor, counted, n - counted);
	for (enum way way = 0; way < WAYS; way++)
		for (size_t i = 0; i < counted; i++)
			ratio[way][i] = ms[way][i] / ms[WHOLE][i];
	for (enum way way = 0; way < WAYS; way++)
		printf(", \"%s_ms\": %.2f, \"%s_ratio\": %.3f", way_names[way], median(ms[way], counted), way_names[way],
		       median(ratio[way], counted));
	printf(", \"pch_first_ms\": %.2f, \"of_split_link_ms\": %.2f}\n", first, median(link, counted));
	space_free(space);
	context_free(ctx);
	return 0;
}

int main(int argc, char **argv)
{
	struct gpu_rtc nvrtc;
	struct linker linker;
	struct err e = ERR_INIT;
	char folder[] = "/tmp/peakd-bench-XXXXXX";
	int status = 0;
	if (argc < 2 || mkdtemp(folder) == NULL) {
		fprintf(stderr, "usage: nvrtc FILE.peak.md…\n");
		return 1;
	}
	if (cuda_library_nvrtc(&nvrtc, &e) < 0 || !linker_open(&linker)) {
		fprintf(stderr, "nvrtc: %s\n", e.code ? e.text : "no libnvJitLink");
		return 1;
	}
	for (int i = 1; i < argc; i++)
		status |= measure(&nvrtc, &linker, argv[i], folder);
	char *command = mem_fmt("rm -rf '%s'", folder);
	if (system(command) != 0)
		fprintf(stderr, "nvrtc: %s is left\n", folder);
	free(command);
	return status;
}
