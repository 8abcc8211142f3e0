/* backends/values/compare_related, compare_streams: dependence among random numbers is found, and honest generators pass. */
#include <stdlib.h>
#include <string.h>

#include "backends/values/compare.h"
#include "backends/values/fill.h"
#include "base/mem.h"
#include "tests/tap.h"

enum { N = 1 << 14, GENERATORS = 4 };

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352dU;
	x = (x ^ x >> 15) * 0x846ca68bU;
	return x ^ x >> 16;
}

static uint32_t pcg(uint32_t x)
{
	x = x * 747796405U + 2891336453U;
	x = (x >> ((x >> 28) + 4) ^ x) * 277803737U;
	return x >> 22 ^ x;
}

/* Word i of a stream. */
static uint32_t word(int generator, uint32_t seed, uint32_t i)
{
	switch (generator) {
	case 0: return mix(mix(i) ^ mix(seed));
	case 1: return pcg(i + pcg(seed));
	case 2: return mix(mix(i ^ mix(seed)));
	}
	return mix(mix(seed * N + i));
}

static double unit(uint32_t x)
{
	return ((x >> 8) + 0.5) * 0x1p-24;
}

static double normal(uint32_t radius, uint32_t direction, bool sine)
{
	double turn = 6.283185307179586 * unit(direction), r = sqrt(-2 * log(unit(radius)));
	return r * (sine ? sin(turn) : cos(turn));
}

static struct plan_buffer buffer(enum dtype t, int64_t n)
{
	return (struct plan_buffer){ .name = (char *)"y",
				     .type = t,
				     .role = PLAN_OUT,
				     .rank = 1,
				     .dims = { n },
				     .ld = n,
				     .bytes = (uint64_t)n * dtype_size(t) };
}

static const char *finding(enum dtype t, const void *got, const void *want, int64_t n)
{
	static struct wire_compared c;
	struct plan_buffer b = buffer(t, n);
	compare_random(&b, got, &(struct compare_wanted){ .type = t, .values = want, .poison = 0xFF }, &c);
	return c.finding;
}

/* Distribution 0 … 4. */
static void draw(int generator, int distribution, uint32_t seed, enum dtype t, void *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = word(generator, seed, i);
		double v = distribution == 0   ? unit(x)
			   : distribution == 1 ? normal(word(generator, seed, i & ~1U), word(generator, seed, i | 1), i & 1)
			   : distribution == 2 ? x >> 24
			   : distribution == 3 ? (unit(x) < 0.1 ? 0 : 1 / 0.9)
					       : x % 1000;
		dtype_store(t, (uint8_t *)to + i * dtype_size(t), v);
	}
}

static void test_honest(void)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_U8, DTYPE_F32, DTYPE_I32 };
	static const uint32_t sizes[] = { 256, 1000, N };
	uint8_t *got = mem_new(N, 4), *want = mem_new(N, 4), *next = mem_new(N, 4), *want_next = mem_new(N, 4);
	int tried = 0, refused = 0, overlaps = 0;
	char text[WIRE_FINDING];
	for (uint32_t k = 0; k < 5 * GENERATORS * 12; k++) {
		int generator = (int)(k % GENERATORS), other = (int)((k + 1 + k / 4 % 3) % GENERATORS);
		int distribution = (int)(k / GENERATORS % 5);
		enum dtype t = types[distribution];
		uint32_t n = sizes[k / GENERATORS / 5 % 3], seed = mix(k);
		draw(generator, distribution, seed, t, got, n);
		draw(other, distribution, seed, t, want, n);
		draw(generator, distribution, seed + 1, t, next, n);
		draw(other, distribution, seed + 1, t, want_next, n);
		const char *why = finding(t, got, want, n);
		struct compare_streams two = { t, t, { got, next }, { want, want_next }, n, false };
		overlaps += compare_streams(&two, text);
		tried++;
		refused += *why || *text;
		if (*why || *text)
			printf("# %u numbers of generator %d, distribution %d: %s%s\n", n, generator, distribution, why, text);
	}
	ok(refused == 0 && overlaps == 0, "honest generators pass (%d tried)", tried);
	free(got);
	free(want);
	free(next);
	free(want_next);
}

static void test_dependence(void)
{
	float *want = MEM_NEW_N(float, N), *got = MEM_NEW_N(float, N);
	draw(0, 1, 5, DTYPE_F32, want, N);
	for (uint32_t i = 0; i < N; i++)
		got[i] = (float)normal(word(0, 1, i & ~3U), word(0, 2, i), false);
	has_str(finding(DTYPE_F32, got, want, N), "distances from the median, of elements 1 apart", "a shared radius");
	for (uint32_t i = 0; i < N; i++)
		got[i] = (float)normal(word(0, 1, i % (N / 2)), word(0, 2, i), false);
	has_str(finding(DTYPE_F32, got, want, N), "elements 8192 apart have distances from the median", "half of the array apart");
	for (uint32_t i = 0; i < N; i++)
		got[i] = (float)normal(word(0, 1, i & ~1U), word(0, 1, i & ~1U) * 256, i & 1);
	has_str(finding(DTYPE_F32, got, want, N), "pairs of neighbours, as coordinates", "a spiral");
	draw(0, 0, 5, DTYPE_F32, want, N);
	for (uint32_t i = 0, x = 12345; i < N; i++) {
		x *= 65539;
		got[i] = (float)unit(x << 1);
	}
	has_str(finding(DTYPE_F32, got, want, N), "lie on planes of equal 9·u-6·v+1·w", "RANDU");
	for (uint32_t i = 0, x = 12345; i < N; i++) {
		x = x * 1025 + 12345;
		got[i] = (float)unit(x);
	}
	has_str(finding(DTYPE_F32, got, want, N), "follows from the one before it", "a small factor");
	draw(0, 3, 5, DTYPE_F32, want, N);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t x = word(0, 9, i / 6 * 3 + i % 3);
		got[i] = unit(i / 3 % 2 ? ~x : x) < 0.5 ? 0 : 1;
		want[i] = unit(word(1, 4, i)) < 0.5 ? 0 : 1;
	}
	has_str(finding(DTYPE_F32, got, want, N), "elements 3 apart have correlation -0.4",
		"a mask whose elements exclude each other");
	free(want);
	free(got);
}

static bool streams(const float *a, const float *b, const float *want, bool equal, char *finding)
{
	struct compare_streams two = { DTYPE_F32, DTYPE_F32, { a, b }, { want, want + N }, N, equal };
	return compare_streams(&two, finding);
}

static void test_streams(void)
{
	float *want = MEM_NEW_N(float, 2 * N), *got = MEM_NEW_N(float, 2 * N), *other = MEM_NEW_N(float, N);
	char text[WIRE_FINDING];
	draw(0, 0, 5, DTYPE_F32, want, N);
	draw(0, 0, 6, DTYPE_F32, want + N, N);
	draw(1, 0, 7, DTYPE_F32, got, 2 * N);
	ok(!streams(got, got + N, want, false, text) && *text == '\0', "two stretches of one stream are unrelated");
	ok(streams(got, got, want, true, text) && strcmp(text, "are the same") == 0, "the same numbers");
	ok(streams(got, got + 64, want, false, text) && *text == '\0', "moved numbers overlap");
	for (uint32_t i = 0; i < N; i++)
		other[i] = got[i ^ 1];
	ok(streams(got, other, want, false, text), "numbers in another order overlap");
	for (uint32_t i = 0; i < N; i++)
		other[i] = 1 - got[i] * 0.999f;
	streams(got, other, want, false, text);
	has_str(text, "have ranks of correlation -1", "opposite numbers");
	for (uint32_t i = 0; i < N; i++)
		other[i] = fmodf(10 * got[i], 1);
	streams(got, other, want, false, text);
	has_str(text, "of their ranks u and v", "multiples");
	draw(0, 0, 5, DTYPE_F32, want + N, N);
	ok(!streams(got, got + 64, want, false, text) && *text == '\0', "where the reference's repeat, nothing is asked");
	free(want);
	free(got);
	free(other);
}

/* The integers of one group differ in one place. */
static void test_neighbours(void)
{
	struct plan_buffer b = buffer(DTYPE_U32, 3);
	uint32_t base[3], v[3];
	int changed = 0, wrong = 0;
	b.role = PLAN_IN;
	b.fill = PLAN_RANDOM;
	b.hi = 16;
	fill_chosen(&b, &(struct fill_choice){ .seed = plan_neighbour(7, 0, 0, PLAN_NEIGHBOUR_NONE), .values = PLAN_NEIGHBOURS },
		    base);
	for (uint64_t draw = 0; draw < 64; draw++) {
		uint64_t element = draw % 3, bit = draw % 32, differs = draw % 2 ? bit + 1 : PLAN_NEIGHBOUR_NEXT;
		uint64_t seed = plan_neighbour(7, draw, element, differs);
		bool taken = fill_chooses(&b, seed);
		fill_chosen(&b, &(struct fill_choice){ .seed = seed, .values = PLAN_NEIGHBOURS }, v);
		for (uint64_t i = 0; i < 3; i++) {
			bool here = taken && i == element;
			wrong += v[i] != (!here ? base[i] : draw % 2 ? base[i] ^ UINT32_C(1) << bit : base[i] + 1);
		}
		changed += taken;
	}
	ok(wrong == 0 && changed > 4 && changed < 40, "one integer differs in one bit or by one (%d of 64)", changed);
	fill_chosen(&b, &(struct fill_choice){ .seed = plan_neighbour(8, 0, 0, PLAN_NEIGHBOUR_NONE), .values = PLAN_NEIGHBOURS },
		    v);
	ok(memcmp(v, base, sizeof v) != 0 && base[0] != base[1], "another group has other integers");
}

int main(void)
{
	test_honest();
	test_dependence();
	test_streams();
	test_neighbours();
	return tap_done();
}
