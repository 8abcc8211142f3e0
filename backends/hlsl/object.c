/* object: see object.h. The bytes may come from a database that somebody else wrote, so nothing here trusts them. Numbers
 * are from the SPIR-V specification, version 1.3, section 3. */
#include "backends/hlsl/object.h"

#include <stdlib.h>
#include <string.h>

#include <spirv-tools/libspirv.h>

#include "backends/wire/wire.h"
#include "base/mem.h"

/* --- the binary --------------------------------------------------------------------------------------------------- */

enum { BINARY_VERSION = 1 };
#define BINARY_MAGIC UINT32_C(0x4c534c48) /* "HLSL" */

void hlsl_object_encode(const struct hlsl_object *m, struct buf *out)
{
	wire_put_u32(out, BINARY_MAGIC);
	wire_put_u32(out, BINARY_VERSION);
	wire_put_u64(out, m->count);
	for (size_t i = 0; i < m->count; i++) {
		wire_put_text(out, m->kernels[i].name);
		wire_put_bytes(out, m->kernels[i].words, m->kernels[i].count * sizeof(uint32_t));
	}
}

int hlsl_object_decode(const void *bytes, size_t len, struct hlsl_object *ret_object, struct err *e)
{
	struct wire_in in = { .at = bytes, .end = (const uint8_t *)bytes + len };
	struct hlsl_object m = { 0 };
	if (wire_get_u32(&in) != BINARY_MAGIC || wire_get_u32(&in) != BINARY_VERSION)
		return err_set(e, ERR_INPUT, "these %zu bytes are not an HLSL binary of this version of peakd; compile again", len);
	m.count = wire_get_count(&in, 16);
	m.kernels = MEM_NEW_N(struct hlsl_kernel, m.count);
	for (size_t i = 0; i < m.count; i++) {
		size_t n;
		m.kernels[i].name = wire_get_text(&in);
		const void *words = wire_get_bytes(&in, &n);
		m.kernels[i].words = mem_copy(words, n);
		m.kernels[i].count = n / sizeof(uint32_t);
	}
	if (wire_end(&in, "HLSL binary", NULL) < 0) {
		hlsl_object_fini(&m);
		return err_set(e, ERR_INPUT, "the HLSL binary is cut short or damaged; compile again");
	}
	*ret_object = m;
	return 0;
}

void hlsl_object_fini(struct hlsl_object *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->kernels[i].name);
		free(m->kernels[i].words);
	}
	free(m->kernels);
	*m = (struct hlsl_object){ 0 };
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
	HEADER = 5,
	ID_MAX = 1 << 20,
	DEPTH_MAX = 16,
	STEPS_MAX = 100000,
	OP_NAME = 5,
	OP_MEMBER_NAME = 6,
	OP_EXECUTION_MODE = 16,
	OP_CAPABILITY = 17,
	OP_TYPE_BOOL = 20,
	OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22,
	OP_TYPE_VECTOR = 23,
	OP_TYPE_MATRIX = 24,
	OP_TYPE_ARRAY = 28,
	OP_TYPE_STRUCT = 30,
	OP_TYPE_POINTER = 32,
	OP_CONSTANT = 43,
	OP_VARIABLE = 59,
	OP_ACCESS_CHAIN = 65,
	OP_IN_BOUNDS_ACCESS_CHAIN = 66,
	OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72,
	MODE_LOCAL_SIZE = 17,
	DECORATION_BUFFER_BLOCK = 3,
	DECORATION_BINDING = 33,
	DECORATION_SET = 34,
	DECORATION_OFFSET = 35,
	STORAGE_UNIFORM = 2,
	STORAGE_WORKGROUP = 4,
	STORAGE_PUSH_CONSTANT = 9,
	STORAGE_STORAGE_BUFFER = 12,
	STORAGE_UNIFORM_CONSTANT = 0,
};

/* One instruction; args are the words behind the first. */
struct op {
	uint16_t code;
	uint32_t count; /* of args */
	const uint32_t *args;
};

/* One id. */
struct id {
	struct op made; /* the instruction that has it as result; code 0 when there is none */
	char *name;
	uint32_t set, binding;
	bool bound, buffer; /* has a binding; is decorated as a buffer block */
};

struct module {
	const uint32_t *words;
	size_t count;
	struct id *ids;
	uint32_t bound;
	uint32_t push; /* id of the push-constant variable; 0 none */
	struct spirv *out;
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

/* The instruction at *at; false at the end or when it does not fit. */
static bool next_op(const struct module *m, size_t *at, struct op *op)
{
	size_t words = hlsl_spirv_length(m->words, m->count, *at);
	if (words == 0)
		return false;
	*op = (struct op){ .code = (uint16_t)m->words[*at], .count = (uint32_t)words - 1, .args = m->words + *at + 1 };
	*at += words;
	return true;
}

static struct id *find(const struct module *m, uint32_t id)
{
	return id < m->bound ? &m->ids[id] : &m->ids[0];
}

/* Text of at most `words` words; a copy. */
static char *text(const uint32_t *words, uint32_t count)
{
	return mem_strn((const char *)words, strnlen((const char *)words, (size_t)count * 4));
}

/* Which argument is an instruction's result id, from 1; 0: it has none that matters here. */
static unsigned result_at(uint16_t code)
{
	switch (code) {
	case OP_TYPE_BOOL:
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT:
	case OP_TYPE_VECTOR:
	case OP_TYPE_MATRIX:
	case OP_TYPE_ARRAY:
	case OP_TYPE_STRUCT:
	case OP_TYPE_POINTER: return 1;
	case OP_CONSTANT:
	case OP_VARIABLE: return 2;
	}
	return 0;
}

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static uint64_t constant(const struct module *m, uint32_t id)
{
	const struct op *op = &find(m, id)->made;
	return op->code == OP_CONSTANT && op->count >= 3 ? op->args[2] : 0;
}

/* Bytes of a type, and its natural alignment, as Mesa lays out workgroup memory. Saturates instead of overflowing. A type of
 * more than `steps` parts in all counts as too large for any device. */
static uint64_t size_of(const struct module *m, uint32_t type, uint32_t *ret_align, int depth, int *steps)
{
	const struct op *op = &find(m, type)->made;
	uint32_t align = 4;
	uint64_t n, size = 0;
	*ret_align = 4;
	if (--*steps < 0)
		return UINT32_MAX;
	if (depth > DEPTH_MAX || op->count < 2)
		return op->code == OP_TYPE_BOOL ? 4 : 0;
	switch (op->code) {
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT: *ret_align = op->args[1] <= 64 && op->args[1] >= 8 ? op->args[1] / 8 : 8; return *ret_align;
	case OP_TYPE_VECTOR:
	case OP_TYPE_MATRIX:
	case OP_TYPE_ARRAY:
		if (op->count < 3)
			return 0;
		n = op->code == OP_TYPE_ARRAY ? constant(m, op->args[2]) : op->args[2];
		size = size_of(m, op->args[1], ret_align, depth + 1, steps);
		return size && n > UINT32_MAX / size ? UINT32_MAX : size * n;
	case OP_TYPE_STRUCT:
		for (uint32_t i = 1; i < op->count && size < UINT32_MAX; i++) {
			n = size_of(m, op->args[i], &align, depth + 1, steps);
			size = (size + align - 1) / align * align + n;
			*ret_align = align > *ret_align ? align : *ret_align;
		}
		return (size + *ret_align - 1) / *ret_align * *ret_align;
	}
	return 0;
}

/* The type that a variable's pointer points to; 0: none. */
static uint32_t pointee(const struct module *m, const struct op *variable)
{
	const struct op *pointer = &find(m, variable->args[0])->made;
	return pointer->code == OP_TYPE_POINTER && pointer->count >= 3 ? pointer->args[2] : 0;
}

/* --- first pass: names, decorations, types ------------------------------------------------------------------------ */

static void note(struct module *m, const struct op *op)
{
	unsigned at = result_at(op->code);
	struct id *id = op->count ? find(m, op->args[0]) : NULL;
	uint32_t value = op->count > 2 ? op->args[2] : 0;

	if (at && op->count >= at) {
		find(m, op->args[at - 1])->made = *op;
	} else if (op->code == OP_NAME && op->count >= 2) {
		free(id->name);
		id->name = text(op->args + 1, op->count - 1);
	} else if (op->code == OP_DECORATE && op->count >= 2) {
		id->binding = op->args[1] == DECORATION_BINDING ? value : id->binding;
		id->bound |= op->args[1] == DECORATION_BINDING;
		id->set = op->args[1] == DECORATION_SET ? value : id->set;
		id->buffer |= op->args[1] == DECORATION_BUFFER_BLOCK;
	} else if (op->code == OP_CAPABILITY && op->count >= 1) {
		*MEM_PUSH(m->out->capabilities, m->out->capability_count) = op->args[0];
	} else if (op->code == OP_EXECUTION_MODE && op->count >= 5 && op->args[1] == MODE_LOCAL_SIZE) {
		memcpy(m->out->block, op->args + 2, sizeof m->out->block);
	}
}

/* --- second pass: variables and their use ------------------------------------------------------------------------- */

static void add_members(struct module *m, uint32_t type)
{
	const struct op *op = &find(m, type)->made;
	if (op->code != OP_TYPE_STRUCT || m->out->members)
		return;
	m->out->member_count = op->count - 1;
	m->out->members = MEM_NEW_N(struct spirv_member, m->out->member_count);
	for (size_t i = 0; i < m->out->member_count; i++) {
		const struct op *t = &find(m, op->args[1 + i])->made;
		bool scalar = (t->code == OP_TYPE_INT || t->code == OP_TYPE_FLOAT) && t->count >= 2;
		m->out->members[i] = (struct spirv_member){ .name = mem_str(""),
							    .bits = scalar ? t->args[1] : 0,
							    .floating = t->code == OP_TYPE_FLOAT };
	}
}

static void add_variable(struct module *m, const struct op *op)
{
	uint32_t storage = op->args[2], type = pointee(m, op), align;
	const struct id *id = find(m, op->args[1]);
	if (storage == STORAGE_WORKGROUP) {
		int steps = STEPS_MAX;
		uint64_t total = (uint64_t)m->out->shared + size_of(m, type, &align, 0, &steps);
		m->out->shared = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	} else if (storage == STORAGE_PUSH_CONSTANT) {
		m->push = op->args[1];
		add_members(m, type);
	} else if (storage == STORAGE_UNIFORM || storage == STORAGE_STORAGE_BUFFER || storage == STORAGE_UNIFORM_CONSTANT) {
		*MEM_PUSH(m->out->bindings, m->out->binding_count) = (struct spirv_binding){
			.name = mem_str(id->name ? id->name : ""),
			.set = id->set,
			.binding = id->binding,
			.storage = id->bound &&
				   (storage == STORAGE_STORAGE_BUFFER || (storage == STORAGE_UNIFORM && find(m, type)->buffer)),
		};
	}
}

/* Names and offsets of the push constants' members, and which of them the code reads. */
static void note_member(struct module *m, const struct op *op, uint32_t push_type)
{
	struct spirv_member *member;

	if ((op->code == OP_ACCESS_CHAIN || op->code == OP_IN_BOUNDS_ACCESS_CHAIN) && op->count >= 4 && op->args[2] == m->push) {
		uint64_t i = constant(m, op->args[3]);
		if (i < m->out->member_count)
			m->out->members[i].used = true;
	}
	if (op->count < 3 || op->args[0] != push_type || op->args[1] >= m->out->member_count)
		return;
	member = &m->out->members[op->args[1]];
	if (op->code == OP_MEMBER_NAME) {
		free(member->name);
		member->name = text(op->args + 2, op->count - 2);
	} else if (op->code == OP_MEMBER_DECORATE && op->count >= 4 && op->args[2] == DECORATION_OFFSET) {
		member->offset = op->args[3];
	}
}

static int read_module(struct module *m, struct err *e)
{
	struct op op;
	size_t at;
	for (at = HEADER; next_op(m, &at, &op);)
		note(m, &op);
	if (at != m->count)
		return bad(e, "an instruction is cut short");
	for (at = HEADER; next_op(m, &at, &op);)
		if (op.code == OP_VARIABLE && op.count >= 3)
			add_variable(m, &op);
	uint32_t push_type = m->push ? pointee(m, &find(m, m->push)->made) : 0;
	for (at = HEADER; m->push && next_op(m, &at, &op);)
		note_member(m, &op, push_type);
	if (m->out->block[0] == 0 || m->out->block[1] == 0 || m->out->block[2] == 0)
		return bad(e, "no thread group size");
	return 0;
}

int hlsl_spirv_read(const uint32_t *words, size_t count, struct spirv *ret_spirv, struct err *e)
{
	struct spirv out = { 0 };
	if (count < HEADER || words[0] != SPIRV_MAGIC || words[3] < 1 || words[3] > ID_MAX)
		return bad(e, "its header");
	struct module m = { .words = words, .count = count, .bound = words[3], .ids = MEM_NEW_N(struct id, words[3]), .out = &out };
	int r = read_module(&m, e);
	for (uint32_t i = 0; i < m.bound; i++)
		free(m.ids[i].name);
	free(m.ids);
	if (r < 0)
		hlsl_spirv_fini(&out);
	else
		*ret_spirv = out;
	return r;
}

void hlsl_spirv_fini(struct spirv *s)
{
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
	if (spvValidateBinary(context, words, count, &diagnostic) != SPV_SUCCESS)
		r = err_set(e, ERR_COMPILE,
			    "the HLSL front end made invalid SPIR-V from this code, and a driver may do anything with it: %s. A "
			    "known case: atomics of byte-address buffers need unsigned values, InterlockedAdd(at, 1u) instead of 1",
			    diagnostic ? diagnostic->error : "no reason given");
	spvDiagnosticDestroy(diagnostic);
	spvContextDestroy(context);
	return r;
}

const char *hlsl_spirv_instruction(uint32_t op)
{
	return spvOpcodeString(op);
}
