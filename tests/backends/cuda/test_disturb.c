/* PTX rewritten so that chance shows: what is put where, and that it assembles where the toolkit's libraries are here. That right
 * kernels stay right, and wrong ones show, is seen on a GPU: tests/adversary/92-*. */
#include "backends/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

/* The body's lines, rewritten; free(). */
static char *rewritten(const char *before, const char *body)
{
	struct buf out = BUF_INIT, in = BUF_INIT;
	buf_addf(&in, HEAD "%s\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .b32 %%r<9>;\n%s\tret;\n}\n", before,
		 body);
	cuda_disturb(buf_text(&in), NULL, false, &out);
	char *text = buf_steal(&out), *entry = strstr(text, ".visible .entry");
	char *kept = mem_str(entry ? entry : "");
	free(text);
	buf_fini(&in);
	return kept;
}

static void changes(const char *what, const char *body, const char *want)
{
	char *text = rewritten("", body);
	has_str(text, want, "%s", what);
	free(text);
}

static size_t pauses(const char *body)
{
	char *text = rewritten("", body);
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, "peakd_pause")); at++)
		n++;
	free(text);
	return n;
}

static void places(void)
{
	is_int((long long)pauses("\tst.shared.u32 [%r1], %r2;\n"), 1, "a store to shared memory has a pause");
	is_int((long long)pauses("\tld.global.u32 %r1, [%rd1];\n\tld.global.u32 %r2, [%rd1+4];\n"), 1, "a run of loads has one");
	is_int((long long)pauses("\tld.param.u64 %rd1, [k_param_0];\n\tld.const.u32 %r1, [c];\n\tadd.s32 %r1, %r1, 1;\n"), 0,
	       "parameters, constants and arithmetic have none");
	is_int((long long)pauses("\t@%p1 atom.global.add.u32 %r1, [%rd1], 1;\n\tbar.sync 0;\n"), 2,
	       "guarded atomics and barriers have");
	is_int((long long)pauses("\t// begin inline asm\n\t{ .reg .pred q; bar.sync 1, 64; } mbarrier.init.shared.b64 [%r1], 1;\n"
				 "\t// end inline asm\n"),
	       2, "and so have statements of assembly that share a line");
	is_int((long long)pauses("\t{ .local .b32 z; bar.sync 0; st.local.b32 [z], 1; }\n\t@ %p1 red.global.add.u32 [%rd1], 1;\n"),
	       2, "declarations end, and guards may stand apart");
	is_int((long long)pauses("/* bar.sync 0; */ // st.shared.u32 [%r1], %r2;\n"), 0, "comments have none");
	char *sleepless = rewritten("", "\tnanosleep.u32 100;\n\tadd.s32 %r1, %r1, 7;\n");
	ok(!strstr(sleepless, "nanosleep") && strstr(sleepless, "add.s32 %r1, %r1, 7;"), "a sleep is left out");
	free(sleepless);
	changes("a clock jumps", "\tmov.u32 %r5, %clock;\n", "add.u32 %peakd_b, %peakd_b, %peakd_a;\nmov.u32 %r5, %peakd_b;");
	changes("a wide one, too", "\t@!%p1 mov.u64 %rd5, %clock64;\n", "%peakd_c;\n@!%p1 mov.u64 %rd5, %peakd_e;");
	changes("and one that is converted or split", "\tcvt.u64.u32 %rd5, %clock;\n\tmov.b64 {%r1, %r2}, %globaltimer;\n",
		"mov.b64 {%r1, %r2}, %peakd_e;");
	changes("the multiprocessor has any number", "\tcvt.u32.u32 %r5, %smid;\n", "cvt.u32.u32 %r5, %peakd_b;");
	changes("the launch, too", "\tmov.u32 %r5, %gridid;\n", "cvt.u32.u64 %peakd_b, %peakd_e;\nmov.u32 %r5, %peakd_b;");
	changes("local memory begins with garbage", "\t.local .align 4 .b8 __local_depot0[64];\n", "call.uni peakd_fill_local");
	changes("shared memory, too", "\t.shared .align 8 .b64 part[16];\n\tmov.u32 %r1, part;\n",
		"mov.u32 %peakd_a, part;\nst.param.b32 [peakd_a1], %peakd_a;\nmov.u32 %peakd_a, 128;");
	char *module =
		rewritten(".extern .shared .align 16 .b8 all[];\n.shared .align 4 .f32 other;", "\tst.shared.u32 [all+4], %r1;\n");
	ok(strstr(module, "%dynamic_smem_size") && strstr(module, "bar.sync 0") && !strstr(module, "other"),
	   "dynamic shared memory, too, and of the module's arrays those that the kernel has");
	free(module);
}

static void forms(void)
{
	char *text = rewritten(".section .debug_str { .b8 98,97,0 }", "L:\n\tbar.sync 0;\n\tbra L;\n");
	has_str(text, "%peakd_n, [peakd_to];\n}\nL:", "what a kernel begins with stands before its first label");
	free(text);
	text = rewritten(".shared .align 4 .b8 r2[64];\n.shared .align 4 .b8 seen[64];",
			 "\t{\n\tmov.u32 %r2, 1;\n}\n\tst.shared.u32 [seen], %r2;\n");
	ok(!strstr(text, "mov.u32 %peakd_a, r2;") && strstr(text, "mov.u32 %peakd_a, seen;"),
	   "a register's name is no array's, and a block's end is no function's");
	free(text);
	text = rewritten("", "\tfence.proxy.async;\n\tcp.async.bulk.commit_group;\n\t.shared .align 8 .b64 bar;\n");
	has_str(text, "cp.async.bulk", "bulk copies stay");
	free(text);
	struct buf out = BUF_INIT;
	cuda_disturb(HEAD ".visible .entry k()\n{\n\tmov.u32 %r1, %clock;\n\tbar.sync 0;\n\tret;\n}\n", NULL, true, &out);
	ok(strstr(buf_text(&out), "mov.u32 %r1, %clock;\n\tbar.sync 0;") && strstr(buf_text(&out), "peakd_begin, (peakd_w)"),
	   "code that cannot be rewritten starts late and keeps its statements");
	buf_fini(&out);
}

static void copies(void)
{
	static const char copy[] = "\tcp.async.cg.shared.global [%r1+16], [%rd2], 16, %r3;\n\tcp.async.commit_group;\n"
				   "\tcp.async.wait_group 1;\n";
	char *text = rewritten("", copy), *called = rewritten(".visible .func f()\n{\n\tret;\n}", copy);
	ok(!strstr(text, "cp.async.cg") && strstr(text, "peakd_copy_put"), "an asynchronous copy is put on a list");
	ok(strstr(text, "peakd_copy_commit") && strstr(text, "peakd_copy_wait") && strstr(text, "cp.async.wait_group 1;"),
	   "groups are counted, and waited for");
	has_str(called, "cp.async.cg", "where functions are called a copy stays: another one may wait for it");
	free(text);
	free(called);
	changes("so does one whose registers are of unknown width", "\tcp.async.ca.shared.global [x], [y], 4;\n", "cp.async.ca");
	changes("guards stay", "\t@!%p2 cp.async.ca.shared.global [%rd1], [%rd2], 4;\n", "@%p2 bra $peakd_");
}

struct row {
	const char *what, *code;
};

static const struct row rows[] = {
	{ "shared memory and a barrier", "extern \"C\" __global__ void k(float *C) { __shared__ float s[256]; s[threadIdx.x] = "
					 "C[threadIdx.x]; __syncthreads(); C[threadIdx.x] = s[255 - threadIdx.x]; }" },
	{ "copies",
	  "extern \"C\" __global__ void k(const float *A, float *C) { __shared__ __align__(16) float s[128]; unsigned to = "
	  "__cvta_generic_to_shared(s + threadIdx.x); asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(to), "
	  "\"l\"(A + threadIdx.x)); asm volatile(\"cp.async.commit_group;\"); asm volatile(\"cp.async.wait_group 0;\"); "
	  "__syncthreads(); C[threadIdx.x] = s[threadIdx.x ^ 1]; }" },
	{ "clocks and places",
	  "extern \"C\" __global__ void k(long long *C) { unsigned sm; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(sm)); "
	  "unsigned long long t, g; asm volatile(\"mov.u64 %0, %%globaltimer; mov.u64 %1, %%gridid;\" : \"=l\"(t), \"=l\"(g)); "
	  "C[threadIdx.x] = clock64() + clock() + sm + t + g; }" },
	{ "an array in local memory",
	  "extern \"C\" __global__ void k(const int *A, int *C) { int x[64]; for (int i = 0; i < 64; i++) "
	  "x[A[i] & 63] = i; C[threadIdx.x] = x[C[threadIdx.x] & 63]; }" },
	{ "clocks in pieces",
	  "extern \"C\" __global__ void k(unsigned *C) { unsigned a, b; unsigned long long c; asm volatile(\"mov.b64 {%0, "
	  "%1}, %%clock64; cvt.u64.u32 %2, %%smid;\" : \"=r\"(a), \"=r\"(b), \"=l\"(c)); C[threadIdx.x] = a + b + (unsigned)c; }" },
	{ "a function that is called",
	  "__device__ __noinline__ float f(volatile float *p) { return *p + 1; } extern \"C\" __global__ "
	  "void k(float *C) { C[threadIdx.x] = f(C + threadIdx.x); }" },
};

static void assembles(const struct row *row)
{
	struct wire_compile request = {
		.backend = (char *)"cuda", .arch = (char *)"sm_90a", .macros = (char *)"", .device = (char *)(uintptr_t)row->code
	};
	struct wire_compiled plain = { .binary = NULL }, disturbed = { .binary = NULL };
	struct err e = ERR_INIT;
	int rc = cuda_compile(&request, &plain, &e);
	request.disturbed = 1;
	if (rc == 0)
		rc = cuda_compile(&request, &disturbed, &e);
	if (rc < 0 && (strstr(e.text, "libnvJitLink") || strstr(e.text, "libnvrtc"))) {
		SKIP(2, "%s", e.text);
	} else {
		is_int(rc, 0, "%s: assembled %s", row->what, e.text);
		ok(rc == 0 && disturbed.kernel_count == 1 && strcmp(disturbed.kernels[0].name, "k") == 0 &&
			   disturbed.kernels[0].shared == plain.kernels[0].shared,
		   "%s: one kernel, with as much shared memory", row->what);
	}
	wire_compiled_fini(&plain);
	wire_compiled_fini(&disturbed);
}

static void names(void)
{
	struct wire_compile request = { .backend = (char *)"cuda",
					.arch = (char *)"sm_90a",
					.macros = (char *)"",
					.device = (char *)"extern \"C\" __global__ void peakd_k(float *C) { C[0] = 1; }",
					.disturbed = 1 };
	struct wire_compiled to = { .binary = NULL };
	struct err e = ERR_INIT;
	int rc = cuda_compile(&request, &to, &e);
	if (rc < 0 && strstr(e.text, "libnvrtc"))
		SKIP(1, "%s", e.text);
	else
		ok(rc == -ERR_COMPILE && strstr(e.text, "peakd_"), "names of the rewritten code's functions are refused %s",
		   e.text);
	wire_compiled_fini(&to);
}

int main(void)
{
	places();
	forms();
	copies();
	for (size_t i = 0; i < MEM_COUNT(rows); i++)
		assembles(&rows[i]);
	names();
	return tap_done();
}
