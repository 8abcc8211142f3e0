/* compare_kind: outputs that need not equal the reference element by element; see compare.h. Each kind rewrites one of
 * the two sides so that compare_outputs can judge what is left: bounds are computed (ulp, units), or what is right is
 * put where the reference has it (indices, sets). What stays different is wrong. */
#include "backends/values/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel_for.h"

/* --- bounds ------------------------------------------------------------------------------------------------------- */

/* The distance from |x| to the next number of a floating type. At least the type's smallest normal number, below which devices may
 * flush to zero. */
static double spacing(enum dtype t, double x)
{
	double smallest = dtype_smallest_normal(t);
	int exponent;
	(void)frexp(x, &exponent);
	return x == 0 ? smallest : fmax(ldexp(dtype_roundoff(t), exponent), smallest);
}

/* The same values, rounded to the output's type and without bounds. */
static void compare_exact(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
			  struct wire_compared *ret_compared)
{
	struct compare_wanted rounded = { .type = b->type, .values = want->values, .poison = want->poison };
	size_t n = (size_t)plan_buffer_logical(b), size = dtype_size(b->type), wide = dtype_size(want->type);
	uint8_t *values = NULL;
	if (want->type != b->type) {
		rounded.values = values = mem_new(n, size);
		for (size_t i = 0; i < n; i++)
			dtype_store(b->type, values + i * size, dtype_load(want->type, (const uint8_t *)want->values + i * wide));
	}
	compare_outputs(b, got, &rounded, ret_compared);
	free(values);
}

static void compare_within(const struct plan_buffer *b, const void *got, const struct compare_wanted *want,
			   const struct judgement *j, struct wire_compared *ret_compared)
{
	struct compare_wanted bounded = *want;
	size_t n = (size_t)plan_buffer_logical(b), wide = dtype_size(want->type), size = wire_bound_size(want->type);
	enum dtype type = size == 8 ? DTYPE_F64 : DTYPE_F32;
	uint8_t *bounds = mem_new(n, size);
	for (size_t i = 0; i < n; i++) {
		double w = dtype_load(want->type, (const uint8_t *)want->values + i * wide);
		bool steps = j->kind == JUDGE_ULP && isfinite(w);
		dtype_store(type, bounds + i * size, steps ? j->amount * spacing(b->type, w) : j->amount);
	}
	bounded.bounds = bounds;
	compare_outputs(b, got, &bounded, ret_compared);
	free(bounds);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

enum { FINDING = WIRE_FINDING, SURE = 8 /* rows that show indices: no chance explains so many */, FILLED_LEAST = 16 };

struct rearranging {
	const struct plan_buffer *buffer;
	const struct judgement *judgement;
	const uint8_t *got;
	const struct compare_wanted *want;
	const struct compare_indexed *x;
	struct judgement_rows rows;       /* INDICES */
	bool sure;                        /* that they are indices: declared, or shown by many rows */
	bool filled;                      /* SET: the reference fills the ends of its rows */
	uint64_t filler;                  /* with this key */
	uint8_t *arranged;                /* got, with what is right in the reference's places */
	uint64_t bad[PARALLEL_FOR_PARTS]; /* rows with a fault that places do not show */
	char finding[PARALLEL_FOR_PARTS][FINDING];
};

static void find_fault(struct rearranging *r, unsigned part, const char *text)
{
	if (r->bad[part]++ == 0)
		snprintf(r->finding[part], FINDING, "%s", text);
}

/* An element and where it stands. Keys have the order of the values; every NaN has the same. */
struct item {
	uint64_t key, at;
};

static uint64_t key_of_double(double x)
{
	uint64_t bits;
	x = isnan(x) ? NAN : x + 0; /* -0 + 0 is 0 */
	memcpy(&bits, &x, sizeof bits);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double double_of_key(uint64_t key)
{
	double x;
	key = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
	memcpy(&x, &key, sizeof x);
	return x;
}

/* Of integers of 64 bits the key is the value itself, which a double could not hold. */
static uint64_t key_of(enum dtype t, const uint8_t *element)
{
	uint64_t bits;
	if (t != DTYPE_I64 && t != DTYPE_U64)
		return key_of_double(dtype_load(t, element));
	memcpy(&bits, element, sizeof bits);
	return t == DTYPE_I64 ? bits ^ UINT64_C(1) << 63 : bits;
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->at > y->at) - (x->at < y->at);
}

/* By key, then by place, in which they are given: digit by digit from the lowest, which keeps the order of equal ones. */
static void sort_items(struct item *items, uint64_t n)
{
	enum { FEW = 2048, DIGIT = 256 };
	struct item *from = items, *to;
	if (n < FEW) {
		qsort(items, n, sizeof *items, by_key);
		return;
	}
	struct item *spare = to = MEM_NEW_N(struct item, n);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint64_t starts[DIGIT + 1] = { 0 };
		for (uint64_t i = 0; i < n; i++)
			starts[(from[i].key >> shift & (DIGIT - 1)) + 1]++;
		if (starts[(from[0].key >> shift & (DIGIT - 1)) + 1] == n)
			continue; /* all have the same digit */
		for (unsigned d = 0; d < DIGIT; d++)
			starts[d + 1] += starts[d];
		for (uint64_t i = 0; i < n; i++)
			to[starts[from[i].key >> shift & (DIGIT - 1)]++] = from[i];
		struct item *swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof *items);
	free(spare);
}

/* --- indices ------------------------------------------------------------------------------------------------------ */

static int64_t index_at(enum dtype t, const uint8_t *elements, uint64_t at)
{
	int64_t i;
	if (dtype_size(t) < 8)
		return (int64_t)dtype_load(t, elements + at * dtype_size(t));
	memcpy(&i, elements + at * 8, 8);
	return i; /* what does not fit is negative: no index */
}

static uint64_t place(const struct judgement_rows *rows, uint64_t row, uint64_t i, uint64_t extent)
{
	return (row / rows->inner * extent + i) * rows->inner + row % rows->inner;
}

static bool in_range(const struct rearranging *r, int64_t i)
{
	return i >= 0 && (uint64_t)i < r->rows.extent;
}

/* The element of X that an index in range selects. */
static const uint8_t *selected(const struct rearranging *r, uint64_t row, int64_t i)
{
	const struct plan_buffer *x = r->x->buffer;
	uint64_t at = place(&r->rows, row, (uint64_t)i, r->rows.extent), columns = (uint64_t)x->dims[x->rank - 1];
	return (const uint8_t *)r->x->values + (at / columns * (uint64_t)x->ld + at % columns) * dtype_size(x->type);
}

/* The first index in range that a row has twice; -1: none. `seen` has one bit for each element of a row of X. */
static int64_t repeated(const struct rearranging *r, enum dtype t, const uint8_t *indices, uint64_t row, uint8_t *seen)
{
	memset(seen, 0, r->rows.extent / 8 + 1);
	for (uint64_t k = 0; k < r->rows.per_row; k++) {
		int64_t i = index_at(t, indices, place(&r->rows, row, k, r->rows.per_row));
		if (!in_range(r, i))
			continue;
		if (seen[i / 8] & 1u << i % 8)
			return i;
		seen[i / 8] |= (uint8_t)(1u << i % 8);
	}
	return -1;
}

/* Indices that select what the reference's select at the same place count as the reference's. */
static void arrange_ordered(struct rearranging *r, uint64_t row)
{
	enum dtype t = r->buffer->type, xt = r->x->buffer->type;
	size_t size = dtype_size(t);
	const uint8_t *want = r->want->values;
	for (uint64_t k = 0; k < r->rows.per_row; k++) {
		uint64_t at = place(&r->rows, row, k, r->rows.per_row);
		int64_t g = index_at(t, r->got, at), w = index_at(t, want, at);
		if (g != w && in_range(r, g) && in_range(r, w) &&
		    key_of(xt, selected(r, row, g)) == key_of(xt, selected(r, row, w)))
			memcpy(r->arranged + at * size, want + at * size, size);
	}
}

/* Above the keys of all doubles there is room for what is no index, such as a -1 for "none". */
#define LABELS ((UINT64_C(1) << 50) - 1)

/* One item for each index; those out of range come last, and equal only themselves. */
static void list_selected(const struct rearranging *r, const uint8_t *indices, uint64_t row, struct item *ret_items)
{
	enum dtype t = r->buffer->type, xt = r->x->buffer->type;
	for (uint64_t k = 0; k < r->rows.per_row; k++) {
		uint64_t at = place(&r->rows, row, k, r->rows.per_row);
		int64_t i = index_at(t, indices, at);
		ret_items[k] =
			(struct item){ in_range(r, i) ? key_of(xt, selected(r, row, i)) : UINT64_MAX - ((uint64_t)i & LABELS), at };
	}
	sort_items(ret_items, r->rows.per_row);
}

static bool has_nan(const struct rearranging *r, uint64_t row)
{
	enum dtype t = r->x->buffer->type;
	bool found = false;
	for (uint64_t i = 0; dtype_is_float(t) && i < r->rows.extent && !found; i++)
		found = isnan(dtype_load(t, selected(r, row, (int64_t)i)));
	return found;
}

static bool differs(const struct rearranging *r, uint64_t row)
{
	size_t size = dtype_size(r->buffer->type);
	for (uint64_t k = 0; k < r->rows.per_row; k++) {
		uint64_t at = place(&r->rows, row, k, r->rows.per_row) * size;
		if (memcmp(r->arranged + at, (const uint8_t *)r->want->values + at, size) != 0)
			return true;
	}
	return false;
}

/* Whether the reference's numbers look like argmax, argmin, top-k or a sort of rows that vary: each row begins at an extreme
 * and goes on in order. Flags and counts do not. Returns how many rows show it; 0: some row does not. */
static uint64_t selects_extremes(const struct rearranging *r)
{
	enum dtype t = r->buffer->type, xt = r->x->buffer->type;
	bool up = true, down = true;
	uint64_t shown = 0;
	for (uint64_t row = 0; row < r->rows.count && (up || down); row++) {
		uint64_t least = UINT64_MAX, most = 0, last = 0;
		for (uint64_t i = 0; i < r->rows.extent; i++) {
			uint64_t key = key_of(xt, selected(r, row, (int64_t)i));
			least = key < least ? key : least;
			most = key > most ? key : most;
		}
		if (least == most || has_nan(r, row))
			continue;
		shown++;
		for (uint64_t k = 0; k < r->rows.per_row; k++) {
			int64_t i = index_at(t, r->want->values, place(&r->rows, row, k, r->rows.per_row));
			if (!in_range(r, i))
				return 0;
			uint64_t key = key_of(xt, selected(r, row, i));
			up = up && (k ? key >= last : key == least);
			down = down && (k ? key <= last : key == most);
			last = key;
		}
	}
	return up || down ? shown : 0;
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

static uint64_t key_at(enum dtype t, const void *elements, uint64_t at)
{
	return key_of(t, (const uint8_t *)elements + at * dtype_size(t));
}

/* Whether the reference lists elements in no order and fills the ends of its rows with one value that stands nowhere else: then a
 * list has its length, and a candidate may not leave gaps. Of several rows two at least are so: one may end with equal elements. */
static bool has_filler(const struct rearranging *r, uint64_t *ret_key)
{
	enum dtype t = r->want->type;
	uint64_t n = (uint64_t)r->buffer->dims[r->buffer->rank - 1], rows = plan_buffer_logical(r->buffer) / n;
	uint64_t filled = 0, lists = 0;
	bool up = false, down = false, found = false;
	for (uint64_t row = 0; row < rows && n > 1 && !found; row++) {
		*ret_key = key_at(t, r->want->values, row * n + n - 1);
		found = *ret_key == key_at(t, r->want->values, row * n + n - 2);
	}
	for (uint64_t row = 0; row < rows && found; row++) {
		bool listed = false; /* an element was met, from the end */
		uint64_t last = 0;
		for (uint64_t i = n; i-- > 0;) {
			uint64_t key = key_at(t, r->want->values, row * n + i);
			filled += key == *ret_key && !listed;
			if (key == *ret_key && listed)
				return false;
			if (key == *ret_key)
				continue;
			up |= listed && key < last;
			down |= listed && key > last;
			last = key;
			listed = true;
		}
		lists += listed && key_at(t, r->want->values, row * n + n - 1) == *ret_key;
	}
	return found && up && down && filled >= FILLED_LEAST && lists >= (rows > 1 ? 2 : 1);
}

/* The first filler of a row before an element; n: none. */
static uint64_t gap(const struct rearranging *r, uint64_t from, uint64_t n)
{
	uint64_t first = n;
	for (uint64_t k = 0; k < n && r->filled; k++)
		if (key_at(r->buffer->type, r->got, from + k) != r->filler && first < n)
			return first;
		else if (key_at(r->buffer->type, r->got, from + k) == r->filler && first == n)
			first = k;
	return n;
}

/* What a matched element of the reference allows. */
static bool matches(const struct rearranging *r, const struct item *g, const struct item *w, const struct compare_wanted *bounds)
{
	if (g->key == w->key)
		return true;
	if (bounds == NULL || bounds->bounds == NULL || !dtype_is_float(r->buffer->type))
		return false;
	enum dtype t = wire_bound_size(bounds->type) == 8 ? DTYPE_F64 : DTYPE_F32;
	double bound = dtype_load(t, (const uint8_t *)bounds->bounds + w->at * dtype_size(t));
	return bound < INFINITY && fabs(double_of_key(g->key) - double_of_key(w->key)) <= bound;
}

/* Puts what two sorted lists share where the reference has it, and the rest into the places that are left. got and want
 * have n items; both lists are used up. bounds NULL: only equal keys match. */
static void pair_up(struct rearranging *r, struct item *got, struct item *want, uint64_t n, const struct compare_wanted *bounds,
		    bool take_want)
{
	size_t size = dtype_size(r->buffer->type);
	uint64_t extra = 0, missing = 0, i = 0, k = 0;
	while (i < n && k < n) {
		if (matches(r, &got[i], &want[k], bounds)) {
			/* Indices of equal values count as the reference's own; values are compared once more. */
			const uint8_t *from =
				take_want ? (const uint8_t *)r->want->values + want[k].at * size : r->got + got[i].at * size;
			memcpy(r->arranged + want[k++].at * size, from, size);
			i++;
		} else if (got[i].key < want[k].key) {
			got[extra++] = got[i++];
		} else {
			want[missing++] = want[k++];
		}
	}
	while (i < n)
		got[extra++] = got[i++];
	while (k < n)
		want[missing++] = want[k++];
	for (i = 0; i < missing; i++)
		memcpy(r->arranged + want[i].at * size, r->got + got[i].at * size, size);
}

static void list_row(enum dtype t, const uint8_t *elements, uint64_t from, uint64_t n, enum dtype rounded, struct item *ret_items)
{
	uint8_t element[8];
	for (uint64_t k = 0; k < n; k++) {
		const uint8_t *at = elements + (from + k) * dtype_size(t);
		if (rounded != t)
			dtype_store(rounded, element, dtype_load(t, at));
		ret_items[k] = (struct item){ key_of(rounded, rounded != t ? element : at), from + k };
	}
	sort_items(ret_items, n);
}

/* The first element of a row that breaks its declared order; n: none. */
static uint64_t out_of_order(const struct rearranging *r, uint64_t from, uint64_t n)
{
	enum dtype t = r->buffer->type;
	size_t size = dtype_size(t);
	for (uint64_t k = 1; k < n; k++) {
		uint64_t a = key_of(t, r->got + (from + k - 1) * size), b = key_of(t, r->got + (from + k) * size);
		if (r->judgement->order == JUDGE_ASCENDING ? a > b : a < b)
			return k;
	}
	return n;
}

/* --- all rows ----------------------------------------------------------------------------------------------------- */

static void rearrange_indices(void *arg, unsigned part, uint64_t from, uint64_t to)
{
	struct rearranging *r = arg;
	enum dtype t = r->buffer->type;
	uint64_t n = r->rows.per_row;
	uint8_t *seen = mem_new(r->rows.extent / 8 + 1, 1);
	struct item *got = r->judgement->any_order ? MEM_NEW_N(struct item, n) : NULL,
		    *want = got ? MEM_NEW_N(struct item, n) : NULL;
	char text[FINDING];
	for (uint64_t row = from; row < to; row++) {
		if (got) {
			list_selected(r, r->got, row, got);
			list_selected(r, r->want->values, row, want);
			pair_up(r, got, want, n, NULL, true);
		} else {
			arrange_ordered(r, row);
		}
		int64_t twice = n > 1 ? repeated(r, t, r->got, row, seen) : -1;
		bool repeats = twice >= 0 && repeated(r, t, r->want->values, row, seen) < 0;
		if (r->sure && (repeats || differs(r, row)) && has_nan(r, row)) {
			/* NaN has no place in an order, so kernels need not agree on rows that hold it: any index in range will
			 * do. */
			size_t size = dtype_size(r->buffer->type);
			for (uint64_t k = 0; k < r->rows.per_row; k++) {
				uint64_t at = place(&r->rows, row, k, r->rows.per_row);
				bool right = in_range(r, index_at(r->buffer->type, r->got, at));
				memcpy(r->arranged + at * size, (right ? (const uint8_t *)r->want->values : r->got) + at * size,
				       size);
			}
			continue;
		}
		if (!repeats)
			continue;
		snprintf(text, sizeof text, "row %" PRIu64 " has the index %" PRId64 " more than once", row, twice);
		find_fault(r, part, text);
	}
	free(seen);
	free(got);
	free(want);
}

/* Most often a row is the reference's. */
static bool same_row(const struct rearranging *r, uint64_t from, uint64_t n)
{
	size_t size = dtype_size(r->buffer->type);
	return r->judgement->order == JUDGE_UNORDERED && r->want->type == r->buffer->type &&
	       memcmp(r->got + from * size, (const uint8_t *)r->want->values + from * size, n * size) == 0;
}

static void rearrange_sets(void *arg, unsigned part, uint64_t from, uint64_t to)
{
	struct rearranging *r = arg;
	enum dtype t = r->buffer->type;
	uint64_t n = (uint64_t)r->buffer->dims[r->buffer->rank - 1];
	struct item *got = MEM_NEW_N(struct item, n), *want = MEM_NEW_N(struct item, n);
	enum dtype rounded = r->want->bounds ? r->want->type : t; /* without bounds values must be equal, so as rounded */
	char text[FINDING];
	for (uint64_t row = from; row < to; row++) {
		if (same_row(r, row * n, n))
			continue;
		list_row(t, r->got, row * n, n, t, got);
		list_row(r->want->type, r->want->values, row * n, n, rounded, want);
		pair_up(r, got, want, n, r->want, false);
		uint64_t bad = r->judgement->order ? out_of_order(r, row * n, n) : gap(r, row * n, n);
		if (bad == n)
			continue;
		if (r->judgement->order)
			snprintf(text, sizeof text, "row %" PRIu64 " is not %s at column %" PRIu64, row,
				 r->judgement->order == JUDGE_ASCENDING ? "ascending" : "descending", bad);
		else
			snprintf(text, sizeof text,
				 "row %" PRIu64 " has a gap at column %" PRIu64 ", and the reference's lists have none", row, bad);
		find_fault(r, part, text);
	}
	free(got);
	free(want);
}

/* What an index that is wrong selects. */
static void explain_index(const struct rearranging *r, struct wire_compared *c)
{
	uint64_t at = (uint64_t)c->mismatch[0].index, inner = r->rows.inner, block = inner * r->rows.per_row,
		 row = at / block * inner + at % inner;
	int64_t g = index_at(r->buffer->type, r->got, at), w = index_at(r->buffer->type, r->want->values, at);
	const char *x = r->x->buffer->name;
	enum dtype t = r->x->buffer->type;
	if (r->judgement->any_order)
		snprintf(c->finding, FINDING, "row %" PRIu64 " does not select the values of %s that the reference selects", row,
			 x);
	else if (!in_range(r, g))
		snprintf(c->finding, FINDING, "%" PRId64 " is not an index of a row of %s, which has %" PRIu64 " elements", g, x,
			 r->rows.extent);
	else if (in_range(r, w))
		snprintf(c->finding, FINDING,
			 "in row %" PRIu64 ", %s is %.9g at index %" PRId64 ", and %.9g at the reference's index %" PRId64, row, x,
			 dtype_load(t, selected(r, row, g)), g, dtype_load(t, selected(r, row, w)), w);
}

static void compare_rows(const struct plan_buffer *b, const void *got, const struct compare_wanted *want, const struct judgement *j,
			 const struct compare_indexed *x, struct wire_compared *ret_compared)
{
	uint64_t n = plan_buffer_logical(b);
	struct rearranging *r = MEM_NEW(struct rearranging);
	*r = (struct rearranging){ .buffer = b, .judgement = j, .got = got, .want = want, .x = x };
	r->arranged = mem_copy(got, (size_t)n * dtype_size(b->type));
	if (x && !judgement_find_rows(b, x->buffer, j->axis, &r->rows))
		r->rows = (struct judgement_rows){ 0 }; /* nothing is rearranged: indices must be the reference's */
	uint64_t shown = x && !j->declared ? selects_extremes(r) : SURE;
	r->sure = shown >= SURE;
	if (shown == 0)
		r->rows.count = 0;
	r->filled = j->kind == JUDGE_SET && has_filler(r, &r->filler);
	if (x)
		parallel_for(r->rows.count, rearrange_indices, r);
	else
		parallel_for(n / (uint64_t)b->dims[b->rank - 1], rearrange_sets, r);
	if (want->bounds && dtype_is_float(b->type))
		compare_outputs(b, r->arranged, want, ret_compared);
	else
		compare_exact(b, r->arranged, want, ret_compared);
	if (x && ret_compared->mismatch_count && r->rows.count)
		explain_index(r, ret_compared);
	for (unsigned k = PARALLEL_FOR_PARTS; k-- > 0;)
		if (r->bad[k]) {
			ret_compared->mismatched += r->bad[k];
			memcpy(ret_compared->finding, r->finding[k], FINDING);
		}
	free(r->arranged);
	free(r);
}

void compare_by_kind(const struct plan_buffer *b, const void *got, const struct compare_wanted *want, const struct judgement *j,
		     const struct compare_indexed *x, struct wire_compared *ret_compared)
{
	switch ((enum judgement_kind)j->kind) {
	case JUDGE_EXACT: compare_exact(b, got, want, ret_compared); return;
	case JUDGE_ULP:
	case JUDGE_UNITS: compare_within(b, got, want, j, ret_compared); return;
	case JUDGE_INDICES:
	case JUDGE_SET:
	case JUDGE_PERMUTATION: compare_rows(b, got, want, j, x, ret_compared); return;
	case JUDGE_DISTRIBUTION: compare_random(b, got, want, ret_compared); return;
	case JUDGE_CLOSE:
	case JUDGE_KINDS: break;
	}
	compare_outputs(b, got, want, ret_compared);
}
