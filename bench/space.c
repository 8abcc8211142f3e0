/* space: measures how long it takes to find the valid configurations of large products, and to query them: `build/bench/space`.
 *
 * One line of JSON per case on stdout:
 *	product      5.04 million combinations, six constraints, 2 % valid: the context's `where:`, the same loops in plain C
 *	             (written by hand in the best order), and what a tune adds before its first proposal
 *	tight        a product of 10^9 whose constraints leave few configurations: the partial assignments visited
 *	refused      products that are too large in either way: the time until the refusal, and its message
 *	questions    on the first product: random points, samples, neighbours, look-ups, the nearest to another context's winner
 *	uniform      on the first product: chi square of small samples over all valid points
 * Times are the fastest of five. Needs no device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/space.h"
#include "core/search/search.h"
#include "core/search/tunespace.h"

enum { ROUNDS = 5 };

static const char product_fields[] =
	"tune:\n  BX: 8*i for i = 1,42\n  BY: 1<<i for i = 0,5\n  TX: i for i = 1,10\n  TY: i for i = 1,10\n  STEPS: i for i = "
	"1,10\n"
	"  UNROLL: i for i = 1,10\n  HELD: {0, 1}\nwhere:\n  - BX*BY >= 32\n  - BX*BY <= 1024\n  - STEPS % UNROLL == 0\n"
	"  - BX*TX % 32 == 0\n  - (BX*TX + 2*STEPS) * (BY*TY + 2*STEPS) * (2 + HELD) * 4 <= 232448\n  - BX*TX > 2*STEPS and BY*TY "
	"> 2*STEPS\n";

/* The same as product_fields: a loop per parameter, and each constraint tested as early as possible. */
static size_t plain_c(void)
{
	size_t found = 0;
	for (int by = 1; by <= 32; by *= 2)
		for (int bx = 8; bx <= 336; bx += 8) {
			if (bx * by < 32 || bx * by > 1024)
				continue;
			for (int tx = 1; tx <= 10; tx++) {
				if (bx * tx % 32 != 0)
					continue;
				for (int ty = 1; ty <= 10; ty++)
					for (int steps = 1; steps <= 10; steps++) {
						if (bx * tx <= 2 * steps || by * ty <= 2 * steps)
							continue;
						for (int held = 0; held < 2; held++) {
							if ((bx * tx + 2 * steps) * (by * ty + 2 * steps) * (2 + held) * 4 > 232448)
								continue;
							for (int unroll = 1; unroll <= 10; unroll++)
								found += steps % unroll == 0;
						}
					}
			}
		}
	return found;
}

static struct context *context_of(const char *fields)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	char *text =
		mem_fmt("---\nkernel: k\nbackend: cuda\ninputs:\n  n: int = {4096}\n  A: f32[n] = random\n  C: out f32[n]\n%s---\n"
			"```cuda\nvoid k() {}\n```\n```lua host\nlaunch(\"k\", {1}, {1}, {A, C, n})\n```\n",
			fields);
	if (context_parse("bench.peak.md", text, &ctx, &e) < 0) {
		fprintf(stderr, "space: %s\n", e.text);
		exit(1);
	}
	free(text);
	return ctx;
}

static double seconds_since(int64_t began)
{
	return (double)(clock_now() - began) / 1e9;
}

static struct space *enumerate(const struct context *ctx, double *ret_s)
{
	struct space *s = NULL;
	struct err e = ERR_INIT;
	*ret_s = INFINITY;
	for (int i = 0; i < ROUNDS; i++) {
		space_free(s);
		int64_t began = clock_now();
		if (space_new(ctx, NULL, NULL, &s, &e) < 0) {
			fprintf(stderr, "space: %s\n", e.text);
			exit(1);
		}
		*ret_s = fmin(*ret_s, seconds_since(began));
	}
	return s;
}

/* What a tune does before its first proposal. The caller owns the last repetition's tunespace. */
static struct tunespace *prepare_tune(const struct context *ctx, const struct params *size, double *ret_space_s,
				      double *ret_search_s)
{
	struct tunespace *t = NULL;
	struct search *search;
	struct err e = ERR_INIT;
	*ret_space_s = *ret_search_s = INFINITY;
	for (int i = 0; i < ROUNDS; i++) {
		tunespace_free(t);
		int64_t began = clock_now();
		if (tunespace_new(ctx, NULL, size, &t, &e) < 0)
			exit(1);
		*ret_space_s = fmin(*ret_space_s, seconds_since(began));
		began = clock_now();
		if (search_new("auto", tunespace_search(t), 200, 1, &search, &e) < 0)
			exit(1);
		*ret_search_s = fmin(*ret_search_s, seconds_since(began));
		search_free(search);
	}
	return t;
}

static void run_product(const struct space *s, double enumerate_s, double tune_s, double search_s)
{
	double plain_s = INFINITY;
	size_t found = 0;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t began = clock_now();
		found = plain_c();
		plain_s = fmin(plain_s, seconds_since(began));
	}
	printf("{\"case\": \"product\", \"combinations\": %.0f, \"valid\": %zu, \"valid_of_plain_c\": %zu, \"visited\": %llu, "
	       "\"plain_c_s\": %.4f, "
	       "\"enumerate_s\": %.4f, \"space_of_a_tune_s\": %.4f, \"search_of_a_tune_s\": %.4f}\n",
	       space_raw(s), space_count(s), found, (unsigned long long)space_visited(s), plain_s, enumerate_s, tune_s, search_s);
}

static void run_tight(void)
{
	double took;
	struct context *ctx =
		context_of("tune:\n  A1: i for i = 1,32\n  A2: i for i = 1,32\n  A3: i for i = 1,32\n  A4: i for i = 1,32\n"
			   "  A5: i for i = 1,32\n  A6: i for i = 1,32\nwhere:\n  - A1 == A2\n  - A2 == A3\n  - A3 + A4 == 33\n"
			   "  - A5 == A6\n  - A4*A5 == 32\n");
	struct space *s = enumerate(ctx, &took);
	printf("{\"case\": \"tight\", \"combinations\": %.0f, \"valid\": %zu, \"visited\": %llu, \"enumerate_s\": %.6f}\n",
	       space_raw(s), space_count(s), (unsigned long long)space_visited(s), took);
	space_free(s);
	context_free(ctx);
}

static void run_refused(const char *what, const char *fields)
{
	struct context *ctx = context_of(fields);
	struct space *s = NULL;
	struct err e = ERR_INIT;
	int64_t began = clock_now();
	int rc = space_new(ctx, NULL, NULL, &s, &e);
	printf("{\"case\": \"refused\", \"why\": \"%s\", \"after_s\": %.3f, \"says\": \"%s\"}\n", what, seconds_since(began),
	       rc < 0 ? e.text : "nothing: it was taken");
	space_free(s);
	context_free(ctx);
}

/* --- questions -------------------------------------------------------------------------------------------------------------- */

struct near {
	const struct space *space;
	const struct tunespace *tune;
	uint64_t state;
	size_t sum;
};

static void ask_sample(struct near *n)
{
	size_t points[128];
	n->sum += space_sample(n->space, n->state++, 128, points);
}

static void ask_find(struct near *n)
{
	struct params *p = space_at(n->space, n->state++ * 7919 % space_count(n->space));
	n->sum += space_find(n->space, p);
	params_free(p);
}

/* A winner of another context: one parameter is gone, one is new. */
static void ask_nearest(struct near *n)
{
	struct params *p = params_new();
	params_set_int(p, "BX", true, 32);
	params_set_int(p, "BY", true, 8);
	params_set_int(p, "OTHER", true, 3);
	n->sum += tunespace_nearest(n->tune, p, n->state++);
	params_free(p);
}

static double each_us(struct near *n, void (*ask)(struct near *n), int times)
{
	double best = INFINITY;
	for (int k = 0; k < ROUNDS; k++) {
		int64_t began = clock_now();
		for (int i = 0; i < times; i++)
			ask(n);
		best = fmin(best, seconds_since(began) / times);
	}
	return best * 1e6;
}

static void run_questions(const struct space *s, const struct tunespace *t)
{
	struct near n = { .space = s, .tune = t, .state = 1 };
	printf("{\"case\": \"questions\", \"valid\": %zu, \"sample_128_us\": %.2f, "
	       "\"find_us\": %.2f, \"nearest_us\": %.1f}\n",
	       space_count(s), each_us(&n, ask_sample, 1000), each_us(&n, ask_find, 10000), each_us(&n, ask_nearest, 10));
}

/* --- uniform ---------------------------------------------------------------------------------------------------------------- */

/* Pearson's chi square over all points, in standard deviations from its mean. Beyond ±5 something is wrong. */
static double deviations(const unsigned *hits, size_t points, size_t draws)
{
	double expected = (double)draws / (double)points, sum = 0, df = (double)points - 1;
	for (size_t i = 0; i < points; i++)
		sum += (hits[i] - expected) * (hits[i] - expected) / expected;
	return (sum - df) / sqrt(2 * df);
}

static void run_uniform(const struct space *s)
{
	size_t n = space_count(s), draws = 20 * n, points[128];
	unsigned *hits = MEM_NEW_N(unsigned, n);
	size_t samples = draws / MEM_COUNT(points);
	for (size_t i = 0; i < samples; i++) {
		space_sample(s, i, MEM_COUNT(points), points);
		for (size_t k = 0; k < MEM_COUNT(points); k++)
			hits[points[k]]++;
	}
	printf("{\"case\": \"uniform\", \"valid\": %zu, \"draws\": %zu, \"sample_deviations\": %.2f}\n", n, draws,
	       deviations(hits, n, samples * MEM_COUNT(points)));
	free(hits);
}

int main(void)
{
	double enumerate_s, tune_s, search_s;
	struct context *ctx = context_of(product_fields);
	struct space *s = enumerate(ctx, &enumerate_s);
	struct params *size = space_size_at(s, 0);
	struct tunespace *t = prepare_tune(ctx, size, &tune_s, &search_s);
	run_product(s, enumerate_s, tune_s, search_s);
	run_tight();
	run_refused("valid points", "tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\nwhere: X + Y > 2\n");
	run_refused("out of reach: product",
		    "tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\nwhere: X*Y*Z > 4096^4\n");
	run_refused("out of reach: tiles",
		    "tune:\n  TM: 32*i for i = 1,32\n  TN: 32*i for i = 1,32\n  TK: 8*i for i = 1,32\n  ST: i for i = 2,8\n  WM: i "
		    "for i = 1,16\n  WN: i for i = 1,16\n  U: i for i = 1,16\nwhere:\n  - (TM + TN)*TK*ST*4 * (WM*WN) <= 2048\n  - "
		    "TM % WM == 0\n  - TN % WN == 0\n  - TK % U == 0\n");
	run_refused("out of reach: prime",
		    "tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\nwhere: X*Y*Z == 7919*7919\n");
	run_refused("partial assignments",
		    "tune:\n  X: i for i = 1,4096\n  Y: i for i = 1,4096\n  Z: i for i = 1,4096\nwhere: X*X + Y*Y == Z*Z\n");
	run_questions(s, t);
	run_uniform(s);
	tunespace_free(t);
	params_free(size);
	space_free(s);
	context_free(ctx);
	return 0;
}
