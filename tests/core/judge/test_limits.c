/* core/judge/limits, and what core/judge/validate makes of it: a verdict names what it does not cover, is made with the baseline's
 * sizes, and is not undone by a configuration that hangs. */
#include "core/judge/limits.h"

#include "core/judge/suite.h"
#include "core/judge/validate.h"
#include "core/record/validation.h"
#include "core/sample.h"

static struct context *scale(const char *front, const char *body)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text =
		mem_fmt("---\nkernel: scale\nbackend: hlsl\ninputs:\n  n: int = {256, 300}\n  A: f32[n] = random\n  B: out f32[n]\n"
			"tune:\n  BX: {32, 64}\n%sflops: n\n---\n```hlsl\ngroupshared float kept[64];\n"
			"[numthreads(BX, 1, 1)]\n"
			"void scale(uint3 id : SV_DispatchThreadID, uint3 t : SV_GroupThreadID) {\n"
			"  if (id.x >= (uint)n) return;\n"
			"  %s\n}\n```\n```lua host\nlaunch(\"scale\", {cdiv(n,BX)}, {BX}, {A, B, n})\n```\n",
			front, body);
	if (context_parse("scale", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}
/* Mesa's llvmpipe leaves loops after 65535 rounds in all, so the rounds are slow. */
#define EIGHT(x) x x x x x x x x
#define ENDLESS "\n#define TURN x = sin(x + A[id.x]);\n#define TURNS " EIGHT("TURN ") "\n#define MANY " EIGHT("TURNS ") "\n" \
	"float x = 0; if (BX == 64 && n == 300) while (A[id.x] < 2.0) { " EIGHT("MANY ") \
	"}\nB[id.x] = 2.0 * A[id.x] + (x > 100 ? x : 0);"
#define RIGHT "B[id.x] = 2.0 * A[id.x];"
#define CHECKED "check: n = {77}\n"

static void gaps(void)
{
	struct limits_gaps g = { .count = 0 };
	limits_gaps_add(&g, "passed with secret values\n" SUITE_GAP
			    "races: no wave operations\nnot needed kept results: there is no scratch\n");
	limits_gaps_add(&g, SUITE_GAP "races: no wave operations\n" SUITE_GAP "on values with spikes: no block\n" SUITE_GAP
				      "with ties: no block");
	limits_gaps_add(&g, "passed with secret values\n");
	limits_gaps_add(&g, NULL);
	char *text = limits_gaps_text(&g, 3, 2);
	is_str(text,
	       "races (no wave operations); on values with spikes in 1 configuration, with ties in 1 configuration (no block)",
	       "rounds that nobody judged are named once for each reason");
	free(text);
	limits_gaps_fini(&g);
	limits_gaps_add(&g, SUITE_GAP "with ties: Y1: 9 of 16 have no bound\n" SUITE_GAP "with ties: Y2: 9 of 16 have no bound");
	limits_gaps_add(&g, SUITE_GAP "with ties: Y1: 1000 of 1234 have no bound\n" SUITE_GAP "on zeros: Y1: 8 of 9 have no bound");
	text = limits_gaps_text(&g, 3, 1);
	is_str(text,
	       "with ties in 2 configurations, on zeros (Y1: 9 of 16 have no bound); with ties (Y2: 9 of 16 have no bound)",
	       "reasons that differ in numbers alone are told once, but those of other outputs are not");
	free(text);
	limits_gaps_fini(&g);
	/* Three sizes: one is too large to be looked at, one takes the second branch, none takes the others. */
	limits_gaps_add(&g, SUITE_GAP SUITE_BRANCHES ": `a > 1` in line 3 was never true\n" SUITE_GAP SUITE_BRANCHES
						     ": `a > 2` in line 4 was never true\n" SUITE_GAP SUITE_BRANCHES
						     ": `a > 3` in line 5 was never true\n" SUITE_LOOKED "\n");
	limits_gaps_add(&g, SUITE_GAP SUITE_BRANCHES ": `a > 1` in line 3 was never true\n" SUITE_GAP SUITE_BRANCHES
						     ": `a > 3` in line 5 was never true\n" SUITE_LOOKED "\n");
	limits_gaps_add(&g, "passed with secret values\n");
	text = limits_gaps_text(&g, 3, 3);
	is_str(text, "branches (`a > 1` in line 3 was never true, `a > 3` in line 5 was never true)",
	       "a branch that another size took is no gap, but what one size was not looked at for is one");
	free(text);
	limits_gaps_fini(&g);
	text = limits_gaps_text(&g, 3, 1);
	ok(text == NULL, "no gap, no text");
	free(text);
}

static void declared(void)
{
	struct context *baseline = scale(CHECKED "precision: strict\n", RIGHT),
		       *same = scale(CHECKED "precision: strict\n", RIGHT " ;");
	struct context *parent = scale(CHECKED "requires:\n  - n % 4 == 0\n", RIGHT);
	struct context *other = scale("requires:\n  - n % 4 == 0\n  - n <= 300\nprecision: tensor:f16/f32\n", RIGHT);
	char *text = limits_declared(baseline, baseline, same);
	ok(text == NULL, "the same contract has no limits");
	free(text);
	text = limits_declared(baseline, parent, other);
	has_str(text, "requires: n % 4 == 0;", "a requirement that the parent had is named");
	has_str(text, "requires: n <= 300 (new in this step)", "a requirement of this step is called new");
	has_str(text, "check: differs from the baseline's, whose sizes were judged", "a check size that was dropped is named");
	has_str(text, "precision: differs from the baseline's, which decided what is right", "another precision is named");
	free(text);
	struct context *timed = scale(CHECKED "precision: strict\n", RIGHT " if (clock64() & 4096) B[0] = 0;"),
		       *placed = scale(CHECKED "precision: strict\n", RIGHT " asm(\"mov.u32 %0, %smid;\");"),
		       *told = scale(CHECKED "precision: strict\n", RIGHT " // against the clock");
	text = limits_declared(baseline, baseline, timed);
	has_str(text, "the code reads clock64", "a clock that is read is named");
	free(text);
	text = limits_declared(baseline, baseline, placed);
	has_str(text, "the code reads %smid", "and so is a place");
	free(text);
	ok((text = limits_declared(timed, timed, timed)) == NULL, "unless the baseline reads it, too");
	free(text);
	ok((text = limits_declared(baseline, baseline, told)) == NULL, "a word in a comment reads nothing");
	free(text);
	context_free(timed);
	context_free(placed);
	context_free(told);
	context_free(baseline);
	context_free(same);
	context_free(parent);
	context_free(other);
}

/* Of an output of one row only the first row of the map means anything. */
static void map_of_one_row(void)
{
	struct check c = { .output = mem_str("B"), .rank = 1, .dims = { 300 } };
	c.figures.mismatched = 3;
	c.figures.map[0][2] = 0.5f;
	char *text = check_details(&c);
	has_str(text, "\n  0%   0%  50%   0%   0%   0%   0%   0%\n", "the map of one row has one row");
	size_t lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	is_int(lines, 2, "and no more");
	ok(check_has_tile(&c, 0, 7) && !check_has_tile(&c, 1, 0), "tiles without elements are told");
	free(text);
	check_fini(&c);
}

/* --- verdicts --------------------------------------------------------------------------------------------------------------- */

static struct validate_result judge(struct sample *s, const struct context *baseline, const struct context *ctx,
				    struct params *again, int64_t *ret_id)
{
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct validate_request q = { .ctx = ctx, .baseline = baseline, .parent = baseline, .facts = &s->facts, .samples = 4,
				      .seed = 3, .again = &again, .again_count = again != NULL };
	struct validate_result r = { 0 };
	struct err e = ERR_INIT;
	*ret_id = sample_checkpoint(s, ctx);
	if (validate_run(&ev, &q, s->db, *ret_id, NULL, &r, &e) < 0) {
		printf("# %s\n", e.text);
		r.summary = mem_str(e.text);
	}
	printf("# %s\n", r.summary);
	return r;
}

static size_t count_at(const struct validate_result *r, const char *text, const char *line)
{
	size_t n = 0;
	for (size_t i = 0; i < r->finding_count; i++) {
		char *params = params_text(r->findings[i].params);
		const char *log = r->findings[i].check.log ? r->findings[i].check.log : "";
		n += strstr(params, text) && strstr(log, line);
		free(params);
	}
	return n;
}

static void all_values(struct sample *s, const struct context *baseline)
{
	int64_t id;
	struct validate_result r = judge(s, baseline, baseline, NULL, &id);
	ok(r.passed, "the baseline is accepted");
	is_int(count_at(&r, "", "passed with another poison"), r.finding_count, "every sampled configuration gets all values");
	is_int(count_at(&r, "", "passed at other addresses"), 3, "one configuration of each size gets the costly rounds");
	has_str(r.summary, "were checked for 3 of them, one of each size", "and the summary says so");
	validate_result_fini(&r);
}

static void narrowed(struct sample *s, const struct context *baseline)
{
	struct context *ctx = scale("requires:\n  - n % 4 == 0\n  - n <= 256\n", RIGHT),
		       *wrong = scale("", "B[id.x] = (n == 77 ? 3.0 : 2.0) * A[id.x];");
	int64_t id;
	struct validate_result r = judge(s, baseline, ctx, NULL, &id);
	has_str(r.summary, "requires: n <= 256 (new in this step)", "the summary names a requirement that was added");
	has_str(r.limits, "not accepted: n=300 (requires: n <= 256)", "and the sizes that it excludes");
	has_str(r.limits, "check: differs from the baseline's", "and a dropped check size");
	validate_result_fini(&r);
	r = judge(s, baseline, wrong, NULL, &id);
	ok(!r.passed && strstr(r.summary, "n=77"), "a check size of the baseline is judged although the candidate dropped it");
	validate_result_fini(&r);
	context_free(wrong);
	context_free(ctx);
}

static void not_judged(struct sample *s, const struct context *baseline)
{
	struct context *ctx =
		scale(CHECKED, "float x = A[id.x]; kept[t.x] = x; B[id.x] = kept[t.x] + WaveReadLaneAt(x, WaveGetLaneIndex());");
	int64_t id;
	struct validate_result r = judge(s, baseline, ctx, NULL, &id);
	if (r.passed && r.not_judged && strstr(r.not_judged, "races")) {
		has_str(r.summary, "not judged: ", "a verdict names the rounds that nobody judged");
		has_str(r.summary, "races (", "races, where the kernel uses wave operations, with the reason");
	} else {
		SKIP(2, "the interpreter judges wave operations here, or the compiler has none");
	}
	validate_result_fini(&r);
	context_free(ctx);
}

static void hangs(struct sample *s, const struct context *baseline)
{
	struct context *some = scale("", ENDLESS);
	struct validation_list failed = { 0 };
	struct checkpoint c;
	struct err e = ERR_INIT;
	int64_t id;
	struct validate_result r = judge(s, baseline, some, NULL, &id);
	ok(r.passed && r.left_out_count > 0, "a configuration that hangs is left out while others of its size pass");
	has_str(r.summary, "n=300 BX=64: it did not answer within", "and is named with the limit that it met");
	is_int(validation_failed(s->db, id, s->facts.uuid, 0, &failed, &e), 0, "its failure is recorded");
	is_int(failed.count, r.left_out_count, "for each that hung");
	is_int(checkpoint_get(s->db, id, &c, &e), 0, "the checkpoint is there");
	ok(c.status != CHECKPOINT_FAILED, "and is not refuted by it");
	checkpoint_fini(&c);
	validation_list_fini(&failed);
	validate_result_fini(&r);
	context_free(some);
}

/* A failure of any configuration, found by anybody, takes the status away; a later validation looks there again. */
static void refuted(struct sample *s, const struct context *baseline)
{
	struct context *ctx = scale(CHECKED, "B[id.x] = (BX == 64 && n == 300 ? 2.5 : 2.0) * A[id.x];");
	struct evidence to = { .db = s->db, .facts = &s->facts, .checkpoint = sample_checkpoint(s, ctx) };
	struct params *params = NULL;
	struct check c;
	struct checkpoint now;
	struct err e = ERR_INIT, why = ERR_INIT;
	int64_t id = 0;
	checkpoint_set_status(s->db, to.checkpoint, CHECKPOINT_ACCEPTED, "", &e);
	params_parse(ctx, "n=300 BX=64", true, &params, &e);
	err_set(&why, ERR_TIMEOUT, "it hung");
	check_failed(&c, &why);
	check_record(&to, params, "input", 1, &c, NULL, &e);
	check_fini(&c);
	is_int(checkpoint_get(s->db, to.checkpoint, &now, &e), 0, "the checkpoint is there");
	is_int(now.status, CHECKPOINT_ACCEPTED, "a configuration that hangs in a tune leaves the status");
	checkpoint_fini(&now);
	err_set(&why, ERR_WRONG, "B is wrong");
	check_failed(&c, &why);
	check_record(&to, params, "input", 1, &c, NULL, &e);
	check_fini(&c);
	checkpoint_get(s->db, to.checkpoint, &now, &e);
	is_int(now.status, CHECKPOINT_FAILED, "a wrong configuration takes it away");
	is_str(now.note, "n=300 BX=64: B is wrong", "the reason names the configuration");
	checkpoint_fini(&now);
	struct validate_result r = judge(s, baseline, ctx, params, &id);
	ok(!r.passed && strstr(r.summary, "n=300 BX=64"), "what failed before is judged again");
	validate_result_fini(&r);
	params_free(params);
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	gaps();
	declared();
	map_of_one_row();
	sample_init(&s);
	if (!s.ready) {
		SKIP(20, "no HLSL device");
		sample_fini(&s);
		return tap_done();
	}
	struct context *baseline = scale(CHECKED, RIGHT), *unchecked = scale("", RIGHT);
	all_values(&s, baseline);
	narrowed(&s, baseline);
	not_judged(&s, baseline);
	refuted(&s, baseline);
	hangs(&s, unchecked);
	context_free(unchecked);
	context_free(baseline);
	sample_fini(&s);
	return tap_done();
}
