/* faults_kinds: the faults that bench/faults.c causes, and the context of each. */
#ifndef PEAKD_BENCH_FAULTS_KINDS_H
#define PEAKD_BENCH_FAULTS_KINDS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/context/context.h"
#include "core/workers/trial.h"

enum { N = 4096 };

enum how { HOW_RUN, HOW_HANG, HOW_KILL, HOW_REFUSE };

struct kind {
	const char *name;
	enum how how;
	bool cuda, hlsl;        /* backends that can have it */
	enum err_code codes[4]; /* errors that it may give */
	const char *device_cuda, *device_hlsl; /* statements before the work, or NULL */
	const char *host;       /* Lua before the launch, or NULL */
	const char *arch;       /* another architecture to compile for, or NULL */
};

/* Some drivers end loops after a number of iterations, summed over nested loops (Mesa's llvmpipe: 65535). Slow iterations outlast a
 * deadline even on a machine with many cores. */
#define TURN "C[i] = sin(C[i] + A[i]); "
#define TURNS TURN TURN TURN TURN TURN TURN TURN TURN
#define ENDLESS_HLSL "while (A[i] < 2.0) { " TURNS TURNS TURNS TURNS "}"

static const struct trial_input input = { .seed = 1, .poison = 0xFF };
static const struct kind good = { .name = "good", .cuda = true, .hlsl = true };

static const struct kind kinds[] = {
	{ "illegal-address", HOW_RUN, true, false, { ERR_CRASH }, "((volatile float *)(size_t)(8 + n))[i] = 1.0f;", NULL, NULL,
	  NULL },
	{ "far-out-of-range", HOW_RUN, true, false, { ERR_CRASH }, "C[(1ll << 40) + i] = 1.0f;", NULL, NULL, NULL },
	{ "misaligned-address", HOW_RUN, true, false, { ERR_CRASH }, "*(volatile float *)((char *)C + 1 + 4 * i) = 1.0f;", NULL,
	  NULL, NULL },
	{ "trap", HOW_RUN, true, false, { ERR_CRASH }, "if (i == 77) __trap();", NULL, NULL, NULL },
	{ "stack-overflow", HOW_RUN, true, false, { ERR_CRASH, ERR_PRUNED }, "C[i] = sink(A, n + 100000000, i);", NULL, NULL,
	  NULL },
	{ "endless-loop", HOW_HANG, true, true, { ERR_TIMEOUT }, "while (A[i] < 2.0f) ((volatile float *)C)[i] += 1.0f;",
	  ENDLESS_HLSL, NULL, NULL },
	{ "killed-mid-launch", HOW_KILL, true, true, { ERR_IO, ERR_NETWORK },
	  "while (A[i] < 2.0f) ((volatile float *)C)[i] += 1.0f;", ENDLESS_HLSL, NULL, NULL },
	{ "out-of-memory", HOW_RUN, true, true, { ERR_PRUNED, ERR_UNSUPPORTED }, NULL, NULL, "local big = alloc(1 << 41)", NULL },
	{ "too-much-shared", HOW_RUN, true, false, { ERR_PRUNED }, NULL, NULL, "shared = 400000", NULL },
	{ "refused-by-device", HOW_REFUSE, true, false, { ERR_INPUT }, NULL, NULL, NULL, "sm_75" },
};

static struct context *make_context(const struct kind *k, bool cuda)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	char *device =
		cuda ? mem_fmt("__device__ __noinline__ float sink(const float *A, int n, int i) {\n"
			       "\tvolatile float big[2000];\n\tbig[i %% 2000] = A[i];\n"
			       "\treturn n > 0 ? sink(A, n - 1, i) + big[(i + n) %% 2000] : 0;\n}\n"
			       "extern \"C\" __global__ void probe(const float *A, float *C, int n) {\n"
			       "\textern __shared__ float room[];\n"
			       "\tlong long i = blockIdx.x * blockDim.x + threadIdx.x;\n\tif (i >= n) return;\n\t%s\n"
			       "\tfloat x = A[i];\n\tfor (int k = 0; k < 20000; k++) x = x * 0.999f + 0.001f;\n\tC[i] = x;\n}\n",
			       k->device_cuda ? k->device_cuda : "")
		     : mem_fmt("[numthreads(64, 1, 1)]\nvoid probe(uint3 id : SV_DispatchThreadID) {\n\tuint i = id.x;\n\tif (i >= "
			       "uint(n)) return;\n"
			       "\t%s\n\tfloat x = A[i];\n\tfor (int k = 0; k < 2000; k++) x = x * 0.999 + 0.001;\n\tC[i] = x;\n}\n",
			       k->device_hlsl ? k->device_hlsl : "");
	char *text = mem_fmt("---\nkernel: probe\nbackend: %s\ninputs:\n  n: int = {%d}\n  A: f32[n] = random\n  C: out f32[n]\n"
			     "tune:\n  B: {64}\n---\n```%s\n%s```\n```lua host\nlocal shared = 0\n%s\n"
			     "launch(\"probe\", {cdiv(n,B)}, {B}, {A,C,n}%s)\n```\n",
			     cuda ? "cuda" : "hlsl", N, cuda ? "cuda" : "hlsl", device, k->host ? k->host : "",
			     cuda ? ", {shared = shared}" : "");
	if (context_parse(k->name, text, &ctx, &e) < 0)
		fprintf(stderr, "faults: %s: %s\n", k->name, e.text);
	free(device);
	free(text);
	return ctx;
}

#endif
