/* object: see cuda.h. A cubin is an ELF64 file: one .text.KERNEL section per kernel, .nv.shared.KERNEL, and .nv.info
 * sections made of records {u8 form, u8 attribute, u16 value or length}. NVIDIA does not document the attributes' numbers;
 * the ones below are those that cuobjdump prints by name (EIATTR_…), and were checked against `ptxas -v` of CUDA 13.0 for
 * sm_75 to sm_120. */
#include "backends/cuda/cuda.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	EIATTR_MAX_THREADS = 0x05,      /* u32 x, y, z */
	EIATTR_REQNTID = 0x10,          /* u32 x, y, z */
	EIATTR_FRAME_SIZE = 0x11,       /* u32 symbol, u32 bytes */
	EIATTR_MIN_STACK_SIZE = 0x12,   /* u32 symbol, u32 bytes, with callees */
	EIATTR_KPARAM_INFO = 0x17,      /* u32 index, u16 ordinal, u16 offset, u32 with the size in its top 14 bits */
	EIATTR_CBANK_PARAM_SIZE = 0x19, /* u16 bytes of all parameters, in the record's head */
	EIATTR_REGCOUNT = 0x2f,         /* u32 symbol, u32 registers */
	EIATTR_CTA_PER_CLUSTER = 0x3d,  /* u32 x, y, z */
};
enum { FORM_SIZED = 4 };         /* the head's u16 is the length of what follows */
enum { STO_CUDA_ENTRY = 0x10 };  /* symbol's st_other: a kernel, not a device function */
enum { SHARED_RESERVED = 1024 }; /* bytes at the front of shared memory that the system keeps from compute capability 9.0 on */
enum { PARAMS_MAX = 4096 };

struct image {
	const uint8_t *bytes;
	size_t len;
	const Elf64_Shdr *sections; /* copied: the image need not be aligned */
	size_t section_count;
	size_t names; /* index of the section with the sections' names */
};

struct info {
	uint8_t form, attribute;
	uint16_t value;
	const uint8_t *data;
	size_t len;
};

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}
static uint16_t u16_at(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* A NUL-terminated text inside a string table, or NULL. */
static const char *text_at(const struct image *im, size_t table, uint32_t offset)
{
	const Elf64_Shdr *s;
	if (table >= im->section_count)
		return NULL;
	s = &im->sections[table];
	if (s->sh_type != SHT_STRTAB || offset >= s->sh_size || !memchr(im->bytes + s->sh_offset + offset, 0, s->sh_size - offset))
		return NULL;
	return (const char *)im->bytes + s->sh_offset + offset;
}

static const char *section_name(const struct image *im, size_t i)
{
	const char *name = text_at(im, im->names, im->sections[i].sh_name);
	return name ? name : "";
}

static const Elf64_Shdr *section_find(const struct image *im, const char *prefix, const char *rest)
{
	size_t n = strlen(prefix);
	for (size_t i = 0; i < im->section_count; i++) {
		const char *name = section_name(im, i);
		if (strncmp(name, prefix, n) == 0 && strcmp(name + n, rest) == 0)
			return &im->sections[i];
	}
	return NULL;
}

/* One of a symbol table; begin with all zero. */
struct symbol {
	size_t table;   /* its section */
	uint32_t place; /* of the next one in it */
	uint32_t index; /* by which records name it */
	Elf64_Sym at;
	const char *name; /* "": none */
};

/* The next symbol of the image; false: there is none. */
static bool symbol_next(const struct image *im, struct symbol *io_symbol)
{
	for (; io_symbol->table < im->section_count; io_symbol->table++, io_symbol->place = 0) {
		const Elf64_Shdr *table = &im->sections[io_symbol->table];
		if (table->sh_type != SHT_SYMTAB || io_symbol->place >= table->sh_size / sizeof(Elf64_Sym))
			continue;
		io_symbol->index = io_symbol->place++;
		memcpy(&io_symbol->at, im->bytes + table->sh_offset + io_symbol->index * sizeof io_symbol->at,
		       sizeof io_symbol->at);
		const char *name = text_at(im, table->sh_link, io_symbol->at.st_name);
		io_symbol->name = name ? name : "";
		return true;
	}
	return false;
}

static int image_open(const void *bytes, size_t len, struct image *im, Elf64_Shdr **ret_sections, struct err *e)
{
	Elf64_Ehdr head;
	Elf64_Shdr *sections;

	if (len < sizeof head || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return err_set(e, ERR_INTERNAL, "the compiled binary is not a CUDA image (no ELF header in %zu bytes)", len);
	memcpy(&head, bytes, sizeof head);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_CUDA || head.e_shentsize != sizeof(Elf64_Shdr) ||
	    head.e_shoff > len || (len - head.e_shoff) / sizeof(Elf64_Shdr) < head.e_shnum)
		return err_set(e, ERR_INTERNAL, "the compiled binary is not a 64-bit CUDA image, or is cut short (%zu bytes)", len);
	sections = mem_new(head.e_shnum + 1u, sizeof *sections);
	memcpy(sections, (const uint8_t *)bytes + head.e_shoff, head.e_shnum * sizeof *sections);
	for (size_t i = 0; i < head.e_shnum; i++)
		if (sections[i].sh_type != SHT_NOBITS &&
		    (sections[i].sh_offset > len || sections[i].sh_size > len - sections[i].sh_offset)) {
			free(sections);
			return err_set(e, ERR_INTERNAL, "the compiled CUDA image is cut short: section %zu ends after byte %zu", i,
				       len);
		}
	*im = (struct image){
		.bytes = bytes, .len = len, .sections = sections, .section_count = head.e_shnum, .names = head.e_shstrndx
	};
	*ret_sections = sections;
	return 0;
}

/* Steps through the records of an .nv.info section; false at its end. */
static bool info_next(const struct image *im, const Elf64_Shdr *s, size_t *at, struct info *ret)
{
	if (s->sh_type == SHT_NOBITS || s->sh_size < 4 || *at > s->sh_size - 4)
		return false;
	const uint8_t *p = im->bytes + s->sh_offset; /* image_open checked that it is inside the image */
	*ret = (struct info){ .form = p[*at], .attribute = p[*at + 1], .value = u16_at(p + *at + 2), .data = p + *at + 4 };
	*at += 4;
	if (ret->form == FORM_SIZED) {
		if (ret->value > s->sh_size - *at)
			return false;
		ret->len = ret->value;
		*at += ret->value;
	}
	return true;
}

static void three(const struct info *i, uint32_t to[3])
{
	for (size_t k = 0; k < 3 && 4 * k + 4 <= i->len; k++)
		to[k] = u32_at(i->data + 4 * k);
}

/* The kernel's own .nv.info section. */
static void read_own(const struct image *im, struct gpu_kernel *k)
{
	const Elf64_Shdr *s = section_find(im, ".nv.info.", k->name);
	uint32_t bound[3] = { 0, 0, 0 }, bytes = 0, end = 0;
	struct info i;

	for (size_t at = 0; s && info_next(im, s, &at, &i);) {
		if (i.attribute == EIATTR_MAX_THREADS)
			three(&i, bound);
		else if (i.attribute == EIATTR_REQNTID)
			three(&i, k->block);
		else if (i.attribute == EIATTR_CTA_PER_CLUSTER)
			three(&i, k->cluster);
		else if (i.attribute == EIATTR_KPARAM_INFO && i.len >= 12 && u16_at(i.data + 4) < PARAMS_MAX) {
			size_t ordinal = u16_at(i.data + 4);
			if (ordinal >= k->param_count) {
				k->params = mem_resize(k->params, ordinal + 1, sizeof *k->params);
				memset(k->params + k->param_count, 0, (ordinal + 1 - k->param_count) * sizeof *k->params);
				k->param_count = ordinal + 1;
			}
			k->params[ordinal] = (struct gpu_param){ .offset = u16_at(i.data + 6), .bytes = u32_at(i.data + 8) >> 18 };
		} else if (i.attribute == EIATTR_CBANK_PARAM_SIZE)
			bytes = i.value;
	}
	k->bound = bound[0] * (bound[1] ? bound[1] : 1) * (bound[2] ? bound[2] : 1);
	/* The last parameter must end where the parameters end, and none may be a hole; anything else is an unknown form. */
	k->params_known = s != NULL;
	for (size_t p = 0; p < k->param_count; p++) {
		if (!k->params[p].bytes || k->params[p].offset < end)
			k->params_known = false;
		end = k->params[p].offset + k->params[p].bytes;
	}
	if (end != bytes)
		k->params_known = false;
}

/* The image's common .nv.info section, whose records name a symbol. */
static void read_common(const struct image *im, uint32_t symbol, struct gpu_kernel *k)
{
	const Elf64_Shdr *s = section_find(im, ".nv.info", "");
	struct info i;

	k->registers = UINT32_MAX;
	for (size_t at = 0; s && info_next(im, s, &at, &i);) {
		uint32_t value;
		if (i.len < 8 || u32_at(i.data) != symbol)
			continue;
		value = u32_at(i.data + 4);
		if (i.attribute == EIATTR_REGCOUNT)
			k->registers = value;
		else if ((i.attribute == EIATTR_FRAME_SIZE || i.attribute == EIATTR_MIN_STACK_SIZE) && value != UINT32_MAX &&
			 value > k->local)
			k->local = value;
	}
}

static bool has_symbol(const struct image *im, const char *name)
{
	struct symbol s = { .table = 0 };
	while (symbol_next(im, &s))
		if (strcmp(s.name, name) == 0)
			return true;
	return false;
}

/* NVRTC and nvJitLink note the reserved bytes differently. */
static void read_shared(const struct image *im, struct gpu_kernel *k)
{
	const Elf64_Shdr *s = section_find(im, ".nv.shared.", k->name);
	bool notes = section_find(im, ".nv.shared.reserved.0", "") || has_symbol(im, ".nv.reservedSmem.offset0");
	uint64_t reserved = notes ? SHARED_RESERVED : 0;

	if (s && s->sh_size > reserved)
		k->shared = s->sh_size - reserved > UINT32_MAX ? UINT32_MAX : (uint32_t)(s->sh_size - reserved);
}

/* --- variables ------------------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cuda_variable *)a)->name, ((const struct cuda_variable *)b)->name);
}

/* The variables that begin as zeros, or with content, sorted. free() */
static struct cuda_variable *variables_of(const struct image *im, size_t *ret_count)
{
	struct cuda_variable *all = NULL;
	struct symbol s = { .table = 0 };
	*ret_count = 0;
	while (symbol_next(im, &s))
		if (ELF64_ST_TYPE(s.at.st_info) == STT_OBJECT && s.at.st_shndx < im->section_count && *s.name &&
		    strncmp(section_name(im, s.at.st_shndx), ".nv.global", strlen(".nv.global")) == 0)
			*MEM_PUSH(all, *ret_count) = (struct cuda_variable){ .name = s.name, .bytes = s.at.st_size };
	if (all)
		qsort(all, *ret_count, sizeof *all, by_name);
	return all;
}

/* Constants are no state, however many: NVRTC keeps all that a header of the toolkit defines (cooperative_groups.h: a thousand),
 * also what no code uses. */
static void read_state(const struct image *im, const char *ptx, struct gpu_module *module)
{
	size_t count;
	struct cuda_variable *all = variables_of(im, &count);
	const struct cuda_variable *kept = all ? cuda_variables_kept(ptx, all, count) : NULL;
	if (all && !kept) {
		module->tables = module->state = 0;
	} else if (kept) {
		module->state = kept->bytes ? kept->bytes : 1;
		module->kept = mem_str(kept->name);
	}
	free(all);
}

/* Device code reaches the heap through functions that the driver links in. */
static const char *const heap[] = { "malloc", "free", "__nv_aligned_device_malloc" };

int cuda_object_read(const void *bytes, size_t len, const char *ptx, struct gpu_module *ret_module, struct err *e)
{
	struct gpu_module module = { .kernels = NULL, .count = 0 };
	struct image im = { .bytes = NULL };
	Elf64_Shdr *sections = NULL;
	struct symbol s = { .table = 0 };
	int rc = image_open(bytes, len, &im, &sections, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < im.section_count; i++) {
		if (strcmp(section_name(&im, i), ".nv.global") == 0)
			module.state += sections[i].sh_size;
		if (strcmp(section_name(&im, i), ".nv.global.init") == 0)
			module.tables += sections[i].sh_size;
	}
	while (symbol_next(&im, &s)) {
		for (size_t f = 0; f < MEM_COUNT(heap) && s.at.st_shndx == SHN_UNDEF; f++)
			module.allocates |= strcmp(s.name, heap[f]) == 0;
		if (ELF64_ST_TYPE(s.at.st_info) != STT_FUNC || !(s.at.st_other & STO_CUDA_ENTRY) || !*s.name)
			continue;
		struct gpu_kernel *k = MEM_PUSH(module.kernels, module.count);
		*k = (struct gpu_kernel){ .name = mem_str(s.name) };
		read_common(&im, s.index, k);
		read_own(&im, k);
		read_shared(&im, k);
	}
	if (ptx)
		read_state(&im, ptx, &module);
	free(sections);
	*ret_module = module;
	return 0;
}
