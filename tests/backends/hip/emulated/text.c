/* text: operands and modifiers of one disassembled instruction, as LLVM's AMDGPU printer writes them. Called by
 * decode.c. */
#include "tests/backends/hip/emulated/emulated.h"

#include <ctype.h>
#include <stdlib.h>

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static const struct {
	const char *name;
	uint8_t kind;
	uint16_t reg;
} named[] = {
	{ "vcc_lo", OPERAND_SGPR, SGPR_VCC },
	{ "vcc_hi", OPERAND_SGPR, SGPR_VCC + 1 },
	{ "vcc", OPERAND_SGPR, SGPR_VCC },
	{ "exec_lo", OPERAND_SGPR, SGPR_EXEC },
	{ "exec_hi", OPERAND_SGPR, SGPR_EXEC + 1 },
	{ "exec", OPERAND_SGPR, SGPR_EXEC },
	{ "flat_scratch_lo", OPERAND_SGPR, SGPR_FLAT },
	{ "flat_scratch_hi", OPERAND_SGPR, SGPR_FLAT + 1 },
	{ "flat_scratch", OPERAND_SGPR, SGPR_FLAT },
	{ "m0", OPERAND_SGPR, SGPR_M0 },
	{ "src_scc", OPERAND_SCC, 0 },
	{ "scc", OPERAND_SCC, 0 },
	{ "src_vccz", OPERAND_VCCZ, 0 },
	{ "src_execz", OPERAND_EXECZ, 0 },
	{ "off", OPERAND_NONE, 0 },
};

/* f16's inline constants besides integers: 0.5, 1, 2, 4 with signs, 1/2π. */
static uint64_t float_bits(const char *text, char type)
{
	double value = strtod(text, NULL);
	bool pi = begins(text, "0.15915494");
	float narrow = (float)value;
	uint32_t f32;
	uint64_t f64;

	memcpy(&f32, &narrow, sizeof f32);
	memcpy(&f64, &value, sizeof f64);
	switch (type) {
	case 'h':
		return pi ? 0x3118 : number_to_f16(value);
	case 'd':
	case 'q':
		return pi ? 0x3fc45f306dc9c882 : f64;
	}
	return pi ? 0x3e22f983 : f32;
}

static bool number(const char *text, char type, struct operand *p)
{
	char *end;
	bool hex = begins(text, "0x") || begins(text, "-0x");

	p->kind = OPERAND_CONST;
	if (!hex && strchr(text, '.')) {
		p->value = float_bits(text, type);
		return true;
	}
	p->value = (uint64_t)strtoll(text, &end, 0);
	if (hex)
		p->value = strtoull(text, &end, 0);
	if (type == 'd' && hex)
		p->value <<= 32;
	else if (type != 'd' && type != 'q')
		p->value = (uint32_t)p->value;
	return end != text && !*end;
}

/* "v5", "v[2:5]", "a0", "s[0:1]", "ttmp3". */
static bool numbered(const char *text, struct operand *p)
{
	const char *digits = text + (*text == 'v' || *text == 'a' || *text == 's' ? 1 : begins(text, "ttmp") ? 4 : 0);
	char *end;
	unsigned long n;

	if (digits == text)
		return false;
	digits += *digits == '[';
	if (!isdigit((unsigned char)*digits))
		return false;
	n = strtoul(digits, &end, 10);
	p->kind = *text == 'v' || *text == 'a' ? OPERAND_VGPR : OPERAND_SGPR;
	p->reg = (uint16_t)(n + (*text == 'a' ? AGPR0 : *text == 't' ? 108 : 0));
	return n < 256 && (!*end || *end == ':' || *end == ']');
}

static bool operand(char *text, char type, struct operand *p)
{
	size_t n = strlen(text);

	if (*text == '-' && !isdigit((unsigned char)text[1])) {
		p->neg = true;
		text++, n--;
	}
	if (begins(text, "sext(") && text[n - 1] == ')') {
		p->sext = true;
		text[n - 1] = 0;
		text += 5;
	} else if (*text == '|' && n > 2 && text[n - 1] == '|') {
		p->abs = true;
		text[n - 1] = 0;
		text++;
	}
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (strcmp(text, named[i].name) == 0) {
			p->kind = named[i].kind;
			p->reg = named[i].reg;
			return true;
		}
	if (strcmp(text, "src_shared_base") == 0 || strcmp(text, "src_private_base") == 0) {
		uint64_t base = (uint64_t)(text[4] == 's' ? APERTURE_LDS : APERTURE_PRIVATE) << 32;
		p->kind = OPERAND_CONST;
		p->value = type == 'q' || type == 'd' ? base : (uint32_t)base;
		return true;
	}
	return numbered(text, p) || number(text, type, p);
}

/* What the encoding tells as well (DPP, SDWA, halves) is read from there by decode.c. */
static bool modifier(const char *text, struct op *o)
{
	static const char *const encoded[] = {
		"op_sel:",     "op_sel_hi:", "neg_lo:",    "neg_hi:", "dst_sel:", "dst_unused:",
		"src0_sel:",   "src1_sel:",  "quad_perm:", "row_",    "wave_",    "bank_mask:",
		"bound_ctrl:", "cbsz:",      "abid:",      "blgp:",   "slc",      "offset:swizzle(",
	};

	for (size_t i = 0; i < sizeof encoded / sizeof *encoded; i++)
		if (begins(text, encoded[i])) {
			o->special = o->special || i == 13 || i == 14 || i == 15;
			return true;
		}
	if (begins(text, "offset:"))
		o->offset = (int32_t)strtol(text + 7, NULL, 0);
	else if (begins(text, "offset0:"))
		o->offset = (int32_t)strtol(text + 8, NULL, 0);
	else if (begins(text, "offset1:"))
		o->offset1 = (int32_t)strtol(text + 8, NULL, 0);
	else if (strcmp(text, "clamp") == 0)
		o->clamp = 1;
	else if (strcmp(text, "mul:2") == 0 || strcmp(text, "mul:4") == 0)
		o->omod = text[4] == '2' ? 1 : 2;
	else if (strcmp(text, "div:2") == 0)
		o->omod = 3;
	else if (strcmp(text, "glc") == 0)
		o->glc = true;
	else if (strcmp(text, "offen") == 0)
		o->offen = true;
	else if (strcmp(text, "idxen") == 0)
		o->idxen = true;
	else
		return false;
	return true;
}

/* The end of the piece that begins at text: at a comma or a blank outside of brackets. */
static char *piece_end(char *text)
{
	int deep = 0;
	for (; *text; text++) {
		deep += *text == '[' || *text == '(' ? 1 : *text == ']' || *text == ')' ? -1 : 0;
		if (!deep && (*text == ',' || *text == ' '))
			break;
	}
	return text;
}

bool text_parse(const char *operands, struct op *o)
{
	char line[512], *at = line;
	bool more = true; /* operands are expected: at the beginning, and behind commas */

	if (strlen(operands) >= sizeof line)
		return false;
	memcpy(line, operands, strlen(operands) + 1);
	while (*at) {
		char *end, stop;
		at += strspn(at, " \t");
		if (!*at)
			break;
		end = piece_end(at);
		stop = *end;
		*end = 0;
		if (more) {
			char type = o->count < strlen(o->rule->types) ? o->rule->types[o->count] : 'f';
			if (o->count == OPERANDS || !operand(at, type, &o->o[o->count]))
				return false;
			o->count++;
		} else if (!modifier(at, o)) {
			return false;
		}
		more = stop == ',';
		at = end + (stop != 0);
	}
	return true;
}
