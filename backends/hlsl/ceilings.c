/* ceilings: see hlsl.h. Vulkan does not tell how many units a device has, so grids are large enough for the largest. A CPU gets
 * less of the same, so that an execution lasts milliseconds, and little memory. 128 threads are allowed on every device. */
#include "backends/hlsl/hlsl.h"

#include <stddef.h>

/* 24 multiply-adds of float4 a thread and step: twelve independent chains, and with x and y they fit 16 vector registers. */
#define FMA                                                                                                                        \
	"#define STEP a = mad(a, x, y), b = mad(b, x, y), c = mad(c, x, y);\n"                                                     \
	"[numthreads(128, 1, 1)]\n"                                                                                                \
	"void ceiling(uint3 id : SV_DispatchThreadID)\n"                                                                           \
	"{\n"                                                                                                                      \
	"	float x = from[id.x], y = x * 0.5;\n"                                                                                    \
	"	float4 a = x + float4(0, 1, 2, 3), b = a + 4, c = a + 8;\n"                                                              \
	"	for (int s = 0; s < n; s++) { STEP STEP STEP STEP STEP STEP STEP STEP }\n"                                               \
	"	to[id.x] = dot(a + b + c, 1);\n"                                                                                         \
	"}\n"

/* 64 bytes a thread. */
#define COPY                                                                                                                       \
	"[numthreads(128, 1, 1)]\n"                                                                                                \
	"void ceiling(uint3 id : SV_DispatchThreadID)\n"                                                                           \
	"{\n"                                                                                                                      \
	"	uint step = n / 16, i = id.x;\n"                                                                                         \
	"	float4 a = from_float4[i], b = from_float4[i + step];\n"                                                                 \
	"	float4 c = from_float4[i + 2 * step], d = from_float4[i + 3 * step];\n"                                                  \
	"	to_float4[i] = a, to_float4[i + step] = b, to_float4[i + 2 * step] = c, to_float4[i + 3 * step] = d;\n"                  \
	"}\n"

/* As good as nothing. */
#define LAUNCH "[numthreads(128, 1, 1)]\nvoid ceiling(uint3 id : SV_DispatchThreadID) { to[id.x] = from[id.x] + n; }\n"

enum { THREADS = 128, COPIED = 16, COPY_ELEMENTS = 64 << 20, COPY_CPU = 12 << 20 };

const struct ceilings_kernel hlsl_ceilings[] = {
	{ "f32", "flop", "", FMA, THREADS, 8192, 2.0 * 24 * 4 * THREADS, 256, false },
	{ "f32", "flop", "", FMA, THREADS, 512, 2.0 * 24 * 4 * THREADS, 128, true },
	{ "copy", "byte", "", COPY, THREADS, COPY_ELEMENTS / COPIED / THREADS, 0, COPY_ELEMENTS, false },
	{ "copy", "byte", "", COPY, THREADS, COPY_CPU / COPIED / THREADS, 0, COPY_CPU, true },
	{ "launch", "launch", "", LAUNCH, THREADS, 1, 0, 1, false },
	{ "launch", "launch", "", LAUNCH, THREADS, 1, 0, 1, true },
	{ .name = NULL },
};
