/* made: spaces that nobody measured, in the shapes that real ones have: tiles with occupancy and whole waves, modes with parameters of
 * their own, many small flags, scrambled axes, hidden failures, frozen noise, alignment, a needle in a plain. No strategy was fitted
 * to them; they show whether one carries over. */
#ifndef PEAKD_TESTS_CORE_SEARCH_MADE_H
#define PEAKD_TESTS_CORE_SEARCH_MADE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/search/search.h"

enum { MADE_DIMS = 16, MADE_VALUES = 16 };

struct made_shape {
	const char *name;
	size_t dims;
	double values[MADE_DIMS][MADE_VALUES]; /* ascending; the first 0 behind the first place ends a list */
	double (*cost)(const double *v);       /* NAN: not in the space, INFINITY: fails */
};

struct made {
	struct search_space space;
	uint16_t *points;
	double *times;
	const double *values[MADE_DIMS];
	size_t value_counts[MADE_DIMS];
	double best, worst;
};

/* A number from 0 to 1 that depends on all of v and on nothing else. */
static inline double made_hash(const double *v, size_t n, uint64_t salt)
{
	uint64_t h = salt * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint64_t)(int64_t)(v[i] * 16)) * UINT64_C(0xbf58476d1ce4e5b9), h ^= h >> 29;
	h *= UINT64_C(0x94d049bb133111eb);
	return (double)(h >> 11) / (double)(UINT64_C(1) << 53);
}

/* Blocks bx × by, each thread tx × ty of the output, a depth, vectors, double buffering, for 3000 × 2000 on 40 processors. */
static inline double made_tiles(const double *v)
{
	double bx = v[0], by = v[1], tx = v[2], ty = v[3], depth = v[4], vector = v[5], buffers = v[6];
	double threads = bx * by, shared = (bx * tx + by * ty) * depth * 4 * buffers, regs = 20 + tx * ty + 2 * (tx + ty) * buffers;
	if (threads < 32 || threads > 1024 || shared > 49152 || fmod(bx * tx, vector) != 0)
		return NAN;
	double resident = floor(fmin(fmin(2048 / threads, 98304 / shared), 65536 / (regs * threads)));
	if (resident < 1 || regs > 255)
		return INFINITY;
	double blocks = ceil(3000 / (bx * tx)) * ceil(2000 / (by * ty)), waves = ceil(blocks / (40 * resident));
	double work = bx * tx * by * ty * resident, load = (bx * tx + by * ty) * resident / (vector == 4 ? 1 : vector == 2 ? 0.8 : 0.6);
	double hidden = fmin(1, resident * threads * buffers * (1 + 0.2 * log2(tx * ty + 1)) / 2048);
	return waves * (work + 9 * load + 12000 / depth) / (0.35 + 0.65 * hidden) / 1e4;
}

/* Three algorithms; each has one parameter that the others ignore (0 there). */
static inline double made_modes(const double *v)
{
	double mode = v[0], tile = v[1], split = v[2], stages = v[3], lanes = v[4], unroll = v[5];
	if ((mode == 1) != (split > 0) || (mode == 2) != (stages > 0))
		return NAN;
	double t = 4 + fabs(log2(tile / 48)) * (mode == 0 ? 1.5 : 1) + 0.4 * fabs(log2(lanes / (mode == 2 ? 128 : 64)));
	t += 0.3 * fabs(log2(unroll) - (mode == 1 ? 1 : 2));
	if (mode == 1)
		t = t * 0.8 + 0.25 * fabs(split - 6);
	if (mode == 2)
		t = t * 0.7 + 0.5 * fabs(stages - 4) + (tile * stages > 400 ? 3 : 0);
	return t;
}

/* Sixteen switches, a third of them useless, with interactions of two and three. */
static inline double made_flags(const double *v)
{
	if (made_hash(v, 16, 5) > 0.3)
		return NAN;
	double t = 10;
	for (int i = 0; i < 10; i++)
		t += (v[i] == (i % 3 == 0)) * 0.3 * (i + 1) / 5;
	t += (v[0] == v[5]) * 1.5 + (v[2] && v[7] && !v[9]) * 2 + (v[1] == v[8]) * 0.8 - (v[3] && !v[4]) * 1.2;
	return t;
}

/* The tiles, axes turned and the values of two of them renamed, so that neighbours are not alike. */
static inline double made_scrambled(const double *v)
{
	static const double name[] = { 16, 2, 64, 8, 32, 4 };
	double w[7] = { name[(int)v[3]], v[5], name[(int)v[6]] / 2, v[0], v[2], v[1], v[4] };
	return made_tiles(w);
}

/* The tiles; a third of the space, the side of the best, fails for a reason that nobody states. */
static inline double made_failing(const double *v)
{
	double t = made_tiles(v);
	if (isfinite(t) && ((v[0] * v[1] >= 256 && v[2] * v[3] >= 8 && v[4] >= 8) || (v[5] == 4 && v[6] == 2 && v[0] >= 32)))
		return INFINITY;
	return t;
}

/* Three per cent of noise that stays. */
static inline double made_noisy(const double *v)
{
	return made_tiles(v) * (1 + 0.06 * (made_hash(v, 7, 77) - 0.5));
}

/* Sizes that are no powers of two; padding against bank conflicts; caches that thrash at multiples of 64. */
static inline double made_aligned(const double *v)
{
	double x = v[0], y = v[1], pad = v[2], chunk = v[3], prefetch = v[4];
	if (x * y > 1024)
		return NAN;
	double t = 1000 / fmin(x * y, 512) + fmod(x, 32) / 16 + (fmod(x + pad, 32) == 0 ? 3 : fmod(x + pad, 2) == 0 ? 1 : 0);
	t += (fmod(chunk, 64) == 0 ? 1.5 : 0) + 40 / chunk + chunk / 90 + 0.5 * fabs(prefetch - chunk / 40);
	return t + fabs(log2(x / y)) * 0.3;
}

/* All within a few per cent, but for a small deep corner. */
static inline double made_needle(const double *v)
{
	double t = 10 + 0.3 * made_hash(v, 6, 3), off = 0;
	static const double at[6] = { 3, 5, 2, 4, 6, 1 };
	for (int i = 0; i < 6; i++)
		off += fabs(v[i] - at[i]);
	return t - 5 * exp(-off * off / 18);
}

#define MADE_TILES { 2, 4, 8, 16, 32, 64 }
enum { MADE_NEEDLE = 7 };
static const struct made_shape made_shapes[] = {
	{ "tiles", 7, { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } }, made_tiles },
	{ "modes", 6, { { 0, 1, 2 }, { 8, 16, 24, 32, 48, 64, 96, 128 }, { 0, 1, 2, 4, 6, 8, 12 }, { 0, 1, 2, 3, 4, 5, 6 },
	                { 32, 64, 96, 128, 256 }, { 1, 2, 4, 8 } }, made_modes },
	{ "flags", 16, { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 },
	                 { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 } }, made_flags },
	{ "scrambled", 7, { { 1, 2, 4, 8 }, { 1, 2, 4 }, { 4, 8, 16, 32 }, { 0, 1, 2, 3, 4, 5 }, { 1, 2 }, MADE_TILES,
	                    { 0, 1, 2, 3, 4, 5 } }, made_scrambled },
	{ "failing", 7, { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } }, made_failing },
	{ "noisy", 7, { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } }, made_noisy },
	{ "aligned", 5, { { 8, 16, 24, 32, 48, 64, 96, 112, 128 }, { 1, 2, 3, 4, 6, 8, 12, 16 }, { 0, 1, 2, 4 },
	                  { 16, 32, 48, 64, 80, 96, 128, 160 }, { 0, 1, 2, 3, 4 } }, made_aligned },
	{ "needle", 6, { { 0, 1, 2, 3, 4, 5, 6 }, { 0, 1, 2, 3, 4, 5, 6 }, { 0, 1, 2, 3, 4, 5, 6 }, { 0, 1, 2, 3, 4, 5, 6 },
	                 { 0, 1, 2, 3, 4, 5, 6 }, { 0, 1, 2 } }, made_needle },
};

static inline void made_init(struct made *m, const struct made_shape *shape)
{
	uint16_t at[MADE_DIMS] = { 0 };
	double v[MADE_DIMS];
	size_t room = 0, dims = shape->dims, d = 0;
	*m = (struct made){ .best = INFINITY, .worst = 0 };
	for (size_t k = 0; k < dims; k++) {
		m->values[k] = shape->values[k];
		m->value_counts[k] = 1;
		while (m->value_counts[k] < MADE_VALUES && shape->values[k][m->value_counts[k]] != 0)
			m->value_counts[k]++;
	}
	while (d < dims) {
		for (size_t k = 0; k < dims; k++)
			v[k] = shape->values[k][at[k]];
		double t = shape->cost(v);
		if (!isnan(t)) {
			if (m->space.count == room) {
				room = room ? 2 * room : 1024;
				m->points = mem_resize(m->points, room, dims * sizeof *m->points);
				m->times = mem_resize(m->times, room, sizeof *m->times);
			}
			memcpy(m->points + m->space.count * dims, at, dims * sizeof at[0]);
			m->times[m->space.count++] = t;
			m->best = fmin(m->best, t);
			m->worst = isfinite(t) ? fmax(m->worst, t) : m->worst;
		}
		for (d = 0; d < dims && ++at[d] == m->value_counts[d]; d++)
			at[d] = 0;
	}
	m->space.dims = dims;
	m->space.points = m->points;
	m->space.values = m->values;
	m->space.value_counts = m->value_counts;
}

static inline void made_fini(struct made *m)
{
	free(m->points);
	free(m->times);
}

#endif
