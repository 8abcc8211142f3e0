/* image: an AMD code object made by hand, for tests that shall not depend on a compiler. Kernel "kern" has parameters of 8 and 4
 * bytes (and two hidden ones). It has 40 vector, 8 accumulation and 30 scalar registers, 500 bytes of LDS, 16 bytes of scratch,
 * launch bounds of 128 threads, and wave64. */
#ifndef PEAKD_TESTS_BACKENDS_HIP_IMAGE_H
#define PEAKD_TESTS_BACKENDS_HIP_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static void pack_text(struct buf *b, const char *text)
{
	size_t n = strlen(text);
	if (n < 32) {
		buf_addc(b, (char)(0xa0 | n));
	} else {
		buf_addc(b, (char)0xd9);
		buf_addc(b, (char)n);
	}
	buf_adds(b, text);
}

/* In the shortest form, as LLVM writes it. */
static void pack_number(struct buf *b, uint32_t v)
{
	if (v > 0xffff) {
		buf_addc(b, (char)0xce);
		buf_addc(b, (char)(v >> 24));
		buf_addc(b, (char)(v >> 16));
	} else if (v > 0xff) {
		buf_addc(b, (char)0xcd);
	} else if (v > 0x7f) {
		buf_addc(b, (char)0xcc);
	}
	if (v > 0xff)
		buf_addc(b, (char)(v >> 8));
	buf_addc(b, (char)v);
}

static void pack_pair(struct buf *b, const char *key, uint32_t v)
{
	pack_text(b, key);
	pack_number(b, v);
}

static void pack_param(struct buf *b, uint32_t offset, uint32_t bytes, const char *kind)
{
	buf_addc(b, (char)0x83);
	pack_pair(b, ".offset", offset);
	pack_pair(b, ".size", bytes);
	pack_text(b, ".value_kind");
	pack_text(b, kind);
}

static void metadata(struct buf *b)
{
	buf_addc(b, (char)0x83);
	pack_text(b, "amdhsa.version");
	buf_adds(b, "\x92\x01\x01");
	pack_text(b, "amdhsa.kernels");
	buf_addc(b, (char)0x91);
	buf_addc(b, (char)0xde); /* map16: 13 pairs */
	buf_add(b, "\0\x0d", 2);
	pack_text(b, ".name");
	pack_text(b, "kern");
	pack_pair(b, ".vgpr_count", 40);
	pack_pair(b, ".agpr_count", 8);
	pack_pair(b, ".sgpr_count", 30);
	pack_pair(b, ".vgpr_spill_count", 4);
	pack_pair(b, ".sgpr_spill_count", 0);
	pack_pair(b, ".group_segment_fixed_size", 500);
	pack_pair(b, ".private_segment_fixed_size", 16);
	pack_pair(b, ".max_flat_workgroup_size", 128);
	pack_pair(b, ".wavefront_size", 64);
	pack_text(b, ".uses_dynamic_stack");
	buf_addc(b, (char)0xc2);
	pack_text(b, ".symbol");
	pack_text(b, "kern.kd");
	pack_text(b, ".args");
	buf_addc(b, (char)0x94);
	pack_param(b, 0, 8, "global_buffer");
	pack_param(b, 8, 4, "by_value");
	pack_param(b, 16, 8, "hidden_global_offset_x");
	pack_param(b, 24, 8, "hidden_none");
	pack_text(b, "amdhsa.target");
	pack_text(b, "amdgcn-amd-amdhsa--gfx90a");
}

static void image(struct buf *out)
{
	struct buf content = BUF_INIT;
	Elf64_Ehdr head = { .e_machine = EM_AMDGPU, .e_phoff = sizeof head, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	Elf64_Phdr segment = { .p_type = PT_NOTE, .p_offset = sizeof head + sizeof segment };
	Elf64_Nhdr note = { .n_namesz = sizeof "AMDGPU", .n_type = 32 };

	metadata(&content);
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	note.n_descsz = (uint32_t)content.len;
	segment.p_filesz = sizeof note + 8 + content.len;
	buf_add(out, &head, sizeof head);
	buf_add(out, &segment, sizeof segment);
	buf_add(out, &note, sizeof note);
	buf_add(out, "AMDGPU\0", 8);
	buf_add(out, content.data, content.len);
	buf_fini(&content);
}

#endif
