/* core/problems/ask: a model answers what a file leaves open. Its lines are taken as if they had been typed, an unusable answer
 * goes back twice at most, and declarations by the user take precedence. */
#include "core/problems/draft.h"

#include <string.h>

#include "base/mem.h"
#include "tests/tap.h"

static const char file[] = "__global__ void scale(const float *x, float *y, int n, float f) { int i = blockIdx.x * blockDim.x + "
			   "threadIdx.x; if (i < n) y[i] = f * x[i]; }\n"
			   "void run(const float *x, float *y, int n, float f) { scale<<<(n + 255) / 256, 256>>>(x, y, n, f); }\n";

#define LINES "n: int = {1000, 4096}\nf: f32 = 2.5\nx: f32[n] = random\ny: out f32[n]\n"
#define GOOD "Sizes as in the caller.\n```declare\n# sizes\n" LINES "```\n"

struct script {
	const char *replies[4];
	enum reply_finish finish;
	size_t asked;
	char prompts[4][16384]; /* the last turn of each */
	char judged[1024];      /* what the device is to say */
	char wrong[4][2048];
	struct model_key keys[4];
};

static int ask(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	struct script *s = arg;
	if (s->asked == MEM_COUNT(s->replies) || s->replies[s->asked] == NULL)
		return err_set(e, ERR_MODEL, "asked once more than it has answers");
	snprintf(s->prompts[s->asked], sizeof s->prompts[0], "%s", request->prompt->turns[request->prompt->count - 1].text);
	s->keys[s->asked] = request->key;
	*ret_answer =
		(struct model_answer){ .text = mem_str(s->replies[s->asked++]), .model = mem_str("fake"), .finish = s->finish };
	return 0;
}

static int answered(void *arg, const struct model_request *request, const struct model_answer *answer, const char *wrong,
		    struct err *e)
{
	struct script *s = arg;
	(void)request, (void)answer, (void)e;
	snprintf(s->wrong[s->asked - 1], sizeof s->wrong[0], "%s", wrong ? wrong : "");
	return 0;
}

static int judge(void *arg, const struct draft *d, char **ret_complaint, struct err *e)
{
	struct script *s = arg;
	(void)d, (void)e;
	*ret_complaint = s->judged[0] ? mem_str(s->judged) : NULL;
	return 0;
}

static int run(struct script *s, const char *const *declared, size_t count, struct draft_ask_result *r, struct err *e)
{
	struct model model = { .arg = s, .name = "fake", .ask = ask };
	struct draft_ask_request q = { .source = file,
				       .backend = "cuda",
				       .declared = declared,
				       .declared_count = count,
				       .model = &model,
				       .judge = judge,
				       .answered = answered,
				       .arg = s };
	return draft_ask(&q, r, e);
}

static void has(const char *text, const char *part, const char *what)
{
	if (!ok(text && strstr(text, part), "%s", what))
		printf("# no \"%s\" in:\n# %s\n", part, text ? text : "nothing");
}

static bool noted(const struct draft_ask_result *r, const char *part)
{
	for (size_t i = 0; i < r->draft.note_count; i++)
		if (strstr(r->draft.notes[i], part))
			return true;
	return false;
}

static void test_answered(void)
{
	struct script s = { .replies = { GOOD } };
	struct draft_ask_result r;
	struct err e = ERR_INIT;
	ok(run(&s, NULL, 0, &r, &e) == 0, "a model answers (%s)", e.text);
	is_int(r.draft.question_count, 0, "the answer leaves no question open");
	is_int(r.asked, 1, "the model is asked once");
	ok(r.complaint == NULL, "there is no complaint about a right answer");
	has(r.draft.text, "  n: int = {1000, 4096}\n  f: f32 = 2.5\n  x: f32[n] = random\n  y: out f32[n]\n",
	    "the model's lines are taken as if they had been typed");
	ok(noted(&r, "answered by the model fake, not found in the file: n: int = {1000, 4096}"),
	   "the notes name the model that said a line");
	ok(noted(&r, "compared with the file's launches at n=1000"), "the draft is compared with the file's launches");
	has(s.prompts[0], "scale<<<(n + 255) / 256, 256>>>", "the prompt shows the file");
	has(s.prompts[0], "extern \"C\" __global__ void scale", "the prompt shows the draft");
	has(s.prompts[0], "- n: which values?", "the prompt lists the questions");
	is_int(s.keys[0].attempt, 1, "the key of the recording has attempt 1");
	is_str(s.keys[0].transformation, "draft", "the key of the recording names draft");
	is_str(s.keys[0].context.hex, hash_bytes(file, strlen(file)).hex, "the key of the recording has the file's hash");
	draft_ask_fini(&r);
}

/* Every kind of unusable answer, and the complaint about it. */
static void test_wrong(void)
{
	static const struct {
		const char *reply, *why;
	} bad[] = {
		{ "n is 1000.", "the answer holds 0 fenced blocks" },
		{ GOOD GOOD, "the answer holds 2 fenced blocks" },
		{ "```declare\nn: int = 4\n", "the answer was cut off" },
		{ "```declare\n\n```\n", "the block holds no declaration" },
		{ "```declare\nint n = 4;\n```\n", "\"int n = 4;\" is not a declaration" },
		{ "```declare\nz: int = 4\n```\n", "\"z: int = 4\" names no kernel parameter" },
		{ "```declare\nn: int = 1000\n```\n", "these questions are open:\n\n- x: how many elements?" },
		{ "```declare\n" LINES "local other_grid = 4\n```\n", "no question asks for that name" },
		{ "```declare\n" LINES "local scale_grid = 4\n```\n", NULL }, /* the file's own grid stays */
		{ "```declare\n" LINES "y: out f32[n / 3.0]\n```\n", "the draft is not a context that runs" },
		{ "```declare\n" LINES "n: u64 = 1000\n```\n", "n has type u64 in the draft, and the kernel takes i32" },
		{ "```declare\n" LINES "BX: {128}\n```\n",
		  NULL }, /* other values are accepted: the launch is compared at the file's own */
	};
	for (size_t i = 0; i < MEM_COUNT(bad); i++) {
		struct script s = { .replies = { bad[i].reply, GOOD } };
		struct draft_ask_result r;
		struct err e = ERR_INIT;
		ok(run(&s, NULL, 0, &r, &e) == 0 && r.draft.question_count == 0, "a right answer leaves no question open: %zu (%s)",
		   i, e.text);
		is_int(r.asked, bad[i].why ? 2 : 1, "the model is asked again only after an unusable answer");
		if (bad[i].why) {
			has(s.prompts[1], bad[i].why, "the second prompt says what was wrong");
			has(s.wrong[0], bad[i].why, "the recorded answer says what was wrong");
		}
		is_str(r.asked == 2 ? s.wrong[1] : s.wrong[0], "", "the recorded right answer has no complaint");
		draft_ask_fini(&r);
	}
}

static void test_given_up(void)
{
	struct script s = { .replies = { "```declare\nn: int = 1000\n```\n", "No.", "```\nfoo\n```\n", "never" } };
	struct draft_ask_result r;
	struct err e = ERR_INIT;
	ok(run(&s, NULL, 0, &r, &e) == 0, "a model without a usable answer still gives a draft (%s)", e.text);
	is_int(r.asked, 3, "the model is asked three times at most");
	has(r.draft.text, "  n: int = 1000\n", "the usable line of an answer is taken");
	ok(r.draft.question_count > 0, "the other questions stay open");
	has(r.complaint, "\"foo\" is not a declaration", "the complaint says what was wrong with the last answer");
	draft_ask_fini(&r);

	struct script cut = { .replies = { GOOD, GOOD, GOOD }, .finish = REPLY_FINISH_LENGTH };
	ok(run(&cut, NULL, 0, &r, &e) == 0 && r.asked == 3 && r.draft.question_count > 0,
	   "an answer cut at its length limit is not taken");
	has(r.complaint, "cut off", "the complaint says that the answer was cut off");
	draft_ask_fini(&r);

	struct script gone = { .replies = { NULL } };
	ok(run(&gone, NULL, 0, &r, &e) < 0, "a model that cannot be asked is an error");
}

static void test_declared(void)
{
	static const char *const n[] = { "n: int = 512" }, *const all[] = { "n: int = 512", "f: f32 = 1", "x: f32[n] = random",
									    "y: out f32[n]" };
	struct script s = { .replies = { GOOD } };
	struct draft_ask_result r;
	struct err e = ERR_INIT;
	ok(run(&s, n, 1, &r, &e) == 0, "a declared size and the model's answer give a draft (%s)", e.text);
	has(r.draft.text, "  n: int = 512\n", "a declared size overrides the model's");
	has(s.prompts[0], "- n: int = 512", "the prompt shows the declared size");
	ok(!noted(&r, "fake, not found in the file: n:") && noted(&r, "fake, not found in the file: f: f32 = 2.5"),
	   "the notes do not attribute the declared size to the model");
	draft_ask_fini(&r);
	struct script none = { .replies = { NULL } };
	ok(run(&none, all, MEM_COUNT(all), &r, &e) == 0 && r.asked == 0, "a file without open questions asks no model");
	draft_ask_fini(&r);
}

static void test_judged(void)
{
	struct script s = { .replies = { GOOD, GOOD, GOOD }, .judged = "y is not written" };
	struct draft_ask_result r;
	struct err e = ERR_INIT;
	ok(run(&s, NULL, 0, &r, &e) == 0 && r.asked == 3, "a draft that the device refuses goes back to the model (%s)", e.text);
	has(s.prompts[1], "That answer cannot be used: y is not written", "the second prompt quotes the device's complaint");
	is_str(r.complaint, "y is not written", "the final complaint is the device's");
	draft_ask_fini(&r);
}

int main(void)
{
	test_answered();
	test_wrong();
	test_given_up();
	test_declared();
	test_judged();
	return tap_done();
}
