/* facts: what is known of one device, or of a named architecture that can only be compiled for. Host code sees the
 * limits, prompts the names, validators and floors the rest. */
#ifndef PEAKD_BACKENDS_WIRE_FACTS_H
#define PEAKD_BACKENDS_WIRE_FACTS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FACTS_TEXT = 128, FACTS_UUID_DIGITS = 32 };

/* 27 fields: one row of `peakd devices`, which travels, prints and compares as a whole. */
struct facts {
	char id[FACTS_TEXT];     /* what --device takes: "cuda:0", "cuda:sm_90a", "hlsl:0" */
	char backend[16];        /* "cuda", "hip", "hlsl" */
	char name[FACTS_TEXT];   /* vendor's product name */
	char uuid[FACTS_TEXT];   /* unique per physical device; "" for a named architecture */
	char arch[32];           /* compile target: "sm_90a", "gfx90a", "spirv1.3" */
	char driver[FACTS_TEXT]; /* driver and compiler versions, one line */
	char host[FACTS_TEXT];   /* its machine: "NAME, CPU" */
	bool runs;               /* false: compile only */
	bool shares_cpu;         /* the "device" is the CPU (lavapipe): nothing compiles while it is timed */
	bool emulated;           /* its times mean nothing */
	uint32_t index;          /* of the device within its backend */
	uint32_t warp_size;      /* threads that run in lock-step; subgroup size for HLSL */
	uint32_t max_threads;    /* per block */
	uint32_t max_block[3], max_grid[3];
	uint32_t shared_static; /* bytes of shared memory a block may declare */
	uint32_t shared_optin;  /* bytes with opt-in dynamic allocation (≥ shared_static) */
	uint32_t registers;     /* 32-bit registers per block; 0 unknown */
	uint32_t units;         /* multiprocessors / compute units; 0 unknown */
	uint32_t clock_khz;     /* maximum core clock; 0 unknown */
	uint32_t max_cluster;   /* blocks per cluster; 1 when clusters do not exist */
	uint64_t l2_bytes;      /* 0 unknown */
	uint64_t memory_bytes;
	double peak_f32;         /* theoretical FLOP/s at maximum clock of the plain fp32 pipe; 0 unknown */
	double peak_tensor_f16;  /* of dense f16/bf16 with fp32 accumulation; 0 unknown or none */
	double peak_tensor_tf32; /* of dense tf32; 0 unknown or none */
	double peak_bytes;       /* theoretical memory bandwidth, bytes/s; 0 unknown */
};

/* CUDA, NVML and Vulkan write the UUID of one GPU in different ways ("GPU-…-…", "vulkan-…-0"); its digits are the same. Writes them
 * in lower case. False: it has fewer. */
static inline bool facts_uuid_digits(const char *uuid, char ret_digits[FACTS_UUID_DIGITS + 1])
{
	const char *from = strncmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : strncmp(uuid, "vulkan-", 7) == 0 ? uuid + 7 : "";
	int n = 0;
	for (; n < FACTS_UUID_DIGITS && (isxdigit((unsigned char)*from) || *from == '-'); from++)
		if (*from != '-')
			ret_digits[n++] = (char)tolower((unsigned char)*from);
	ret_digits[n] = '\0';
	return n == FACTS_UUID_DIGITS;
}

#endif
