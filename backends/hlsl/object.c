/* object: see object.h. The bytes may come from a database that somebody else wrote, so nothing here trusts them: SPIRV-Tools
 * checks that instructions have their operands, and this file that ids are what they are used for. Numbers are those of SPIR-V
 * 1.6. */
#include "backends/hlsl/object.h"

#include <stdlib.h>
#include <string.h>

#include <spirv-tools/libspirv.h>

#include "backends/values/immediates.h"
#include "base/mem.h"

/* --- the binary --------------------------------------------------------------------------------------------------- */

enum { BINARY_VERSION = 1 };
#define BINARY_MAGIC UINT32_C(0x4c534c48) /* "HLSL" */

static const struct wire_table kernel_table =
	WIRE_TABLE("HLSL kernel", hlsl_kernel, NULL, WIRE_STRING(hlsl_kernel, name), WIRE_BYTES(hlsl_kernel, words, bytes));
static const struct wire_table object_table =
	WIRE_TABLE("HLSL binary", hlsl_object, NULL, WIRE_LIST(hlsl_object, kernels, count, &kernel_table));

void hlsl_object_encode(const struct hlsl_object *m, struct buf *out)
{
	wire_put_u32(out, BINARY_MAGIC);
	wire_put_u32(out, BINARY_VERSION);
	wire_encode(&object_table, m, out);
}

int hlsl_object_decode(const void *bytes, size_t len, struct hlsl_object *ret_object, struct err *e)
{
	struct wire_in in = { .at = bytes, .end = (const uint8_t *)bytes + len };
	if (wire_get_u32(&in) != BINARY_MAGIC || wire_get_u32(&in) != BINARY_VERSION)
		return err_set(e, ERR_INPUT, "these %zu bytes are not an HLSL binary of this version of peakd; compile again", len);
	if (wire_decode(&object_table, &in, ret_object, NULL) < 0)
		return err_set(e, ERR_INPUT, "the HLSL binary is cut short or damaged; compile again");
	return 0;
}

void hlsl_object_fini(struct hlsl_object *m)
{
	wire_fini(&object_table, m);
}

const struct hlsl_kernel *hlsl_object_find(const struct hlsl_object *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->kernels[i].name, name) == 0)
			return &m->kernels[i];
	return NULL;
}

/* --- reading SPIR-V ----------------------------------------------------------------------------------------------- */

enum {
	SPIRV_MAGIC = 0x07230203,
	ID_MAX = 1 << 20,
	MEMBERS_MAX = 4096,
	OP_NAME = 5,
	OP_MEMBER_NAME = 6,
	OP_EXT_IMPORT = 11,
	OP_ENTRY_POINT = 15,
	OP_EXECUTION_MODE = 16,
	OP_CAPABILITY = 17,
	OP_TYPE_MATRIX = 24,
	OP_TYPE_FUNCTION = 33,
	OP_FUNCTION = 54,
	OP_STORE = 62,
	OP_ACCESS_CHAIN = 65,
	OP_IN_BOUNDS_ACCESS_CHAIN = 66,
	OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72,
	MODE_LOCAL_SIZE = 17,
	DECORATION_BUFFER_BLOCK = 3,
	DECORATION_ARRAY_STRIDE = 6,
	DECORATION_BUILTIN = 11,
	DECORATION_BINDING = 33,
	DECORATION_SET = 34,
	DECORATION_OFFSET = 35,
	STORAGE_UNIFORM_CONSTANT = 0,
	STORAGE_UNIFORM = 2,
	STORAGE_STORAGE_BUFFER = 12,
};

static int bad(struct err *e, const char *why)
{
	return err_set(e, ERR_INTERNAL, "the SPIR-V module is damaged (%s); compile again", why);
}

size_t hlsl_spirv_length(const uint32_t *words, size_t count, size_t at)
{
	size_t n = at < count ? words[at] >> 16 : 0;
	return n <= count - at ? n : 0;
}

const struct spirv_type *hlsl_spirv_type(const struct spirv *s, uint32_t id)
{
	return id < s->bound ? s->ids[id].type_def : NULL;
}

/* What a variable's pointer points to, and that type's number; NULL: it is no variable, or points to nothing. */
static const struct spirv_type *pointee(const struct spirv *s, const struct spirv_id *variable, uint32_t *ret_id)
{
	const struct spirv_type *pointer = hlsl_spirv_type(s, variable->type);
	*ret_id = pointer && pointer->op == SPIRV_TYPE_POINTER ? pointer->element : 0;
	return hlsl_spirv_type(s, *ret_id);
}

static uint32_t constant(const struct spirv *s, uint32_t id)
{
	const uint32_t *w = id < s->bound ? s->ids[id].made : NULL;
	return w && (w[0] & 0xFFFF) == SPIRV_CONSTANT ? w[3] : 0;
}

static uint32_t capped(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void add_type(struct spirv *s, const uint32_t *w)
{
	struct spirv_type *t = MEM_NEW(struct spirv_type);
	*t = (struct spirv_type){ .op = w[0] & 0xFFFF, .stride = s->ids[w[1]].stride, .align = 4 };
	s->ids[w[1]].type_def = t;
	const struct spirv_type *element = NULL;
	switch (t->op) {
	case SPIRV_TYPE_BOOL:
		t->bits = t->slots = 1;
		t->bytes = 4;
		break;
	case SPIRV_TYPE_INT:
	case SPIRV_TYPE_FLOAT:
		t->bits = w[2];
		t->slots = 1;
		t->is_signed = t->op == SPIRV_TYPE_INT && w[3];
		t->bytes = t->align = t->bits >= 8 && t->bits <= 64 ? t->bits / 8 : 8;
		break;
	case SPIRV_TYPE_STRUCT: {
		const struct spirv_id *x = &s->ids[w[1]];
		t->count = (w[0] >> 16) - 2;
		t->members = MEM_NEW_N(uint32_t, t->count + 1);
		t->offsets = MEM_NEW_N(uint32_t, t->count + 1);
		for (uint32_t i = 0; i < t->count; i++) {
			const struct spirv_type *member = hlsl_spirv_type(s, w[2 + i]);
			t->members[i] = w[2 + i];
			t->offsets[i] = i < x->offset_count ? x->offsets[i] : 0;
			if (member == NULL)
				continue;
			t->slots = capped((uint64_t)t->slots + member->slots);
			t->align = member->align > t->align ? member->align : t->align;
			t->bytes = capped(((uint64_t)t->bytes + member->align - 1) / member->align * member->align + member->bytes);
		}
		t->bytes = capped(((uint64_t)t->bytes + t->align - 1) / t->align * t->align);
		break;
	}
	case SPIRV_TYPE_POINTER:
		t->slots = SPIRV_POINTER_SLOTS;
		t->storage = w[2];
		t->element = w[3];
		break;
	case SPIRV_TYPE_VECTOR:
	case OP_TYPE_MATRIX:
	case SPIRV_TYPE_ARRAY:
	case SPIRV_TYPE_RUNTIME_ARRAY:
		t->element = w[2];
		element = hlsl_spirv_type(s, w[2]);
		t->count = t->op == SPIRV_TYPE_RUNTIME_ARRAY ? 0 : t->op == SPIRV_TYPE_ARRAY ? constant(s, w[3]) : w[3];
		t->slots = element ? capped((uint64_t)element->slots * t->count) : 0;
		t->bytes = element ? capped((uint64_t)element->bytes * t->count) : 0;
		t->align = element ? element->align : 4;
		break;
	}
}

static spv_result_t note(void *user, const spv_parsed_instruction_t *parsed)
{
	struct spirv *s = user;
	const uint32_t *w = parsed->words;
	uint32_t op = parsed->opcode, n = parsed->num_words;
	bool names = op == OP_NAME || op == OP_DECORATE || op == OP_MEMBER_DECORATE;
	if (parsed->result_id >= s->bound || (names && w[1] >= s->bound))
		return SPV_ERROR_INVALID_BINARY;
	if (parsed->result_id) {
		s->ids[parsed->result_id].made = w;
		s->ids[parsed->result_id].type = parsed->type_id;
	}
	if (op >= SPIRV_TYPE_VOID && op <= OP_TYPE_FUNCTION) {
		add_type(s, w);
	} else if (op == OP_NAME) {
		free(s->ids[w[1]].name);
		s->ids[w[1]].name = mem_str((const char *)(w + 2));
	} else if (op == OP_DECORATE) {
		/* Offsets come before the type is known. */
		struct spirv_id *x = &s->ids[w[1]];
		uint32_t *to = w[2] == DECORATION_ARRAY_STRIDE ? &x->stride
			       : w[2] == DECORATION_BUILTIN    ? &x->builtin
			       : w[2] == DECORATION_BINDING    ? &x->binding
			       : w[2] == DECORATION_SET        ? &x->set
							       : NULL;
		if (to)
			*to = (n > 3 ? w[3] : 0);
		x->buffer |= w[2] == DECORATION_BUFFER_BLOCK;
	} else if (op == OP_MEMBER_DECORATE && w[3] == DECORATION_OFFSET) {
		struct spirv_id *x = &s->ids[w[1]];
		if (w[2] >= MEMBERS_MAX)
			return SPV_ERROR_INVALID_BINARY;
		while (x->offset_count <= w[2])
			*MEM_PUSH(x->offsets, x->offset_count) = 0;
		x->offsets[w[2]] = w[4];
	} else if (op == OP_EXT_IMPORT) {
		s->ext = w[1];
	} else if (op == OP_ENTRY_POINT) {
		s->entry = w[2];
	} else if (op == OP_CAPABILITY) {
		*MEM_PUSH(s->capabilities, s->capability_count) = w[1];
	} else if (op == OP_EXECUTION_MODE && w[2] == MODE_LOCAL_SIZE) {
		memcpy(s->block, w + 3, sizeof s->block);
	}
	return SPV_SUCCESS;
}

static void add_variable(struct spirv *s, const uint32_t *w, uint32_t *io_push)
{
	uint32_t storage = w[3], type;
	const struct spirv_id *x = &s->ids[w[2]];
	const struct spirv_type *t = pointee(s, x, &type);
	if (storage == SPIRV_STORAGE_WORKGROUP) {
		s->shared = capped((uint64_t)s->shared + (t ? t->bytes : 0));
	} else if (storage == SPIRV_STORAGE_PUSH) {
		*io_push = w[2];
		bool first = s->members == NULL; /* a struct's scalars */
		for (size_t i = 0; first && t && t->op == SPIRV_TYPE_STRUCT && i < t->count; i++) {
			const struct spirv_type *m = hlsl_spirv_type(s, t->members[i]);
			bool scalar = m && (m->op == SPIRV_TYPE_INT || m->op == SPIRV_TYPE_FLOAT);
			*MEM_PUSH(s->members, s->member_count) =
				(struct spirv_member){ .name = mem_str(""),
						       .offset = t->offsets[i],
						       .bits = scalar ? m->bits : 0,
						       .floating = m && m->op == SPIRV_TYPE_FLOAT };
		}
	} else if (storage == STORAGE_UNIFORM || storage == STORAGE_STORAGE_BUFFER || storage == STORAGE_UNIFORM_CONSTANT) {
		bool buffer = storage == STORAGE_STORAGE_BUFFER || (storage == STORAGE_UNIFORM && t && s->ids[type].buffer);
		*MEM_PUSH(s->bindings, s->binding_count) = (struct spirv_binding){ .name = mem_str(x->name ? x->name : ""),
										   .variable = w[2],
										   .set = x->set,
										   .binding = x->binding,
										   .storage = buffer && x->binding != SPIRV_UNSET };
	}
}

/* Buffers that the code uses otherwise than as what it stores into: it may read them. Literals that look like an id count as
 * one. */
static void note_reads(struct spirv *s)
{
	uint32_t *buffer = MEM_NEW_N(uint32_t, s->bound); /* 1 + the binding that a pointer of this id points into */
	bool inside = false;
	for (size_t i = 0; i < s->binding_count; i++)
		buffer[s->bindings[i].variable] = (uint32_t)i + 1;
	for (size_t at = SPIRV_HEADER; at < s->count; at += s->words[at] >> 16) {
		const uint32_t *w = s->words + at;
		uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16, first = op == OP_STORE ? 2 : 1;
		inside |= op == OP_FUNCTION;
		bool chain = op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN;
		if (chain && w[2] < s->bound && w[3] < s->bound) {
			buffer[w[2]] = buffer[w[3]];
			continue;
		}
		for (uint32_t i = first; inside && i < n; i++)
			if (w[i] < s->bound && buffer[w[i]])
				s->bindings[buffer[w[i]] - 1].read = true;
	}
	free(buffer);
}

int hlsl_spirv_read(const uint32_t *words, size_t count, struct spirv *ret_spirv, struct err *e)
{
	if (count < SPIRV_HEADER || words[0] != SPIRV_MAGIC || words[3] < 1 || words[3] > ID_MAX)
		return bad(e, "its header");
	struct spirv s = { .words = words, .count = count, .bound = words[3], .ids = MEM_NEW_N(struct spirv_id, words[3]) };
	for (uint32_t i = 0; i < s.bound; i++)
		s.ids[i].builtin = s.ids[i].binding = SPIRV_UNSET;
	spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
	spv_diagnostic diagnostic = NULL;
	int rc = 0;
	if (spvBinaryParse(context, &s, words, count, NULL, note, &diagnostic) != SPV_SUCCESS)
		rc = bad(e, diagnostic ? diagnostic->error : "a number beyond its bound");
	uint32_t push = 0, push_type = 0;
	for (size_t at = SPIRV_HEADER; rc == 0 && at < count; at += words[at] >> 16)
		if ((words[at] & 0xFFFF) == SPIRV_VARIABLE)
			add_variable(&s, words + at, &push);
	if (push)
		pointee(&s, &s.ids[push], &push_type);
	/* Names of the push constants' members, and which of them the code reads. */
	for (size_t at = SPIRV_HEADER; rc == 0 && push && at < count; at += words[at] >> 16) {
		const uint32_t *w = words + at;
		uint32_t op = w[0] & 0xFFFF, n = w[0] >> 16;
		bool chain = op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN;
		if (chain && n > 4 && w[3] == push && constant(&s, w[4]) < s.member_count)
			s.members[constant(&s, w[4])].used = true;
		if (op == OP_MEMBER_NAME && w[1] == push_type && w[2] < s.member_count) {
			free(s.members[w[2]].name);
			s.members[w[2]].name = mem_str((const char *)(w + 3));
		}
	}
	if (rc == 0)
		note_reads(&s);
	if (rc == 0 && (s.block[0] == 0 || s.block[1] == 0 || s.block[2] == 0))
		rc = bad(e, "no thread group size");
	spvDiagnosticDestroy(diagnostic);
	spvContextDestroy(context);
	if (rc < 0)
		hlsl_spirv_fini(&s);
	else
		*ret_spirv = s;
	return rc;
}

void hlsl_spirv_fini(struct spirv *s)
{
	for (uint32_t i = 0; i < s->bound; i++) {
		struct spirv_type *t = s->ids[i].type_def;
		if (t) {
			free(t->members);
			free(t->offsets);
		}
		free(t);
		free(s->ids[i].name);
		free(s->ids[i].offsets);
	}
	free(s->ids);
	for (size_t i = 0; i < s->binding_count; i++)
		free(s->bindings[i].name);
	for (size_t i = 0; i < s->member_count; i++)
		free(s->members[i].name);
	free(s->bindings);
	free(s->members);
	free(s->capabilities);
	*s = (struct spirv){ 0 };
}

int hlsl_spirv_validate(const uint32_t *words, size_t count, struct err *e)
{
	spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
	spv_diagnostic diagnostic = NULL;
	int r = 0;
	if (spvValidateBinary(context, words, count, &diagnostic) != SPV_SUCCESS) {
		const char *why = diagnostic ? diagnostic->error : "no reason given";
		r = err_set(e, ERR_COMPILE,
			    "the HLSL front end made invalid SPIR-V from this code, and a driver may do anything with it: %.*s%s",
			    (int)strcspn(why, "\n"), why,
			    strstr(why, "Ldexp") ? "; write x * exp2(e) in place of ldexp(x, e)"
			    : strstr(why, "Atomic")
				    ? "; atomics of byte-address buffers need unsigned values, InterlockedAdd(at, 1u) "
				      "instead of 1"
				    : "");
	}
	spvDiagnosticDestroy(diagnostic);
	spvContextDestroy(context);
	return r;
}

const char *hlsl_spirv_instruction(uint32_t op)
{
	return spvOpcodeString(op);
}

void hlsl_spirv_immediates(const struct spirv *s, struct wire_immediates *to)
{
	for (uint32_t id = 0; id < s->bound; id++) {
		const uint32_t *w = s->ids[id].made;
		const struct spirv_type *t = hlsl_spirv_type(s, s->ids[id].type);
		if (w == NULL || t == NULL || (w[0] & 0xFFFF) != SPIRV_CONSTANT || w[0] >> 16 < (t->bits > 32 ? 5 : 4))
			continue;
		uint64_t bits = t->bits > 32 ? (uint64_t)w[4] << 32 | w[3] : w[3];
		if (t->op == SPIRV_TYPE_FLOAT && (t->bits == 16 || t->bits == 32 || t->bits == 64))
			immediates_add_float(to, dtype_load(t->bits == 16   ? DTYPE_F16
							    : t->bits == 32 ? DTYPE_F32
									    : DTYPE_F64,
							    &bits));
		else if (t->op == SPIRV_TYPE_INT)
			immediates_add_integer(to, t->bits <= 32 && t->is_signed ? (int64_t)(int32_t)w[3] : (int64_t)bits, t->bits);
	}
}
