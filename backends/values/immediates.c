/* immediates: see immediates.h. */
#include "backends/values/immediates.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"

enum {
	RAW_MAX = 1 << 16, /* collected, */
	KEPT_MAX = 256     /* and kept, of either kind */
};

static void add(double **list, size_t *count, double v)
{
	if (isfinite(v) && v != 0 && *count < RAW_MAX)
		*MEM_PUSH(*list, *count) = v;
}

void immediates_add_float(struct wire_immediates *to, double v)
{
	add(&to->floats, &to->float_count, v);
}

static void add_bits(struct wire_immediates *to, enum dtype t, uint64_t bits)
{
	add(&to->others, &to->other_count, dtype_load(t, &bits));
}

void immediates_add_integer(struct wire_immediates *to, int64_t v, unsigned bits)
{
	uint64_t u = (uint64_t)v, high = u >> 16 & 0xFFFF, low = u & 0xFFFF;
	add(&to->others, &to->other_count, (double)v);
	if (bits == 64 && u >> 32 && u >> 32 != UINT32_MAX)
		add_bits(to, DTYPE_F64, u);
	if (bits == 32 && high && high != 0xFFFF)
		add_bits(to, DTYPE_F32, u & UINT32_MAX);
	if (bits == 16 || (bits == 32 && high && high == low)) {
		add_bits(to, DTYPE_F16, low);
		add_bits(to, DTYPE_BF16, low);
	}
}

static void tidy(double *list, size_t *count)
{
	size_t n = 0, step;
	if (*count)
		qsort(list, *count, sizeof *list, order_doubles);
	for (size_t i = 0; i < *count; i++)
		if (n == 0 || list[n - 1] != list[i])
			list[n++] = list[i];
	step = (n + KEPT_MAX - 1) / KEPT_MAX;
	*count = 0;
	for (size_t i = 0; i < n; i += step)
		list[(*count)++] = list[i];
}

void immediates_finish(struct wire_immediates *to)
{
	tidy(to->floats, &to->float_count);
	tidy(to->others, &to->other_count);
}

/* --- PTX ------------------------------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '%' || c == '$' || c == '.';
}

/* 0fXXXXXXXX or 0dXXXXXXXXXXXXXXXX; its length, 0: it is neither. */
static size_t read_float(const char *at, double *ret_v)
{
	size_t digits = at[0] != '0' ? 0 : tolower((unsigned char)at[1]) == 'f' ? 8 : tolower((unsigned char)at[1]) == 'd' ? 16 : 0;
	char hex[17] = "";
	if (digits == 0 || strspn(at + 2, "0123456789abcdefABCDEF") != digits || is_word(at[2 + digits]))
		return 0;
	memcpy(hex, at + 2, digits);
	uint64_t bits = strtoull(hex, NULL, 16);
	*ret_v = dtype_load(digits == 8 ? DTYPE_F32 : DTYPE_F64, &bits);
	return 2 + digits;
}

/* The width of an instruction's last type: 16 for "setp.eq.s16"; 32 where it has none. */
static unsigned width_of(const char *name, size_t n)
{
	while (n > 0 && name[n - 1] != '.')
		n--;
	unsigned bits = n && isalpha((unsigned char)name[n]) ? (unsigned)strtoul(name + n + 1, NULL, 10) : 0;
	return bits == 16 || bits == 64 ? bits : 32;
}

static void add_line(struct wire_immediates *to, const char *line, const char *end)
{
	line += strspn(line, " \t");
	if (line < end && *line == '@')
		line += strcspn(line, " \t\n") + strspn(line + strcspn(line, " \t\n"), " \t");
	bool instruction = line < end && isalpha((unsigned char)*line);
	size_t name = strcspn(line, " \t\n;");
	unsigned bits = width_of(line, name), depth = 0;
	for (const char *at = line + name; at < end; at++) {
		double v;
		size_t n = 0;
		if (at[0] == '/' && at[1] == '/')
			return;
		depth += *at == '[';
		depth -= *at == ']' && depth;
		if (!isdigit((unsigned char)*at) || (at > line && is_word(at[-1])))
			continue;
		if ((n = read_float(at, &v)) > 0) {
			immediates_add_float(to, v);
		} else if (instruction && depth == 0) {
			char *after;
			uint64_t u = strtoull(at, &after, 0);
			n = (size_t)(after - at);
			if (!is_word(*after) || *after == 'U')
				immediates_add_integer(to, at > line && at[-1] == '-' ? (int64_t)(0 - u) : (int64_t)u, bits);
		}
		at += n > 0 ? n - 1 : 0;
	}
}

void immediates_add_ptx(struct wire_immediates *to, const char *ptx)
{
	for (const char *line = ptx; *line;) {
		const char *end = line + strcspn(line, "\n");
		add_line(to, line, end);
		line = end + (*end == '\n');
	}
}

/* --- source text ---------------------------------------------------------------------------------------------------- */

void immediates_add_source(struct wire_immediates *to, const char *text)
{
	for (const char *at = text; *at;) {
		bool digit = isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]));
		if (!digit) {
			/* A name is skipped whole, with the digits in it. */
			at += isalpha((unsigned char)*at) || *at == '_'
				      ? strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
						   "WXYZ0123456789_")
				      : 1;
			continue;
		}
		char *after, *after_integer;
		double v = strtod(at, &after);
		uint64_t u = strtoull(at, &after_integer, 0);
		bool hex = at[0] == '0' && tolower((unsigned char)at[1]) == 'x';
		if (after > after_integer || (!hex && strchr("fFhH", *after) && *after))
			immediates_add_float(to, v);
		else
			immediates_add_integer(to, (int64_t)u, u >> 32 ? 64 : 32);
		at = after > after_integer ? after : after_integer;
		while (is_word(*at))
			at++;
	}
}
