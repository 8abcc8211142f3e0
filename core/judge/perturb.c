/* perturb: see perturb.h. */
#include "core/judge/perturb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { REPEATS = 4, POISON = 0xFF };

/* Up to 8 microseconds, another length for each warp, barrier and run: drawn from the clock. Stands in front of the macros; #line
 * gives the region its own lines back. */
static const char delays[] =
	"static __device__ __forceinline__ void peakd_delay(unsigned salt)\n"
	"{\n"
	"\tunsigned warp = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;\n"
	"\tunsigned x = (unsigned)clock64() + salt + warp * 2654435769u + blockIdx.x * 2246822519u;\n"
	"\tx ^= x >> 16; x *= 2146121005u; x ^= x >> 15; x *= 2221713035u; x ^= x >> 16;\n"
	"\tif (x & 1) __nanosleep(x >> 19);\n"
	"}\n"
	"static __device__ __forceinline__ void peakd_barrier() { peakd_delay(1); __syncthreads(); peakd_delay(2); }\n"
	"#define __syncthreads(...) peakd_barrier()\n"
	"#line 1 \"macros\"\n";

static int instrument(const struct context *ctx, struct context **ret_ctx, char **ret_unfit, struct err *e)
{
	if (strcmp(context_backend(ctx), "cuda") != 0) {
		*ret_unfit = mem_fmt("%s has no delays", context_backend(ctx));
		return 0;
	}
	if (!strstr(context_region(ctx, REGION_DEVICE), "__syncthreads") && !strstr(context_region(ctx, REGION_MACROS), "__syncthreads")) {
		*ret_unfit = mem_str("there is no __syncthreads() to delay");
		return 0;
	}
	char *macros = mem_fmt("%s%s", delays, context_region(ctx, REGION_MACROS));
	int rc = context_with_region(ctx, REGION_MACROS, macros, ret_ctx, e);
	free(macros);
	return rc;
}

static int execute(const struct eval *ev, struct trial *t, const struct rounds_request *q, struct check *ret_check, char **ret_unfit,
                   struct err *e)
{
	struct trial_input input = { .poison = POISON };
	struct check c = { .passed = true, .error = NAN, .tolerance = NAN };
	int rc = 0;
	for (int i = 0; rc == 0 && c.passed && i < REPEATS; i++) {
		input.seed = i % 2 ? q->other_seed : q->seed;
		check_fini(&c);
		rc = check_execution(ev, t, q->root, q->facts, &input, &c, ret_unfit, e);
	}
	if (rc == 0)
		*ret_check = c;
	return rc;
}

/* What keeps the instrumented kernel from running says nothing about the kernel itself. */
static int leave_out(char **ret_unfit, struct err *e)
{
	if (e->code == ERR_CANCELLED)
		return -ERR_CANCELLED;
	*ret_unfit = mem_str(e->text);
	*e = (struct err)ERR_INIT;
	return 0;
}

void perturb_ahead(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts)
{
	struct context *instrumented = NULL;
	struct variant v;
	char *unfit = NULL;
	struct err ignored = ERR_INIT; /* perturb_run meets it again */
	if (ev->binaries && instrument(ctx, &instrumented, &unfit, &ignored) == 0 && unfit == NULL &&
	    variant_build(ev, instrumented, params, facts, &v, &ignored) == 0)
		variant_fini(&v);
	context_free(instrumented);
	free(unfit);
}

int perturb_run(const struct eval *ev, struct pool_worker *device, const struct params *params,
                const struct rounds_request *request, struct check *ret_check, char **ret_unfit, struct err *e)
{
	struct context *ctx = NULL;
	struct variant v = { 0 };
	struct trial t;
	*ret_unfit = NULL;
	int rc = instrument(request->ctx, &ctx, ret_unfit, e);
	if (rc < 0 || *ret_unfit)
		return rc;
	rc = variant_build(ev, ctx, params, request->facts, &v, e);
	if (rc == 0)
		rc = trial_begin(&t, device, &v, e);
	if (rc < 0) {
		rc = leave_out(ret_unfit, e);
	} else {
		rc = execute(ev, &t, request, ret_check, ret_unfit, e);
		trial_end(&t);
	}
	variant_fini(&v);
	context_free(ctx);
	return rc;
}
