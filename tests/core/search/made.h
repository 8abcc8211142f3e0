/* made: invented spaces in the shapes of real ones: tiles with occupancy and whole waves, modes with parameters of
 * their own, many small flags, scrambled axes, hidden failures, noise, alignment; a needle in a plain. With strong
 * interactions there are models of a stencil, a matrix product, a dedispersion and a convolution. There are parameters
 * that only pay together, and rough tables, too. */
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

/* A number from 0 to 1 that depends only on v and salt. */
static inline double made_hash(const double *v, size_t n, uint64_t salt)
{
	uint64_t h = salt * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint64_t)(int64_t)(v[i] * 16)) * UINT64_C(0xbf58476d1ce4e5b9), h ^= h >> 29;
	h *= UINT64_C(0x94d049bb133111eb);
	return (double)(h >> 11) / (double)(UINT64_C(1) << 53);
}

/* Blocks of bx × by threads, tx × ty outputs per thread, depth, vectors, double buffering; 3000 × 2000 outputs on 40
 * processors. */
static inline double made_tiles(const double *v)
{
	double bx = v[0], by = v[1], tx = v[2], ty = v[3], depth = v[4], vector = v[5], buffers = v[6];
	double threads = bx * by, shared = (bx * tx + by * ty) * depth * 4 * buffers,
	       regs = 20 + tx * ty + 2 * (tx + ty) * buffers;
	if (threads < 32 || threads > 1024 || shared > 49152 || fmod(bx * tx, vector) != 0)
		return NAN;
	double resident = floor(fmin(fmin(2048 / threads, 98304 / shared), 65536 / (regs * threads)));
	if (resident < 1 || regs > 255)
		return INFINITY;
	double blocks = ceil(3000 / (bx * tx)) * ceil(2000 / (by * ty)), waves = ceil(blocks / (40 * resident));
	double work = bx * tx * by * ty * resident, load = (bx * tx + by * ty) * resident /
							   (vector == 4   ? 1
							    : vector == 2 ? 0.8
									  : 0.6);
	double hidden = fmin(1, resident * threads * buffers * (1 + 0.2 * log2(tx * ty + 1)) / 2048);
	return waves * (work + 9 * load + 12000 / depth) / (0.35 + 0.65 * hidden) / 1e4;
}

/* Three algorithms; two of them have a parameter that the others ignore (0 there). */
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

/* The tiles with swapped axes and renamed values, so that neighbours are not alike. */
static inline double made_scrambled(const double *v)
{
	static const double name[] = { 16, 2, 64, 8, 32, 4 };
	double w[7] = { name[(int)v[3]], v[5], name[(int)v[6]] / 2, v[0], v[2], v[1], v[4] };
	return made_tiles(w);
}

/* The tiles; a third of the space, next to the best, fails by a hidden constraint. */
static inline double made_failing(const double *v)
{
	double t = made_tiles(v);
	if (isfinite(t) &&
	    ((v[0] * v[1] >= 256 && v[2] * v[3] >= 8 && v[4] >= 8) || (v[5] == 4 && v[6] == 2 && v[0] >= 32)))
		return INFINITY;
	return t;
}

/* The tiles with three per cent of noise, the same in every measurement. */
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
	double t = 1000 / fmin(x * y, 512) + fmod(x, 32) / 16 +
		   (fmod(x + pad, 32) == 0  ? 3
		    : fmod(x + pad, 2) == 0 ? 1
					    : 0);
	t += (fmod(chunk, 64) == 0 ? 1.5 : 0) + 40 / chunk + chunk / 90 + 0.5 * fabs(prefetch - chunk / 40);
	return t + fabs(log2(x / y)) * 0.3;
}

/* All times within a few per cent, except for a small deep corner. */
static inline double made_needle(const double *v)
{
	double t = 10 + 0.3 * made_hash(v, 6, 3), off = 0;
	static const double at[6] = { 3, 5, 2, 4, 6, 1 };
	for (int i = 0; i < 6; i++)
		off += fabs(v[i] - at[i]);
	return t - 5 * exp(-off * off / 18);
}

/* --- strong interactions ------------------------------------------------------------------------------------------ */

/* A stencil with temporal tiling: shared memory, halos, registers and occupancy pull against each other. */
static inline double made_stencil(const double *v)
{
	double bx = v[0], by = v[1], tx = v[2], ty = v[3], steps = v[4], unroll = v[5], staged = v[6];
	double threads = bx * by, w = bx * tx + 2 * steps, h = by * ty + 2 * steps, shared = w * h * 4 * (2 + staged);
	if (threads < 32 || threads > 1024 || fmod(steps, unroll) != 0 || shared > 98304)
		return NAN;
	double regs = 18 + 3 * tx * ty + 2 * unroll + (staged ? 0 : tx * ty);
	double resident = fmin(16, floor(fmin(fmin(2048 / threads, 98304 / shared), 65536 / (regs * threads))));
	if (resident < 1)
		return INFINITY;
	double waves = ceil(ceil(4096 / (bx * tx)) * ceil(4096 / (by * ty)) / (84 * resident));
	double compute = steps * ceil(w / bx) * ceil(h / by) * threads * (1 + 0.8 / unroll) * (staged ? 1.1 : 1) *
			 (regs > 96 ? 1.2 : 1);
	compute *= (bx < 32 ? 1 + 0.25 * (5 - log2(bx)) : 1) * (fmod(w, 32) == 0 ? 1.15 : 1);
	double memory = (w * h * 2 + bx * tx * by * ty) * 4 /
			(bx >= 32   ? 1
			 : bx >= 16 ? 0.7
				    : 0.4) *
			(staged ? 0.9 : 1.1);
	double busy = fmin(1, resident * threads / 32 * (1 + 0.15 * fmin(tx * ty, 8)) / 40);
	return (waves * resident * fmax(compute / 128, memory / 22) / (0.25 + 0.75 * busy) + waves * 900) / steps *
	       1e-3;
}

/* A matrix product with the parameters of CLBlast's: tiles, two shapes of the work group, vectors, shared memory on
 * either side. */
static inline double made_product(const double *v)
{
	double m = v[0], n = v[1], mc = v[2], nc = v[3], ma = v[4], nb = v[5], vm = v[6], vn = v[7], sa = v[8],
	       sb = v[9], k = v[10], ki = v[11];
	double threads = mc * nc, mw = m / mc, nw = n / nc, shared = (sa * m + sb * n) * k * 4;
	if (fmod(m, mc * vm) != 0 || fmod(n, nc * vn) != 0 || fmod(m, ma * vm) != 0 || fmod(n, nb * vn) != 0 ||
	    fmod(k, threads / ma) != 0 || fmod(k, threads / nb) != 0 || shared > 65536)
		return NAN;
	double regs = fmin(256, 24 + mw * nw + (mw + nw) * ki * 0.5), spill = fmax(0, mw * nw - 176) * 0.02;
	double fit = floor(fmin(fmin(2560 / threads, shared > 0 ? 65536 / shared : 99), 131072 / (regs * threads)));
	double resident = fit < 1 ? 0.5 : fit, units = fmax(resident, 1) * 104, blocks = 4096 / m * 4096 / n;
	double flops = (sa && vm >= 4 && mc < 16 ? 1.25 : 1) * (sb && vn == 8 ? 1.3 : 1) /
		       (0.55 + 0.45 * fmin(1, mw * nw / 32));
	double local = (mw / vm + nw / vn) / (mw * nw) * 2.2 * (sa && sb ? 1 : sa || sb ? 1.5 : 2.4);
	double wide[] = { [1] = 1.7, [2] = 1.2, [4] = 1, [8] = 1.3 };
	double global = (1 / m + 1 / n) * 38 * (wide[(int)vm] + wide[(int)vn]) / 2;
	global *= (sa        ? 1
		   : mc == 8 ? 2.25
			     : 1.5) *
		  (sb        ? 1
		   : nc == 8 ? 2.1
			     : 1.5) *
		  (sa && ma != mc ? 1.1 : 1) * (sb && nb == 8 ? 1.15 : 1);
	double busy = fmin(1, resident * threads / 64 * (1 + 0.1 * mw * nw) / 22);
	return 5 * ceil(blocks / units) * units / blocks * fmax(flops + local + spill + 0.15 / ki, global) /
	       (0.2 + 0.8 * busy);
}

/* A dedispersion: reuse, coalescing and strided tiles only pay together. */
static inline double made_dedispersion(const double *v)
{
	double bx = v[0], by = v[1], tx = v[2], ty = v[3], sx = v[4], sy = v[5], threads = bx * by,
	       warps = ceil(threads / 32);
	if (threads < 32 || threads > 1024 || (tx == 1 && sx) || (ty == 1 && sy))
		return NAN;
	double regs = ceil((16 + tx * ty * 1.5 + tx + ty) / 8) * 8;
	double resident = floor(fmin(fmin(2048 / threads, 32), 65536 / (regs * warps * 32)));
	if (resident < 1)
		return INFINITY;
	double reuse = 1 + 0.9 * (1 - 1 / (ty * by / (sy ? 64 : 160) + 1)) * (sx || tx == 1 ? 1 : 0.5);
	double coalesced = (bx >= 32   ? 1
			    : bx >= 16 ? 0.85
			    : bx >= 8  ? 0.6
			    : bx >= 4  ? 0.42
				       : 0.3) /
			   (tx > 1 && !sx ? sqrt(tx) : 1);
	double cached = bx * tx * by * ty > 8192 ? 0.75 : 1, busy = fmin(1, resident * warps * sqrt(tx * ty) / 48);
	double tail = ceil(25000 / (bx * tx)) * bx * tx / 25000 * ceil(2048 / (by * ty)) * by * ty / 2048;
	return 40 * tail * (1 + 0.5 / (tx * ty)) * warps * 32 / threads / (coalesced * reuse * cached) /
	       (0.3 + 0.7 * busy);
}

/* A convolution: shared memory only pays with padding and tiles, the read-only cache only without. */
static inline double made_convolution(const double *v)
{
	double bx = v[0], by = v[1], tx = v[2], ty = v[3], cache = v[4], pad = v[5], staged = v[6], threads = bx * by,
	       warps = ceil(threads / 32);
	double shared = staged ? (bx * tx + 14 + pad) * (by * ty + 14) * 4 : 0, regs = 20 + tx * ty * 2 + tx * 3;
	if (threads < 32 || threads > 1024 || (pad && (fmod(bx, 32) == 0 || !staged)) || (cache && staged) ||
	    shared > 49152)
		return NAN;
	double resident =
		fmin(16, floor(fmin(fmin(2048 / threads, staged ? 102400 / shared : 16), 65536 / (regs * threads))));
	if (resident < 1)
		return INFINITY;
	double loads = (1 / (tx * ty) * 0.6 + 0.35) * (cache ? 1.3 : 1.9) * (bx >= 32 ? 1 : 1.7);
	if (staged)
		loads = (1 / tx + 0.12) / (1 + 0.3 * (ty - 1)) * (fmod(bx, 32) != 0 && !pad ? 1.6 : 1);
	double halo = (bx * tx + 14) * (by * ty + 14) / (bx * tx * by * ty),
	       blocks = ceil(4096 / (bx * tx)) * ceil(4096 / (by * ty));
	double tail = ceil(blocks / (70 * resident)) * 70 * resident / blocks,
	       busy = fmin(1, resident * warps * (1 + 0.25 * tx * ty) / 56);
	double work = 1 + 2.2 * loads + 0.35 * halo * (staged ? 1 : 0.6);
	return work * tail * warps * 32 / threads / (0.2 + 0.8 * busy) * (1 + 0.04 * fabs(log2(bx / (by * 8))));
}

/* A bumpy plain where two to four parameters only pay together, eight times. */
static inline double made_gates(const double *v, uint64_t salt)
{
	double t = 10;
	if (made_hash(v, 9, salt + 99) < 0.35)
		return NAN;
	for (int i = 0; i < 9; i++) {
		double q[2] = { i, (double)salt };
		t += 0.5 * made_hash(q, 2, salt + 1) * fabs(v[i] - made_hash(q, 2, salt + 2) * 4);
	}
	for (int g = 0; g < 8; g++) {
		double q[2] = { g, (double)salt }, all = 1;
		int members = 2 + (int)(made_hash(q, 2, salt + 3) * 2.99);
		for (int k = 0; k < members; k++) {
			double r[3] = { g, k, (double)salt },
			       off = v[(int)(made_hash(r, 3, salt + 4) * 9)] - (int)(made_hash(r, 3, salt + 5) * 4);
			all *= exp(-1.2 * off * off);
		}
		t *= 1 - (0.1 + 0.35 * made_hash(q, 2, salt + 6)) * all;
	}
	return t * (1 + 0.02 * made_hash(v, 9, salt + 7));
}

static inline double made_together(const double *v)
{
	return made_gates(v, 11);
}

/* Another plain; three tenths of the combinations of its first three parameters fail. */
static inline double made_together_failing(const double *v)
{
	return made_hash(v, 3, 23 + 98) < 0.3 && !isnan(made_gates(v, 23)) ? INFINITY : made_gates(v, 23);
}

/* Random tables over pairs and triples of parameters: values have no order. */
static inline double made_tables(const double *v)
{
	double sum = 0;
	if (made_hash(v, 8, 17 + 99) < 0.5)
		return NAN;
	for (int i = 0; i < 8; i++)
		sum += 0.25 * made_hash((double[]){ i, v[i] }, 2, 17 + 1);
	for (int k = 0; k < 7; k++) {
		double q = k;
		int a = (int)(made_hash(&q, 1, 17 + 2) * 8), b = (int)(made_hash(&q, 1, 17 + 3) * 8),
		    c = (int)(made_hash(&q, 1, 17 + 4) * 8);
		sum += 0.6 * made_hash((double[]){ k, v[a], v[b], k % 2 ? v[c] : 0 }, 4, 17 + 5);
	}
	return exp(sum);
}

#define MADE_TILES                                                                                                     \
	{                                                                                                              \
		2, 4, 8, 16, 32, 64                                                                                    \
	}
#define MADE_EIGHT                                                                                                     \
	{                                                                                                              \
		1, 2, 3, 4, 5, 6, 7, 8                                                                                 \
	}
#define MADE_FOUR                                                                                                      \
	{                                                                                                              \
		0, 1, 2, 3                                                                                             \
	}
#define MADE_SEVEN_FOURS MADE_FOUR, MADE_FOUR, MADE_FOUR, MADE_FOUR, MADE_FOUR, MADE_FOUR, MADE_FOUR
enum { MADE_NEEDLE = 7, MADE_TABLES = 14 };
static const struct made_shape made_shapes[] = {
	{ "tiles",
	  7,
	  { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } },
	  made_tiles },
	{ "modes",
	  6,
	  { { 0, 1, 2 },
	    { 8, 16, 24, 32, 48, 64, 96, 128 },
	    { 0, 1, 2, 4, 6, 8, 12 },
	    { 0, 1, 2, 3, 4, 5, 6 },
	    { 32, 64, 96, 128, 256 },
	    { 1, 2, 4, 8 } },
	  made_modes },
	{ "flags",
	  16,
	  { { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 } },
	  made_flags },
	{ "scrambled",
	  7,
	  { { 1, 2, 4, 8 },
	    { 1, 2, 4 },
	    { 4, 8, 16, 32 },
	    { 0, 1, 2, 3, 4, 5 },
	    { 1, 2 },
	    MADE_TILES,
	    { 0, 1, 2, 3, 4, 5 } },
	  made_scrambled },
	{ "failing",
	  7,
	  { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } },
	  made_failing },
	{ "noisy",
	  7,
	  { MADE_TILES, MADE_TILES, { 1, 2, 4, 8 }, { 1, 2, 4, 8 }, { 4, 8, 16, 32 }, { 1, 2, 4 }, { 1, 2 } },
	  made_noisy },
	{ "aligned",
	  5,
	  { { 8, 16, 24, 32, 48, 64, 96, 112, 128 },
	    { 1, 2, 3, 4, 6, 8, 12, 16 },
	    { 0, 1, 2, 4 },
	    { 16, 32, 48, 64, 80, 96, 128, 160 },
	    { 0, 1, 2, 3, 4 } },
	  made_aligned },
	{ "needle",
	  6,
	  { { 0, 1, 2, 3, 4, 5, 6 },
	    { 0, 1, 2, 3, 4, 5, 6 },
	    { 0, 1, 2, 3, 4, 5, 6 },
	    { 0, 1, 2, 3, 4, 5, 6 },
	    { 0, 1, 2, 3, 4, 5, 6 },
	    { 0, 1, 2 } },
	  made_needle },
	{ "stencil",
	  7,
	  { { 1, 2, 4, 8, 16, 32, 64, 128, 256 },
	    { 1, 2, 4, 8, 16, 32 },
	    MADE_EIGHT,
	    MADE_EIGHT,
	    { 1, 2, 3, 4, 5, 6, 8, 10 },
	    { 1, 2, 3, 4, 5 },
	    { 0, 1 } },
	  made_stencil },
	{ "product",
	  12,
	  { { 16, 32, 64, 128 },
	    { 16, 32, 64, 128 },
	    { 8, 16, 32 },
	    { 8, 16, 32 },
	    { 8, 16, 32 },
	    { 8, 16, 32 },
	    { 1, 2, 4, 8 },
	    { 1, 2, 4, 8 },
	    { 0, 1 },
	    { 0, 1 },
	    { 16, 32 },
	    { 2, 8 } },
	  made_product },
	{ "dedispersion",
	  6,
	  { { 1, 2, 4, 8, 16, 32, 64, 128 },
	    { 4, 8, 16, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256 },
	    { 1, 2, 3, 4, 5, 6 },
	    MADE_EIGHT,
	    { 0, 1 },
	    { 0, 1 } },
	  made_dedispersion },
	{ "convolution",
	  7,
	  { { 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256 },
	    { 1, 2, 4, 8, 16 },
	    MADE_EIGHT,
	    MADE_EIGHT,
	    { 0, 1 },
	    { 0, 1 },
	    { 0, 1 } },
	  made_convolution },
	{ "together", 9, { MADE_SEVEN_FOURS, { 0, 1 }, { 0, 1 } }, made_together },
	{ "together-failing", 9, { MADE_SEVEN_FOURS, { 0, 1 }, { 0, 1 } }, made_together_failing },
	{ "tables", 8, { MADE_SEVEN_FOURS, MADE_FOUR }, made_tables },
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
