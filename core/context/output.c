/* output: reads how an output is judged; see output.h. */
#include "core/context/output.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"

/* `N ulp` or `N units`. */
static int take_within(struct judgement *j, const char **at, enum dtype type, struct err *e)
{
	const char *start = *at + strspn(*at, " ");
	char *end;
	j->amount = strtod(start, &end);
	const char *unit = end;
	bool number = end != start && isfinite(j->amount) && j->amount > 0, ulp = number && lex_take(&unit, "ulp");
	if (!ulp && !(number && (lex_take(&unit, "units") || lex_take(&unit, "unit"))))
		return err_set(e, ERR_INPUT, "expected `within N ulp` or `within N units`, N above 0, found `within %s`", start);
	if (ulp && !dtype_is_float(type))
		return err_set(e, ERR_INPUT, "%s has no ulp; write `within %g units` for a distance between integers",
			       dtype_name(type), j->amount);
	j->kind = ulp ? JUDGE_ULP : JUDGE_UNITS;
	*at = unit;
	return 0;
}

/* `of ARRAY [along AXIS] [in any order]`. */
static int take_indices(struct spec_array *a, const char **at, struct err *e)
{
	struct judgement *j = &a->judged;
	const char *start = *at;
	size_t n = 0;
	if (lex_take(at, "of")) {
		*at += strspn(*at, " ");
		n = lex_word(*at);
	}
	if (n == 0)
		return err_set(e, ERR_INPUT, "expected `indices of ARRAY`, the array that they index, found `indices%s`", start);
	if (dtype_is_float(a->type))
		return err_set(e, ERR_INPUT, "indices are integers, and %s is not an integer type", dtype_name(a->type));
	a->indexed = mem_strn(*at, n);
	*at += n;
	j->kind = JUDGE_INDICES;
	j->axis = UINT32_MAX;
	if (lex_take(at, "along")) {
		*at += strspn(*at, " ");
		n = lex_word(*at);
		if (n != 1 || !isdigit((unsigned char)**at))
			return err_set(e, ERR_INPUT, "expected the number of an axis behind `along`, 0 the outermost, found `%s`",
				       *at);
		j->axis = (uint32_t)(**at - '0');
		*at += n;
	}
	const char *order = *at;
	if (lex_take(&order, "in") && lex_take(&order, "any") && lex_take(&order, "order")) {
		j->any_order = true;
		*at = order;
	}
	return 0;
}

int output_take(struct spec_array *a, const char **at, struct err *e)
{
	static const struct {
		const char *word;
		enum judgement_kind kind;
	} plain[] = { { "close", JUDGE_CLOSE },
		      { "exact", JUDGE_EXACT },
		      { "set", JUDGE_SET },
		      { "permutation", JUDGE_PERMUTATION },
		      { "distribution", JUDGE_DISTRIBUTION } };
	struct judgement *j = &a->judged;
	const char *start = *at;
	int rc = 0;
	*j = judgement_default(a->type);
	if (lex_take(at, "within"))
		rc = take_within(j, at, a->type, e);
	else if (lex_take(at, "indices"))
		rc = take_indices(a, at, e);
	else
		for (size_t k = 0; k < MEM_COUNT(plain); k++)
			if (lex_take(at, plain[k].word)) {
				j->kind = plain[k].kind;
				break;
			}
	if (rc < 0)
		return rc;
	j->declared = *at != start;
	if (j->declared && a->role == PLAN_IN)
		return err_set(e, ERR_INPUT,
			       "`%s` says how an output is judged, and this is an input; write out or inout in front of its type",
			       start + strspn(start, " "));
	if (j->kind == JUDGE_CLOSE && !dtype_is_float(a->type))
		return err_set(e, ERR_INPUT, "%s cannot be close; write exact or `within N units`", dtype_name(a->type));
	if (j->kind == JUDGE_PERMUTATION && lex_take(at, "ascending"))
		j->order = JUDGE_ASCENDING;
	else if (j->kind == JUDGE_PERMUTATION && lex_take(at, "descending"))
		j->order = JUDGE_DESCENDING;
	return 0;
}

int output_resolve(const struct spec *spec, struct spec_array *a, struct err *e)
{
	struct judgement *j = &a->judged;
	const struct spec_array *x = a->indexed ? spec_array(spec, a->indexed) : NULL;
	if (a->indexed == NULL)
		return 0;
	if (x == NULL)
		return err_set(e, ERR_INPUT, "indices of %s: there is no array of that name", a->indexed);
	j->of = (uint32_t)(x - spec->arrays) + 1;
	if (x->role == PLAN_OUT)
		return err_set(e, ERR_INPUT, "indices of %s: it is an output; name the input that the indices point into", x->name);
	if (j->axis == UINT32_MAX)
		j->axis = x->rank - 1;
	if (j->axis >= x->rank)
		return err_set(e, ERR_INPUT, "indices of %s along %u: it has %u axes, counted from 0", x->name, j->axis, x->rank);
	if (a->rank != x->rank && a->rank + 1 != x->rank)
		return err_set(e, ERR_INPUT,
			       "indices of %s: expected its extents without axis %u, or with the number of indices in its place. "
			       "For %s of [rows, columns]: `i32[rows]` or `i32[rows, k]`",
			       x->name, j->axis, x->name);
	return 0;
}
