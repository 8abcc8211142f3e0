/* core/judge/sanitize: logs of compute-sanitizer in the forms of its documentation (docs.nvidia.com/compute-sanitizer, sections on
 * memcheck, racecheck, initcheck and synccheck) become findings with regions, lines and source. */
#include "core/judge/sanitize.h"

#include "core/sample.h"

static const char cuda_context[] =
	"---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {8}\n  A: f32[n] = random\n  C: out f32[n]\n---\n"
	"```cuda\n#define X\nextern \"C\" __global__ void k(const float *A, float *C, int n) {\n  C[threadIdx.x + n] = A[0];\n}\n"
	"```\n"
	"```lua host\nlaunch(\"k\", {1}, {8}, {A, C, n})\n```\n";

static const char memcheck[] = "========= COMPUTE-SANITIZER\n"
			       "========= Invalid __global__ write of size 4 bytes\n"
			       "=========     at k(const float *, float *, int)+0x160 in device:3\n"
			       "=========     by thread (0,0,0) in block (0,0,0)\n"
			       "=========     Address 0x7f8a4c000020 is out of bounds\n"
			       "=========     and is 1 bytes after the nearest allocation at 0x7f8a4c000000 of size 32 bytes\n"
			       "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
			       "=========         Host Frame: [0x2f6c5f] in libcuda.so.1\n"
			       "=========\n"
			       "========= Invalid __global__ write of size 4 bytes\n"
			       "=========     at k(const float *, float *, int)+0x160 in device:3\n"
			       "=========     by thread (1,0,0) in block (0,0,0)\n"
			       "=========     Address 0x7f8a4c000024 is out of bounds\n"
			       "=========\n"
			       "========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\" "
			       "on CUDA API call to cuStreamSynchronize.\n"
			       "=========     Saved host backtrace up to driver entry point at error\n"
			       "=========         Host Frame: [0x441d46] in libcuda.so.1\n"
			       "=========\n"
			       "========= ERROR SUMMARY: 3 errors\n";

/* Before 2023 the place stood in front of the kernel, with a folder. */
static const char older[] =
	"========= Invalid __shared__ read of size 8 bytes\n"
	"=========     at 0xa0 in /tmp/device:4:k(const float *)\n"
	"=========     by thread (3,1,0) in block (2,0,0)\n"
	"=========     Address 0x400001 is misaligned\n"
	"========= ERROR SUMMARY: 1 error\n";

/* As version 2025.3.1 wrote it on an H200. */
static const char newest[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Invalid __global__ read of size 4 bytes\n"
	"=========     at k+0xe0 in device:5\n"
	"=========     by thread (7,0,0) in block (0,0,0)\n"
	"=========     Access to 0x7f6017a0101c is out of bounds\n"
	"=========     and is 16,754,717 bytes after the nearest allocation at 0x7f6016a03400 of size 13,312 bytes\n"
	"========= \n"
	"========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to \"unspecified launch failure\" on CUDA API call to "
	"cuStreamSynchronize.\n"
	"========= \n"
	"========= Target application returned an error\n"
	"========= ERROR SUMMARY: 2 errors\n";

static const char racecheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Error: Race reported between Write access at k(const float *, float *, int)+0x250 in device:3\n"
	"=========     and Read access at k(const float *, float *, int)+0x460 in device:4 [508 hazards]\n"
	"=========\n"
	"========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";

static const char initcheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Uninitialized __global__ memory read of size 4 bytes\n"
	"=========     at k(float *)+0x70 in device:2\n"
	"=========     by thread (65,0,0) in block (0,0,0)\n"
	"=========     Address 0x7f1d23c00104\n"
	"=========\n"
	"========= ERROR SUMMARY: 1 error\n";

static const char synccheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Barrier error detected. Divergent thread(s) in block.\n"
	"=========     at k(int *)+0x70 in macros:1\n"
	"=========     by thread (32,0,0) in block (0,0,0)\n"
	"=========\n"
	"========= ERROR SUMMARY: 1 error\n";

static void one_form(const char *name, const char *text, const char *what, const char *region, long line, size_t count,
		     const char *detail)
{
	struct sanitize_log log = { .at = NULL };
	sanitize_log_add(&log, text);
	is_int((int)log.count, 1, "%s: one finding", name);
	if (log.count == 1) {
		const struct sanitize_finding *f = &log.at[0];
		is_str(f->what, what, "%s: what", name);
		is_str(f->region, region, "%s: region", name);
		is_int((int)f->line, (int)line, "%s: line", name);
		is_str(f->kernel, "k", "%s: kernel", name);
		is_int((int)f->count, (int)count, "%s: how often", name);
		has_str(f->detail, detail, "%s: who", name);
	}
	ok(log.complete && log.failure == NULL, "%s: the log is whole", name);
	sanitize_log_fini(&log);
}

static void shown(const struct context *ctx)
{
	struct sanitize_log log = { .at = NULL };
	struct buf out = BUF_INIT;
	for (int i = 0; i < 5; i++) {
		char *text = mem_fmt(
			"========= Invalid __global__ read of size %d bytes\n=========     at k(int)+0x1 in device:3\n=========\n",
			i + 1);
		for (int k = 0; k <= i; k++)
			sanitize_log_add(&log, text);
		free(text);
	}
	sanitize_log_show(&log, ctx, 3, &out);
	ok(strncmp(buf_text(&out), "Invalid __global__ read of size 5 bytes at device:3 in k, reported 5 times\n", 75) == 0,
	   "the most frequent finding comes first");
	has_str(buf_text(&out), "    3 | C[threadIdx.x + n] = A[0];\n", "with its source line");
	has_str(buf_text(&out), "and 2 more places", "and no more than three");
	buf_fini(&out);
	sanitize_log_fini(&log);
}

static void troubles(void)
{
	struct sanitize_log log = { .at = NULL };
	sanitize_log_add(&log, "========= COMPUTE-SANITIZER\n========= Internal Sanitizer Error: The Sanitizer encountered an "
			       "error when initializing.\n");
	is_int((int)log.count, 0, "the tool's own trouble is no finding");
	has_str(log.failure ? log.failure : "", "Internal Sanitizer Error", "but the reason");
	ok(!log.complete, "without a summary the log is not whole");
	sanitize_log_fini(&log);
	sanitize_log_add(
		&log,
		"hello\n=========\n========= Invalid __global__ write of size 4 bytes\n=========     at \n=========     by thread\n"
		"=========  in :::\n========= \n");
	is_int((int)log.count, 1, "a mutilated report is a finding without a place");
	is_str(log.count ? log.at[0].region : "?", "", "really");
	sanitize_log_fini(&log);
	sanitize_log_add(&log, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
	ok(log.count == 0 && log.complete, "a clean log is clean");
	sanitize_log_fini(&log);
}

int main(void)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	is_int(context_parse("k", cuda_context, &ctx, &e), 0, "context %s", e.text);
	one_form("memcheck", memcheck, "Invalid __global__ write of size 4 bytes", "device", 3, 2,
		 "by thread (0,0,0) in block (0,0,0)");
	one_form("older", older, "Invalid __shared__ read of size 8 bytes", "device", 4, 1, "misaligned");
	one_form("newest", newest, "Invalid __global__ read of size 4 bytes", "device", 5, 1,
		 "Access to 0x7f6017a0101c is out of bounds");
	one_form("racecheck", racecheck, "Error: Race reported between Write access and Read access", "device", 3, 508,
		 "in device:4");
	one_form("initcheck", initcheck, "Uninitialized __global__ memory read of size 4 bytes", "device", 2, 1, "thread (65,0,0)");
	one_form("synccheck", synccheck, "Barrier error detected. Divergent thread(s) in block.", "macros", 1, 1,
		 "thread (32,0,0)");
	shown(ctx);
	troubles();
	context_free(ctx);
	return tap_done();
}
