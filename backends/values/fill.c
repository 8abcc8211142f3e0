/* fill: whole buffers of input values, rounded and laid out; see fill.h. The values are stream.c's and special.c's; what most
 * arrays are filled with has fast paths here. Nothing here calls libm, whose last bits differ between machines. */
#include "backends/values/fill.h"

#include <string.h>

#include "backends/values/special.h"
#include "backends/wire/dtype_element.h"
#include "base/mem.h"
#include "base/parallel_for.h"

enum { BLOCK = 512 };

/* Rounded to float first where that is narrower, which changes no value that is made of at most 24 bits. */
static void store_all(enum dtype t, const double *v, uint8_t *to, size_t n)
{
	size_t size = dtype_size(t);
	uint16_t half;
	float f;
	if (t == DTYPE_F16)
		for (size_t i = 0; i < n; i++) {
			half = f16_bits((float)v[i]);
			memcpy(to + i * sizeof half, &half, sizeof half);
		}
	else if (t == DTYPE_BF16)
		for (size_t i = 0; i < n; i++) {
			half = bf16_bits((float)v[i]);
			memcpy(to + i * sizeof half, &half, sizeof half);
		}
	else if (t == DTYPE_F32)
		for (size_t i = 0; i < n; i++) {
			f = (float)v[i];
			memcpy(to + i * sizeof f, &f, sizeof f);
		}
	else
		for (size_t i = 0; i < n; i++)
			dtype_store(t, to + i * size, v[i]);
}

/* Through doubles. */
static void fill_blocks(const struct stream *s, uint64_t first, enum plan_values values, uint8_t *to, size_t n)
{
	enum dtype t = s->buffer->type;
	double v[BLOCK];
	uint64_t bits[BLOCK];
	size_t size = dtype_size(t);
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		if (plan_values_whole(values)) {
			special_integers(s, values, first + at, bits, some);
			for (size_t i = 0; i < some; i++)
				memcpy(to + (at + i) * size, &bits[i], size); /* little-endian, as all hosts of peakd are */
			continue;
		}
		if (values == PLAN_DECLARED)
			stream_values(s, first + at, v, some);
		else
			special_values(s, values, first + at, v, some);
		store_all(t, v, to + at * size, some);
	}
}

/* --- whole buffers ------------------------------------------------------------------------------------------------ */

struct filling {
	struct stream stream;    /* its buffer has the type that values are rounded to first */
	enum plan_values values; /* PLAN_DECLARED where others do not apply */
	const struct plan_buffer *buffer;
	uint64_t key;     /* of ξ */
	double amplitude; /* 0: nothing moves */
	bool half;        /* FILL_HALF */
	uint8_t *to;
};

static void fill_plain(const struct filling *f, uint64_t first, uint8_t *to, size_t n)
{
	if (f->values != PLAN_DECLARED) {
		fill_blocks(&f->stream, first, f->values, to, n);
		return;
	}
	/* n elements of one row, as declared. */
	const struct stream *s = &f->stream;
	const struct plan_buffer *b = s->buffer;
	size_t size = dtype_size(b->type);
	bool random = b->fill == PLAN_RANDOM;
	uint16_t *halves = (uint16_t *)(void *)to;
	if (b->fill == PLAN_ZEROS) {
		memset(to, 0, n * size);
	} else if (random && b->type == DTYPE_F32) {
		for (size_t i = 0; i < n; i++)
			((float *)(void *)to)[i] = stream_uniform(s, first + i);
	} else if (random && b->type == DTYPE_F16) {
		for (size_t i = 0; i < n; i++)
			halves[i] = f16_bits(stream_uniform(s, first + i));
	} else if (random && b->type == DTYPE_BF16) {
		for (size_t i = 0; i < n; i++)
			halves[i] = bf16_bits(stream_uniform(s, first + i));
	} else if (b->fill == PLAN_IOTA && !dtype_is_float(b->type)) {
		/* Integers count in their own width, which doubles cannot. */
		for (size_t i = 0; i < n; i++) {
			uint64_t v = first + i;
			memcpy(to + i * size, &v, size);
		}
	} else {
		fill_blocks(s, first, PLAN_DECLARED, to, n);
	}
}

/* Makes the plain values, rounded as they always are, and then moves or widens them. */
static void fill_changed(const struct filling *f, uint64_t first, uint8_t *to, size_t n)
{
	double v[BLOCK];
	enum dtype from = f->stream.buffer->type, type = f->buffer->type;
	for (size_t at = 0; at < n; at += BLOCK) {
		uint64_t plain[BLOCK];
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		fill_plain(f, first + at, (uint8_t *)plain, some);
		dtype_load_all(from, plain, v, some);
		for (size_t i = 0; f->amplitude != 0 && i < some; i++)
			if (!f->half || stream_random(~f->key, first + at + i) & 1)
				v[i] = special_moved(&f->stream, f->values, f->key, f->amplitude, first + at + i, v[i]);
		store_all(type, v, to + at * dtype_size(type), some);
	}
}

/* Elements from … to-1 of the logical content, where they are in memory. */
static void fill_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	const struct filling *f = arg;
	const struct plan_buffer *b = f->buffer;
	uint64_t columns = (uint64_t)b->dims[b->rank - 1];
	size_t size = dtype_size(b->type);
	bool changed = f->amplitude != 0 || f->stream.buffer->type != b->type;
	(void)k;
	while (from < to) {
		uint64_t row = from / columns, column = from % columns,
			 n = columns - column < to - from ? columns - column : to - from;
		uint8_t *at = f->to + (row * (uint64_t)b->ld + column) * size;
		if (changed)
			fill_changed(f, from, at, n);
		else
			fill_plain(f, from, at, n);
		from += n;
	}
}

/* Everything but elements: the ends of padded rows, and what follows the last one. */
static void fill_padding(const struct plan_buffer *b, uint8_t *to)
{
	size_t size = dtype_size(b->type), row = (size_t)b->dims[b->rank - 1] * size, stride = (size_t)b->ld * size, used = 0;
	uint64_t rows = plan_buffer_logical(b) / (uint64_t)b->dims[b->rank - 1];
	for (uint64_t r = 0; r < rows; r++) {
		if (stride * r > used)
			memset(to + used, 0xFF, stride * r - used);
		used = stride * r + row;
	}
	memset(to + used, 0xFF, b->bytes - used);
}

uint64_t fill_seed(const struct plan_buffer *b, const struct fill_choice *choice)
{
	if (choice->values != PLAN_MIXTURE)
		return choice->seed;
	uint64_t own = stream_of(b, choice->seed).key;
	return plan_natural_seed(own, (own >> 32) % PLAN_FORMS, true);
}

/* One of those that apply. */
static enum plan_values one_of_mixture(const struct plan_buffer *b, uint64_t seed)
{
	static const enum plan_values of[] = {
		PLAN_NATURAL,  PLAN_NATURAL,    PLAN_NATURAL,  PLAN_NATURAL,     PLAN_LARGER,    PLAN_SEGMENTS,
		PLAN_HIGH_END, PLAN_LOW_END,    PLAN_PATTERNS, PLAN_MIXED_ZEROS, PLAN_NEAR_TIES, PLAN_SPARSE,
		PLAN_SMALL,    PLAN_MIXED_ENDS, PLAN_CHAINS,   PLAN_FEW,         PLAN_NUMBERS,   PLAN_INTEGERS,
	};
	enum plan_values apply[MEM_COUNT(of) + 1] = { PLAN_DECLARED };
	size_t count = 1;
	for (size_t k = 0; k < MEM_COUNT(of); k++)
		if (plan_values_apply(b, of[k]))
			apply[count++] = of[k];
	return apply[stream_random(seed, 0) % count];
}

enum plan_values fill_values(const struct plan_buffer *b, const struct fill_choice *choice)
{
	if (choice->values == PLAN_MIXTURE)
		return plan_values_apply(b, PLAN_MIXTURE) ? one_of_mixture(b, fill_seed(b, choice)) : PLAN_DECLARED;
	bool named = choice->values == PLAN_IMMEDIATES || choice->values == PLAN_IMMEDIATE_ROWS || choice->values == PLAN_LABELS;
	return plan_values_apply(b, choice->values) && !(named && choice->immediates.count == 0) ? choice->values : PLAN_DECLARED;
}

void fill_chosen(const struct plan_buffer *b, const struct fill_choice *choice, void *to)
{
	bool floats = dtype_is_float(b->type);
	struct plan_buffer first = *b;
	if (floats && dtype_is_float(b->rounded))
		first.type = b->rounded;
	struct filling f = {
		.stream = stream_of(&first, fill_seed(b, choice)),
		.values = fill_values(b, choice),
		.buffer = b,
		.amplitude = floats && choice->perturbation ? choice->amplitude : 0,
		.half = choice->perturbation & FILL_HALF,
		.to = to,
	};
	f.stream.immediates = &choice->immediates;
	f.key = special_key(&f.stream, choice->values, choice->seed, choice->perturbation);
	fill_padding(b, to);
	parallel_for(plan_buffer_logical(b), fill_part, &f);
}

void fill_buffer(const struct plan_buffer *b, uint64_t seed, void *to)
{
	fill_chosen(b, &(struct fill_choice){ .seed = seed }, to);
}

bool fill_chooses(const struct plan_buffer *b, uint64_t seed)
{
	struct stream s = stream_of(b, seed);
	return special_takes(&s);
}

bool fill_holds(const struct plan_buffer *b, double v)
{
	return special_holds(b, v);
}
