/* image: loads an ELF code object: its segments as they lie in memory, and its kernels' descriptors. */
#include "tests/backends/hip/emulated/emulated.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* e_flags of gfx90a (LLVM's AMDGPU user guide, "ELF header"). */
enum { MACH_MASK = 0xff, MACH_GFX90A = 0x3f };
enum { DESCRIPTOR_BYTES = 64, IMAGE_MAX = 256 << 20 };

static int fail(struct stop *s, hipError_t code, const char *text)
{
	s->code = code;
	snprintf(s->text, sizeof s->text, "%.*s", (int)sizeof s->text - 1, text);
	return -1;
}

static void add_kernel(struct code *c, const char *name, uint64_t descriptor)
{
	const uint8_t *d = c->memory + descriptor;
	struct kernel *k;
	int64_t entry;

	if (descriptor + DESCRIPTOR_BYTES > c->bytes)
		return;
	k = MEM_PUSH(c->kernels, c->kernel_count);
	*k = (struct kernel){ .name = mem_strn(name, strlen(name) - 3), .code = c };
	memcpy(&k->shared, d, 4);
	memcpy(&k->private_, d + 4, 4);
	memcpy(&k->arg_bytes, d + 8, 4);
	memcpy(&entry, d + 16, 8);
	memcpy(&k->rsrc2, d + 52, 4);
	memcpy(&k->properties, d + 56, 2);
	k->entry = (uint32_t)(descriptor + (uint64_t)entry - c->text_at);
}

/* Kernels' descriptors are symbols "NAME.kd". */
static int read_sections(const uint8_t *image, const Elf64_Ehdr *h, struct code *c, struct stop *ret_stop)
{
	const Elf64_Shdr *sections = (const void *)(image + h->e_shoff);
	const char *names = (const char *)image + sections[h->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < h->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".text") == 0) {
			c->text_at = sections[i].sh_addr;
			c->text_bytes = sections[i].sh_size;
		}
		if (sections[i].sh_type == SHT_RELA && sections[i].sh_size)
			return fail(ret_stop, hipErrorNotSupported,
				    "the code object has relocations, which this device does not know");
	}
	if (!c->text_bytes || c->text_at + c->text_bytes > c->bytes)
		return fail(ret_stop, hipErrorInvalidImage, "the code object has no code");
	for (unsigned i = 0; i < h->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		const char *strings = (const char *)image + sections[sections[i].sh_link].sh_offset;
		for (size_t n = 0; sections[i].sh_type == SHT_DYNSYM && n < sections[i].sh_size / sizeof *symbols; n++) {
			const char *name = strings + symbols[n].st_name;
			size_t len = strlen(name);
			if (len > 3 && strcmp(name + len - 3, ".kd") == 0)
				add_kernel(c, name, symbols[n].st_value);
		}
	}
	return 0;
}

static int read_segments(const uint8_t *image, const Elf64_Ehdr *h, struct code *c, struct stop *ret_stop)
{
	const Elf64_Phdr *p = (const void *)(image + h->e_phoff);

	for (unsigned i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr + p[i].p_memsz > c->bytes)
			c->bytes = p[i].p_vaddr + p[i].p_memsz;
	if (!c->bytes || c->bytes > IMAGE_MAX)
		return fail(ret_stop, hipErrorInvalidImage, "the code object has no segments, or huge ones");
	c->memory = aligned_alloc(4096, (c->bytes + 4095) / 4096 * 4096);
	memset(c->memory, 0, c->bytes);
	for (unsigned i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			memcpy(c->memory + p[i].p_vaddr, image + p[i].p_offset, p[i].p_filesz);
	return 0;
}

int image_load(const void *bytes, struct code **ret_code, struct stop *ret_stop)
{
	const Elf64_Ehdr *h = bytes;
	struct code *c;
	struct err e = ERR_INIT;
	struct gpu_module object;
	size_t len;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_machine != 224)
		return fail(ret_stop, hipErrorInvalidImage, "not an AMD code object");
	if ((h->e_flags & MACH_MASK) != MACH_GFX90A)
		return fail(ret_stop, hipErrorNoBinaryForGpu, "compiled for another architecture than gfx90a");
	len = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
	c = MEM_NEW(struct code);
	if (read_segments(bytes, h, c, ret_stop) || read_sections(bytes, h, c, ret_stop))
		goto out;
	if (hip_object_read(bytes, len, &object, &e)) {
		fail(ret_stop, hipErrorInvalidImage, e.text);
		goto out;
	}
	c->args = MEM_NEW(struct gpu_module);
	*c->args = object;
	c->abi = h->e_ident[EI_ABIVERSION];
	memory_lend(c->memory, c->bytes);
	*ret_code = c;
	return 0;
out:
	image_free(c);
	return -1;
}

void image_free(struct code *c)
{
	if (!c)
		return;
	if (c->memory)
		memory_take(c->memory);
	for (size_t i = 0; i < c->op_count; i++)
		free(c->ops[i].text);
	for (size_t i = 0; i < c->kernel_count; i++)
		free(c->kernels[i].name);
	if (c->args)
		gpu_module_fini(c->args);
	free(c->args);
	free(c->ops);
	free(c->op_at);
	free(c->kernels);
	free(c->memory);
	free(c);
}
