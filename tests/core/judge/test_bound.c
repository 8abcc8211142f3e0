/* core/judge/bound: the calibration of its constants. Plain loops stand for kernels of many fields, in many orders and precisions;
 * honest ones must stay far below their bounds, others must exceed them. `test_bound large` prints the table of docs/judging.md. */
#include "core/judge/bound.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pace.h"
#include "tap.h"

enum { PERTURBED = 4 };
#define DELTA 0x1p-16

/* --- arithmetic ---------------------------------------------------------------------------------------------------------- */

static uint64_t state = 1;
static double draw(void) /* [0,1) */
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = state;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double normal(void)
{
	double sum = 0;
	for (int i = 0; i < 12; i++)
		sum += draw();
	return sum - 6;
}

/* To so many bits, to nearest (Veltkamp's splitting). 53: as it is. */
static double rounded(double x, int bits)
{
	if (bits >= 53 || !isfinite(x))
		return x;
	double c = x * (ldexp(1, 53 - bits) + 1);
	return c - (c - x);
}

enum { F64 = 53, F32 = 24, TF32 = 11, F16 = 11, BF16X2 = 16, BF16 = 8, E4M3 = 4 };
enum order { SEQUENTIAL, PAIRWISE, LANES };
enum trick { HONEST, ZEROS, DROP_ONE, DROP_HALF, OTHER, CONSTANT };

/* How a kernel computes. */
struct way {
	const char *name;
	int in, products, sums; /* bits of operands, products and sums */
	enum order order;
	enum trick trick;
};

/* --- sums ------------------------------------------------------------------------------------------------------------------ */

static double total(const double *x, size_t n, const struct way *w)
{
	if (w->order == PAIRWISE && n > 8)
		return rounded(total(x, n / 2, w) + total(x + n / 2, n - n / 2, w), w->sums);
	if (w->order == LANES && n > 64) {
		double lane[32] = { 0 };
		for (size_t i = 0; i < n; i++)
			lane[i % 32] = rounded(lane[i % 32] + x[i], w->sums);
		return total(lane, 32, &(struct way){ .sums = w->sums, .order = PAIRWISE });
	}
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum = rounded(sum + x[i], w->sums);
	return sum;
}

/* --- problems: each function is truth and kernel at once --------------------------------------------------------------------- */

struct problem {
	const char *name;
	size_t inputs, outputs;
	int64_t size[3];
	void (*fill)(const struct problem *p, double *in);
	void (*run)(const struct problem *p, const double *in, const struct way *w, double *out);
	enum dtype type;   /* of the output */
	enum dtype stored; /* of the inputs */
	double terms;
	double u_in; /* of precision: */
};

static void fill_mixed(const struct problem *p, double *in)
{
	for (size_t i = 0; i < p->inputs; i++)
		in[i] = 2 * draw() - 1;
}

static void fill_positive(const struct problem *p, double *in)
{
	for (size_t i = 0; i < p->inputs; i++)
		in[i] = draw();
}

static void fill_wide(const struct problem *p, double *in)
{
	for (size_t i = 0; i < p->inputs; i++)
		in[i] = exp2(40 * draw() - 20) * (draw() < 0.5 ? -1 : 1);
}

static void fill_normal(const struct problem *p, double *in)
{
	for (size_t i = 0; i < p->inputs; i++)
		in[i] = 3 * normal();
}

static void fill_far(const struct problem *p, double *in)
{
	for (size_t i = 0; i < p->inputs; i++)
		in[i] = 1024 + normal();
}

/* size: m, n, k */
static void run_matmul(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t m = p->size[0], n = p->size[1], k = p->size[2];
	const double *a = in, *b = in + m * k;
	double *x = MEM_NEW_N(double, (size_t)k);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int64_t used = w->trick == DROP_ONE ? k - 1 : w->trick == DROP_HALF ? k / 2 : k;
			for (int64_t l = 0; l < used; l++)
				x[l] = rounded(rounded(a[i * k + l], w->in) * rounded(b[j * k + l], w->in), w->products);
			out[i * n + j] = total(x, (size_t)used, w);
		}
	free(x);
}

/* size: rows, columns */
static void run_scan(const struct problem *p, const double *in, const struct way *w, double *out)
{
	for (int64_t r = 0; r < p->size[0]; r++) {
		const double *x = in + r * p->size[1];
		double sum = 0, block = 0;
		for (int64_t i = 0; i < p->size[1]; i++) {
			bool drop = (w->trick == DROP_ONE && i == p->size[1] / 2) || (w->trick == DROP_HALF && i % 2);
			block = rounded(block + (drop ? 0 : rounded(x[i], w->in)), w->sums);
			out[r * p->size[1] + i] = rounded(sum + block, w->sums);
			if (w->order != SEQUENTIAL && i % 256 == 255) {
				sum = out[r * p->size[1] + i];
				block = 0;
			}
		}
	}
}

static double exponential(double x, const struct way *w)
{
	/* As fast hardware has it: 2^(x·log2 e), the product rounded. */
	return w->sums >= F64 ? exp(x)
			      : rounded(exp2(rounded(x * rounded(1.4426950408889634, w->products), w->products)), w->products);
}

/* size: rows, columns. Inputs are logits. */
static void run_softmax(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t n = p->size[1];
	for (int64_t r = 0; r < p->size[0]; r++) {
		const double *x = in + r * n;
		double *y = out + r * n, most = -INFINITY;
		for (int64_t i = 0; i < n; i++)
			most = fmax(most, x[i]);
		for (int64_t i = 0; i < n; i++)
			y[i] = exponential(rounded(rounded(x[i], w->in) - most, w->sums), w);
		if (w->trick == DROP_HALF)
			for (int64_t i = n / 2; i < n; i++)
				y[i] = 0;
		double sum = total(y, (size_t)n, w);
		for (int64_t i = 0; i < n; i++)
			y[i] = rounded(y[i] / sum, w->products);
	}
}

/* size: points, dimensions */
static void run_gram(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t n = p->size[0], d = p->size[1];
	double *x = MEM_NEW_N(double, (size_t)d);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++) {
			for (int64_t l = 0; l < d; l++) {
				double v = rounded(rounded(in[i * d + l], w->in) - rounded(in[j * d + l], w->in), w->sums);
				x[l] = rounded(v * v, w->products);
			}
			bool faked = w->trick == OTHER || (w->trick == DROP_HALF && (i + j) % 2);
			out[i * n + j] = i != j && faked ? 0 : exponential(-total(x, (size_t)d, w), w);
		}
	free(x);
}

static void run_gelu(const struct problem *p, const double *in, const struct way *w, double *out)
{
	for (size_t i = 0; i < p->outputs; i++) {
		double x = rounded(in[i], w->in), x3 = rounded(rounded(x * x, w->products) * x, w->products);
		double t = rounded(0.7978845608028654 * rounded(x + rounded(0.044715 * x3, w->products), w->sums), w->products);
		out[i] = rounded(0.5 * x * rounded(1 + rounded(tanh(t), w->products), w->sums), w->products);
		if (w->trick == OTHER && fabs(x) > 1)
			out[i] = x > 0 ? x : 0;
	}
}

static void run_silu(const struct problem *p, const double *in, const struct way *w, double *out)
{
	for (size_t i = 0; i < p->outputs; i++) {
		double x = rounded(in[i], w->in);
		out[i] = rounded(x / rounded(1 + exponential(-x, w), w->sums), w->products);
	}
}

/* Honest kernels write it as a fraction or, with OTHER, by tanh. */
static void run_sigmoid(const struct problem *p, const double *in, const struct way *w, double *out)
{
	for (size_t i = 0; i < p->outputs; i++) {
		double x = rounded(in[i], w->in);
		out[i] = w->trick == OTHER ? rounded(0.5 + rounded(0.5 * rounded(tanh(x / 2), w->products), w->products), w->sums)
					   : rounded(1 / rounded(1 + exponential(-x, w), w->sums), w->products);
		if (w->trick == CONSTANT && fabs(x) > 1)
			out[i] = x > 0;
	}
}

/* size: rows, classes. The mean of −log softmax at class 0. */
static void run_loss(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t n = p->size[1], rows = w->trick == DROP_HALF ? p->size[0] / 2 : p->size[0] - (w->trick == DROP_ONE);
	double *losses = MEM_NEW_N(double, (size_t)rows), *y = MEM_NEW_N(double, (size_t)n);
	for (int64_t r = 0; r < rows; r++) {
		double most = -INFINITY;
		for (int64_t i = 0; i < n; i++)
			most = fmax(most, in[r * n + i]);
		for (int64_t i = 0; i < n; i++)
			y[i] = exponential(rounded(rounded(in[r * n + i], w->in) - most, w->sums), w);
		double l = rounded(log(total(y, (size_t)n, w)), w->products);
		losses[r] = rounded(rounded(l + most, w->sums) - in[r * n], w->sums);
	}
	out[0] = rounded(total(losses, (size_t)rows, w) / (double)rows, w->products);
	free(losses);
	free(y);
}

/* size: rows, columns */
static void run_layernorm(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t n = p->size[1];
	double *d = MEM_NEW_N(double, (size_t)n);
	for (int64_t r = 0; r < p->size[0]; r++) {
		const double *x = in + r * n;
		double *y = out + r * n, mean, variance;
		for (int64_t i = 0; i < n; i++)
			y[i] = rounded(x[i], w->in);
		mean = rounded(total(y, (size_t)n, w) / (double)n, w->products);
		for (int64_t i = 0; i < n; i++) {
			double v = w->trick == OTHER ? y[i] : rounded(y[i] - mean, w->sums);
			d[i] = rounded(v * v, w->products);
		}
		variance = rounded(total(d, (size_t)n, w) / (double)n, w->products);
		if (w->trick == OTHER) /* in one pass */
			variance = fmax(rounded(variance - rounded(mean * mean, w->products), w->sums), 0);
		double scale = rounded(1 / sqrt(variance + 1e-5), w->products);
		for (int64_t i = 0; i < n; i++)
			y[i] = rounded(rounded(y[i] - mean, w->sums) * scale, w->products);
	}
	free(d);
}

static void run_sum(const struct problem *p, const double *in, const struct way *w, double *out)
{
	double *x = MEM_NEW_N(double, p->inputs);
	size_t n = w->trick == DROP_HALF ? p->inputs / 2 : p->inputs;
	for (size_t i = 0; i < n; i++)
		x[i] = rounded(in[i], w->in);
	out[0] = total(x, n, w);
	free(x);
}

/* size: queries, keys, head */
static void run_attention(const struct problem *p, const double *in, const struct way *w, double *out)
{
	int64_t q = p->size[0], n = p->size[1], d = p->size[2];
	const double *keys = in + q * d, *values = keys + n * d;
	double *s = MEM_NEW_N(double, (size_t)n), *x = MEM_NEW_N(double, (size_t)(n > d ? n : d));
	for (int64_t i = 0; i < q; i++) {
		double most = -INFINITY;
		for (int64_t j = 0; j < n; j++) {
			for (int64_t l = 0; l < d; l++)
				x[l] = rounded(rounded(in[i * d + l], w->in) * rounded(keys[j * d + l], w->in), w->products);
			s[j] = rounded(total(x, (size_t)d, w) / sqrt((double)d), w->products);
			most = fmax(most, s[j]);
		}
		for (int64_t j = 0; j < n; j++)
			s[j] = w->trick == DROP_HALF && j >= n / 2 ? 0 : exponential(rounded(s[j] - most, w->sums), w);
		double sum = total(s, (size_t)n, w);
		for (int64_t l = 0; l < d; l++) {
			for (int64_t j = 0; j < n; j++)
				x[j] = rounded(rounded(s[j], w->in) * rounded(values[j * d + l], w->in), w->products);
			out[i * d + l] = rounded(total(x, (size_t)n, w) / sum, w->products);
		}
	}
	free(s);
	free(x);
}

/* --- judging ---------------------------------------------------------------------------------------------------------------- */

/* What one way of computing gave. */
struct figures {
	double worst, mean, signed_mean, judged;
	uint64_t wrong;
};

static struct figures judge(const double *values, const double *bounds, const double *got, size_t n)
{
	struct figures f = { 0 };
	for (size_t i = 0; i < n; i++) {
		double d = got[i] - values[i], r = d == 0 ? 0 : fabs(d) / bounds[i];
		if (isinf(bounds[i]))
			continue;
		f.judged++;
		f.worst = fmax(f.worst, isnan(r) ? INFINITY : r);
		f.wrong += !(r <= 1);
		f.mean += fmin(r, 16);
		f.signed_mean += copysign(fmin(r, 16), d);
	}
	f.mean /= fmax(f.judged, 1);
	f.signed_mean /= fmax(f.judged, 1);
	return f;
}

static bool passes(const struct figures *f)
{
	bool many = f->judged >= 1000;
	return f->wrong == 0 && !(many && (f->mean > 0.5 || fabs(f->signed_mean) > 0.25));
}

static void store_all(enum dtype t, const double *x, size_t n, uint8_t *to)
{
	for (size_t i = 0; i < n; i++)
		dtype_store(t, to + i * dtype_size(t), x[i]);
}

/* A problem with its truth, sensitivity and bounds. */
struct judged {
	const struct problem *p;
	double *in, *truth, *values, *bounds;
	uint8_t *causes;
	struct bound_summary summary;
};

static struct judged prepare(const struct problem *p, const struct way *baseline)
{
	static const struct way exact = { "truth", F64, F64, F64, SEQUENTIAL, HONEST };
	struct judged j = { .p = p };
	size_t n = p->outputs;
	enum dtype wanted = bound_wanted_type(p->type);
	double *other = MEM_NEW_N(double, n), *moved_in = MEM_NEW_N(double, p->inputs);
	uint8_t *b = mem_new(n, 8), *values = mem_new(n, 8), *bounds = mem_new(n, 8);
	j.in = MEM_NEW_N(double, p->inputs);
	j.truth = MEM_NEW_N(double, n);
	j.values = MEM_NEW_N(double, n);
	j.bounds = MEM_NEW_N(double, n);
	j.causes = mem_new(n, 1);
	p->fill(p, j.in);
	for (size_t i = 0; i < p->inputs; i++) {
		uint8_t x[8];
		dtype_store(p->stored, x, j.in[i]);
		j.in[i] = dtype_load(p->stored, x);
	}
	p->run(p, j.in, &exact, j.truth);
	struct bound_output o = { .type = p->type, .n = n, .truth_type = DTYPE_F64, .truth = j.truth, .amplitude = DELTA };
	o.moved = MEM_NEW_N(float, n);
	for (int k = 0; k < PERTURBED; k++) {
		for (size_t i = 0; i < p->inputs; i++)
			moved_in[i] = j.in[i] * (1 + DELTA * (2 * draw() - 1));
		p->run(p, moved_in, &exact, other);
		bound_add_moved(&o, other);
	}
	if (baseline) {
		p->run(p, j.in, baseline, other);
		store_all(p->type, other, n, b);
		o.baseline = b;
	}
	struct bound_rules rules = { .sums = p->type == DTYPE_F64 ? 0x1p-53 : 0x1p-24, .inputs = p->u_in, .terms = p->terms };
	bound_make(&o, &rules, values, bounds, j.causes, &j.summary);
	dtype_load_all(wanted, values, j.values, n);
	dtype_load_all(wanted == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32, bounds, j.bounds, n);
	free(o.moved);
	free(other);
	free(moved_in);
	free(b);
	free(values);
	free(bounds);
	return j;
}

static void judged_fini(struct judged *j)
{
	free(j->in);
	free(j->truth);
	free(j->values);
	free(j->bounds);
	free(j->causes);
}

static struct figures try(const struct judged *j, const struct way *w)
{
	size_t n = j->p->outputs;
	double *out = MEM_NEW_N(double, n);
	uint8_t x[8];
	if (w->trick != ZEROS)
		j->p->run(j->p, j->in, w, out);
	for (size_t i = 0; i < n; i++) {
		dtype_store(j->p->type, x, out[i]);
		out[i] = dtype_load(j->p->type, x);
	}
	struct figures f = judge(j->values, j->bounds, out, n);
	free(out);
	return f;
}

/* --- the corpus ------------------------------------------------------------------------------------------------------------- */

static const struct way plain = { "f32, in sequence", F32, F32, F32, SEQUENTIAL, HONEST },
			pairwise = { "f32, pairwise", F32, F32, F32, PAIRWISE, HONEST };
static const struct way honest[] = {
	{ "f32, in sequence", F32, F32, F32, SEQUENTIAL, HONEST },
	{ "f32, pairwise", F32, F32, F32, PAIRWISE, HONEST },
	{ "f32, 32 lanes, then a tree", F32, F32, F32, LANES, HONEST },
	{ "fused multiply-add, 32 lanes", F32, F64, F32, LANES, HONEST },
};
static const struct way false_ones[] = {
	{ "zeros", F32, F32, F32, SEQUENTIAL, ZEROS },
	{ "TF32 operands", TF32, F32, F32, PAIRWISE, HONEST },
	{ "bf16 operands", BF16, F32, F32, PAIRWISE, HONEST },
	{ "f16 sums", F32, F32, F16, PAIRWISE, HONEST },
	{ "half dropped", F32, F32, F32, PAIRWISE, DROP_HALF },
	{ "one term dropped", F32, F32, F32, PAIRWISE, DROP_ONE },
	{ "two bf16 for each operand", BF16X2, F32, F32, PAIRWISE, HONEST },
};
enum { MOST_FALSE = 7 };

struct entry {
	struct problem p;
	unsigned refused; /* bits: which of false_ones[] must be refused */
	const struct way *baseline;
};

enum { Z = 1, T = 2, B = 4, H = 8, D = 16, ONE = 32, X = 64 };

#define F32_TYPES .type = DTYPE_F32, .stored = DTYPE_F32
static struct entry entries[] = {
	{ { "matrix product, K 64", 0, 0, { 128, 128, 64 }, fill_mixed, run_matmul, F32_TYPES, 64, 0 },
	  Z | T | B | H | D | ONE | X,
	  &plain },
	{ { "matrix product, K 2048", 0, 0, { 48, 48, 2048 }, fill_mixed, run_matmul, F32_TYPES, 2048, 0 },
	  Z | T | B | H | D | ONE,
	  &plain },
	{ { "matrix product, K 2048, tree as baseline", 0, 0, { 48, 48, 2048 }, fill_mixed, run_matmul, F32_TYPES, 2048, 0 },
	  Z | T | B | H | D | ONE,
	  &pairwise },
	{ { "matrix product of positive numbers", 0, 0, { 48, 48, 1024 }, fill_positive, run_matmul, F32_TYPES, 1024, 0 },
	  Z | B | H | D | ONE,
	  &plain },
	{ { "matrix product, wide", 0, 0, { 64, 64, 512 }, fill_wide, run_matmul, F32_TYPES, 512, 0 }, Z | T | B | H | D, &plain },
	{ { "prefix sum of 32768", 0, 0, { 8, 32768 }, fill_mixed, run_scan, F32_TYPES, 32768, 0 }, Z | B | H | D | ONE, &plain },
	{ { "prefix sum of positive numbers", 0, 0, { 8, 32768 }, fill_positive, run_scan, F32_TYPES, 32768, 0 },
	  Z | H | D,
	  &plain },
	{ { "softmax", 0, 0, { 64, 1024 }, fill_normal, run_softmax, F32_TYPES, 1024, 0 }, Z | T | B | H | D, &plain },
	{ { "Gram matrix of RBFs", 0, 0, { 128, 16 }, fill_mixed, run_gram, F32_TYPES, 48, 0 }, Z | T | B | H | D, &plain },
	{ { "Gram matrix of narrow RBFs", 0, 0, { 128, 16 }, fill_normal, run_gram, F32_TYPES, 48, 0 }, Z | B | H, &plain },
	{ { "GELU", 1 << 16, 1 << 16, { 0 }, fill_normal, run_gelu, F32_TYPES, 1, 0 }, Z | T | B | H, &plain },
	{ { "GELU, wide", 1 << 16, 1 << 16, { 0 }, fill_wide, run_gelu, F32_TYPES, 1, 0 }, Z | T | B, &plain },
	{ { "SiLU", 1 << 16, 1 << 16, { 0 }, fill_normal, run_silu, F32_TYPES, 1, 0 }, Z | T | B | H, &plain },
	{ { "sigmoid", 1 << 16, 1 << 16, { 0 }, fill_normal, run_sigmoid, F32_TYPES, 1, 0 }, Z | T | B | H, &plain },
	{ { "mean loss of 10240 rows", 0, 1, { 10240, 16 }, fill_normal, run_loss, F32_TYPES, 10240, 0 }, Z | D, &plain },
	{ { "mean loss, tree as baseline", 0, 1, { 10240, 16 }, fill_normal, run_loss, F32_TYPES, 10240, 0 }, Z | D, &pairwise },
	{ { "layer norm", 0, 0, { 64, 1024 }, fill_normal, run_layernorm, F32_TYPES, 1024, 0 }, Z | T | B | H, &plain },
	{ { "layer norm, far from zero", 0, 0, { 64, 1024 }, fill_far, run_layernorm, F32_TYPES, 1024, 0 }, Z | T | B | H, &plain },
	{ { "sum of a million", 1 << 20, 1, { 0 }, fill_mixed, run_sum, F32_TYPES, 1 << 20, 0 }, Z | D, &plain },
	{ { "sum of a million positive numbers", 1 << 20, 1, { 0 }, fill_positive, run_sum, F32_TYPES, 1 << 20, 0 },
	  Z | D,
	  &plain },
	{ { "attention", 0, 0, { 32, 512, 64 }, fill_normal, run_attention, F32_TYPES, 512, 0 }, Z | T | B | H | D, &plain },
	{ { "matrix product in f16", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, DTYPE_F16, DTYPE_F16, 512, 0 },
	  Z | B | H | D | ONE,
	  &plain },
	{ { "matrix product in bf16", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, DTYPE_BF16, DTYPE_BF16, 512, 0 },
	  Z | D,
	  &plain },
	{ { "matrix product, e4m3 to f32", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, DTYPE_F32, DTYPE_E4M3, 512, 0 },
	  Z | H | D | ONE,
	  &plain },
	{ { "matrix product, e4m3 to e4m3", 0, 0, { 96, 96, 64 }, fill_mixed, run_matmul, DTYPE_E4M3, DTYPE_E4M3, 64, 0 },
	  Z | D,
	  &plain },
	{ { "matrix product, f32 to bf16", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, DTYPE_BF16, DTYPE_F32, 512, 0 },
	  Z | D,
	  &plain },
	{ { "SiLU in f16", 1 << 16, 1 << 16, { 0 }, fill_normal, run_silu, DTYPE_F16, DTYPE_F16, 1, 0 }, Z | B, &plain },
	{ { "SiLU in bf16", 1 << 16, 1 << 16, { 0 }, fill_normal, run_silu, DTYPE_BF16, DTYPE_BF16, 1, 0 }, Z, &plain },
	{ { "softmax in f16", 0, 0, { 32, 4096 }, fill_normal, run_softmax, DTYPE_F16, DTYPE_F16, 4096, 0 }, Z | B | D, &plain },
	{ { "matrix product, tensor:tf32/f32", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, F32_TYPES, 512, 0x1p-11 },
	  Z | B | D | ONE,
	  &plain },
	{ { "attention, tensor:f16/f32", 0, 0, { 32, 512, 64 }, fill_mixed, run_attention, F32_TYPES, 512, 0x1p-11 },
	  Z | B | D,
	  &plain },
	{ { "matrix product, tensor:bf16/f32", 0, 0, { 64, 64, 512 }, fill_mixed, run_matmul, F32_TYPES, 512, 0x1p-8 },
	  Z | D,
	  &plain },
};

static void complete(struct problem *p)
{
	int64_t a = p->size[0], b = p->size[1], c = p->size[2];
	if (p->run == run_matmul) {
		p->inputs = (size_t)((a + b) * c);
		p->outputs = (size_t)(a * b);
	} else if (p->run == run_gram) {
		p->inputs = (size_t)(a * b);
		p->outputs = (size_t)(a * a);
	} else if (p->run == run_attention) {
		p->inputs = (size_t)((a + 2 * b) * c);
		p->outputs = (size_t)(a * c);
	} else if (p->run == run_loss) {
		p->inputs = (size_t)(a * b);
	} else if (a) {
		p->inputs = p->outputs = (size_t)(a * b);
	}
}

static void test_entry(struct entry *x, bool table)
{
	complete(&x->p);
	int64_t start = clock_now();
	struct judged j = prepare(&x->p, x->baseline);
	double worst = 0, mean = 0, least = INFINITY;
	const struct way *worst_way = &honest[0];
	for (size_t i = 0; i < MEM_COUNT(honest); i++) {
		struct way w = honest[i];
		/* What `precision:` permits is used. */
		w.in = x->p.u_in == 0x1p-11 ? TF32 : x->p.u_in == 0x1p-8 ? BF16 : w.in;
		struct figures f = try(&j, &w);
		mean = fmax(mean, f.mean);
		if (f.worst >= worst) {
			worst = f.worst;
			worst_way = &honest[i];
		}
		ok(passes(&f), "%s: %s passes (worst %.2g, mean %.2g, signed %.2g)", x->p.name, honest[i].name, f.worst, f.mean,
		   f.signed_mean);
	}
	bool narrow = x->p.type != DTYPE_F32 && x->p.type != DTYPE_F64;
	ok(worst <= (narrow ? 0.6 : 0.5), "%s: honest kernels use at most half of their bounds (%.2g, %s)", x->p.name, worst,
	   worst_way->name);
	char cheats[200] = "";
	for (size_t i = 0; i < MOST_FALSE; i++) {
		struct figures f = try(&j, &false_ones[i]);
		if (x->refused & 1u << i) {
			least = fmin(least, f.worst);
			ok(!passes(&f), "%s: %s is refused (worst %.3g, mean %.2g, %llu wrong)", x->p.name, false_ones[i].name,
			   f.worst, f.mean, (unsigned long long)f.wrong);
		}
		snprintf(cheats + strlen(cheats), sizeof cheats - strlen(cheats), " %s%.2g |",
			 x->refused & 1u << i ? passes(&f) ? "!!" : ""
			 : passes(&f)         ? "~"
					      : "+",
			 f.worst);
	}
	double share = (double)j.summary.judged / (double)x->p.outputs;
	ok(share >= 0.9, "%s: %.1f %% of its elements are judged", x->p.name, 100 * share);
	if (table)
		fprintf(stderr, "| %s | %zu | %.2f | %.2f | %.1f %% |%s %.2g%s %.0f ms\n", x->p.name, x->p.outputs, worst, mean,
			100 * share, cheats, j.summary.baseline_ratio, j.summary.capped ? " capped" : "",
			(double)(clock_now() - start) / 1e6);
	judged_fini(&j);
}

/* Long sums: what is forgiven ends, and ends later where matrix units truncate them. */
static void test_share(void)
{
	static const struct {
		double terms;
		bool truncates;
		double want;
	} cases[] = {
		{ 16, false, 64 }, { 1024, false, 128 }, { 16384, false, 256 }, { 1e9, false, 256 },
		{ 16, true, 64 },  { 1024, true, 128 },  { 16384, true, 512 },  { 1e9, true, 1024 },
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct bound_rules rules = { .sums = 0x1p-24, .terms = cases[i].terms, .truncates = cases[i].truncates };
		struct bound_limits l = bound_limits_of(DTYPE_F16, &rules, 1, false);
		ok(l.share == cases[i].want, "%g terms%s: %g roundoffs", cases[i].terms,
		   cases[i].truncates ? " on matrix units" : "", l.share);
	}
}

/* A small output, whose baseline and moves are zero at first. */
enum { SMALL = 300 };
struct small {
	double truth[SMALL];
	float baseline[SMALL], moved[SMALL], values[SMALL], bounds[SMALL];
	uint8_t causes[SMALL];
};

/* Bounds of the first n elements. */
static struct bound_summary make_small(struct small *x, size_t n, const struct bound_rules *rules)
{
	struct bound_summary s;
	struct bound_output o = { .type = DTYPE_F32,
				  .n = n,
				  .truth_type = DTYPE_F64,
				  .truth = x->truth,
				  .baseline = x->baseline,
				  .moved = x->moved,
				  .amplitude = DELTA };
	bound_make(&o, rules, x->values, x->bounds, x->causes, &s);
	return s;
}

/* Where no element was rounded, all must be met; one rounded element, or numbers of few bits, and nothing is demanded. */
static void test_copies(void)
{
	struct small x = { .truth = { 0 } };
	const struct bound_rules rules = { .sums = 0x1p-24, .terms = 1, .copies = true, .fields = 1 };
	int exact = 0;
	for (int i = 0; i < SMALL; i++)
		x.truth[i] = x.baseline[i] = (float)(2 * draw() - 1);
	make_small(&x, SMALL, &rules);
	for (int i = 0; i < SMALL; i++)
		exact += x.bounds[i] == 0 && x.causes[i] == BOUND_EXACT;
	is_int(exact, SMALL, "copies must be equal");
	x.truth[7] += 0x1p-40;
	make_small(&x, SMALL, &rules);
	ok(x.bounds[8] > 0, "where one element is rounded, none need be equal");
	for (int i = 0; i < SMALL; i++)
		x.truth[i] = x.baseline[i] = (float)(i % 7 - 3);
	make_small(&x, SMALL, &rules);
	ok(x.bounds[8] > 0, "small integers are no copies");
}

/* A baseline whose device flushes what is not normal agrees with its reference block; one that gives zero for more does not. */
static void test_flushed(void)
{
	enum { N = 16 };
	struct small x = { .truth = { 0 } };
	const struct bound_rules rules = { .sums = 0x1p-24, .terms = 1, .fields = 1 };
	for (int i = 0; i < N; i++)
		x.truth[i] = (i + 1) * 6e-40;
	is_int(make_small(&x, N, &rules).gross, 0, "numbers that are flushed to zero are no other reference");
	x.truth[3] = 1e-30;
	is_int(make_small(&x, N, &rules).gross, 1, "a zero for a normal number is one");
	x.truth[3] = x.baseline[3] = 2e38;
	x.moved[3] = 3e38F;
	make_small(&x, N, &rules);
	ok(isinf(x.bounds[3]), "a sensitivity beyond all floats is no bound (%g)", (double)x.bounds[3]);
}

/* Among zeros, iterations that stop at a step of a roundoff are off by its square. */
static void test_stopped(void)
{
	enum { N = 64 };
	struct small x = { .truth = { 0 } };
	struct bound_rules rules = { .sums = 0x1p-24, .terms = 1, .fields = 1 };
	for (int i = N / 2; i < N; i++) {
		x.truth[i] = x.baseline[i] = 6;
		x.moved[i] = 6 * (float)DELTA;
	}
	make_small(&x, N, &rules);
	ok(x.bounds[0] < 1e-20F, "elsewhere a row of zeros is exact (%g)", (double)x.bounds[0]);
	rules.pooled = true;
	make_small(&x, N, &rules);
	ok(x.bounds[0] > 2e-14F && x.bounds[0] < 1e-12F, "on zeros it may be off by the square of a roundoff (%g)",
	   (double)x.bounds[0]);
}

/* Of random numbers only the values count. */
static void test_none(void)
{
	struct small x = { .truth = { 0.1, -3.7 } };
	make_small(&x, 2, &(struct bound_rules){ .sums = 0x1p-24, .terms = 1, .none = true });
	ok(x.values[0] == 0.1F && x.values[1] == -3.7F && x.bounds[0] == 0, "values alone, rounded to the output's type");
}

int main(int argc, char **argv)
{
	(void)argv;
	test_share();
	for (size_t i = 0; i < MEM_COUNT(entries); i++)
		test_entry(&entries[i], argc > 1);
	test_copies();
	test_flushed();
	test_stopped();
	test_none();
	return tap_done();
}
