/* sample: a small kernel context for the tests of this room. */
#ifndef PEAKD_TESTS_CORE_TRANSFORM_SAMPLE_H
#define PEAKD_TESTS_CORE_TRANSFORM_SAMPLE_H

#include "core/context/context.h"
#include "tap.h"

static const char sample_text[] =
	"---\nkernel: matmul\nbackend: hlsl\ninputs:\n  n: int = {64}\n  A: f32[n, n] = random\n  B: f32[n, n] = "
	"random\n"
	"  C: out f32[n, n]\ntune:\n  BX: 1<<i for i = 0,8\n  BY: 1<<i for i = 0,8\nwhere:\n  - BX*BY <= 256\n---\n"
	"```hlsl\n[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID)\n{\n\tC[id.y * n + id.x] = 0.0; "
	"// a\n}\n```\n"
	"```macros\n```\n```lua host\nlaunch(\"matmul\", {cdiv(n, BX), cdiv(n, BY)}, {BX, BY}, {A, B, C, n})\n```\n";

__attribute__((unused)) static struct context *sample_context(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse("sample.peak.md", sample_text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	ok(ctx != NULL, "the sample context parses");
	if (!ctx)
		exit(1);
	return ctx;
}

#endif
