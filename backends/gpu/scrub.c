/* scrub: see run.h. A device worker has no compiler, so the kernels are PTX, which the driver translates in this process. */
#include "backends/gpu/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/embedded.h"
#include "base/mem.h"

/* One block fills a multiprocessor's shared memory but for the kilobyte that the driver keeps for each block. Other kernels own
 * that kilobyte where their blocks are smaller (measured on an H200). Two blocks side by side, 100 of 227 KiB each, have theirs
 * elsewhere. */
enum {
	LOCAL_LEAST = 1024, /* bytes of a thread's local memory that are overwritten at least; else twice as many, four times … */
	THREADS = 1024,
	BLOCKS_PER_UNIT = 8,
	MAX_DYNAMIC_SHARED = 8 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
};

void gpu_scrub_prepare(struct backend_device *d)
{
	struct device_scrub *s = &d->scrub;
	gpu_result result;

	if (s->tried || strcmp(d->facts.backend, "cuda") != 0)
		return;
	s->bytes = d->facts.shared_optin / 4 * 4;
	result = d->api.module_load(&s->module, embedded_file("backends/gpu/scrub.ptx"));
	if (result == GPU_SUCCESS)
		result = d->api.module_function(&s->function, s->module, "peakd_scrub");
	if (result == GPU_SUCCESS)
		result = d->api.module_function(&s->strayed, s->module, "peakd_strayed");
	if (result == GPU_SUCCESS)
		result = d->api.memory_alloc(&s->least, sizeof(uint32_t));
	if (result == GPU_SUCCESS)
		result = d->api.function_set(s->function, MAX_DYNAMIC_SHARED, (int)s->bytes);
	if (result != GPU_SUCCESS)
		gpu_scrub_free(d);
	s->tried = result != GPU_OUT_OF_MEMORY;
}

void gpu_scrub_free(struct backend_device *d)
{
	for (int i = 0; i < GPU_LOCAL_SCRUBS; i++)
		if (d->scrub.local[i].module)
			d->api.module_unload(d->scrub.local[i].module);
	if (d->scrub.least)
		d->api.memory_free(d->scrub.least);
	if (d->scrub.module)
		d->api.module_unload(d->scrub.module);
	d->scrub = (struct device_scrub){ .function = NULL };
}

/* The kernel that overwrites so many bytes; free() */
static char *local_kernel(unsigned bytes)
{
	struct buf text = BUF_INIT;

	for (const char *at = embedded_file("backends/gpu/scrub_local.ptx"), *next; *at; at = next) {
		const char *place = strstr(at, "BYTES");
		size_t n = place ? (size_t)(place - at) : strlen(at);

		buf_add(&text, at, n);
		if (place)
			buf_addf(&text, "%u", bytes);
		next = place ? place + strlen("BYTES") : at + n;
	}
	return buf_steal(&text);
}

/* Local memory that a kernel leaves is where the next one's is, if a thread has as much. Up to 64 KiB are overwritten. NULL: there
 * is none, or no such kernel. */
static gpu_function local_scrub(struct backend_device *d, unsigned bytes)
{
	struct device_local_scrub *s = d->scrub.local;
	unsigned all = LOCAL_LEAST;
	char *text;

	if (!bytes || !d->scrub.function)
		return NULL;
	while (all < bytes && s + 1 < d->scrub.local + GPU_LOCAL_SCRUBS) {
		all *= 2;
		s++;
	}
	if (s->tried)
		return s->function;
	s->tried = true;
	text = local_kernel(all);
	if (d->api.module_load(&s->module, text) != GPU_SUCCESS ||
	    d->api.module_function(&s->function, s->module, "peakd_scrub_local") != GPU_SUCCESS)
		s->function = NULL;
	free(text);
	return s->function;
}

gpu_result gpu_scrub(const struct backend_run *run, uint32_t word, bool local)
{
	struct backend_device *d = run->device;
	uint32_t sizes[] = { d->scrub.bytes, d->scrub.bytes / 1024 * 4 / 9 * 1024 };
	unsigned blocks = BLOCKS_PER_UNIT * (d->facts.units ? d->facts.units : 1);
	gpu_function of_threads = local ? local_scrub(d, run->local_bytes) : NULL;
	gpu_result result = GPU_SUCCESS;

	/* The driver may not have so much memory, for all threads that may run; that says nothing about the kernel. */
	if (of_threads)
		d->api.launch(of_threads, blocks / 2, 1, 1, THREADS, 1, 1, 0, d->stream, (void *[]){ &word }, NULL);
	for (size_t i = 0; d->scrub.function && result == GPU_SUCCESS && i < MEM_COUNT(sizes); i++) {
		void *parameters[] = { &sizes[i], &word };
		result = d->api.launch(d->scrub.function, blocks, 1, 1, THREADS, 1, 1, sizes[i], d->stream, parameters, NULL);
	}
	return result;
}
