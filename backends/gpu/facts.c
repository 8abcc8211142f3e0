/* facts: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

uint32_t gpu_facts_ask(const struct gpu_driver *d, int device, int attribute)
{
	int value = 0;
	return d->device_attribute(&value, attribute, device) == GPU_SUCCESS && value > 0 ? (uint32_t)value : 0;
}

int gpu_facts_limits(const struct gpu_driver *d, uint32_t index, const struct gpu_attributes *a, int *ret_device, struct facts *f,
		     struct err *e)
{
	size_t bytes = 0;
	int count = 0, device = (int)index;
	d->device_count(&count);
	if (index >= (uint32_t)count || (d->device_get && d->device_get(&device, (int)index) != GPU_SUCCESS))
		return err_set(e, ERR_NOT_FOUND, "there is no device %s:%u: the driver sees %d (%s:0 to %s:%d)", f->backend, index,
			       count, f->backend, f->backend, count - 1);
	*ret_device = device;
	f->runs = true;
	f->index = index;
	snprintf(f->id, sizeof f->id, "%s:%u", f->backend, index);
	if (d->device_name(f->name, sizeof f->name, device) != GPU_SUCCESS || !f->name[0])
		snprintf(f->name, sizeof f->name, "%s device", a->vendor);
	f->name[sizeof f->name - 1] = 0;
	f->warp_size = gpu_facts_ask(d, device, a->warp_size);
	f->max_threads = gpu_facts_ask(d, device, a->threads);
	for (int i = 0; i < 3; i++) {
		uint32_t grid = gpu_facts_ask(d, device, a->grid_x + i);
		f->max_block[i] = gpu_facts_ask(d, device, a->block_x + i);
		f->max_grid[i] = grid ? grid : f->max_grid[i];
	}
	uint32_t shared = gpu_facts_ask(d, device, a->shared);
	if (shared)
		f->shared_static = f->shared_optin = shared;
	f->registers = gpu_facts_ask(d, device, a->registers);
	f->units = gpu_facts_ask(d, device, a->units);
	f->clock_khz = gpu_facts_ask(d, device, a->clock_khz);
	f->l2_bytes = gpu_facts_ask(d, device, a->l2_bytes);
	if (d->device_memory(&bytes, device) == GPU_SUCCESS)
		f->memory_bytes = bytes;
	return 0;
}

/* Units × multiply-adds per clock × 2 × maximum clock; memory: two transfers a clock × bus width. */
void gpu_facts_peaks(const struct gpu_driver *d, int device, const struct gpu_attributes *a, const struct gpu_rates *rates,
		     struct facts *f)
{
	double cycles = (double)f->units * f->clock_khz * 1e3;
	f->peak_bytes = 2e3 * gpu_facts_ask(d, device, a->memory_khz) * gpu_facts_ask(d, device, a->memory_bits) / 8;
	if (rates == NULL)
		return;
	f->peak_f32 = cycles * rates->f32 * 2;
	f->peak_tensor_f16 = cycles * rates->tensor_f16 * 2;
	f->peak_tensor_tf32 = cycles * rates->tensor_tf32 * 2;
}

int gpu_facts_devices(const struct gpu_driver *d, gpu_describe *describe, struct facts **ret_facts, size_t *ret_count,
		      struct err *e)
{
	int count = 0, rc = 0;
	d->device_count(&count);
	struct facts *list = MEM_NEW_N(struct facts, count > 0 ? (size_t)count : 1);
	for (uint32_t i = 0; i < (uint32_t)count && rc == 0; i++)
		rc = describe(d, i, &list[i], e);
	if (rc < 0) {
		free(list);
		return rc;
	}
	*ret_facts = list;
	*ret_count = (size_t)count;
	return 0;
}
