/* core/judge/samples: which configurations a validation draws. */
#include "core/judge/samples.h"

#include "base/mem.h"
#include "core/context/context.h"
#include "tap.h"

/* With these values of n, these lines behind the arrays, and this line of host code. */
static struct context *fixture(const char *n, const char *front, const char *host)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text = mem_fmt(
		"---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = %s\n  C: out f32[n]\n%s---\n"
		"```hlsl\n[numthreads(BX, 1, 1)] void k(uint3 id : SV_DispatchThreadID) { if (id.x < uint(n)) C[id.x] = 1; }\n"
		"```\n```lua host\n%s\nlaunch(\"k\", cdiv(n, BX), BX, {C, n})\n```\n",
		n, front, host);
	is_int(context_parse("fixture", text, &ctx, &e), 0, "the fixture is a context %s", e.text);
	free(text);
	return ctx;
}

/* A finalist is validated with a few samples, and with the size that it is timed at. */
static void the_timed_size_is_drawn(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = fixture("i for i = 1,40", "tune:\n  BX: {1, 2}\n", "");
	struct facts facts = { .backend = "hlsl", .max_threads = 1024 };
	struct params *tuning = NULL, *timed = NULL;
	unsigned missing = 0, most = 0;
	params_parse(ctx, "BX=2", false, &tuning, &e);
	for (uint64_t seed = 0; seed < 40; seed++) {
		char *size = mem_fmt("n=%d BX=2", (int)(seed * 7 % 40) + 1);
		params_parse(ctx, size, true, &timed, &e);
		const struct params *deep[] = { timed };
		struct validate_request q = { .ctx = ctx,
					      .baseline = ctx,
					      .facts = &facts,
					      .samples = 4,
					      .seed = seed,
					      .only = tuning,
					      .deep = deep,
					      .deep_count = 1 };
		struct samples drawn = { .refused = BUF_INIT };
		bool there = false;
		if (samples_draw(&q, &drawn, &e) < 0)
			printf("# %s\n", e.text);
		for (size_t i = 0; i < drawn.count; i++)
			there |= params_equal(drawn.at[i].finding.params, timed);
		missing += !there;
		most = drawn.count > most ? (unsigned)drawn.count : most;
		samples_fini(&drawn);
		params_free(timed);
		free(size);
	}
	is_int(missing, 0, "the size that is timed is always among the samples");
	ok(most <= 5, "beside as many others as were asked for: %u", most);
	params_free(tuning);
	context_free(ctx);
}

/* What is aimed at is often what host code prunes. */
static void pruned_points_leave_room(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = fixture("{64, 128}", "tune:\n  BX: i for i = 1,64\n  U: i for i = 1,16\ncheck: n = {3, 5, 7}\n",
				      "need(BX * U <= 768)");
	struct facts facts = { .backend = "hlsl", .max_threads = 1024 };
	unsigned fewer = 0, unlike = 0;
	for (uint64_t seed = 0; seed < 20; seed++)
		for (unsigned samples = 2; samples <= 16; samples += 14) {
			struct validate_request q = {
				.ctx = ctx, .baseline = ctx, .facts = &facts, .samples = samples, .seed = seed
			};
			struct samples drawn = { .refused = BUF_INIT };
			if (samples_draw(&q, &drawn, &e) < 0)
				printf("# %s\n", e.text);
			fewer += drawn.count != (samples > 4 ? 16 + 6 : 2 + 3);
			for (size_t i = 0; i < drawn.count; i++)
				for (size_t k = 0; k < i; k++)
					unlike += params_equal(drawn.at[i].finding.params, drawn.at[k].finding.params);
			samples_fini(&drawn);
		}
	is_int(fewer, 0, "every size has its samples, though host code prunes");
	is_int(unlike, 0, "and none comes twice");
	context_free(ctx);
}

/* Slow checks see one configuration of each size: also the one that the code makes an exception of. */
static void slow_checks_see_exceptions(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = fixture("{64, 128}", "tune:\n  BX: i for i = 1,64\ncheck: n = {3}\n", "if BX == 7 then n = n end");
	struct facts facts = { .backend = "hlsl", .max_threads = 1024 };
	unsigned exceptions = 0, firsts = 0, late = 0;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct validate_request q = { .ctx = ctx, .baseline = ctx, .facts = &facts, .samples = 4, .seed = seed };
		struct samples drawn = { .refused = BUF_INIT };
		if (samples_draw(&q, &drawn, &e) < 0)
			printf("# %s\n", e.text);
		for (size_t i = 0; i < drawn.count; i++) {
			const struct param *bx = params_find(drawn.at[i].finding.params, "BX");
			firsts += drawn.at[i].first;
			exceptions += drawn.at[i].first && bx->i == 7;
			late += i && drawn.at[i].first && drawn.at[i].finding.seed == drawn.at[i - 1].finding.seed;
		}
		samples_fini(&drawn);
	}
	is_int(firsts, 20 * 3, "one configuration of each size gets the slow checks");
	is_int(late, 0, "and is the first of its size, so that another one follows if it hangs");
	ok(exceptions > 15, "of every other size it is the one that the code makes an exception of (%u)", exceptions);
	context_free(ctx);
}

int main(void)
{
	slow_checks_see_exceptions();
	pruned_points_leave_room();
	the_timed_size_is_drawn();
	return tap_done();
}
