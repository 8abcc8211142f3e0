/* image: a CUDA binary made by hand, for tests that shall not depend on a compiler. Kernel "kern" has parameters of 8, 4 and 128
 * bytes, 168 registers and 500 bytes of static shared memory. Its launch bounds are 128 threads, its clusters {2, 1, 1}. */
#ifndef PEAKD_TESTS_BACKENDS_CUDA_IMAGE_H
#define PEAKD_TESTS_BACKENDS_CUDA_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

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
	Elf64_Ehdr head = { .e_ident = ELFMAG, .e_machine = EM_CUDA, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS,
			    .e_shstrndx = 1 };

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

#endif
