/* fill: counter-based input values; see fill.h. Element i of a stream is SplitMix64's i-th output (Steele, Lea,
 * Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of its public-domain reference by
 * S. Vigna), which is a function of a counter alone. Nothing here calls libm, whose last bits differ between
 * machines. */
#include "backends/values/fill.h"

#include <string.h>

#include "base/parallel_for.h"

enum { BLOCK = 512 };

/* What a row needs; one stream per buffer. */
struct stream {
	const struct plan_buffer *buffer;
	uint64_t key;
	double lo, width; /* of PLAN_RANDOM */
};

static inline uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t random_at(uint64_t key, uint64_t counter)
{
	return mix(key + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits: distinguishes buffers of different names. */
static uint64_t name_key(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

/* [0,1) in steps of 2^-53. */
static inline double unit(uint64_t bits)
{
	return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

/* Twelve uniforms of 16 bits, less their mean, over their deviation (Irwin–Hall of order 12): integers until the
 * last step. */
static double normal(uint64_t key, uint64_t i)
{
	int64_t sum = 0;
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t x = random_at(key, 3 * i + k);
		sum += (int64_t)((x & 0xFFFF) + (x >> 16 & 0xFFFF) + (x >> 32 & 0xFFFF) + (x >> 48));
	}
	return (double)(sum - 6 * 65535) / 65536;
}

/* The hot paths: f32 in steps of 2^-24, so that [0,1) and [-1,1) need no rounding; f16 and bf16 are made from it. */
static inline float uniform_at(const struct stream *s, uint64_t i)
{
	return (float)(s->lo + (double)(int32_t)(random_at(s->key, i) >> 40) * (s->width * 0x1p-24));
}

static inline uint32_t float_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	return u;
}

/* Rounds to nearest even; never given NaN. F. Giesen's float_to_half_fast3_rtne (public domain, 2016). */
static inline uint16_t f16_bits(float f)
{
	const uint32_t overflow = (127 + 16) << 23, smallest_normal = (127 - 14) << 23;
	const uint32_t magic = ((127 - 15) + (23 - 10) + 1) << 23;
	uint32_t sign = float_bits(f) & 0x80000000u, u = float_bits(f) ^ sign;
	if (u >= overflow) {
		u = 0x7c00;
	} else if (u < smallest_normal) {
		u = float_bits(__builtin_fabsf(f) + 0.5f) - magic; /* 0.5f is the float whose bits are `magic` */
	} else {
		u = (u - ((127u - 15u) << 23) + 0xfff + (u >> 13 & 1)) >> 13;
	}
	return (uint16_t)(u | sign >> 16);
}

static inline uint16_t bf16_bits(float f)
{
	uint32_t u = float_bits(f);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

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

/* Elements of the stream from `first` on, as doubles. The hot paths do not come here. */
static void values_of(const struct stream *s, uint64_t first, double *to, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	bool whole = !dtype_is_float(b->type);
	switch (b->fill) {
	case PLAN_ZEROS:
	case PLAN_ONES:
		for (size_t i = 0; i < n; i++)
			to[i] = b->fill == PLAN_ONES;
		break;
	case PLAN_RANDOM:
		for (size_t i = 0; i < n; i++)
			to[i] = s->lo + unit(random_at(s->key, first + i)) * s->width;
		for (size_t i = 0; whole && i < n; i++)
			to[i] = __builtin_floor(to[i]);
		break;
	case PLAN_NORMAL:
		for (size_t i = 0; i < n; i++)
			to[i] = normal(s->key, first + i);
		break;
	case PLAN_IOTA: {
		double period = 1 / dtype_roundoff(b->type);
		for (size_t i = 0; i < n; i++)
			to[i] = (double)(first + i - (uint64_t)((double)(first + i) / period) * (uint64_t)period);
		break;
	}
	}
}

/* --- special values ----------------------------------------------------------------------------------------------- */

/* How far spikes rise (a power of two) and how far values are shifted: enough to do harm, little enough that sums of
 * thousands of products still fit the type. */
static void distances(enum dtype t, double *ret_spike, double *ret_offset)
{
	bool narrow = t == DTYPE_E4M3 || t == DTYPE_E5M2;
	*ret_spike = t == DTYPE_F16 ? 0x1p5 : narrow ? 0x1p3 : 0x1p20;
	*ret_offset = t == DTYPE_F16 ? 4 : t == DTYPE_BF16 ? 8 : narrow ? 2 : 1024;
}

static void make_special(const struct stream *s, uint64_t first, enum plan_values values, double *v, size_t n)
{
	double spike, offset;
	distances(s->buffer->type, &spike, &offset);
	switch (values) {
	case PLAN_EXACT:
	case PLAN_EXACT_SMALL:
		for (size_t i = 0; i < n; i++)
			v[i] = (double)(int64_t)(mix(random_at(s->key, first + i)) >> (values == PLAN_EXACT ? 60 : 62));
		break;
	case PLAN_SPIKES:
		for (size_t i = 0; i < n; i++)
			v[i] *= mix(random_at(s->key, first + i)) >> 61 ? 1 : spike;
		break;
	case PLAN_OFFSET:
		for (size_t i = 0; i < n; i++)
			v[i] += offset;
		break;
	case PLAN_DECLARED:
	case PLAN_VALUES: break;
	}
}

/* Through doubles. */
static void fill_blocks(const struct stream *s, uint64_t first, enum plan_values values, uint8_t *to, size_t n)
{
	double v[BLOCK];
	bool anew = values == PLAN_EXACT || values == PLAN_EXACT_SMALL;
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		if (!anew)
			values_of(s, first + at, v, some);
		make_special(s, first + at, values, v, some);
		store_all(s->buffer->type, v, to + at * dtype_size(s->buffer->type), some);
	}
}

/* --- whole buffers ------------------------------------------------------------------------------------------------ */

/* n elements of one row, as declared. */
static void fill_row(const struct stream *s, uint64_t first, uint8_t *to, size_t n)
{
	const struct plan_buffer *b = s->buffer;
	size_t size = dtype_size(b->type);
	bool random = b->fill == PLAN_RANDOM;
	uint16_t *halves = (uint16_t *)(void *)to;
	if (b->fill == PLAN_ZEROS) {
		memset(to, 0, n * size);
	} else if (random && b->type == DTYPE_F32) {
		for (size_t i = 0; i < n; i++)
			((float *)(void *)to)[i] = uniform_at(s, first + i);
	} else if (random && b->type == DTYPE_F16) {
		for (size_t i = 0; i < n; i++)
			halves[i] = f16_bits(uniform_at(s, first + i));
	} else if (random && b->type == DTYPE_BF16) {
		for (size_t i = 0; i < n; i++)
			halves[i] = bf16_bits(uniform_at(s, first + i));
	} else if (b->fill == PLAN_IOTA && !dtype_is_float(b->type)) {
		/* Integers count in their own width, which doubles cannot. */
		for (size_t i = 0; i < n; i++) {
			uint64_t v = first + i;
			memcpy(to + i * size, &v, size); /* little-endian, as all hosts of peakd are */
		}
	} else {
		fill_blocks(s, first, PLAN_DECLARED, to, n);
	}
}

struct filling {
	struct stream stream; /* its buffer has the type that values are rounded to first */
	enum plan_values values;
	bool special; /* not as declared */
	const struct plan_buffer *buffer;
	uint64_t key;     /* of ξ */
	double amplitude; /* 0: nothing moves */
	uint8_t *to;
};

static void fill_plain(const struct filling *f, uint64_t first, uint8_t *to, size_t n)
{
	if (f->special)
		fill_blocks(&f->stream, first, f->values, to, n);
	else
		fill_row(&f->stream, first, to, n);
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
		for (size_t i = 0; f->amplitude > 0 && i < some; i++)
			v[i] *= 1 + f->amplitude * (2 * unit(random_at(f->key, first + at + i)) - 1);
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
	bool changed = f->amplitude > 0 || f->stream.buffer->type != b->type;
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

void fill_chosen(const struct plan_buffer *b, const struct fill_choice *choice, void *to)
{
	bool floats = dtype_is_float(b->type);
	uint64_t key = mix(choice->seed ^ mix(name_key(b->name)));
	struct plan_buffer first = *b;
	if (floats && dtype_is_float(b->rounded))
		first.type = b->rounded;
	struct filling f = {
		.stream = { .buffer = &first, .key = key, .lo = b->lo, .width = b->hi - b->lo },
		.values = choice->values,
		.buffer = b,
		.key = mix(key + choice->perturbation),
		.amplitude = floats && choice->perturbation ? choice->amplitude : 0,
		.to = to,
		.special = choice->values != PLAN_DECLARED && floats && (b->fill == PLAN_RANDOM || b->fill == PLAN_NORMAL),
	};
	fill_padding(b, to);
	parallel_for(plan_buffer_logical(b), fill_part, &f);
}

void fill_special(const struct plan_buffer *b, uint64_t seed, enum plan_values values, void *to)
{
	fill_chosen(b, &(struct fill_choice){ .seed = seed, .values = values }, to);
}

void fill_buffer(const struct plan_buffer *b, uint64_t seed, void *to)
{
	fill_special(b, seed, PLAN_DECLARED, to);
}
