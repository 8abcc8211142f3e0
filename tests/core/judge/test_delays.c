/* Where delays go into a CUDA kernel's text, and where they must not. */
#include "core/judge/delays.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tap.h"

#define HEAD "---\nkernel: k\nbackend: cuda\ninputs:\n  A: f32[16] = random\n  B: out f32[16]\n---\n"
#define TAIL "```lua host\nlaunch(\"k\", {1}, {16}, {A, B})\n```\n"
#define AROUND "for (int peakd_once = peakd_delay(3); peakd_once; peakd_once = 0 * peakd_delay(4)) "

/* The device region with delays, without its last newline; the reason in brackets where it has none. free(). */
static char *delayed(const char *code)
{
	char *text = mem_fmt(HEAD "```cuda\n%s\n```\n" TAIL, code), *unfit = NULL, *got = NULL;
	struct context *ctx = NULL, *with = NULL;
	struct err e = ERR_INIT;
	if (context_parse("k", text, &ctx, &e) < 0 || delays_insert(ctx, &with, &unfit, &e) < 0)
		got = mem_fmt("error: %s", e.text);
	else
		got = unfit ? mem_fmt("[%s]", unfit)
			    : mem_strn(context_region(with, REGION_DEVICE), strlen(context_region(with, REGION_DEVICE)) - 1);
	context_free(ctx);
	context_free(with);
	free(unfit);
	free(text);
	return got;
}

static void becomes(const char *name, const char *code, const char *want)
{
	char *got = delayed(code);
	is_str(got, want, "%s", name);
	free(got);
}

int main(void)
{
	becomes("a kernel's start is delayed, not its launch bounds",
		"extern \"C\" __global__ void __launch_bounds__(32) k(float *A, float *B) { B[0] = A[0]; }",
		"extern \"C\" __global__ void __launch_bounds__(32) k(float *A, float *B) { peakd_delay(5); B[0] = A[0]; }");
	becomes("a kernel that is only declared", "__global__ void k(float *); __device__ void f() { __syncthreads(); }",
	        "__global__ void k(float *); __device__ void f() { __syncthreads(); }");
	becomes("barriers in assembly, as the only statement of an if",
		"__device__ void f(int x) { if (x) asm volatile(\"bar.sync 1, 32;\"); else __asm__(\"mbarrier.arrive %0;\" :: "
		"\"r\"(x)); }",
		"__device__ void f(int x) { if (x) " AROUND "asm volatile(\"bar.sync 1, 32;\"); else " AROUND
		"__asm__(\"mbarrier.arrive %0;\" :: \"r\"(x)); }");
	becomes("other assembly, comments and strings stay",
		"__device__ void f() { asm(\"add.u32 %0, %0, 1;\"); /* asm(\"bar.sync 0;\") */ const char *t = "
		"\"asm(\\\"bar\\\")\"; int n = 1'000; char c = '{'; __syncthreads(); } // __global__ {",
		"__device__ void f() { asm(\"add.u32 %0, %0, 1;\"); /* asm(\"bar.sync 0;\") */ const char *t = "
		"\"asm(\\\"bar\\\")\"; int n = 1'000; char c = '{'; __syncthreads(); } // __global__ {");
	becomes("assembly in a raw string", "__device__ void f() { asm volatile(R\"x(bar.sync 0; // \")x\"); }",
		"__device__ void f() { " AROUND "asm volatile(R\"x(bar.sync 0; // \")x\"); }");
	becomes("text that ends inside of a string, a bracket or a comment", "__global__ void k(float *A { asm(\"bar",
		"__global__ void k(float *A { " AROUND "asm(\"bar");
	becomes("nothing to delay", "__device__ void f() {}", "[there is no barrier, and no kernel whose start could be delayed]");
	return tap_done();
}
