/* Reading code objects: what they say about their kernels, and that a broken one does no harm. */
#include <stdlib.h>

#include "backends/hip/image.h"
#include "backends/hip/hip.h"
#include "base/mem.h"
#include "tap.h"

static void reads(const struct buf *im)
{
	struct gpu_module o = { .kernels = NULL };
	struct err e = ERR_INIT;
	const struct gpu_kernel *k;

	is_int(hip_object_read(im->data, im->len, &o, &e), 0, "read a code object (%s)", e.text);
	is_int(o.count, 1, "kernel count");
	k = gpu_module_find(&o, "kern");
	ok(k != NULL, "find a kernel by its name");
	if (!k)
		return;
	ok(k->registers == 40 && k->agprs == 8 && k->sgprs == 30, "registers: %u vector, %u accumulation, %u scalar", k->registers,
	   k->agprs, k->sgprs);
	ok(k->vgpr_spills == 4 && k->sgpr_spills == 0 && k->local == 16, "spills and scratch");
	ok(k->shared == 500 && k->bound == 128 && k->wave == 64 && k->block[0] == 0, "LDS, launch bounds, wave size");
	is_int(k->param_count, 2, "hidden parameters are not counted");
	ok(k->param_count == 2 && k->params[0].bytes == 8 && k->params[1].bytes == 4 && k->params[1].offset == 8,
	   "parameter sizes and offsets");
	ok(gpu_module_find(&o, "kernel") == NULL, "another name is not found");
	is_int(gpu_module_missing(&o, "kernel", &e), -ERR_INPUT, "a missing kernel is refused");
	has_str(e.text, "it has: kern", "the message lists the kernels of the module");
	gpu_module_fini(&o);
}

/* Every prefix, and every byte replaced by a few others, in memory that ends where the bytes end (for the address
 * sanitizer). */
static void survives(const struct buf *im)
{
	static const uint8_t bad[] = { 0x00, 0x7f, 0x80, 0xc1, 0xd9, 0xdb, 0xdd, 0xdf, 0xff };
	size_t refused = 0, prefixes = 0;

	for (size_t n = 0; n < im->len; n++) {
		struct gpu_module o = { .kernels = NULL };
		void *copy = mem_copy(im->data, n);
		if (hip_object_read(copy, n, &o, NULL) == 0)
			gpu_module_fini(&o);
		else
			prefixes++;
		free(copy);
	}
	for (size_t i = 0; i < im->len; i++)
		for (size_t b = 0; b < sizeof bad; b++) {
			struct gpu_module o = { .kernels = NULL };
			uint8_t *copy = mem_copy(im->data, im->len);
			copy[i] = bad[b];
			if (hip_object_read(copy, im->len, &o, NULL) == 0)
				gpu_module_fini(&o);
			else
				refused++;
			free(copy);
		}
	is_int(prefixes, im->len, "a code object cut anywhere is refused");
	ok(refused > im->len, "%zu changed code objects are refused", refused);
}

/* Deep nesting must not use up the stack. */
static void nests(void)
{
	struct buf im = BUF_INIT;
	struct gpu_module o;
	struct err e = ERR_INIT;
	size_t at;

	image(&im);
	at = im.len - 1 - strlen("amdgcn-amd-amdhsa--gfx90a"); /* the last value */
	memset(im.data + at, 0x91, im.len - at - 1);
	im.data[im.len - 1] = 0;
	is_int(hip_object_read(im.data, im.len, &o, &e), -ERR_INTERNAL, "deeply nested arrays are refused");
	has_str(e.text, "cannot be read", "the message says why");
	buf_fini(&im);
}

int main(void)
{
	struct buf im = BUF_INIT;

	image(&im);
	reads(&im);
	survives(&im);
	nests();
	buf_fini(&im);
	return tap_done();
}
