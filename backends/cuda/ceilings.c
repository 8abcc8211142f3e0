/* ceilings: see cuda.h. Each kernel is a loop of independent multiply-adds, so that only its pipe limits it. Hopper's tensor pipes
 * need wgmma. What the operands hold does not matter, except that zeros would draw less power. */
#include "backends/cuda/cuda.h"

#include <stddef.h>

enum { THREADS = 256, COPY_ELEMENTS = 64 << 20 };

const struct ceilings_kernel cuda_ceilings[] = {
	{ "f32", "flop", "", "#define T float\n", "backends/cuda/ceiling_fma.cu", THREADS, 8, 2.0 * 64 * THREADS, 2000, false },
	{ "f64", "flop", "", "#define T double\n", "backends/cuda/ceiling_fma.cu", THREADS, 8, 2.0 * 64 * THREADS, 1000, false },
	{ "tensor.f16", "flop", "sm_90a", "#define SHAPE \"m64n256k16.f32.f16.f16\"\n#define TAIL \", 0, 0\"\n",
	  "backends/cuda/ceiling_wgmma.cu", THREADS, 1, 2.0 * 64 * 256 * 16 * 8 * 2, 500, false },
	{ "tensor.bf16", "flop", "sm_90a", "#define SHAPE \"m64n256k16.f32.bf16.bf16\"\n#define TAIL \", 0, 0\"\n",
	  "backends/cuda/ceiling_wgmma.cu", THREADS, 1, 2.0 * 64 * 256 * 16 * 8 * 2, 500, false },
	{ "tensor.tf32", "flop", "sm_90a", "#define SHAPE \"m64n256k8.f32.tf32.tf32\"\n#define TAIL \"\"\n",
	  "backends/cuda/ceiling_wgmma.cu", THREADS, 1, 2.0 * 64 * 256 * 8 * 8 * 2, 500, false },
	{ "tensor.f16", "flop", "", "#define SHAPE \"m16n8k16.row.col.f32.f16.f16.f32\"\n", "backends/cuda/ceiling_mma.cu", THREADS,
	  4, 2.0 * 16 * 8 * 16 * 16 * 8, 1000, false },
	{ "tensor.bf16", "flop", "", "#define SHAPE \"m16n8k16.row.col.f32.bf16.bf16.f32\"\n", "backends/cuda/ceiling_mma.cu",
	  THREADS, 4, 2.0 * 16 * 8 * 16 * 16 * 8, 1000, false },
	{ "tensor.tf32", "flop", "", "#define SHAPE \"m16n8k8.row.col.f32.tf32.tf32.f32\"\n", "backends/cuda/ceiling_mma.cu",
	  THREADS, 4, 2.0 * 16 * 8 * 8 * 16 * 8, 1000, false },
	{ "launch", "launch", "", "", "backends/cuda/ceiling_launch.cu", THREADS, 1, 0, 1, false },
	{ "copy", "byte", "", "", "backends/cuda/ceiling_copy.cu", THREADS, 8, 0, COPY_ELEMENTS, false },
	{ .name = NULL },
};
