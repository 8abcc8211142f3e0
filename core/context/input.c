/* input: reads the declarations below `inputs:`; see input.h. */
#include "core/context/input.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "core/context/content.h"
#include "core/context/output.h"

enum { VARS_MAX = 64, ARRAYS_MAX = 64, NAME_LEN_MAX = 48 };

/* Names that host code or its language has a meaning for. */
static const char *const reserved[] = {
	"and",    "break", "do",    "else",   "elseif", "end",        "false",  "for",    "function", "goto",
	"if",     "in",    "local", "nil",    "not",    "or",         "repeat", "return", "then",     "true",
	"until",  "while", "cdiv",  "min",    "max",    "floor",      "ceil",   "abs",    "need",     "invalid",
	"launch", "alloc", "table", "memset", "copy",   "tensor_map", "device", "int",    "float",    "double",
	"char",   "long",  "short", "void",   "const",  "static",     "struct", "return", "extern",
};
#define TYPES "int, i8…i64, u8…u64, f16, bf16, f32, f64, e4m3 or e5m2"

bool input_is_taken(const char *name)
{
	return mem_has_text(reserved, MEM_COUNT(reserved), name) || dtype_parse(name) >= 0;
}

int input_name(const struct spec *spec, const char *name, struct err *e)
{
	size_t n = strlen(name), dot = strcspn(name, ".");
	bool good = n > 0 && n <= NAME_LEN_MAX && !isdigit((unsigned char)name[0]) && name[0] != '_' && dot == n;
	if (!good)
		return err_set(
			e, ERR_INPUT,
			"%s cannot be a name here; expected a letter, then letters, digits and underscores, at most %d in all",
			name, NAME_LEN_MAX);
	if (mem_has_text(reserved, MEM_COUNT(reserved), name))
		return err_set(e, ERR_INPUT, "%s is a word of the language or of host code; choose another name", name);
	if (dtype_parse(name) >= 0)
		return err_set(e, ERR_INPUT, "%s is the name of a type; choose another name", name);
	return expr_scope_find(spec->scope, name) >= 0 || spec_array(spec, name)
		       ? err_set(e, ERR_INPUT, "%s is declared twice (input, tuning parameter or constant)", name)
		       : 0;
}

int input_var(struct spec *spec, const char *name, bool tuning, enum dtype type, const char *set, int line, struct err *e)
{
	struct spec_var v = { .tuning = tuning, .type = type, .line = line };
	if (spec->var_count == VARS_MAX)
		return err_set(e, ERR_INPUT, "more than %d scalar inputs and tuning parameters", VARS_MAX);
	int rc = expr_set_parse(spec->scope, set, strlen(set), &v.set, e);
	if (rc < 0)
		return rc;
	v.name = mem_str(name);
	v.slot = expr_scope_add(spec->scope, name);
	*MEM_PUSH(spec->vars, spec->var_count) = v;
	spec->input_count += !tuning;
	return 0;
}

static int take_type(const char **at, enum dtype *ret_type, struct err *e)
{
	*at += strspn(*at, " ");
	size_t n = lex_word(*at);
	char *word = mem_strn(*at, n);
	int type = dtype_parse(word), rc = 0;
	if (type < 0)
		rc = err_set(e, ERR_INPUT, "expected a type (" TYPES "), found `%s`", n ? word : *at);
	free(word);
	*at += n;
	*ret_type = (enum dtype)type;
	return rc;
}

bool input_is_array(const char *value)
{
	const char *at = value;
	if (lex_take(&at, "out") || lex_take(&at, "inout") || lex_take(&at, "in"))
		return true;
	const char *equals = strchr(value, '='), *bracket = strchr(value, '[');
	if (bracket && (equals == NULL || bracket < equals))
		return true;
	for (size_t k = 0; equals && content_fills[k]; k++) {
		at = equals + 1;
		if (lex_take(&at, content_fills[k]))
			return true;
	}
	return false;
}

int input_scalar(struct spec *spec, const char *name, const char *value, int line, struct err *e)
{
	enum dtype type;
	const char *at = value;
	int rc = take_type(&at, &type, e);
	if (rc < 0)
		return rc;
	at += strspn(at, " ");
	if (*at != '=')
		return err_set(e, ERR_INPUT,
			       "expected `= VALUES` after the type (all values of a scalar are enumerated, as in `%s: int = {1024, "
			       "2048}`), found %s%s%s",
			       name, *at ? "`" : "", *at ? at : "the end of the line", *at ? "`" : "");
	rc = input_name(spec, name, e);
	return rc < 0 ? rc : input_var(spec, name, false, type, at + 1, line, e);
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */
static int array_extent(struct spec *spec, const char *text, size_t len, struct expr **ret_x, struct err *e)
{
	struct expr *x = NULL;
	int rc = expr_parse(spec->scope, text, len, &x, e);
	for (size_t k = 0; rc == 0 && k < SPEC_DEVICE_NAMES; k++)
		if (expr_mentions(x, spec->device_slot + k))
			rc = err_set(e, ERR_INPUT, "an extent cannot depend on the device");
	if (rc < 0)
		expr_free(x);
	else
		*ret_x = x;
	return rc;
}

/* `[rows, cols; ld]`, *at on the bracket. */
static int take_extents(struct spec *spec, struct spec_array *a, const char **at, struct err *e)
{
	const char *s = *at;
	int rc = 0;
	do {
		size_t n = lex_until(++s, ",;]");
		if (a->rank == PLAN_RANK_MAX)
			return err_set(e, ERR_INPUT, "more than %d extents in `%s`", PLAN_RANK_MAX, *at);
		rc = array_extent(spec, s, n, &a->dims[a->rank], e);
		a->rank += rc == 0;
		s += n;
	} while (rc == 0 && *s == ',');
	if (rc == 0 && *s == ';') {
		size_t n = lex_until(++s, ",;]");
		rc = array_extent(spec, s, n, &a->ld, e);
		if (rc == 0 && a->rank < 2)
			rc = err_set(e, ERR_INPUT, "a leading dimension (`; ld`) needs two extents or more");
		s += n;
	}
	if (rc == 0 && *s != ']')
		rc = err_set(e, ERR_INPUT, "expected ']' after the extents in `%s`, as in f32[m, k] or f32[m, k; ld]", *at);
	*at = s + (rc == 0);
	return rc;
}

static int read_array(struct spec *spec, struct spec_array *a, const char *value, struct err *e)
{
	const char *at = value;
	a->role = lex_take(&at, "out") ? PLAN_OUT : lex_take(&at, "inout") ? PLAN_INOUT : PLAN_IN;
	(void)(a->role == PLAN_IN && lex_take(&at, "in"));
	int rc = take_type(&at, &a->type, e);
	if (rc < 0)
		return rc;
	a->content = content_default();
	if (*at == '[' && at[1] == ']')
		at += 2;
	else if (*at == '[')
		rc = take_extents(spec, a, &at, e);
	if (rc == 0) {
		char *size = mem_fmt("%s.size", a->name);
		if (a->rank == 0 && expr_scope_find(spec->scope, size) < 0)
			rc = err_set(e, ERR_INPUT, "expected extents in brackets, as in %s: f32[n, n], or its sizes as `%s: {…}`",
				     a->name, size);
		else if (a->rank > 0 && expr_scope_find(spec->scope, size) >= 0)
			rc = err_set(e, ERR_INPUT, "%s has extents in brackets and %s too; keep one of the two", a->name, size);
		else if (a->rank == 0) {
			rc = expr_parse(spec->scope, size, strlen(size), &a->dims[0], e);
			a->rank = 1;
		}
		free(size);
	}
	if (rc < 0)
		return rc;
	rc = output_take(a, &at, e);
	if (rc < 0)
		return rc;
	at += strspn(at, " ");
	if (*at == '\0')
		return 0;
	if (!strchr("=<>", *at) && strncmp(at, "closed", strlen("closed")) != 0)
		return err_set(e, ERR_INPUT, "expected %s`= FILL`, bounds such as `>= 0`, or the end of the line, found `%s`",
			       a->role == PLAN_IN ? "" : OUTPUT_KINDS ", ", at);
	return content_read(spec, a, at, e);
}

int input_array(struct spec *spec, const char *name, const char *value, int line, struct err *e)
{
	struct spec_array a = { .name = mem_str(name), .line = line };
	int rc = input_name(spec, name, e);
	if (rc == 0 && spec->array_count == ARRAYS_MAX)
		rc = err_set(e, ERR_INPUT, "more than %d arrays", ARRAYS_MAX);
	if (rc == 0)
		rc = read_array(spec, &a, value, e);
	*MEM_PUSH(spec->arrays, spec->array_count) = a; /* spec_free frees it, also after a failure */
	return rc;
}
