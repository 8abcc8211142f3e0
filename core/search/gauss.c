/* gauss: a Gaussian process whose covariance is partly additive over the dimensions and partly joint (Matérn 5/2),
 * with one length per dimension; see gauss.h. The additive part learns what each parameter does alone from a handful
 * of points, the joint part learns what several do together. A search spends most of its time here, so everything
 * works on GAUSS_LANES numbers at once, in single precision. */
#include "core/search/gauss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The additive share of the covariance; chosen by figures (docs/search.md). */
#define ADDITIVE 0.6f
/* Priors of the settings, natural logarithms: a length of half the range and a noise of a thousandth, both loose.
 * Lengths grow with the root of the dimensions; otherwise no two points of a large space would tell about each
 * other: Hvarfner, Hellsten, Nardi, "Vanilla Bayesian optimization performs great in high dimensions" (ICML 2024). */
#define WEIGHT_MEAN 1.0
#define WEIGHT_DIMS 4.0
#define WEIGHT_DEVIATION 1.0
#define NOISE_MEAN (-7.0)
#define NOISE_DEVIATION 1.5
/* Added to the diagonal: single precision cannot factor an almost singular matrix. */
#define JITTER 1e-5f

/* A vector of GCC and Clang, which becomes whatever registers the processor has. */
typedef float lanes __attribute__((vector_size(GAUSS_LANES * sizeof(float))));
typedef float lanes_in_memory __attribute__((vector_size(GAUSS_LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef int32_t bits __attribute__((vector_size(GAUSS_LANES * sizeof(int32_t))));

#define AT(row, i) (*(lanes_in_memory *)((row) + (i)))
#define GET(row, i) (*(const lanes_in_memory *)((row) + (i)))
/* a where the mask is set, else b. */
#define CHOOSE(mask, a, b) ((lanes)(((bits)(a) & (mask)) | ((bits)(b) & ~(mask))))

/* One version per generation of processors; the loader chooses. Sanitizers and other processors get one version.
 * Results are equal. */
#if defined(__x86_64__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) &&                       \
	!defined(__SANITIZE_THREAD__)
#define FAST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FAST
#endif

static double weight_mean(size_t dims)
{
	return WEIGHT_MEAN - log(fmax(1, (double)dims / WEIGHT_DIMS));
}

void search_gauss_init(struct search_gauss *g, size_t dims, size_t room)
{
	size_t stride = (room + GAUSS_LANES - 1) / GAUSS_LANES * GAUSS_LANES;
	*g = (struct search_gauss){ .dims = dims, .room = room, .stride = stride, .noise = exp(NOISE_MEAN) };
	g->x = MEM_NEW_N(float, stride *dims + 1);
	g->scaled = MEM_NEW_N(float, stride *dims + 1);
	g->y = MEM_NEW_N(double, room);
	g->weights = MEM_NEW_N(double, dims + 1);
	for (size_t d = 0; d < dims; d++)
		g->weights[d] = exp(weight_mean(dims));
	g->upper = MEM_NEW_N(float, stride *stride);
	g->lower = MEM_NEW_N(float, stride *stride);
	g->inverse = MEM_NEW_N(float, stride);
	g->alpha = MEM_NEW_N(float, stride);
	g->scratch = MEM_NEW_N(float, stride);
}

void search_gauss_fini(struct search_gauss *g)
{
	free(g->x);
	free(g->scaled);
	free(g->y);
	free(g->weights);
	free(g->upper);
	free(g->lower);
	free(g->inverse);
	free(g->alpha);
	free(g->scratch);
	*g = (struct search_gauss){ 0 };
}

/* Covariances of the points in `point` (a vector per dimension) with measured point i; all are scaled. Inlined and
 * without vectors by value, because their calling convention depends on the processor. */
static inline __attribute__((always_inline)) void covariance(const struct search_gauss *g, const lanes *point, size_t i, lanes *ret)
{
	lanes s = { 0 }, far = { 0 };
	for (size_t d = 0; d < g->dims; d++) {
		lanes apart = point[d] - g->scaled[d * g->stride + i];
		s += apart * apart;
		far += (lanes)((bits)apart & 0x7fffffff);
	}
	/* Matérn: (1 + r + r²/3) e^-r with r² = 5 s. The root is Newton's, from a guess on the bits; 1e-12 keeps it
	 * finite at 0. */
	s = 5 * s + 1e-12f;
	lanes root = (lanes)(0x5f3759df - ((bits)s >> 1));
	root *= 1.5f - 0.5f * s * root * root;
	root *= 1.5f - 0.5f * s * root * root;
	lanes r = s * root;
	/* e^-r is 2^whole by its bits, times Taylor's polynomial for |x| <= ln(2) / 2; nothing remains beyond r =
	 * 80. */
	lanes t = CHOOSE(r < 80, r * -1.44269504f, (lanes){ 0 });
	bits whole = __builtin_convertvector(t - 0.5f, bits);
	lanes x = (t - __builtin_convertvector(whole, lanes)) * 0.693147181f;
	lanes e = (lanes)((whole + 127) << 23) * (1 + x * (1 + x * (0.5f + x * (1 / 6.0f + x * (1 / 24.0f + x * (1 / 120.0f))))));
	lanes joint = CHOOSE(r < 80, (1 + r + r * r * (1 / 3.0f)) * e, (lanes){ 0 });
	*ret = (1 - ADDITIVE) * joint + ADDITIVE - g->slope * far;
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

/* Factors the covariance matrix of the measured points. Columns behind the last point are computed along and never
 * read. */
FAST static void factor(struct search_gauss *g)
{
	size_t n = g->count, dims = g->dims, stride = g->stride;
	lanes point[dims + 1];
	double reach = 1e-12;
	for (size_t d = 0; d < dims; d++) {
		float w = (float)sqrt(g->weights[d]);
		reach += sqrt(g->weights[d]);
		for (size_t i = 0; i < n; i += GAUSS_LANES)
			AT(g->scaled + d * stride, i) = w * GET(g->x + d * stride, i);
	}
	g->slope = (float)(ADDITIVE / reach);
	for (size_t i = 0; i < n; i++) {
		float *row = g->upper + i * stride;
		size_t first = i / GAUSS_LANES * GAUSS_LANES;
		for (size_t c = first; c < n; c += GAUSS_LANES) {
			for (size_t d = 0; d < dims; d++)
				point[d] = GET(g->scaled + d * stride, c);
			lanes from;
			covariance(g, point, i, &from);
			AT(row, c) = from;
		}
		row[i] = 1 + (float)g->noise + JITTER;
		/* Four vectors, or two sums, at once: one alone would wait for its own previous subtraction. */
		size_t c = first;
		for (; c + 3 * GAUSS_LANES < n; c += 4 * GAUSS_LANES) {
			lanes s0 = GET(row, c), s1 = GET(row, c + GAUSS_LANES), s2 = GET(row, c + 2 * GAUSS_LANES),
			      s3 = GET(row, c + 3 * GAUSS_LANES);
			for (size_t k = 0; k < i; k++) {
				const float *other = g->upper + k * stride;
				s0 -= other[i] * GET(other, c);
				s1 -= other[i] * GET(other, c + GAUSS_LANES);
				s2 -= other[i] * GET(other, c + 2 * GAUSS_LANES);
				s3 -= other[i] * GET(other, c + 3 * GAUSS_LANES);
			}
			AT(row, c) = s0;
			AT(row, c + GAUSS_LANES) = s1;
			AT(row, c + 2 * GAUSS_LANES) = s2;
			AT(row, c + 3 * GAUSS_LANES) = s3;
		}
		for (; c < n; c += GAUSS_LANES) {
			lanes even = GET(row, c), odd = { 0 };
			size_t k = 0;
			for (; k + 1 < i; k += 2) {
				const float *other = g->upper + k * stride;
				even -= other[i] * GET(other, c);
				odd -= other[i + stride] * GET(other + stride, c);
			}
			if (k < i)
				even -= g->upper[k * stride + i] * GET(g->upper + k * stride, c);
			AT(row, c) = even + odd;
		}
		float pivot = sqrtf(fmaxf(row[i], JITTER));
		g->inverse[i] = 1 / pivot;
		for (c = first; c < n; c += GAUSS_LANES)
			AT(row, c) *= g->inverse[i];
		for (size_t j = first; j < i; j++)
			row[j] = 0;
		row[i] = pivot;
	}
}

/* Solves upper' upper x = out in place. `out` has `stride` elements; those behind the last point become 0. */
FAST static void solve(const struct search_gauss *g, float *out)
{
	size_t n = g->count;
	for (size_t k = 0; k < n; k++) {
		const float *row = g->upper + k * g->stride;
		float own = out[k] * g->inverse[k];
		for (size_t c = k / GAUSS_LANES * GAUSS_LANES; c < n; c += GAUSS_LANES)
			AT(out, c) -= own * GET(row, c);
		out[k] = own;
	}
	for (size_t i = n; i < g->stride; i++)
		out[i] = 0;
	for (size_t i = n; i-- > 0;) {
		const float *row = g->upper + i * g->stride;
		lanes sums = { 0 };
		float own = out[i], sum = 0;
		out[i] = 0;
		/* The factor is 0 before column i. */
		for (size_t c = i / GAUSS_LANES * GAUSS_LANES; c < n; c += GAUSS_LANES)
			sums += GET(row, c) * GET(out, c);
		for (int l = 0; l < GAUSS_LANES; l++)
			sum += sums[l];
		out[i] = (own - sum) * g->inverse[i];
	}
}

/* Computes factor, mean, scale and alpha under the present settings. Returns the log likelihood with priors. */
static double condition(struct search_gauss *g)
{
	size_t n = g->count;
	double top = 0, bottom = 0, fit = 0, log_det = 0, prior = 0;
	factor(g);
	for (size_t i = 0; i < g->stride; i++)
		g->scratch[i] = i < n;
	solve(g, g->scratch);
	for (size_t i = 0; i < n; i++) {
		top += (double)g->scratch[i] * g->y[i];
		bottom += (double)g->scratch[i];
	}
	g->mean = top / bottom;
	for (size_t i = 0; i < n; i++)
		g->alpha[i] = (float)(g->y[i] - g->mean);
	solve(g, g->alpha);
	for (size_t i = 0; i < n; i++) {
		fit += (g->y[i] - g->mean) * (double)g->alpha[i];
		log_det -= log((double)g->inverse[i]);
	}
	/* One invented measurement of the expected size keeps the scale plausible while there are few. */
	g->scale = (fmax(fit, 0) + 1) / (double)(n + 1);
	for (size_t d = 0; d < g->dims; d++)
		prior += pow((log(g->weights[d]) - weight_mean(g->dims)) / WEIGHT_DEVIATION, 2);
	prior += pow((log(g->noise) - NOISE_MEAN) / NOISE_DEVIATION, 2);
	return -0.5 * (double)(n + 1) * log(g->scale) - log_det - 0.5 * prior;
}

/* Settings follow their posterior (Metropolis et al. 1953) instead of the largest likelihood: what a search proposes
 * over several steps then covers all settings that fit the measurements. */
void search_gauss_fit(struct search_gauss *g, const float *x, const double *y, size_t count, size_t steps,
		      struct search_shuffle *random)
{
	size_t n = g->count = count < g->room ? count : g->room;
	double kept[g->dims + 1];
	bool current = true;
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < g->dims; d++)
			g->x[d * g->stride + i] = x[i * g->dims + d];
	memcpy(g->y, y, n * sizeof *y);
	double score = condition(g);
	for (size_t i = 0; i < steps; i++) {
		double noise = g->noise, size = search_shuffle_uniform(random) < 0.5 ? 3 : 1;
		memcpy(kept, g->weights, g->dims * sizeof kept[0]);
		/* Mostly one setting changes, sometimes all. */
		size_t which = search_shuffle_below(random, g->dims + 2);
		for (size_t d = 0; d < g->dims; d++)
			if (which == d || which == g->dims + 1)
				g->weights[d] *= exp(size * (2 * search_shuffle_uniform(random) - 1));
		if (which >= g->dims)
			g->noise *= exp(size * (2 * search_shuffle_uniform(random) - 1));
		double now = condition(g);
		current = now > score + log(search_shuffle_uniform(random) + 1e-300);
		if (current) {
			score = now;
			continue;
		}
		memcpy(g->weights, kept, g->dims * sizeof kept[0]);
		g->noise = noise;
	}
	if (!current)
		condition(g);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++)
			g->lower[i * g->stride + k] = g->upper[k * g->stride + i];
}

/* --- predictions -------------------------------------------------------------------------------------------------- */

FAST void search_gauss_mean(const struct search_gauss *g, const float *x, size_t stride, size_t count, float *ret_mean,
			    float *ret_nearest)
{
	lanes point[g->dims + 1];
	for (size_t p = 0; p < count; p += GAUSS_LANES) {
		lanes mean = { 0 }, nearest = { 0 };
		for (size_t d = 0; d < g->dims; d++)
			point[d] = (float)sqrt(g->weights[d]) * GET(x + d * stride, p);
		for (size_t i = 0; i < g->count; i++) {
			lanes c;
			covariance(g, point, i, &c);
			mean += c * g->alpha[i];
			nearest = CHOOSE(c > nearest, c, nearest);
		}
		AT(ret_mean, p) = mean + (float)g->mean;
		AT(ret_nearest, p) = nearest;
	}
}

double search_gauss_most(const struct search_gauss *g, double nearest)
{
	return sqrt(fmax(1 - nearest * nearest / (1 + g->noise), 1e-6) * g->scale);
}

FAST void search_gauss_deviation(const struct search_gauss *g, const float *x, size_t stride, const size_t which[GAUSS_LANES],
				 float ret_deviation[GAUSS_LANES])
{
	size_t n = g->count;
	lanes point[g->dims + 1], v[n + 1], known = { 0 };
	for (size_t d = 0; d < g->dims; d++)
		for (int l = 0; l < GAUSS_LANES; l++)
			point[d][l] = (float)sqrt(g->weights[d]) * x[d * stride + which[l]];
	for (size_t i = 0; i < n; i++) {
		const float *row = g->lower + i * g->stride;
		lanes even, odd = { 0 };
		size_t k = 0;
		covariance(g, point, i, &even);
		for (; k + 1 < i; k += 2) {
			even -= row[k] * v[k];
			odd -= row[k + 1] * v[k + 1];
		}
		if (k < i)
			even -= row[k] * v[k];
		v[i] = (even + odd) * g->inverse[i];
		known += v[i] * v[i];
	}
	for (int l = 0; l < GAUSS_LANES; l++)
		ret_deviation[l] = sqrtf(fmaxf(1 - known[l], 1e-6f) * (float)g->scale);
}
