/* Reading CUDA binaries: one made by hand, so that no compiler is needed, then the same one cut and changed at every
 * byte. */
#include "backends/cuda/image.h"

#include "backends/cuda/cuda.h"
#include "base/mem.h"
#include "tap.h"

static void good(const struct buf *im)
{
	struct gpu_module c = { .kernels = NULL };
	struct err e = ERR_INIT;
	const struct gpu_kernel *k;

	is_int(cuda_object_read(im->data, im->len, NULL, &c, &e), 0, "read an image (%s)", e.text);
	is_int(c.count, 1, "device functions are not kernels");
	k = gpu_module_find(&c, "kern");
	ok(k != NULL, "find a kernel by its name");
	if (!k)
		return;
	is_int(k->registers, 168, "registers of the kernel's own symbol");
	is_int(k->local, 48, "local memory with callees");
	is_int(k->shared, 500, "static shared memory without the reserved part");
	is_int(k->bound, 128, "launch bounds");
	is_int(k->block[0], 0, "no fixed block");
	ok(k->cluster[0] == 2 && k->cluster[1] == 1, "cluster");
	is_int(k->param_count, 3, "parameter count");
	ok(k->params_known, "the parameters are known");
	ok(k->params[0].bytes == 8 && k->params[1].bytes == 4 && k->params[2].bytes == 128, "parameter sizes, in order");
	is_int(k->params[2].offset, 128, "parameter offsets");
	is_int(gpu_module_missing(&c, "other", &e), -ERR_INPUT, "a missing kernel is refused");
	has_str(e.text, "it has: kern", "the message lists the kernels of the module");
	gpu_module_fini(&c);
}

/* Whatever the bytes are: an error or a result, never a read outside of them. */
static void broken(const struct buf *im)
{
	size_t refused = 0, read = 0;
	struct gpu_module c;
	struct err e = ERR_INIT;

	for (size_t n = 0; n < im->len; n++) {
		void *copy = mem_copy(im->data, n ? n : 1);
		if (cuda_object_read(copy, n, NULL, &c, &e) == 0)
			gpu_module_fini(&c), read++;
		else
			refused++;
		free(copy);
	}
	is_int(refused, im->len, "an image cut anywhere is refused");
	has_str(e.text, "cut short", "the message says that it is cut short");
	for (size_t n = 0; n < im->len; n++)
		for (int bit = 0; bit < 8; bit += 3) {
			char *copy = mem_copy(im->data, im->len);
			copy[n] = (char)(copy[n] ^ (1 << bit));
			if (cuda_object_read(copy, im->len, NULL, &c, &e) == 0)
				gpu_module_fini(&c), read++;
			free(copy);
		}
	ok(read > im->len / 2, "an image changed anywhere is read or refused");
	is_int(cuda_object_read("PTX", 3, NULL, &c, &e), -ERR_INTERNAL, "bytes that are not an image are refused");
	has_str(e.text, "no ELF header", "the message says why");
}

static void unknown_params(void)
{
	struct buf im = BUF_INIT;
	struct gpu_module c = { .kernels = NULL };
	uint8_t whole[4] = { 3, 0x19, 0, 1 }; /* 256 bytes of parameters */
	char *at;

	image(&im);
	at = memmem(im.data, im.len, whole, sizeof whole);
	ok(at != NULL, "find the record to change");
	if (at)
		at[2] = 8;
	is_int(cuda_object_read(im.data, im.len, NULL, &c, NULL), 0, "read an image whose parameters end elsewhere");
	ok(c.count == 1 && !c.kernels[0].params_known, "contradicting parameters are not trusted");
	gpu_module_fini(&c);
	buf_fini(&im);
}

/* A section without bytes in the file may claim any offset: it is not even computed. */
static void nowhere(void)
{
	struct buf im = BUF_INIT;
	struct gpu_module c = { .kernels = NULL };
	Elf64_Ehdr head;
	Elf64_Shdr h;
	image(&im);
	memcpy(&head, im.data, sizeof head);
	for (int i = 3; i <= 4; i++) { /* .nv.info and .nv.info.kern */
		char *at = im.data + head.e_shoff + (size_t)i * sizeof h;
		memcpy(&h, at, sizeof h);
		h.sh_type = SHT_NOBITS;
		h.sh_offset = UINT64_MAX - 15;
		memcpy(at, &h, sizeof h);
	}
	is_int(cuda_object_read(im.data, im.len, NULL, &c, NULL), 0, "a section without bytes is ignored");
	gpu_module_fini(&c);
	buf_fini(&im);
}

int main(void)
{
	struct buf im = BUF_INIT;

	image(&im);
	good(&im);
	broken(&im);
	unknown_params();
	nowhere();
	buf_fini(&im);
	return tap_done();
}
