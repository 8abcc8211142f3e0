/* decode: .text to ops, once a code object: comgr disassembles, the text tells registers and constants, the encoding
 * tells lane selections. */
#include "tests/backends/hip/emulated/emulated.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* comgr's disassembler (AMD code object manager, reference manual). */
typedef struct { uint64_t handle; } info_t;
typedef uint64_t read_fn(uint64_t from, char *to, uint64_t size, void *user);
typedef void print_fn(const char *text, void *user);
typedef void address_fn(uint64_t address, void *user);
struct comgr {
	int (*create)(const char *isa, read_fn *, print_fn *, address_fn *, info_t *info);
	int (*next)(info_t info, uint64_t address, void *user, uint64_t *size);
	int (*destroy)(info_t info);
};

struct reading { const struct code *code; char text[512]; };

static uint64_t read_memory(uint64_t from, char *to, uint64_t size, void *user)
{
	const struct code *c = ((struct reading *)user)->code;
	uint64_t end = c->text_at + c->text_bytes;

	if (from >= end)
		return 0;
	size = size < end - from ? size : end - from;
	memcpy(to, c->memory + from, size);
	return size;
}

static void print(const char *text, void *user)
{
	struct reading *r = user;
	snprintf(r->text, sizeof r->text, "%s", text + strspn(text, " \t"));
}

static void print_address(uint64_t address, void *user) { (void)address; (void)user; }

static bool open_comgr(struct comgr *c)
{
	void *library = dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library)
		return false;
	*(void **)&c->create = dlsym(library, "amd_comgr_create_disassembly_info");
	*(void **)&c->next = dlsym(library, "amd_comgr_disassemble_instruction");
	*(void **)&c->destroy = dlsym(library, "amd_comgr_destroy_disassembly_info");
	return c->create && c->next && c->destroy;
}

/* --- names -------------------------------------------------------------------------------------------------------------- */
static const struct rule compare_rules[] = {
	{ "f16", compare_execute, "Mhh" }, { "f32", compare_execute, "Mff" }, { "f64", compare_execute, "Mdd" },
	{ "i16", compare_execute, "Mff" }, { "u16", compare_execute, "Mff" }, { "i32", compare_execute, "Mff" },
	{ "u32", compare_execute, "Mff" }, { "i64", compare_execute, "Mqq" }, { "u64", compare_execute, "Mqq" },
};

/* Which of less (1), equal (2), greater (4), unordered (8) make it true. */
static const struct {
	const char *name;
	uint8_t when;
} conditions[] = {
	{ "f", 0 },    { "lt", 1 },   { "eq", 2 },   { "le", 3 },   { "gt", 4 },   { "lg", 5 },
	{ "ge", 6 },   { "o", 7 },    { "u", 8 },    { "nge", 9 },  { "nlg", 10 }, { "ngt", 11 },
	{ "nle", 12 }, { "neq", 13 }, { "nlt", 14 }, { "tru", 15 }, { "ne", 5 },   { "t", 15 },
};

/* "v_cmpx_lt_f32"; *ret_detail: condition, type << 4, cmpx << 8. */
static const struct rule *compare_rule(const char *name, uint32_t *ret_detail)
{
	bool x = strncmp(name, "v_cmpx_", 7) == 0;
	const char *condition = name + (x ? 7 : 6), *type = strchr(condition, '_');

	if (strncmp(name, "v_cmp", 5) != 0 || !type)
		return NULL;
	for (size_t c = 0; c < MEM_COUNT(conditions); c++)
		if (strlen(conditions[c].name) == (size_t)(type - condition) &&
		    strncmp(conditions[c].name, condition, (size_t)(type - condition)) == 0)
			for (size_t t = 0; t < MEM_COUNT(compare_rules); t++)
				if (strcmp(compare_rules[t].name, type + 1) == 0) {
					*ret_detail = conditions[c].when | (uint32_t)t << 4 | (uint32_t)x << 8;
					return &compare_rules[t];
				}
	return NULL;
}

static const struct rule *find_rule(const char *name, uint32_t *ret_detail)
{
	static const struct rule *const tables[] = { scalar_rules, vector_rules, wide_rules, half_rules, packed_rules,
	                                             lane_rules, mfma_rules, access_rules, lds_rules, atomic_rules };

	for (size_t t = 0; t < MEM_COUNT(tables); t++)
		for (const struct rule *r = tables[t]; r->name; r++)
			if (strcmp(r->name, name) == 0)
				return r;
	return compare_rule(name, ret_detail);
}

/* --- one instruction ------------------------------------------------------------------------------------------------------ */
static void unknown(struct wave *w, const struct op *o)
{
	dispatch_stop(w, o, hipErrorNotSupported, "this device does not know the instruction");
}

static uint32_t word(const struct code *c, const struct op *o, unsigned n)
{
	uint32_t value = 0;
	if (o->next - o->at >= 4 * (n + 1))
		memcpy(&value, c->memory + c->text_at + o->at + 4 * n, sizeof value);
	return value;
}

static enum sdwa sdwa_of(uint32_t bits)
{
	static const enum sdwa which[8] = { SDWA_BYTE_0, SDWA_BYTE_1, SDWA_BYTE_2, SDWA_BYTE_3, SDWA_WORD_0, SDWA_WORD_1,
					    SDWA_DWORD, SDWA_DWORD };
	return which[bits & 7];
}

/* VOP_SDWA and VOP_DPP keep their selections in a second word; VOP3P in both. */
static void selections(const struct code *c, struct op *o, const char *suffix)
{
	uint32_t w0 = word(c, o, 0), w1 = word(c, o, 1);
	unsigned first = o->sources;

	if (strcmp(suffix, "_sdwa") == 0) {
		o->o[first].sel = sdwa_of(w1 >> 16);
		o->o[first + 1].sel = sdwa_of(w1 >> 24);
		if (o->rule->execute != compare_execute && o->rule->types[0] != 'M') {
			o->o[0].sel = sdwa_of(w1 >> 8);
			o->sdwa_keep = w1 >> 11 & 3;
		}
	} else if (strcmp(suffix, "_dpp") == 0) {
		o->dpp = true;
		o->dpp_ctrl = w1 >> 8 & 0x1ff;
		o->dpp_zero = w1 >> 19 & 1;
		o->bank_mask = w1 >> 24 & 15;
		o->row_mask = w1 >> 28;
	} else if (w0 >> 23 == 0x1a7) {
		o->op_sel = w0 >> 11 & 7;
		o->op_sel_hi = (w1 >> 27 & 3) | (w0 >> 14 & 1) << 2;
		o->neg_lo = w1 >> 29;
		o->neg_hi = w0 >> 8 & 7;
	} else if (w0 >> 26 == 0x34 && o->rule->types[1] != 'M') {
		o->op_sel = w0 >> 11 & 15;
	}
	o->detail = strcmp(o->rule->name, "ds_swizzle_b32") == 0 ? w0 & 0xffff : o->detail;
}

static void decode_one(const struct code *c, const char *text, struct op *o)
{
	static const char *const suffixes[] = { "_e32", "_e64", "_sdwa", "_dpp" };
	size_t n = strcspn(text, " ");
	char name[64], suffix[8] = "";

	o->text = mem_str(text);
	o->execute = unknown;
	if (n >= sizeof name)
		return;
	snprintf(name, sizeof name, "%.*s", (int)n, text);
	for (size_t i = 0; i < MEM_COUNT(suffixes); i++) {
		size_t len = strlen(suffixes[i]);
		if (n > len && strcmp(name + n - len, suffixes[i]) == 0) {
			snprintf(suffix, sizeof suffix, "%s", suffixes[i]);
			name[n - len] = 0;
		}
	}
	o->rule = find_rule(name, &o->detail);
	if (!o->rule || (o->rule->types[0] != '*' && !text_parse(text + n, o)))
		return;
	while (o->rule->types[o->sources] >= 'A' && o->rule->types[o->sources] <= 'Z')
		o->sources++;
	if (o->count > o->sources + 4 || o->sources > 2)
		return;
	selections(c, o, suffix);
	o->execute = o->rule->execute;
}

int decode_code(struct code *code, struct stop *ret_stop)
{
	struct comgr comgr;
	struct reading r = { .code = code };
	info_t info;
	uint64_t at = 0;

	if (!open_comgr(&comgr) || comgr.create("amdgcn-amd-amdhsa--gfx90a", read_memory, print, print_address, &info)) {
		ret_stop->code = hipErrorNotSupported;
		snprintf(ret_stop->text, sizeof ret_stop->text,
			 "no disassembler: libamd_comgr.so.2 cannot be loaded or knows no gfx90a");
		return -1;
	}
	code->op_at = mem_new(code->text_bytes / 4 + 1, sizeof *code->op_at);
	memset(code->op_at, -1, (code->text_bytes / 4 + 1) * sizeof *code->op_at);
	while (at < code->text_bytes) {
		uint64_t size = 0;
		struct op *o;
		/* Bytes between functions need not be code. */
		if (comgr.next(info, code->text_at + at, &r, &size) || !size) {
			at += 4;
			continue;
		}
		code->op_at[at / 4] = (int32_t)code->op_count;
		o = MEM_PUSH(code->ops, code->op_count);
		*o = (struct op){ .at = (uint32_t)at, .next = (uint32_t)(at + size) };
		decode_one(code, r.text, o);
		at += size;
	}
	comgr.destroy(info);
	return 0;
}
