/* ceilings: see ceilings.h. Each kernel is a loop of independent multiply-adds, so that only its pipe limits it. Hopper's
 * tensor pipes need wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"), whose operands are swizzled tiles
 * of 64 and 256 rows of 128 bytes in shared memory. Their contents do not matter, except that zeros would draw less power. */
#include "backends/cuda/ceilings.h"

#include <stddef.h>

/* T: the type. 64 multiply-adds a thread and step. */
#define FMA                                                                                                                        \
	"extern \"C\" __global__ void ceiling(const T *in, T *out, int n)\n"                                                       \
	"{\n"                                                                                                                      \
	"	int at = (blockIdx.x * blockDim.x + threadIdx.x) / (sizeof(T) / 4);\n"                                                   \
	"	T x = in[at], y = x * (T)0.5, d[8];\n"                                                                                   \
	"	for (int i = 0; i < 8; i++) d[i] = x + i;\n"                                                                             \
	"	for (int s = 0; s < n; s++)\n"                                                                                           \
	"#pragma unroll\n"                                                                                                         \
	"		for (int k = 0; k < 64; k++) d[k % 8] = d[k % 8] * x + y;\n"                                                            \
	"	out[at] = d[0] + d[1] + d[2] + d[3] + d[4] + d[5] + d[6] + d[7];\n"                                                      \
	"}\n"

/* SHAPE: the instruction. 16 of them a warp and step. */
#define MMA                                                                                                                        \
	"extern \"C\" __global__ void ceiling(const float *in, float *out, int n)\n"                                               \
	"{\n"                                                                                                                      \
	"	int at = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
	"	unsigned a[4], b[2];\n"                                                                                                  \
	"	float d[8][4] = { { in[at] } };\n"                                                                                       \
	"	for (int i = 0; i < 4; i++) a[i] = __float_as_uint(in[at]) & 0x3fff3fffu;\n"                                             \
	"	for (int i = 0; i < 2; i++) b[i] = a[i] >> 1;\n"                                                                         \
	"	for (int s = 0; s < n; s++)\n"                                                                                           \
	"#pragma unroll\n"                                                                                                         \
	"		for (int k = 0; k < 16; k++) {\n"                                                                                       \
	"			float *e = d[k % 8];\n"                                                                                                \
	"			asm volatile(\"mma.sync.aligned.\" SHAPE \" "                                                                          \
	"{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};\"\n"                                                                   \
	"				: \"+f\"(e[0]), \"+f\"(e[1]), \"+f\"(e[2]), \"+f\"(e[3])\n"                                                           \
	"				: \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), "                                                  \
	"\"r\"(b[1]));\n"                                                                                                          \
	"		}\n"                                                                                                                    \
	"	float sum = 0;\n"                                                                                                        \
	"	for (int i = 0; i < 8; i++) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];\n"                                             \
	"	out[at] = sum;\n"                                                                                                        \
	"}\n"

/* SHAPE and TAIL: the instruction. 8 of them a warp group and step. */
#define WGMMA                                                                                                                      \
	"#define F(i) \"+f\"(d[i])\n"                                                                                              \
	"#define F4(i) F(i), F(i+1), F(i+2), F(i+3)\n"                                                                             \
	"#define F16(i) F4(i), F4(i+4), F4(i+8), F4(i+12)\n"                                                                       \
	"#define F64(i) F16(i), F16(i+16), F16(i+32), F16(i+48)\n"                                                                 \
	"__device__ unsigned long long tile(const void *shared)\n"                                                                 \
	"{\n"                                                                                                                      \
	"	unsigned long long at = (unsigned)__cvta_generic_to_shared(shared);\n"                                                   \
	"	return (at & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;\n"                                                   \
	"}\n"                                                                                                                      \
	"extern \"C\" __global__ void __launch_bounds__(256) ceiling(const float *in, float *out, int n)\n"                        \
	"{\n"                                                                                                                      \
	"	__shared__ __align__(1024) unsigned a[2][2048], b[8192];\n"                                                              \
	"	int at = blockIdx.x * blockDim.x + threadIdx.x, group = threadIdx.x / 128;\n"                                            \
	"	float d[128];\n"                                                                                                         \
	"	for (int i = 0; i < 128; i++) d[i] = 0;\n"                                                                               \
	"	for (int i = threadIdx.x; i < 4096; i += 256) a[i / 2048][i % 2048] = __float_as_uint(in[(at + i) % "                    \
	"(gridDim.x * 256)]) & 0x3fff3fffu;\n"                                                                                     \
	"	for (int i = threadIdx.x; i < 8192; i += 256) b[i] = __float_as_uint(in[(at + i) % (gridDim.x * "                        \
	"256)]) & 0x3fff3fffu;\n"                                                                                                  \
	"	asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"                                                                  \
	"	__syncthreads();\n"                                                                                                      \
	"	unsigned long long da = tile(a[group]), db = tile(b);\n"                                                                 \
	"	for (int s = 0; s < n; s++) {\n"                                                                                         \
	"		asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"                                                          \
	"#pragma unroll\n"                                                                                                         \
	"		for (int k = 0; k < 8; k++)\n"                                                                                          \
	"			asm volatile(\"wgmma.mma_async.sync.aligned.\" SHAPE \" {\"\n"                                                         \
	"				"                                                                                                                     \
	"\"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,"             \
	"%29,%30,%31,\"\n"                                                                                                         \
	"				"                                                                                                                     \
	"\"%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%"              \
	"58,%59,%60,%61,%62,%63,\"\n"                                                                                              \
	"				"                                                                                                                     \
	"\"%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%"              \
	"90,%91,%92,%93,%94,%95,\"\n"                                                                                              \
	"				"                                                                                                                     \
	"\"%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,"             \
	"%118,%119,%120,%121,%122,%123,%124,%125,%126,%127\"\n"                                                                    \
	"				\"}, %128, %129, 1, 1, 1\" TAIL \";\" : F64(0), F64(64) : \"l\"(da + 2 * (k "                                         \
	"% 4)), \"l\"(db + 2 * (k % 4)));\n"                                                                                       \
	"		asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"                                                   \
	"		asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"                                                   \
	"	}\n"                                                                                                                     \
	"	float sum = 0;\n"                                                                                                        \
	"	for (int i = 0; i < 128; i++) sum += d[i];\n"                                                                            \
	"	out[at] = sum;\n"                                                                                                        \
	"}\n"

/* Four independent loads a thread, so that enough of them are under way. */
#define COPY                                                                                                                       \
	"extern \"C\" __global__ void ceiling(const float4 *in, float4 *out, int n)\n"                                             \
	"{\n"                                                                                                                      \
	"	int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;\n"                                         \
	"	for (; i + 3 * step < n / 4; i += 4 * step) {\n"                                                                         \
	"		float4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];\n"                                      \
	"		out[i] = a, out[i + step] = b, out[i + 2 * step] = c, out[i + 3 * step] = d;\n"                                         \
	"	}\n"                                                                                                                     \
	"	for (; i < n / 4; i += step) out[i] = in[i];\n"                                                                          \
	"}\n"

/* As good as nothing. */
#define LAUNCH "extern \"C\" __global__ void ceiling(const float *from, float *to, int n) { to[threadIdx.x] = from[threadIdx.x] + n; }\n"

enum { THREADS = 256, COPY_ELEMENTS = 64 << 20 };

const struct ceilings_kernel cuda_ceilings[] = {
	{ "f32", "flop", "", "#define T float\n" FMA, THREADS, 8, 2.0 * 64 * THREADS, 2000, false },
	{ "f64", "flop", "", "#define T double\n" FMA, THREADS, 8, 2.0 * 64 * THREADS, 1000, false },
	{ "tensor.f16", "flop", "sm_90a", "#define SHAPE \"m64n256k16.f32.f16.f16\"\n#define TAIL \", 0, 0\"\n" WGMMA, THREADS, 1,
	  2.0 * 64 * 256 * 16 * 8 * 2, 500, false },
	{ "tensor.bf16", "flop", "sm_90a", "#define SHAPE \"m64n256k16.f32.bf16.bf16\"\n#define TAIL \", 0, 0\"\n" WGMMA, THREADS,
	  1, 2.0 * 64 * 256 * 16 * 8 * 2, 500, false },
	{ "tensor.tf32", "flop", "sm_90a", "#define SHAPE \"m64n256k8.f32.tf32.tf32\"\n#define TAIL \"\"\n" WGMMA, THREADS, 1,
	  2.0 * 64 * 256 * 8 * 8 * 2, 500, false },
	{ "tensor.f16", "flop", "", "#define SHAPE \"m16n8k16.row.col.f32.f16.f16.f32\"\n" MMA, THREADS, 4,
	  2.0 * 16 * 8 * 16 * 16 * 8, 1000, false },
	{ "tensor.bf16", "flop", "", "#define SHAPE \"m16n8k16.row.col.f32.bf16.bf16.f32\"\n" MMA, THREADS, 4,
	  2.0 * 16 * 8 * 16 * 16 * 8, 1000, false },
	{ "tensor.tf32", "flop", "", "#define SHAPE \"m16n8k8.row.col.f32.tf32.tf32.f32\"\n" MMA, THREADS, 4,
	  2.0 * 16 * 8 * 8 * 16 * 8, 1000, false },
	{ "launch", "launch", "", LAUNCH, THREADS, 1, 0, 1, false },
	{ "copy", "byte", "", COPY, THREADS, 8, 0, COPY_ELEMENTS, false },
	{ .name = NULL },
};
