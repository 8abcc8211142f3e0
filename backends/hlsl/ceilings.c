/* ceilings: see hlsl.h. Vulkan does not tell how many units a device has, so grids are large enough for the largest. A CPU gets
 * less of the same, so that an execution lasts milliseconds, and little memory. 128 threads are allowed on every device. */
#include "backends/hlsl/hlsl.h"

#include <stddef.h>

enum { THREADS = 128, COPIED = 16, COPY_ELEMENTS = 64 << 20, COPY_CPU = 12 << 20 };

const struct ceilings_kernel hlsl_ceilings[] = {
	{ "f32", "flop", "", "", "backends/hlsl/ceiling_fma.hlsl", THREADS, 8192, 2.0 * 24 * 4 * THREADS, 256, false },
	{ "f32", "flop", "", "", "backends/hlsl/ceiling_fma.hlsl", THREADS, 512, 2.0 * 24 * 4 * THREADS, 128, true },
	{ "copy", "byte", "", "", "backends/hlsl/ceiling_copy.hlsl", THREADS, COPY_ELEMENTS / COPIED / THREADS, 0, COPY_ELEMENTS,
	  false },
	{ "copy", "byte", "", "", "backends/hlsl/ceiling_copy.hlsl", THREADS, COPY_CPU / COPIED / THREADS, 0, COPY_CPU, true },
	{ "launch", "launch", "", "", "backends/hlsl/ceiling_launch.hlsl", THREADS, 1, 0, 1, false },
	{ "launch", "launch", "", "", "backends/hlsl/ceiling_launch.hlsl", THREADS, 1, 0, 1, true },
	{ .name = NULL },
};
