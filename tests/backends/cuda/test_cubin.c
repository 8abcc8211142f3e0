/* Reading CUDA binaries: one made here by hand, so that no compiler is needed, then the same one cut and changed at every byte. */
#include <elf.h>

#include "backends/cuda/cubin.h"
#include "base/mem.h"
#include "tap.h"

enum { SECTIONS = 8 };
static const char *const section_names[SECTIONS] = { "", ".strtab", ".symtab", ".nv.info", ".nv.info.kern", ".nv.shared.kern",
                                                     ".nv.shared.reserved.0", ".text.kern" };

static void u32(struct buf *b, uint32_t v) { buf_add(b, &v, sizeof v); }

static void head(struct buf *b, uint8_t form, uint8_t attribute, uint16_t value)
{
	buf_addc(b, (char)form);
	buf_addc(b, (char)attribute);
	buf_add(b, &value, sizeof value);
}

static void three(struct buf *b, uint8_t attribute, uint32_t x, uint32_t y, uint32_t z)
{
	head(b, 4, attribute, 12);
	u32(b, x);
	u32(b, y);
	u32(b, z);
}

/* A parameter record: ordinal, offset, bytes. */
static void param(struct buf *b, uint32_t ordinal, uint32_t offset, uint32_t bytes)
{
	three(b, 0x17, 0, ordinal | offset << 16, bytes << 18 | 0x1f000);
}

static void pair(struct buf *b, uint8_t attribute, uint32_t symbol, uint32_t value)
{
	head(b, 4, attribute, 8);
	u32(b, symbol);
	u32(b, value);
}

/* A kernel "kern" (symbol 2) and a device function "helper" (symbol 1). */
static void contents(struct buf s[SECTIONS], Elf64_Shdr h[SECTIONS])
{
	Elf64_Sym symbols[3] = { { 0 }, { .st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC) },
	                         { .st_name = 8, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10 } };

	buf_add(&s[1], "\0helper\0kern\0", 13);
	for (int i = 0; i < SECTIONS; i++) {
		h[i].sh_name = (uint32_t)s[1].len;
		buf_add(&s[1], section_names[i], strlen(section_names[i]) + 1);
		h[i].sh_type = i ? SHT_PROGBITS : SHT_NULL;
	}
	h[1].sh_type = SHT_STRTAB;
	h[2].sh_type = SHT_SYMTAB;
	h[2].sh_link = 1;
	buf_add(&s[2], symbols, sizeof symbols);
	pair(&s[3], 0x2f, 1, 99); /* registers, of another symbol */
	pair(&s[3], 0x2f, 2, 168);
	pair(&s[3], 0x11, 2, 16);
	pair(&s[3], 0x12, 2, 48);
	head(&s[4], 3, 0x1b, 255); /* a record that is of no interest */
	param(&s[4], 2, 128, 128);
	param(&s[4], 1, 8, 4);
	param(&s[4], 0, 0, 8);
	head(&s[4], 3, 0x19, 256);
	three(&s[4], 0x05, 64, 2, 1);
	three(&s[4], 0x3d, 2, 1, 1);
	h[5].sh_type = h[6].sh_type = SHT_NOBITS;
	h[5].sh_size = 1024 + 500;
	h[5].sh_offset = 1u << 30; /* takes no room in the file */
}

static void image(struct buf *out)
{
	struct buf s[SECTIONS] = { BUF_INIT };
	Elf64_Shdr h[SECTIONS] = { { 0 } };
	Elf64_Ehdr head = { .e_ident = ELFMAG, .e_machine = EM_CUDA, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS, .e_shstrndx = 1 };

	contents(s, h);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	buf_room(out, sizeof head);
	for (int i = 0; i < SECTIONS; i++)
		if (h[i].sh_type != SHT_NOBITS) {
			h[i].sh_offset = out->len;
			h[i].sh_size = s[i].len;
			buf_add(out, s[i].data, s[i].len);
		}
	head.e_shoff = out->len;
	buf_add(out, h, sizeof h);
	memcpy(out->data, &head, sizeof head);
	for (int i = 0; i < SECTIONS; i++)
		buf_fini(&s[i]);
}

static void good(const struct buf *im)
{
	struct cuda_cubin c = { .kernels = NULL };
	struct err e = ERR_INIT;
	const struct cuda_kernel *k;

	is_int(cuda_cubin_read(im->data, im->len, &c, &e), 0, "the image is read (%s)", e.text);
	is_int(c.count, 1, "one kernel: the device function is none");
	k = cuda_cubin_find(&c, "kern");
	ok(k != NULL, "found by name");
	if (!k)
		return;
	is_int(k->registers, 168, "registers, of its own symbol");
	is_int(k->local, 48, "local memory with callees");
	is_int(k->shared, 500, "static shared memory without the reserved part");
	is_int(k->bound, 128, "launch bounds");
	is_int(k->block[0], 0, "no fixed block");
	ok(k->cluster[0] == 2 && k->cluster[1] == 1, "cluster");
	is_int(k->param_count, 3, "three parameters");
	ok(k->params_known, "which are all understood");
	ok(k->params[0].bytes == 8 && k->params[1].bytes == 4 && k->params[2].bytes == 128, "with their sizes, in order");
	is_int(k->params[2].offset, 128, "and offsets");
	is_int(cuda_cubin_missing(&c, "other", &e), -ERR_INPUT, "a missing kernel");
	has_str(e.text, "it has: kern", "lists those that there are");
	cuda_cubin_fini(&c);
}

/* Whatever the bytes are: an error or a result, never a read outside of them. */
static void broken(const struct buf *im)
{
	size_t refused = 0, read = 0;
	struct cuda_cubin c;
	struct err e = ERR_INIT;

	for (size_t n = 0; n < im->len; n++) {
		void *copy = mem_copy(im->data, n ? n : 1);
		if (cuda_cubin_read(copy, n, &c, &e) == 0)
			cuda_cubin_fini(&c), read++;
		else
			refused++;
		free(copy);
	}
	is_int(refused, im->len, "cut anywhere, it is refused");
	has_str(e.text, "cut short", "and the reason is given");
	for (size_t n = 0; n < im->len; n++)
		for (int bit = 0; bit < 8; bit += 3) {
			char *copy = mem_copy(im->data, im->len);
			copy[n] = (char)(copy[n] ^ (1 << bit));
			if (cuda_cubin_read(copy, im->len, &c, &e) == 0)
				cuda_cubin_fini(&c), read++;
			free(copy);
		}
	ok(read > im->len / 2, "changed anywhere, nothing worse happens");
	is_int(cuda_cubin_read("PTX", 3, &c, &e), -ERR_INTERNAL, "not an image");
	has_str(e.text, "no ELF header", "says so");
}

static void unknown_params(void)
{
	struct buf im = BUF_INIT;
	struct cuda_cubin c = { .kernels = NULL };
	uint8_t whole[4] = { 3, 0x19, 0, 1 }; /* 256 bytes of parameters */
	char *at;

	image(&im);
	at = memmem(im.data, im.len, whole, sizeof whole);
	ok(at != NULL, "the record is there");
	if (at)
		at[2] = 8;
	is_int(cuda_cubin_read(im.data, im.len, &c, NULL), 0, "an image whose parameters end elsewhere");
	ok(c.count == 1 && !c.kernels[0].params_known, "is not believed about its parameters");
	cuda_cubin_fini(&c);
	buf_fini(&im);
}

int main(void)
{
	struct buf im = BUF_INIT;

	image(&im);
	good(&im);
	broken(&im);
	unknown_params();
	buf_fini(&im);
	return tap_done();
}
