/* bound: see bound.h. Two passes over blocks. The first collects the baseline's errors among elements of
 * like size and sensitivity; the second makes the bounds, group of neighbours by group. Results do not depend on the number of
 * threads. */
#include "core/judge/bound.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel_for.h"

enum {
	BLOCK = 1024,
	TURNED_PART = 32 /* of the numbers that rounding turns over, so many more may be turned that no truth showed */
};
#define SMOOTH_MOST 32.0 /* amplitudes of the output's root mean square: what moves by more has turned over */

const char *bound_cause_text(enum bound_cause cause)
{
	static const char *const texts[BOUND_CAUSES] = {
		[BOUND_EXACT] = "it must be equal",
		[BOUND_ROUNDING] = "rounding of the output",
		[BOUND_PRECISION] = "sensitivity to inputs that precision: lets kernels round",
		[BOUND_SENSITIVITY] = "sensitivity to rounding",
		[BOUND_SUMS] = "rounding of sums",
		[BOUND_BASELINE] = "the baseline's own error on such elements",
		[BOUND_JUMPS] = "rounding moves it from one integer to another",
		[BOUND_WIDE] = "rounding may cost more than 5 % of its size",
		[BOUND_POOR] = "the baseline's own error there is beyond rounding",
		[BOUND_UNLIKE] = "baseline and reference disagree on NaN or infinity",
		[BOUND_ABSORBED] = "the reference is finite although infinities or NaN count, or is NaN although no NaN does",
	};
	return cause < BOUND_CAUSES ? texts[cause] : "rounding and sensitivity";
}

const char *bound_cause_help(enum bound_cause cause)
{
	switch (cause) {
	case BOUND_POOR: return "declare the `precision:` that the baseline computes with, or add a `reference` block";
	case BOUND_UNLIKE: return "declare a range of the inputs in which the baseline neither overflows nor cancels";
	case BOUND_ABSORBED: return "close the domain of the inputs, as in `x: f32[n] = random closed`";
	default:
		return "declare the range of the inputs (one that is declared may lie too far from zero for its width), a finer "
		       "`precision:`, or how the output is judged";
	}
}

char *bound_weakness(const struct bound_summary *s, const char *name)
{
	return mem_fmt("the reference output %s is %s would pass; change the inputs' values", name,
		       s->tells_zeros ? "constant: a kernel that writes one number"
				      : "zero throughout, or its bounds contain zero: a kernel that does nothing");
}

enum dtype bound_wanted_type(enum dtype type)
{
	return dtype_is_float(type) && type != DTYPE_F64 ? DTYPE_F32 : type;
}

/* --- types -------------------------------------------------------------------------------------------------------------- */

static struct bound_shape shape_of(enum dtype t)
{
	double u = 2 * dtype_roundoff(t);
	switch (t) {
	case DTYPE_F16: return (struct bound_shape){ u, 0x1p-14, 65504, 0 };
	case DTYPE_E5M2: return (struct bound_shape){ u, 0x1p-14, 57344, 0 };
	case DTYPE_E4M3: return (struct bound_shape){ u, 0x1p-6, 448, 0 };
	case DTYPE_BF16: return (struct bound_shape){ u, 0x1p-126, 0x1.fep127, 0x1p-126 };
	case DTYPE_F32: return (struct bound_shape){ u, 0x1p-126, 0x1.fffffep127, 0x1p-126 };
	case DTYPE_F64: return (struct bound_shape){ u, 0x1p-1022, 0x1.fffffffffffffp1023, 0x1p-1022 };
	case DTYPE_I8:
	case DTYPE_I16:
	case DTYPE_I32:
	case DTYPE_I64:
	case DTYPE_U8:
	case DTYPE_U16:
	case DTYPE_U32:
	case DTYPE_U64:
	case DTYPE_COUNT: break;
	}
	return (struct bound_shape){ 0 };
}

/* --- moves --------------------------------------------------------------------------------------------------------------- */

struct moving {
	const struct bound_output *o;
	const uint8_t *other;
	float (*absorb)(double y, double other, float moved); /* NULL: a perturbed truth */
};

static void move_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	const struct moving *m = arg;
	const struct bound_output *o = m->o;
	size_t size = dtype_size(o->truth_type);
	double y[BLOCK], p[BLOCK];
	(void)k;
	for (uint64_t at = from; at < to; at += BLOCK) {
		size_t n = to - at < BLOCK ? (size_t)(to - at) : BLOCK;
		dtype_load_all(o->truth_type, (const uint8_t *)o->truth + at * size, y, n);
		dtype_load_all(o->truth_type, m->other + at * size, p, n);
		for (size_t i = 0; i < n; i++) {
			float *moved = &o->moved[at + i];
			*moved = m->absorb ? m->absorb(y[i], p[i], *moved) : fmaxf(bound_move(y[i], p[i]), *moved);
		}
	}
}

bool bound_turns(const struct bound_output *o)
{
	double y[BLOCK], squares = 0, most = 0;
	for (size_t at = 0; at < o->n; at += BLOCK) {
		size_t n = o->n - at < BLOCK ? o->n - at : BLOCK;
		dtype_load_all(o->truth_type, (const uint8_t *)o->truth + at * dtype_size(o->truth_type), y, n);
		for (size_t i = 0; i < n; i++) {
			squares += isfinite(y[i]) ? y[i] * y[i] : 0;
			most = isfinite(o->moved[at + i]) ? fmax(most, (double)o->moved[at + i]) : most;
		}
	}
	return most > (dtype_is_float(o->type) ? SMOOTH_MOST * o->amplitude * sqrt(squares / (double)o->n) : 0);
}

bool bound_is_whole(const struct bound_output *o, double sums, double own)
{
	for (size_t i = 0; i < o->n; i++) {
		double y = dtype_load(o->truth_type, (const uint8_t *)o->truth + i * dtype_size(o->truth_type));
		double b = o->baseline ? dtype_load(o->type, (const uint8_t *)o->baseline + i * dtype_size(o->type)) : y;
		if (y != floor(y) || fabs(y) * sums > 1 || !(fabs(b - y) <= own * fabs(y)))
			return false;
	}
	return true;
}

void bound_add_moved(const struct bound_output *o, const void *perturbed)
{
	struct moving m = { .o = o, .other = perturbed };
	parallel_for(o->n, move_part, &m);
}

/* Integers move as well: how NaN is converted and compared is not specified. A single flag does not: nothing would judge it. */
static void absorb(const struct bound_output *o, const void *other, float (*how)(double y, double other, float moved))
{
	bool whole = !dtype_is_float(o->truth_type), flag = whole && o->n == 1 && dtype_load(o->truth_type, o->truth) <= 1;
	struct moving m = { .o = o, .other = other, .absorb = whole ? NULL : how };
	if (!flag)
		parallel_for(o->n, move_part, &m);
}

void bound_add_absorbed(const struct bound_output *o, const void *large)
{
	absorb(o, large, bound_absorbed);
}

void bound_add_decided(const struct bound_output *o, const void *with_nan)
{
	absorb(o, with_nan, bound_decided);
}

/* --- first pass: the baseline's errors --------------------------------------------------------------------- */

/* The largest error of the baseline by bin. */
struct errors {
	float at[BOUND_BINS];
};

struct making {
	const struct bound_output *o;
	struct bound_limits limits;
	struct errors *errors; /* one a part, then all in the first */
	uint8_t *values, *bounds, *causes;
	double parts_most[PARALLEL_FOR_PARTS];
	struct bound_tally *tallies;
};

static size_t block_at(const struct making *m, uint64_t at, size_t most, double *y, double *b)
{
	const struct bound_output *o = m->o;
	size_t n = o->n - at < most ? (size_t)(o->n - at) : most;
	dtype_load_all(o->truth_type, (const uint8_t *)o->truth + at * dtype_size(o->truth_type), y, n);
	if (o->baseline)
		dtype_load_all(o->type, (const uint8_t *)o->baseline + at * dtype_size(o->type), b, n);
	return n;
}

static void most_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct making *m = arg;
	double y[BLOCK], b[BLOCK], most = 0;
	for (uint64_t at = (from + BLOCK - 1) / BLOCK * BLOCK; at < to; at += BLOCK) {
		size_t n = block_at(m, at, BLOCK, y, b);
		for (size_t i = 0; i < n; i++) {
			double a = fabs(y[i]);
			most = a > most && a <= m->limits.shape.most ? a : most;
		}
	}
	m->parts_most[k] = most;
}

static void collect(struct making *m, struct errors *e, const double *y, const double *b, size_t at, size_t n)
{
	const float *moved = m->o->moved + at;
	for (size_t i = 0; i < n; i++) {
		double error = bound_own_error(&m->limits.shape, y[i], b[i]);
		if (isnan(error) || !isfinite(moved[i]))
			continue;
		if (m->o->errors)
			error = fmax(error, (double)m->o->errors[at + i]);
		float *bin = &e->at[bound_bin(&m->limits, y[i], (double)moved[i])];
		*bin = fmaxf(*bin, (float)error);
	}
}

void bound_add_errors(const struct bound_output *o, const double *truth, const void *baseline, float *io_errors)
{
	struct bound_shape shape = shape_of(o->type);
	size_t size = dtype_size(o->type);
	for (size_t i = 0; i < o->n; i++) {
		double error = bound_own_error(&shape, truth[i], dtype_load(o->type, (const uint8_t *)baseline + i * size));
		io_errors[i] = fmaxf(io_errors[i], (float)error);
	}
}

static void collect_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct making *m = arg;
	double y[BLOCK], b[BLOCK];
	for (uint64_t at = (from + BLOCK - 1) / BLOCK * BLOCK; at < to; at += BLOCK) {
		size_t n = block_at(m, at, BLOCK, y, b);
		collect(m, &m->errors[k], y, b, at, n);
	}
}

/* --- records ---------------------------------------------------------------------------------------------------------------- */

/* How many elements a record has, where its fields differ in size: those of one remainder are 16 times as large as others. 1: no
 * record. */
static uint32_t find_fields(const struct making *m)
{
	enum { ALL = 840 /* a multiple of every number up to BOUND_FIELDS */, LEAST = 256, OCTAVES = 4 };
	double y[BLOCK], b[BLOCK], sums[ALL] = { 0 }, counts[ALL] = { 0 };
	for (uint64_t at = 0; at < m->o->n && at < (uint64_t)ALL * LEAST; at += BLOCK) {
		size_t n = block_at(m, at, BLOCK, y, b);
		for (size_t i = 0; i < n; i++)
			if (isfinite(y[i]) && y[i] != 0) {
				sums[(at + i) % ALL] += bound_exponent(y[i]);
				counts[(at + i) % ALL]++;
			}
	}
	for (uint32_t fields = 2; fields <= BOUND_FIELDS; fields++) {
		double least = INFINITY, most = -INFINITY, fewest = INFINITY;
		for (uint32_t k = 0; k < fields; k++) {
			double sum = 0, count = 0;
			for (uint32_t i = k; i < ALL; i += fields) {
				sum += sums[i];
				count += counts[i];
			}
			fewest = fmin(fewest, count);
			least = fmin(least, sum / count);
			most = fmax(most, sum / count);
		}
		if (fewest >= LEAST && most - least > OCTAVES)
			return fields;
	}
	return 1;
}

/* --- second pass: bounds --------------------------------------------------------------------------------------------------- */

/* y, b: of the block that begins at `at`; n of its elements. */
static void bound_group(struct making *m, struct bound_tally *t, size_t at, uint64_t group, const double *y, const double *b,
			size_t n)
{
	uint32_t fields = m->limits.fields;
	float moved[BOUND_GROUP], kappa[BOUND_GROUP];
	double own[BOUND_GROUP];
	int count = 0;
	for (; count < BOUND_GROUP && bound_member(fields, group, count) < n; count++) {
		own[count] = y[bound_member(fields, group, count)];
		moved[count] = m->o->moved[at + bound_member(fields, group, count)];
	}
	double scale = bound_smooth(m->limits.amplitude, own, moved, count, kappa);
	int poor = bound_group_is_poor(&m->limits, m->errors->at, own, moved, kappa, scale, count);
	for (int k = 0; k < count; k++) {
		size_t i = bound_member(fields, group, k), index = at + i;
		struct bound_element x = { .y = y[i],
					   .baseline = m->limits.has_baseline ? b[i] : y[i],
					   .moved = (double)m->o->moved[index],
					   .kappa = (double)kappa[k],
					   .scale = scale,
					   .beside_poor = poor };
		bound_element(&m->limits, m->errors->at, &x);
		bound_tally_add(&m->limits, t, &x, index);
		float f[2] = { (float)x.value, bound_round_up(x.bound) };
		m->causes[index] = (uint8_t)x.cause;
		if (m->o->type == DTYPE_F64) {
			memcpy(m->values + index * 8, &x.value, 8);
			memcpy(m->bounds + index * 8, &x.bound, 8);
		} else {
			memcpy(m->values + index * 4, &f[0], 4);
			memcpy(m->bounds + index * 4, &f[1], 4);
		}
	}
}

/* Blocks are made of whole groups. */
static void bound_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct making *m = arg;
	double y[BLOCK], b[BLOCK];
	uint64_t window = (uint64_t)m->limits.fields * BOUND_GROUP, step = BLOCK / window * window;
	for (uint64_t at = (from + step - 1) / step * step; at < to; at += step) {
		size_t n = block_at(m, at, step, y, b);
		for (uint64_t g = 0; g < bound_groups(n, m->limits.fields); g++)
			bound_group(m, &m->tallies[k], at, g, y, b, n);
	}
}

uint64_t bound_forgiven(uint64_t moved, size_t n)
{
	uint64_t many = moved + moved / 4 + 4, part = n / 16 > 2 * moved ? n / 16 : 2 * moved;
	return moved == 0 ? 0 : many < part ? many : part;
}

void bound_summarise(const struct bound_tally *parts, size_t count, size_t n, struct bound_summary *s)
{
	struct bound_tally all = { .low = -INFINITY, .high = INFINITY };
	*s = (struct bound_summary){ .first_gross = SIZE_MAX };
	for (size_t k = 0; k < count; k++) {
		const struct bound_tally *t = &parts[k];
		for (int c = 0; c < BOUND_CAUSES; c++)
			s->causes[c] += t->causes[c];
		s->judged += t->judged;
		if (t->gross && s->gross == 0)
			s->first_gross = t->first_gross;
		s->gross += t->gross;
		s->jump = fmax(s->jump, t->jump);
		s->baseline_ratio = fmax(s->baseline_ratio, t->baseline_ratio);
		all.telling += t->telling;
		all.low = fmax(all.low, t->low);
		all.high = fmin(all.high, t->high);
		all.bounds2 += t->bounds2;
		all.values2 += t->values2;
		all.finite |= t->finite;
		all.infinite |= t->infinite;
	}
	s->tells_zeros = all.telling > 0;
	s->tells_constant = all.telling > 0 && (n == 1 || (all.finite && all.infinite) || all.low > all.high);
	s->size = all.values2 > 0 ? sqrt(all.bounds2 / all.values2) : 0;
	s->forgiven = bound_forgiven(s->causes[BOUND_WIDE], n);
}

static void make_bounds(struct making *m, struct bound_summary *ret_summary)
{
	for (unsigned k = 0; k < PARALLEL_FOR_PARTS; k++)
		m->tallies[k] = (struct bound_tally){ .low = -INFINITY, .high = INFINITY };
	parallel_for(m->o->n, bound_part, m);
	bound_summarise(m->tallies, PARALLEL_FOR_PARTS, m->o->n, ret_summary);
}

struct bound_limits bound_limits_of(enum dtype type, const struct bound_rules *r, double amplitude, bool has_baseline)
{
	double k = sqrt(fmax(r->terms, 1)), most = r->truncates ? BOUND_SUMS_TRUNCATED : BOUND_SUMS_MOST;
	return (struct bound_limits){
		.shape = shape_of(type),
		.sums = r->sums,
		.inputs = r->inputs,
		.share = fmin(fmax(4 * k, BOUND_SUMS_LEAST), most) * (r->rough ? 4 : 1),
		.baseline_share = r->coarse ? BOUND_BASELINE_MOST : fmin(fmax(8 * k, BOUND_BASELINE_LEAST), BOUND_BASELINE_MOST),
		.baseline_times = r->far ? BOUND_BASELINE_FAR : BOUND_BASELINE_FACTOR,
		.rounding = r->rounded ? 1.5 : 1,
		.stored = r->stored,
		.tiny = 2 * r->flushed,
		.amplitude = amplitude,
		.has_baseline = has_baseline,
		.stops = r->cancels ? 2 : r->stops,
		.shifted = r->shifted,
		.pooled = r->pooled,
		.lost = r->lost,
		.few = r->declared,
		.mixed = r->mixed,
		.fields = r->fields ? r->fields : 1,
	};
}

void bound_limits_reach(struct bound_limits *io_limits, double most, uint64_t n)
{
	io_limits->most = most;
	/* Matrix units of MI200 flush subnormal halves: two such inputs, or less where outputs are no larger. */
	io_limits->tiny = fmin(io_limits->tiny, 0x1p-14 * most) + io_limits->shape.flushed + BOUND_TINY * most;
	/* Where all of an output is zero, nothing says how large it may be. */
	if (most == 0 && io_limits->stops)
		io_limits->tiny += BOUND_SQUARED * io_limits->sums * io_limits->sums;
	if (n < BOUND_FEW_ERRORS)
		io_limits->baseline_times *= BOUND_FEW_TIMES;
	if (n >= BOUND_FEW)
		io_limits->few = 0;
}

/* --- copies ---------------------------------------------------------------------------------------------------------------- */

/* Whether truth and baseline agree in every bit of all elements, though many have all the bits that their type holds. Such elements
 * were not rounded: sums of a few random numbers agree by chance, but of so many elements one does not. */
static bool is_copied(const struct making *m)
{
	enum { LEAST = 128 };
	const struct bound_output *o = m->o;
	double y[BLOCK], b[BLOCK];
	/* A third of the mantissa's bits. */
	double coarse = exp2(ceil(-log2(m->limits.shape.spacing) / 3));
	uint64_t full = 0;
	if (o->baseline == NULL || o->truth_type != DTYPE_F64 || o->type == DTYPE_F64 || o->n < LEAST)
		return false;
	for (uint64_t at = 0; at < o->n; at += BLOCK) {
		size_t n = block_at(m, at, BLOCK, y, b);
		for (size_t i = 0; i < n; i++) {
			if (!isfinite(y[i]) || y[i] != b[i])
				return false;
			full += fmod(y[i], coarse * bound_spacing(&m->limits.shape, y[i])) != 0;
		}
	}
	return full >= o->n / 4;
}

/* Devices may flush what is not normal. */
static void demand_copies(struct making *m)
{
	const struct bound_output *o = m->o;
	float *bounds = (float *)(void *)m->bounds;
	for (size_t i = 0; i < o->n; i++)
		if (fabs(((const double *)o->truth)[i]) >= m->limits.shape.least) {
			bounds[i] = 0;
			m->causes[i] = BOUND_EXACT;
		}
}

static void make_floats(struct making *m, const struct bound_rules *rules, struct bound_summary *ret_summary)
{
	size_t n = m->o->n;
	double most = 0;
	m->limits = bound_limits_of(m->o->type, rules, m->o->amplitude, m->o->baseline != NULL);
	if (rules->fields == 0)
		m->limits.fields = find_fields(m);
	m->errors = MEM_NEW_N(struct errors, PARALLEL_FOR_PARTS);
	m->tallies = MEM_NEW_N(struct bound_tally, PARALLEL_FOR_PARTS);
	parallel_for(n, most_part, m);
	for (unsigned i = 0; i < PARALLEL_FOR_PARTS; i++)
		most = fmax(most, m->parts_most[i]);
	bound_limits_reach(&m->limits, most, n);
	if (m->limits.has_baseline) {
		parallel_for(n, collect_part, m);
		struct errors *all = &m->errors[0], *wide = MEM_NEW(struct errors);
		for (unsigned k = 1; k < PARALLEL_FOR_PARTS; k++)
			for (size_t i = 0; i < BOUND_BINS; i++)
				all->at[i] = fmaxf(all->at[i], m->errors[k].at[i]);
		bound_join_errors(all->at, wide->at);
		*all = *wide;
		free(wide);
	}
	make_bounds(m, ret_summary);
	if (!rules->rough && bound_is_hidden((double)ret_summary->judged, (double)ret_summary->causes[BOUND_POOR],
					     (double)ret_summary->causes[BOUND_ABSORBED], (double)n)) {
		m->limits.capped = 1;
		make_bounds(m, ret_summary);
		ret_summary->capped = true;
	}
	if (rules->copies && is_copied(m))
		demand_copies(m);
	free(m->errors);
	free(m->tallies);
}

/* --- integers --------------------------------------------------------------------------------------------------------------- */

/* Equal, except where rounding moves truths, too: then so many elements may be off by as much. */
static void make_integers(const struct bound_output *o, uint8_t *values, uint8_t *causes, struct bound_summary *s)
{
	size_t size = dtype_size(o->type);
	const uint8_t *truth = o->truth, *baseline = o->baseline;
	uint64_t moved = 0;
	*s = (struct bound_summary){ .judged = o->n, .first_gross = SIZE_MAX };
	assert(o->truth_type == o->type);
	memcpy(values, truth, o->n * size);
	for (size_t i = 0; i < o->n; i++) {
		const uint8_t *y = truth + i * size, *b = baseline ? baseline + i * size : y;
		double jump = o->moved ? (double)o->moved[i] : 0;
		if (memcmp(y, b, size) != 0)
			jump = fmax(jump, fabs(dtype_load(o->type, y) - dtype_load(o->type, b)));
		moved += jump > 0;
		causes[i] = jump > 0 ? BOUND_JUMPS : BOUND_EXACT;
		s->jump = fmax(s->jump, jump);
		s->tells_zeros |= dtype_load(o->type, y) != 0;
		s->tells_constant |= memcmp(y, truth, size) != 0;
	}
	s->causes[BOUND_EXACT] = o->n - moved;
	s->causes[BOUND_JUMPS] = moved;
	s->tells_constant = s->tells_zeros && (s->tells_constant || o->n == 1);
}

/* --- values alone ----------------------------------------------------------------------------------------------------------- */

static void make_values(const struct bound_output *o, uint8_t *values, struct bound_summary *ret_summary)
{
	enum dtype type = bound_wanted_type(o->type);
	size_t size = dtype_size(type), from = dtype_size(o->truth_type);
	const uint8_t *truth = o->truth;
	if (o->truth_type == type)
		memcpy(values, truth, o->n * size);
	else
		for (size_t i = 0; i < o->n; i++)
			dtype_store(type, values + i * size, dtype_load(o->truth_type, truth + i * from));
	*ret_summary = (struct bound_summary){ .judged = o->n, .first_gross = SIZE_MAX };
}

void bound_make(const struct bound_output *o, const struct bound_rules *rules, void *ret_values, void *ret_bounds,
		uint8_t *ret_causes, struct bound_summary *ret_summary)
{
	struct making m = { .o = o, .values = ret_values, .bounds = ret_bounds, .causes = ret_causes };
	if (rules->none) {
		make_values(o, ret_values, ret_summary);
		return;
	}
	if (dtype_is_float(o->type))
		make_floats(&m, rules, ret_summary);
	else
		make_integers(o, ret_values, ret_causes, ret_summary);
	uint64_t turned = ret_summary->causes[dtype_is_float(o->type) ? BOUND_WIDE : BOUND_JUMPS], few = turned / TURNED_PART + 1;
	if (!dtype_is_float(o->type))
		ret_summary->forgiven = bound_forgiven(turned, o->n);
	else if (o->amplitude < 1 && few < ret_summary->forgiven)
		ret_summary->forgiven = few;
}
