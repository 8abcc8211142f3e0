/* gemm: see gemm.h. The extents are not looked at here: they are expressions, and plan_check compares them when they are numbers. */
#include "core/context/gemm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define EXPECTED "expected `gemm C = A * B`, the names of arrays, with ^T behind A or B when it is stored transposed"

static void skip_space(const char **at)
{
	while (isspace((unsigned char)**at))
		(*at)++;
}

static bool take(const char **at, const char *what)
{
	skip_space(at);
	if (strncmp(*at, what, strlen(what)) != 0)
		return false;
	*at += strlen(what);
	return true;
}

/* The array whose name stands here. */
static int take_array(const struct spec *spec, const char **at, size_t *ret_index, struct err *e)
{
	size_t n = 0;
	skip_space(at);
	while (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_')
		n++;
	for (size_t k = 0; k < spec->array_count; k++) {
		const struct spec_array *a = &spec->arrays[k];
		if (strlen(a->name) != n || strncmp(a->name, *at, n) != 0)
			continue;
		if (a->rank != 2 || dtype_size(a->type) < 2 || !dtype_is_float(a->type))
			return err_set(e, ERR_INPUT, "gemm: %s is no matrix of f16, bf16, f32 or f64", a->name);
		*at += n;
		*ret_index = k;
		return 0;
	}
	return err_set(e, ERR_INPUT, "gemm: there is no array `%.*s`; " EXPECTED, (int)n, *at);
}

int gemm_parse(const struct spec *spec, const char *text, struct spec_gemm **ret_gemm, struct err *e)
{
	struct spec_gemm g = { .a = 0 };
	const char *at = text;
	if (!take(&at, "gemm") || !isspace((unsigned char)*at))
		return err_set(e, ERR_INPUT, "`%s`: " EXPECTED, text);
	if (take_array(spec, &at, &g.c, e) < 0)
		return -ERR_INPUT;
	if (!take(&at, "="))
		return err_set(e, ERR_INPUT, "`%s`: " EXPECTED, text);
	if (take_array(spec, &at, &g.a, e) < 0)
		return -ERR_INPUT;
	g.a_transposed = take(&at, "^T");
	if (!take(&at, "*"))
		return err_set(e, ERR_INPUT, "`%s`: " EXPECTED, text);
	if (take_array(spec, &at, &g.b, e) < 0)
		return -ERR_INPUT;
	g.b_transposed = take(&at, "^T");
	skip_space(&at);
	if (*at)
		return err_set(e, ERR_INPUT, "`%s`: `%s` is left over; " EXPECTED, text, at);
	if (spec->arrays[g.c].role == PLAN_IN)
		return err_set(e, ERR_INPUT, "gemm: %s is an input; the product is an output", spec->arrays[g.c].name);
	if (spec->arrays[g.a].role == PLAN_OUT || spec->arrays[g.b].role == PLAN_OUT ||
	    spec->arrays[g.a].type != spec->arrays[g.b].type)
		return err_set(e, ERR_INPUT, "gemm: %s and %s have to be inputs of one type", spec->arrays[g.a].name,
			       spec->arrays[g.b].name);
	*ret_gemm = mem_copy(&g, sizeof g);
	return 0;
}
