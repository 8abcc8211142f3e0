/* object: see hip.h. Nothing here trusts the bytes: every read is bounded, and nesting is too. */
#include "backends/hip/hip.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NT_AMDGPU_METADATA = 32, DEPTH_MAX = 16 };

/* --- MessagePack (its specification, "Formats") ----------------------------------------------------------------------------- */
struct in {
	const uint8_t *at, *end;
	bool bad;
};

enum kind { KIND_NONE, KIND_INT, KIND_TEXT, KIND_ARRAY, KIND_MAP, KIND_OTHER };

/* One value's head; the elements of arrays and maps follow in the input. */
struct value {
	enum kind kind;
	uint64_t n;       /* the integer, the length of the text, the number of elements or pairs */
	const char *text; /* borrowed, not terminated */
};

static const uint8_t *take(struct in *in, uint64_t n)
{
	const uint8_t *at = in->at;
	if (in->bad || n > (uint64_t)(in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return at;
}

static uint64_t take_number(struct in *in, unsigned bytes)
{
	const uint8_t *at = take(in, bytes);
	uint64_t v = 0;
	for (unsigned i = 0; at && i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

static struct value text_of(struct in *in, uint64_t n, enum kind kind)
{
	struct value v = { .kind = kind, .n = n };
	v.text = (const char *)take(in, n);
	if (!v.text)
		v = (struct value){ .kind = KIND_NONE };
	return v;
}

/* Formats 0xc0 to 0xdf. */
static struct value next_long(struct in *in, uint8_t head)
{
	unsigned log;
	if (head <= 0xc3) /* nil, false, true */
		return (struct value){ .kind = KIND_INT, .n = head == 0xc3 };
	if (head <= 0xc6)
		return text_of(in, take_number(in, 1u << (head - 0xc4)), KIND_OTHER); /* bin */
	if (head >= 0xcc && head <= 0xd3) {
		log = (head - 0xcc) & 3; /* uint, then int */
		return (struct value){ .kind = KIND_INT, .n = take_number(in, 1u << log) };
	}
	if (head >= 0xd9 && head <= 0xdb)
		return text_of(in, take_number(in, 1u << (head - 0xd9)), KIND_TEXT);
	if (head >= 0xdc)
		return (struct value){ .kind = head < 0xde ? KIND_ARRAY : KIND_MAP, .n = take_number(in, head & 1 ? 4 : 2) };
	if (head == 0xca || head == 0xcb)
		return text_of(in, head == 0xca ? 4 : 8, KIND_OTHER); /* floats */
	in->bad = true;                                               /* extensions: AMD uses none */
	return (struct value){ .kind = KIND_NONE };
}

static struct value next(struct in *in)
{
	const uint8_t *head = take(in, 1);
	if (!head)
		return (struct value){ .kind = KIND_NONE };
	if (*head <= 0x7f)
		return (struct value){ .kind = KIND_INT, .n = *head };
	if (*head <= 0x8f)
		return (struct value){ .kind = KIND_MAP, .n = *head & 0xf };
	if (*head <= 0x9f)
		return (struct value){ .kind = KIND_ARRAY, .n = *head & 0xf };
	if (*head <= 0xbf)
		return text_of(in, *head & 0x1f, KIND_TEXT);
	if (*head >= 0xe0)
		return (struct value){ .kind = KIND_INT, .n = (uint64_t)(int64_t)(int8_t)*head };
	return next_long(in, *head);
}

static void skip(struct in *in, int depth)
{
	struct value v = next(in);
	uint64_t n = v.kind == KIND_MAP ? 2 * v.n : v.kind == KIND_ARRAY ? v.n : 0;
	if (n && depth >= DEPTH_MAX)
		in->bad = true;
	for (uint64_t i = 0; i < n && !in->bad; i++)
		skip(in, depth + 1);
}

static bool is_text(struct value v, const char *text)
{
	return v.kind == KIND_TEXT && v.n == strlen(text) && memcmp(v.text, text, v.n) == 0;
}

/* The head of an array or map, empty when it is something else. */
static uint64_t enter(struct in *in, enum kind kind)
{
	struct value v = next(in);
	if (v.kind != kind)
		in->bad = true;
	return in->bad ? 0 : v.n;
}

/* --- AMD's map ("Code Object V3 Metadata", "V4", "V5") ------------------------------------------------------------------------ */
static void read_param(struct in *in, struct gpu_kernel *k)
{
	struct gpu_param p = { .bytes = 0 };
	bool hidden = false;
	for (uint64_t n = enter(in, KIND_MAP); n > 0 && !in->bad; n--) {
		struct value key = next(in);
		if (is_text(key, ".offset"))
			p.offset = (uint32_t)next(in).n;
		else if (is_text(key, ".size"))
			p.bytes = (uint32_t)next(in).n;
		else if (is_text(key, ".value_kind")) {
			struct value v = next(in);
			hidden = v.kind == KIND_TEXT && v.n >= 7 && memcmp(v.text, "hidden_", 7) == 0;
		} else {
			skip(in, 0);
		}
	}
	if (!hidden && !in->bad)
		*MEM_PUSH(k->params, k->param_count) = p;
}

static void read_kernel_field(struct in *in, struct value key, struct gpu_kernel *k)
{
	const struct {
		const char *name;
		uint32_t *to;
	} numbers[] = {
		{ ".vgpr_count", &k->registers },
		{ ".agpr_count", &k->agprs },
		{ ".sgpr_count", &k->sgprs },
		{ ".vgpr_spill_count", &k->vgpr_spills },
		{ ".sgpr_spill_count", &k->sgpr_spills },
		{ ".group_segment_fixed_size", &k->shared },
		{ ".private_segment_fixed_size", &k->local },
		{ ".max_flat_workgroup_size", &k->bound },
		{ ".wavefront_size", &k->wave },
	};

	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		if (is_text(key, numbers[i].name)) {
			*numbers[i].to = (uint32_t)next(in).n;
			return;
		}
	if (is_text(key, ".name")) {
		struct value v = next(in);
		free(k->name);
		k->name = v.kind == KIND_TEXT ? mem_strn(v.text, v.n) : NULL;
	} else if (is_text(key, ".reqd_workgroup_size")) {
		uint64_t n = enter(in, KIND_ARRAY);
		for (uint64_t i = 0; i < n && !in->bad; i++) {
			uint32_t size = (uint32_t)next(in).n;
			if (i < 3)
				k->block[i] = size;
		}
	} else if (is_text(key, ".args")) {
		for (uint64_t n = enter(in, KIND_ARRAY); n > 0 && !in->bad; n--)
			read_param(in, k);
	} else {
		skip(in, 0);
	}
}

/* --- ELF -------------------------------------------------------------------------------------------------------------- */
/* Finds the metadata among the notes of a segment. */
static bool find_note(const uint8_t *at, uint64_t len, struct in *ret)
{
	Elf64_Nhdr h;
	while (len >= sizeof h) {
		uint64_t name, content;
		memcpy(&h, at, sizeof h);
		name = ((uint64_t)h.n_namesz + 3) / 4 * 4;
		content = ((uint64_t)h.n_descsz + 3) / 4 * 4;
		at += sizeof h, len -= sizeof h;
		if (name > len || h.n_descsz > len - name)
			return false;
		if (h.n_type == NT_AMDGPU_METADATA && h.n_namesz == sizeof "AMDGPU" && memcmp(at, "AMDGPU", sizeof "AMDGPU") == 0) {
			*ret = (struct in){ .at = at + name, .end = at + name + h.n_descsz };
			return true;
		}
		if (content > len - name)
			return false;
		at += name + content, len -= name + content;
	}
	return false;
}

static bool find_metadata(const uint8_t *bytes, size_t len, struct in *ret)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	if (len < sizeof head)
		return false;
	memcpy(&head, bytes, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_AMDGPU ||
	    head.e_phentsize != sizeof segment || head.e_phoff > len || head.e_phnum > (len - head.e_phoff) / sizeof segment)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		memcpy(&segment, bytes + head.e_phoff + i * sizeof segment, sizeof segment);
		if (segment.p_type == PT_NOTE && segment.p_offset <= len && segment.p_filesz <= len - segment.p_offset &&
		    find_note(bytes + segment.p_offset, segment.p_filesz, ret))
			return true;
	}
	return false;
}

/* The bytes of the module's variables. Newer linkers add a section .relro_padding, which holds none. */
static void count_variables(const uint8_t *bytes, size_t len, struct gpu_module *module)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, s;
	memcpy(&head, bytes, sizeof head);
	if (head.e_shentsize != sizeof s || head.e_shoff > len || head.e_shnum > (len - head.e_shoff) / sizeof s ||
	    head.e_shstrndx >= head.e_shnum)
		return;
	memcpy(&names, bytes + head.e_shoff + head.e_shstrndx * sizeof s, sizeof names);
	if (names.sh_offset > len || names.sh_size > len - names.sh_offset)
		return;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		static const char padding[] = ".relro_padding";
		memcpy(&s, bytes + head.e_shoff + i * sizeof s, sizeof s);
		if ((s.sh_flags & (SHF_WRITE | SHF_ALLOC)) != (SHF_WRITE | SHF_ALLOC))
			continue;
		if (s.sh_name < names.sh_size && names.sh_size - s.sh_name >= sizeof padding &&
		    memcmp(bytes + names.sh_offset + s.sh_name, padding, sizeof padding) == 0)
			continue;
		if (s.sh_type == SHT_NOBITS)
			module->state += s.sh_size;
		else if (s.sh_type == SHT_PROGBITS)
			module->tables += s.sh_size;
	}
}

int hip_object_read(const void *bytes, size_t len, struct gpu_module *ret_module, struct err *e)
{
	struct gpu_module module = { .kernels = NULL };
	struct in in = { .at = NULL };
	if (!find_metadata(bytes, len, &in))
		return err_set(e, ERR_INTERNAL,
			       "the %zu bytes are not an AMD code object with kernel metadata (version 3 or newer): compile the "
			       "context again",
			       len);
	for (uint64_t pairs = enter(&in, KIND_MAP); pairs > 0 && !in.bad; pairs--) {
		if (!is_text(next(&in), "amdhsa.kernels")) {
			skip(&in, 0);
			continue;
		}
		for (uint64_t n = enter(&in, KIND_ARRAY); n > 0 && !in.bad; n--) {
			struct gpu_kernel *k = MEM_PUSH(module.kernels, module.count);
			*k = (struct gpu_kernel){ .params_known = true };
			for (uint64_t fields = enter(&in, KIND_MAP); fields > 0 && !in.bad; fields--)
				read_kernel_field(&in, next(&in), k);
			if (!k->name)
				in.bad = true;
		}
	}
	count_variables(bytes, len, &module);
	if (in.bad) {
		gpu_module_fini(&module);
		return err_set(e, ERR_INTERNAL, "the code object's kernel metadata cannot be read: compile the context again");
	}
	*ret_module = module;
	return 0;
}
