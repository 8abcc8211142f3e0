/* What a model is shown: the parts, their order, and that text from outside cannot break out of its fence. */
#include "core/transform/feedback.h"
#include "core/transform/library.h"
#include "core/transform/prompt.h"
#include "sample.h"

#include <math.h>

#include "base/mem.h"

/* The parts stand in the text in this order. */
static void in_order(const char *text, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = strstr(text, parts[i]);
		ok(at != NULL, "in its place: %s", parts[i]);
		if (at)
			text = at + strlen(parts[i]);
	}
}

static struct transformation *find(const char *name)
{
	const char *folders[] = { "transforms" };
	struct library *lib = library_new(folders, 1);
	struct transformation *t = NULL;
	struct err e = ERR_INIT;
	if (library_find(lib, name, &t, &e) < 0)
		printf("# %s\n", e.text);
	library_free(lib);
	return t;
}

static void test_first_turns(void)
{
	struct context *ctx = sample_context();
	struct transformation *t = find("refactor");
	struct facts facts = { .backend = "hlsl",
			       .name = "llvmpipe",
			       .arch = "spirv1.3",
			       .max_threads = 1024,
			       .shared_static = 32768,
			       .shares_cpu = true };
	struct prompt p = PROMPT_INIT;
	prompt_start(&p, t, 0, 1, ctx, &facts, "- reuse: fetched 64 times\n");
	is_int(p.count, 2, "two turns");
	is_int(p.turns[0].role, PROMPT_SYSTEM, "the first is the system's");
	const char *system[] = { "# The kernel context",
				 "# Your answer",
				 "# What must be right",
				 "# Host code",
				 "# Backend: HLSL",
				 "NAME_float4",
				 "# Device",
				 "llvmpipe",
				 "shared_static): 32768 bytes" };
	in_order(p.turns[0].text, system, MEM_COUNT(system));
	has_str(p.turns[1].text, "# What is known of this kernel\n\n- reuse: fetched 64 times",
		"the user's turn has what is known of the kernel");
	ok(!strstr(p.turns[0].text, "CUDA C++"), "nothing about other backends");
	const char *user[] = { "# Transformation: refactor",
			       "THREAD_X",
			       "SV_GroupThreadID",
			       "Its passes:",
			       "# Now: pass 1 of 2",
			       "## Step 2 of 2: the device region",
			       "# The kernel context now",
			       "```yaml",
			       "BX*BY <= 256",
			       "## Macros region",
			       "```macros",
			       "## Device region (you rewrite this one)",
			       "```hlsl",
			       "// a\n",
			       "## Host region",
			       "```lua host",
			       "# Return now",
			       "starts with ```hlsl",
			       "give right results" };
	in_order(p.turns[1].text, user, MEM_COUNT(user));
	ok(!strstr(p.turns[1].text, "threadIdx"), "no section of another backend");
	struct prompt again = PROMPT_INIT;
	prompt_start(&again, t, 1, 0, ctx, &facts, NULL);
	is_str(again.turns[0].text, p.turns[0].text, "the system turn is the same for every step: it can be cached");
	prompt_fini(&again);
	prompt_fini(&p);
	transformation_free(t);
	context_free(ctx);
}

static void test_quote(void)
{
	struct buf out = BUF_INIT;
	prompt_quote(&out, "a\033[31mb\001\tc\n", 100);
	is_str(buf_text(&out), "a[31mb\tc\n", "control characters are dropped");
	buf_clear(&out);
	prompt_quote(&out, "0123456789", 4);
	is_str(buf_text(&out), "01\n[6 bytes left out here]\n89", "a long text is cut in its middle");
	buf_clear(&out);
	prompt_fence(&out, "x", "a\n````\nb");
	is_str(buf_text(&out), "`````x\na\n````\nb\n`````\n", "a fence is longer than any inside");
	buf_fini(&out);
}

static void test_compile_feedback(void)
{
	struct context *ctx = sample_context();
	struct judge_verdict v = { .result = JUDGE_COMPILE };
	for (int i = 0; i < 5; i++)
		judge_verdict_error(&v, REGION_DEVICE, 4, i ? "another" : "'id' : undeclared\033");
	struct buf out = BUF_INIT;
	feedback_verdict(&v, ctx, &out);
	feedback_ask(REGION_DEVICE, "hlsl", &out);
	const char *parts[] = {
		"does not compile", "Error 1, in the device region", "'id' : undeclared\n", ">> \tC[id.y", "Error 3",
		"and 2 more",       "corrected device region",       "<<<<<<< SEARCH"
	};
	in_order(buf_text(&out), parts, MEM_COUNT(parts));
	ok(!strstr(buf_text(&out), "Error 4"), "only the first three errors");
	buf_fini(&out);
	judge_verdict_fini(&v);
	context_free(ctx);
}

static void test_wrong_feedback(void)
{
	struct context *ctx = sample_context();
	struct judge_verdict v = { .result = JUDGE_WRONG,
				   .summary = mem_str("wrong at n=67"),
				   .params = mem_str("n=67 BX=8 BY=8"),
				   .elements = 4489,
				   .mismatched = 201,
				   .nan = 7,
				   .untouched = 3,
				   .error = 0.5,
				   .tolerance = 1e-6,
				   .has_map = true };
	v.map[7][7] = 1;
	for (int i = 0; i < 12; i++)
		judge_verdict_mismatch(&v, "C", 60 + i, 66, i == 7 ? -(double)NAN : i, -i);
	judge_verdict_config(&v, "n=64 BX=8 BY=8", true, NULL);
	judge_verdict_config(&v, "n=67 BX=8 BY=8", false, "wrong\nlog");
	judge_verdict_hint(&v, "only the last column is wrong");
	struct buf out = BUF_INIT;
	feedback_verdict(&v, ctx, &out);
	feedback_ask(REGION_DEVICE, "hlsl", &out);
	const char *parts[] = { "results are wrong",
				"n=67 BX=8 BY=8",
				"201 of 4489",
				"7 are NaN",
				"3 were never written",
				"allowed 1e-06",
				"| C | 60 | 66 | 0 |",
				"| C | 67 |",
				"   0   0   0   0   0   0   0 100\n",
				"that failed",
				"n=67",
				"that passed",
				"n=64",
				"Hints",
				"last column" };
	in_order(buf_text(&out), parts, MEM_COUNT(parts));
	ok(!strstr(buf_text(&out), "| C | 68 |"), "eight mismatches, no more");
	ok(!strstr(buf_text(&out), "log"), "a reason is one line");
	has_str(buf_text(&out), "| 67 | 66 | NaN |", "NaN is spelt in one way");
	buf_clear(&out);
	v.right = true;
	feedback_verdict(&v, ctx, &out);
	ok(!strstr(buf_text(&out), "results are wrong") && strstr(buf_text(&out), "a further check refused it"),
	   "what a validator of the user refuses has no wrong results");
	buf_fini(&out);
	judge_verdict_fini(&v);
	context_free(ctx);
}

/* A few lines on what is fast there, chosen by the device. */
static void test_device_rules(void)
{
	static const struct {
		struct facts facts;
		const char *has, *lacks;
	} table[] = {
		{ { .backend = "hlsl", .arch = "spirv1.3", .shares_cpu = true }, "a loop over the lanes", "tensor" },
		{ { .backend = "cuda", .arch = "sm_75" }, "32 banks", "cp.async" },
		{ { .backend = "cuda", .arch = "sm_86" }, "cp.async", "wgmma" },
		{ { .backend = "cuda", .arch = "sm_90a" }, "wgmma", "It runs on the CPU" },
		{ { .backend = "hip", .arch = "gfx90a", .warp_size = 64 }, "64 lanes", "cp.async" },
	};
	struct err e = ERR_INIT;
	struct transformation *t = NULL;
	struct context *ctx = sample_context();
	is_int(transformation_of_text("unroll it", &t, &e), 0, "a sentence");
	for (size_t i = 0; i < MEM_COUNT(table); i++) {
		struct prompt p = PROMPT_INIT;
		prompt_start(&p, t, 0, 0, ctx, &table[i].facts, NULL);
		const char *device = strstr(p.turns[0].text, "# Device");
		ok(device && strstr(device, table[i].has) && !strstr(device, table[i].lacks), "%s is told what is fast there",
		   table[i].facts.arch);
		ok(device && strlen(device) < 2000, "in a few lines: %zu bytes", device ? strlen(device) : 0);
		prompt_fini(&p);
	}
	transformation_free(t);
	context_free(ctx);
}

int main(void)
{
	test_device_rules();
	test_first_turns();
	test_quote();
	test_compile_feedback();
	test_wrong_feedback();
	return tap_done();
}
