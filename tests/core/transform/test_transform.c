/* The engine with a fake judge and scripted answers: passes, repairs, fresh samples, giving up, hand-over, saving. */
#include "core/transform/saved.h"
#include "sample.h"

#include "base/mem.h"

/* --- a judge and a model that follow a script
 * ------------------------------------------------------------------------- */

struct script {
	const char *verdicts; /* a letter each: pass, compile error, macro error, wrong, x cannot judge; the last repeats */
	size_t judged, compiled, validated;
	const char **answers; /* NULL-terminated; the last one repeats */
	size_t answered;
	struct model_key keys[32];
};

static int judge_next(struct script *s, struct judge_verdict *ret_verdict, struct err *e)
{
	char c = s->verdicts[s->judged];
	s->judged += s->verdicts[s->judged + 1] != '\0';
	*ret_verdict = (struct judge_verdict)JUDGE_VERDICT_INIT;
	if (c == 'x')
		return err_set(e, ERR_UNSUPPORTED, "no device");
	if (c == 'c') {
		ret_verdict->result = JUDGE_COMPILE;
		judge_verdict_error(ret_verdict, REGION_DEVICE, 1, "syntax error");
	} else if (c == 'm') {
		ret_verdict->result = JUDGE_COMPILE;
		judge_verdict_error(ret_verdict, REGION_MACROS, 1, "bad macro");
	} else if (c == 'w') {
		ret_verdict->result = JUDGE_WRONG;
	}
	return 0;
}

static int fake_compile(void *arg, const struct context *ctx, struct judge_verdict *ret_verdict, struct err *e)
{
	(void)ctx;
	((struct script *)arg)->compiled++;
	return judge_next(arg, ret_verdict, e);
}

static int fake_validate(void *arg, const struct context *parent, const struct context *ctx, struct judge_verdict *ret_verdict,
			 struct err *e)
{
	(void)ctx, (void)parent;
	((struct script *)arg)->validated++;
	return judge_next(arg, ret_verdict, e);
}

static int fake_ask(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	struct script *s = arg;
	(void)e;
	if (s->answered < MEM_COUNT(s->keys))
		s->keys[s->answered] = request->key;
	size_t i = 0;
	while (i < s->answered && s->answers[i + 1])
		i++;
	s->answered++;
	*ret_answer = (struct model_answer){ .text = mem_str(s->answers[i]), .finish = REPLY_FINISH_STOP };
	return 0;
}

#define DEVICE(x) "```hlsl\n[numthreads(BX, BY, 1)]\nvoid matmul(uint3 id : SV_DispatchThreadID)\n{\n\t" x "\n}\n```\n"
#define MACROS(x) "```macros\n#define " x "\n```\n"

static const char two_passes[] = "---\nname: two\nsummary: two passes\nadds:\n  T: {1, 2}\nwhere:\n  - T <= BX\n---\n"
				 "## Pass 1: a\nexpect: compiles\n### macros\nmacros, please\n### device\ndevice, please\n"
				 "## Pass 2: b\nexpect: valid\n### device\nmore\n";

static int begin_with(const struct transformation *t, const struct context *ctx, struct transform **ret_x, struct err *e)
{
	const struct transform_start start = { .t = t, .parent = ctx };
	return transform_new(&start, ret_x, e);
}

static struct transform *begin(const char *text)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	struct transform *x = NULL;
	struct context *ctx = sample_context();
	if (transformation_parse(text, "t.md", &t, &e) < 0 || begin_with(t, ctx, &x, &e) < 0)
		printf("# %s\n", e.text);
	transformation_free(t);
	context_free(ctx);
	ok(x != NULL, "a transformation begins");
	if (!x)
		exit(1);
	return x;
}

static int run(struct transform *x, struct script *s, struct err *e)
{
	const struct judge judge = { s, fake_compile, fake_validate };
	const struct model model = { s, "fake", fake_ask };
	return transform_run(x, &model, &judge, NULL, NULL, e);
}

/* --- tests
 * ------------------------------------------------------------------------------------------------------------ */

static void test_straight(void)
{
	const char *answers[] = { MACROS("M 1"), DEVICE("C[0] = 1;"), DEVICE("C[0] = 2;"), NULL };
	struct script s = { .verdicts = "p", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin(two_passes);
	has_str(context_render(x->ctx), "T: {1, 2}", "the parameter is in the context before the first step");
	has_str(transform_prompt(x)->turns[1].text, "T: {1, 2}", "and in what the model sees");
	is_int(run(x, &s, &e), 0, "two passes run: %s", e.text);
	is_int(x->state, TRANSFORM_DONE, "to the end");
	is_int(s.answered, 3, "three calls");
	is_int(s.compiled, 1, "the first pass is compiled");
	is_int(s.validated, 1, "the second is validated");
	is_str(context_region(x->ctx, REGION_MACROS), "#define M 1\n", "new macros");
	has_str(context_region(x->ctx, REGION_DEVICE), "C[0] = 2;", "new device code");
	has_str(context_render(x->ctx), "T <= BX", "the constraint came with the parameter");
	is_int(s.keys[1].step, 2, "the key of the second call names its step");
	is_int(s.keys[2].pass, 2, "the key of the third its pass");
	ok(strcmp(s.keys[0].context.hex, s.keys[1].context.hex) != 0, "each key names the context that its step starts from");
	transform_free(x);
}

static void test_repairs(void)
{
	const char *answers[] = {
		MACROS("M 1"), DEVICE("C[0] = 1;"), DEVICE("C[0] = 2;"),
		MACROS("M 2"), DEVICE("C[0] = 3;"), "<<<<<<< SEARCH\n\tC[0] = 3;\n=======\n\tC[0] = 4;\n>>>>>>> REPLACE\n",
		NULL
	};
	struct script s = { .verdicts = "cmpwp", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin(two_passes);
	is_int(run(x, &s, &e), 0, "compile errors and a wrong result are repaired: %s", e.text);
	is_int(x->repairs, 3, "three repairs");
	is_int(s.keys[2].step, 2, "an error in the device region goes to its step");
	is_int(s.keys[2].attempt, 2, "as its second attempt");
	is_int(s.keys[3].step, 1, "an error in the macros to theirs");
	is_str(context_region(x->ctx, REGION_MACROS), "#define M 2\n", "the repaired macros");
	has_str(context_region(x->ctx, REGION_DEVICE), "C[0] = 4;", "a repair by search and replace");
	transform_free(x);
}

static void test_conversation(void)
{
	const char one[] = "---\nname: one\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n";
	struct err e = ERR_INIT;
	struct script s = { .verdicts = "w" };
	const struct judge judge = { &s, fake_compile, fake_validate };
	struct transform *x = begin(one);
	enum reply_outcome outcome;
	ok(transform_judge(x, &judge, &e) == -ERR_CONFLICT, "nothing can be judged before an answer");
	char *first = mem_str(transform_prompt(x)->turns[1].text);
	is_int(transform_feed(x, "no idea", REPLY_FINISH_STOP, &outcome, &e), 0, "prose is fed");
	is_int(outcome, REPLY_NO_CODE, "and found to be none");
	is_int(x->state, TRANSFORM_ASK, "the model is asked again");
	is_int(transform_prompt(x)->count, 4, "two more turns");
	is_str(transform_prompt(x)->turns[1].text, first, "behind those that were there");
	has_str(transform_prompt(x)->turns[3].text, "could not be used", "and told what was wrong");
	is_int(transform_feed(x, DEVICE("C[0] = 1;"), REPLY_FINISH_STOP, &outcome, &e), 0, "code is fed");
	is_int(x->state, TRANSFORM_JUDGE, "and waits for its verdict");
	ok(transform_feed(x, "x", REPLY_FINISH_STOP, &outcome, &e) == -ERR_CONFLICT, "no answer is waited for now");
	is_int(transform_judge(x, &judge, &e), 0, "judged");
	is_int(transform_prompt(x)->count, 6, "the verdict is one more turn of the same conversation");
	has_str(x->last, "wrong", "what happened last is told");
	free(first);
	transform_free(x);
}

static void test_stuck(void)
{
	const char one[] = "---\nname: one\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n";
	const char *answers[] = { DEVICE("1;"), DEVICE("2;"), DEVICE("3;"), DEVICE("4;"), DEVICE("5;"),
				  DEVICE("6;"), DEVICE("7;"), DEVICE("8;"), DEVICE("9;"), NULL };
	struct script s = { .verdicts = "w", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin(one);
	is_int(run(x, &s, &e), -ERR_MODEL, "wrong for ever ends");
	is_int(s.answered, 6, "two samples of one try and two repairs each");
	is_int(s.keys[5].attempt, 6, "attempts count over samples");
	is_str(s.keys[3].context.hex, s.keys[0].context.hex, "the fresh sample starts from the pass's start");
	is_int(x->state, TRANSFORM_STUCK, "stuck");
	has_str(context_region(x->ctx, REGION_DEVICE), "6;", "with the half-done pass kept");
	has_str(e.text, "given up after 2 samples", "and the error says so");
	has_str(transform_prompt(x)->turns[transform_prompt(x)->count - 1].text, "results are wrong",
		"the last question stays open");
	struct context *mine = NULL;
	is_int(context_with_region(x->ctx, REGION_DEVICE, "void matmul() { mine }\n", &mine, &e), 0, "a person edits");
	is_int(transform_take_over(x, mine, &e), 0, "and hands it over");
	struct script good = { .verdicts = "p", .answers = answers };
	is_int(run(x, &good, &e), 0, "and it goes on: %s", e.text);
	is_int(x->state, TRANSFORM_DONE, "to the end");
	context_free(mine);
	is_int(transform_discard(x, &e), -ERR_CONFLICT, "what is done cannot be discarded");
	transform_free(x);

	struct script c = { .verdicts = "c", .answers = answers };
	x = begin(one);
	is_int(run(x, &c, &e), -ERR_MODEL, "compile errors for ever end");
	is_int(c.answered, 8, "two samples of one try and three repairs each");
	transform_free(x);

	const char *prose[] = { "no", NULL };
	struct script n = { .verdicts = "p", .answers = prose };
	x = begin(one);
	is_int(run(x, &n, &e), -ERR_MODEL, "nonsense for ever ends");
	is_int(n.answered, 6, "two samples of three tries each");
	transform_free(x);
}

/* Wrong for ever, then reopened: `fresh` as a model goes on, else as somebody who answers the open question. */
static void test_reopen(void)
{
	const char one[] = "---\nname: one\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n";
	const char *answers[] = { DEVICE("1;"), DEVICE("2;"), DEVICE("3;"), DEVICE("4;"),
				  DEVICE("5;"), DEVICE("6;"), DEVICE("7;"), NULL };
	for (int fresh = 0; fresh < 2; fresh++) {
		struct script s = { .verdicts = "wwwwwwp", .answers = answers };
		struct err e = ERR_INIT;
		struct transform *x = begin(one);
		is_int(transform_reopen(x, fresh, &e), -ERR_CONFLICT, "what waits for an answer cannot be reopened");
		is_int(run(x, &s, &e), -ERR_MODEL, "stuck");
		is_int(transform_feed(x, answers[0], REPLY_FINISH_STOP, NULL, &e), -ERR_CONFLICT, "no answer is taken then");
		is_int(transform_reopen(x, fresh, &e), 0, "reopened");
		is_int(x->state, TRANSFORM_ASK, "a step waits for an answer");
		is_int(transform_prompt(x)->count, fresh ? 2 : 8, fresh ? "in a new conversation" : "in the same conversation");
		is_int(run(x, &s, &e), 0, "and the next answer holds: %s", e.text);
		is_int(s.keys[6].attempt, 7, "attempts count on");
		transform_free(x);
	}
	const char insert[] = "---\nname: ins\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### macros\n```hlsl "
			      "insert\n#define Q 7\n```\n";
	struct script s = { .verdicts = "w" };
	struct err e = ERR_INIT;
	struct transform *x = begin(insert);
	is_int(run(x, &s, &e), -ERR_MODEL, "inserted code that is wrong is stuck at once");
	is_int(transform_reopen(x, true, &e), -ERR_CONFLICT, "no model can help");
	has_str(e.text, "finish it with edit", "a person can");
	is_int(transform_discard(x, &e), 0, "or it is discarded");
	is_int(run(x, &s, &e), -ERR_CONFLICT, "for good");
	transform_free(x);
}

static void test_no_judge(void)
{
	const char *answers[] = { MACROS("M 1"), DEVICE("1;"), DEVICE("2;"), NULL };
	struct script s = { .verdicts = "xp", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin(two_passes);
	is_int(run(x, &s, &e), -ERR_UNSUPPORTED, "a judge that cannot judge is an error");
	is_int(x->state, TRANSFORM_JUDGE, "and changes nothing");
	is_int(run(x, &s, &e), 0, "it can be run again: %s", e.text);
	transform_free(x);
}

static void test_insert(void)
{
	const char text[] = "---\nname: ins\nsummary: s\n---\n## Pass 1: a\nexpect: valid\n### macros\n```hlsl "
			    "insert\n#define Q 7\n```\n";
	struct script s = { .verdicts = "p" };
	struct err e = ERR_INIT;
	struct transform *x = begin(text);
	is_int(x->state, TRANSFORM_JUDGE, "code that is inserted by hand needs no model");
	is_int(run(x, &s, &e), 0, "and is judged: %s", e.text);
	is_int(s.answered, 0, "nobody was asked");
	is_str(context_region(x->ctx, REGION_MACROS), "#define Q 7\n", "it is there");
	transform_free(x);
}

/* Everything between two calls may go through text: after every move the machine is saved and loaded. */
static void test_saved(void)
{
	const char *answers[] = { "prose", MACROS("M 1"), DEVICE("1;"), DEVICE("2;"), DEVICE("3;") };
	struct script s = { .verdicts = "cp" };
	const struct judge judge = { &s, fake_compile, fake_validate };
	struct err e = ERR_INIT;
	struct transform *x = begin(two_passes);
	size_t next = 0;
	for (int moves = 0; moves < 12 && x->state < TRANSFORM_DONE; moves++) {
		struct buf text = BUF_INIT, prompt = BUF_INIT, again = BUF_INIT;
		struct transform *y = NULL;
		struct model_key key = transform_key(x);
		prompt_render(transform_prompt(x), &prompt);
		saved_write(x, &text);
		is_int(saved_read(buf_text(&text), x->state, &y, &e), 0, "loads after move %d: %s", moves, e.text);
		if (!y)
			exit(1);
		transform_free(x);
		x = y;
		prompt_render(transform_prompt(x), &again);
		is_str(buf_text(&again), buf_text(&prompt), "with the same conversation");
		ok(memcmp(key.context.hex, transform_key(x).context.hex, HASH_HEX) == 0 && key.attempt == transform_key(x).attempt,
		   "and the same key");
		if (x->state == TRANSFORM_ASK)
			transform_feed(x, answers[next++], REPLY_FINISH_STOP, NULL, &e);
		else
			transform_judge(x, &judge, &e);
		buf_fini(&text);
		buf_fini(&prompt);
		buf_fini(&again);
	}
	is_int(x->state, TRANSFORM_DONE, "done");
	is_int(next, 5, "with five answers");
	has_str(context_region(x->ctx, REGION_DEVICE), "3;", "and the right result");
	transform_free(x);
	ok(saved_read("pass 1\n", TRANSFORM_ASK, &x, &e) < 0, "damaged text is refused");
}

static void test_prerequisites(void)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	struct transform *x = NULL;
	struct context *ctx = sample_context();
	ok(transformation_parse("---\nname: a\nsummary: s\nafter: refactor\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n",
				"a.md", &t, &e) == 0,
	   "parsed");
	is_int(begin_with(t, ctx, &x, &e), -ERR_INPUT, "a prerequisite is not met");
	has_str(e.text, "refactor", "it is named");
	transformation_free(t);
	ok(transformation_parse("---\nname: a\nsummary: s\ndrops: NOPE\n---\n## Pass 1: a\nexpect: valid\n### device\nx\n", "a.md",
				&t, &e) == 0,
	   "parsed");
	ok(begin_with(t, ctx, &x, &e) < 0, "a parameter to drop is not there");
	has_str(e.text, "NOPE", "it is named");
	transformation_free(t);
	context_free(ctx);
}

#define PLAN(front, passes)                                                                                                        \
	"I need host code.\n````plan\n---\nname: refactor\nsummary: Two rows a thread.\n" front "---\n" passes "````\n"
#define TWO_STEPS "## Pass 1: Rows\nexpect: valid\n### device\nTwo rows.\n### host\nHalf the blocks.\n"
#define HOST "```lua host\nlaunch(\"matmul\", {cdiv(n, BX), cdiv(n, BY * ROWS)}, {BX, BY}, {A, B, C, n})\n```\n"

static struct transform *begin_sentence(const char *sentence)
{
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	if (transformation_of_text(sentence, &t, &e) < 0)
		printf("# %s\n", e.text);
	struct transform *x = begin(t->source);
	transformation_free(t);
	return x;
}

/* A sentence may be answered with a plan, which is read, checked, carried out and kept. */
static void test_plan(void)
{
	const char *answers[] = { PLAN("adds:\n  ROWS: {1, 2}\n", TWO_STEPS), DEVICE("C[0] = ROWS;"), HOST, NULL };
	struct script s = { .verdicts = "p", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin_sentence("give each thread two rows");
	has_str(transform_prompt(x)->turns[1].text, "# Or a plan", "a sentence's prompt says how to answer with a plan");
	ok(transform_plan(x) == NULL, "there is no plan yet");
	is_int(run(x, &s, &e), 0, "a plan is carried out: %s", e.text);
	is_int(s.answered, 3, "after its own answer come its two steps");
	ok(strncmp(s.keys[0].transformation, "text-", 5) == 0 && strncmp(s.keys[1].transformation, "plan-", 5) == 0,
	   "whose exchanges are recorded under the plan's name, whatever name the model gave it");
	has_str(context_render(x->ctx), "ROWS: {1, 2}", "its parameter is in the context");
	has_str(context_region(x->ctx, REGION_HOST), "BY * ROWS", "and so is its host step");
	has_str(transform_plan(x) ? transform_plan(x) : "", "# asked for: give each thread two rows",
		"the plan is kept, with what was asked for");
	ok(!strstr(x->talks[0].turns[1].text, "# Or a plan"), "a plan's own steps are not planned again");
	transform_free(x);
	const struct transform_limits few = { .no_plan = true };
	struct transformation *sentence = NULL;
	struct context *ctx = sample_context();
	ok(transformation_of_text("give each thread two rows", &sentence, &e) == 0 &&
		   transform_new(&(struct transform_start){ .t = sentence, .parent = ctx, .limits = &few }, &x, &e) == 0,
	   "a sentence is applied with few calls");
	transformation_free(sentence);
	context_free(ctx);
	ok(!strstr(transform_prompt(x)->turns[1].text, "# Or a plan"), "no plan is offered where the calls do not reach for one");
	transform_free(x);
	/* The mistakes that a plan can have go back to the model with the reason. */
	static const struct {
		const char *answer, *want, *what;
	} bad[] = {
		{ PLAN("", "Do it.\n"), "no `## Pass 1: title`", "a plan without passes" },
		{ PLAN("requires:\n  - n % 8 == 0\n", TWO_STEPS), "only a person may exclude input sizes",
		  "a plan that excludes input sizes" },
		{ PLAN("after: refactor\n", TWO_STEPS), "stands alone", "a plan that builds on others" },
		{ PLAN("drops: NONE\n", TWO_STEPS), "NONE", "a plan that drops what is not there" },
		{ PLAN("adds:\n  A: {1, 2}\n", TWO_STEPS), "A", "a plan whose parameter has an input's name" },
	};
	for (size_t i = 0; i < MEM_COUNT(bad); i++) {
		enum reply_outcome outcome;
		x = begin_sentence("give each thread two rows");
		is_int(transform_feed(x, bad[i].answer, REPLY_FINISH_STOP, &outcome, &e), 0, "%s is taken: %s", bad[i].what,
		       e.text);
		is_int(outcome, REPLY_BAD_PLAN, "and refused");
		const struct prompt *p = transform_prompt(x);
		has_str(p->turns[p->count - 1].text, bad[i].want, "with the reason");
		is_int(x->state, TRANSFORM_ASK, "and asked for again");
		transform_free(x);
	}
	/* A named transformation is no sentence. */
	x = begin(two_passes);
	ok(!strstr(transform_prompt(x)->turns[1].text, "# Or a plan"), "a transformation's file is not planned");
	transform_free(x);
	/* Saved and continued in the middle of a plan. */
	x = begin_sentence("give each thread two rows");
	enum reply_outcome outcome;
	transform_feed(x, answers[0], REPLY_FINISH_STOP, &outcome, &e);
	struct buf text = BUF_INIT;
	struct transform *y = NULL;
	saved_write(x, &text);
	is_int(saved_read(buf_text(&text), TRANSFORM_ASK, &y, &e), 0, "a plan under way is saved: %s", e.text);
	if (y)
		is_str(transform_plan(y), transform_plan(x), "and continued as the same plan");
	transform_free(y);
	transform_free(x);
	buf_fini(&text);
}

/* A sentence's one answer may change the launch, also when it is repaired; that of a file's step may not. */
static void test_launch(void)
{
#define LAUNCH(block) "```lua host\nlaunch(\"matmul\", {cdiv(n, BX), cdiv(n, BY)}, {" block "}, {A, B, C, n})\n```\n"
	const char *answers[] = { DEVICE("C[0] = 1;") LAUNCH("2 * BX, BY"), DEVICE("C[0] = 2;") LAUNCH("4 * BX, BY"), NULL };
	struct script s = { .verdicts = "wp", .answers = answers };
	struct err e = ERR_INIT;
	struct transform *x = begin_sentence("use more threads");
	has_str(transform_prompt(x)->turns[1].text, "# The launch", "a sentence's prompt says how to change the launch");
	is_int(run(x, &s, &e), 0, "an answer with both regions is applied: %s", e.text);
	has_str(context_region(x->ctx, REGION_DEVICE), "C[0] = 2;", "the device region is the repaired one");
	has_str(context_region(x->ctx, REGION_HOST), "4 * BX", "and so is the host region");
	is_int(s.answered, 2, "of two answers");
	transform_free(x);
	enum reply_outcome outcome;
	x = begin("---\nname: one\nsummary: one step\n---\n## Pass 1: a\nexpect: valid\n### device\nmore\n");
	ok(!strstr(transform_prompt(x)->turns[1].text, "# The launch"), "a file's steps say themselves what they change");
	transform_feed(x, DEVICE("C[0] = 1;") LAUNCH("2 * BX, BY"), REPLY_FINISH_STOP, &outcome, &e);
	ok(outcome == REPLY_OK && !strstr(context_region(x->ctx, REGION_HOST), "2 * BX"), "and change nothing else");
	transform_free(x);
}

/* A refusal is shown in the model's own words. */
static void test_refusal(void)
{
	enum reply_outcome outcome;
	struct err e = ERR_INIT;
	struct transform *x = begin_sentence("make it faster than light");
	transform_feed(x, "This kernel has no loop to unroll, so nothing would change.\n", REPLY_FINISH_STOP, &outcome, &e);
	is_int(outcome, REPLY_NO_CODE, "prose alone is no region");
	has_str(x->last, "in the model's words: This kernel has no loop to unroll", "and is shown");
	transform_feed(x, "I cannot do that: light is the limit.", REPLY_FINISH_STOP, &outcome, &e);
	is_int(outcome, REPLY_REFUSED, "a refusal is one");
	has_str(x->last, "light is the limit", "with its reason");
	transform_free(x);
}

int main(void)
{
	test_straight();
	test_repairs();
	test_conversation();
	test_stuck();
	test_reopen();
	test_no_judge();
	test_insert();
	test_saved();
	test_prerequisites();
	test_plan();
	test_launch();
	test_refusal();
	return tap_done();
}
