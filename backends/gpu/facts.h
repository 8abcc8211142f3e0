/* facts: what CUDA and HIP ask of a device in the same way, each by its own numbers of attributes. Used by cuda/facts.c and hip/facts.c. */
#ifndef PEAKD_BACKENDS_GPU_FACTS_H
#define PEAKD_BACKENDS_GPU_FACTS_H

#include "backends/gpu/api.h"
#include "backends/wire/facts.h"
#include "base/err.h"

/* A vendor's numbers of the attributes that both have. */
struct gpu_attributes {
	int warp_size, threads;
	int block_x, grid_x; /* y and z follow */
	int shared;          /* per block, without an opt-in */
	int registers, units, clock_khz, l2_bytes, memory_khz, memory_bits;
};

/* Multiply-adds per clock and unit at most; 0: none or not published. */
struct gpu_rates {
	uint32_t f32;                     /* matrix units included where they do fp32 */
	uint32_t tensor_f16, tensor_tf32; /* dense, fp32 accumulation */
};

/* 0 when the driver does not know the attribute. */
uint32_t gpu_facts_ask(const struct gpu_driver *d, int device, int attribute);
/* Fills in limits, sizes and clocks, and peaks by the rates (NULL: not known). What the driver does not tell stays as it is. */
void gpu_facts_limits(const struct gpu_driver *d, int device, const struct gpu_attributes *a, struct facts *io_facts);
void gpu_facts_peaks(const struct gpu_driver *d, int device, const struct gpu_attributes *a, const struct gpu_rates *rates,
		     struct facts *io_facts);
/* Every device of a driver, each described by the vendor's own function. The list belongs to the caller. */
int gpu_facts_devices(const struct gpu_driver *d,
		      int (*describe)(const struct gpu_driver *d, uint32_t index, struct facts *ret_facts, struct err *e),
		      struct facts **ret_facts, size_t *ret_count, struct err *e);

#endif
