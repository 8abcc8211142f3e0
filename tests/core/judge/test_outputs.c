/* Outputs that are no sums: for each kind an honest kernel that differs from the baseline passes, and cheats fail in the kind's
 * own terms. */
#include "core/judge/validate.h"

#include "core/sample.h"

/* A problem: what is below inputs:, then the baseline's kernel. One thread computes what `i` (0 … n-1) owns. */
struct problem {
	const char *name, *arrays, *args, *baseline;
};
struct attempt {
	const char *name, *body;
	const char *reason; /* part of the summary; NULL: it passes */
};

static struct context *context_of(const struct problem *p, const char *body)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	char *text =
		mem_fmt("---\nkernel: %s\nbackend: hlsl\ninputs:\n  n: int = {192}\n%stune:\n  BX: {32}\ncheck: n = {77}\n---\n"
			"```hlsl\nuint hash(uint z) { z ^= z >> 16; z *= 0x7feb352du; z ^= z >> 15; z *= 0x846ca68bu; return z ^ "
			"(z >> 16); }\n"
			"uint other(uint z) { z ^= z >> 17; z *= 0xed5ad4bbu; z ^= z >> 11; z *= 0xac4c1b51u; z ^= z >> 15; z *= "
			"0x31848babu; return z ^ (z >> 14); }\n"
			"[numthreads(BX, 1, 1)]\nvoid k(uint3 id : SV_DispatchThreadID) {\n"
			"  int i = (int)id.x;\n  if (i >= n) return;\n%s\n}\n```\n"
			"```lua host\nlaunch(\"k\", {cdiv(n,BX)}, {BX}, {%s, n})\n```\n",
			p->name, p->arrays, body, p->args);
	if (context_parse(p->name, text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	free(text);
	return ctx;
}

static void judge(struct sample *s, const struct problem *p, const struct attempt *a)
{
	struct context *root = context_of(p, p->baseline), *ctx = context_of(p, a->body);
	struct eval ev = { .pool = s->pool, .references = s->references };
	/* The same values every time: which of two reasons comes first, and what chance explains, hangs on them. */
	struct validate_request q = {
		.ctx = ctx, .baseline = root, .parent = root, .facts = &s->facts, .samples = 2, .seed = 5, .secret = 7
	};
	struct validate_result r = { 0 };
	struct err e = ERR_INIT;
	if (validate_run(&ev, &q, s->db, sample_checkpoint(s, ctx), NULL, &r, &e) < 0)
		r.summary = mem_str(e.text);
	printf("# %s: %s: %s\n", p->name, a->name, r.summary);
	if (a->reason == NULL)
		ok(r.passed, "%s: %s passes", p->name, a->name);
	else
		ok(!r.passed && strstr(r.summary, a->reason), "%s: %s fails: %s", p->name, a->name, a->reason);
	validate_result_fini(&r);
	context_free(ctx);
	context_free(root);
}

static void judge_all(struct sample *s, const struct problem *p, const struct attempt *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		judge(s, p, &list[i]);
}

#define ARGMAX(start, step, compare) \
	"int b = " start "; for (int c = 0; c < 40; c++) { int j = " step "; if (x[i*40+j] " \
	compare " x[i*40+b]) b = j; } idx[i] = b;"

static void argmax(struct sample *s)
{
	static const struct problem p = { "argmax", "  x: i32[n, 40] = random\n  idx: out i32[n] indices of x\n", "x, idx",
					  ARGMAX("0", "c", ">") };
	static const struct problem floats = { "argmax-default", "  x: f32[n, 40] = random\n  idx: out i32[n]\n", "x, idx",
					       ARGMAX("0", "c", ">") };
	static const struct attempt list[] = {
		{ "the last of equal values", ARGMAX("0", "c", ">="), NULL },
		{ "a search from the end", ARGMAX("39", "39-c", ">"), NULL },
		{ "the first half of the columns", ARGMAX("0", "c / 2", ">"),
		  "idx is judged as `indices of x along 1` and is wrong" },
		{ "zero", "idx[i] = 0;", "in row" },
		{ "outside", ARGMAX("0", "c", ">") " idx[i] += i % 8 == 0 ? 40 : 0;", "is not an index of a row of x" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
	judge(s, &floats, &list[1]);
	struct attempt wrong = { "the first half of the columns", list[2].body, "idx is wrong in" };
	judge(s, &floats, &wrong);
}

/* The k-th largest of a row, ties by index. */
#define TOP(place, rank)                                                                                                           \
	"for (int a = 0; a < 32; a++) { int r = 0; for (int c = 0; c < 32; c++)" \
	" r += x[i*32+c] > x[i*32+a] || (x[i*32+c] == x[i*32+a] && c < a) ? 1 : 0;" \
	" if (" rank ") { y[i*4+" place "] = x[i*32+a]; idx[i*4+" place "] = a; } }"

static void top_k(struct sample *s)
{
	static const struct problem p = {
		"topk", "  x: f32[n, 32] = random\n  y: out f32[n, 4] set\n  idx: out i32[n, 4] indices of x in any order\n",
		"x, y, idx", TOP("r", "r < 4")
	};
	static const struct attempt list[] = {
		{ "smallest first", TOP("(3-r)", "r < 4"), NULL },
		{ "the fifth in place of the fourth", TOP("(r == 4 ? 3 : r)", "r < 3 || r == 4"),
		  "y is judged as `set` and is wrong" },
		{ "one index four times", TOP("r", "r < 4") " for (int c = 0; c < 4; c++) idx[i*4+c] = idx[i*4];",
		  "idx is judged as `indices of x along 1 in any order` and is wrong" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

#define SORT(test) \
	"for (int a = 0; a < 16; a++) y[i*16+a] = x[i*16+a];" \
	"for (int a = 0; a < 16; a++) for (int c = 0; c + 1 < 16; c++) {" \
	" float p = y[i*16+c], q = y[i*16+c+1]; if (" test ") { y[i*16+c] = q; y[i*16+c+1] = p; } }"

static void sorting(struct sample *s)
{
	static const struct problem p = { "sort", "  x: f32[n, 16] = random\n  y: out f32[n, 16] permutation ascending\n", "x, y",
					  SORT("p > q") };
	static const struct attempt list[] = {
		{ "equal values exchanged", SORT("p >= q && c % 2 == a % 2 || p > q"), NULL },
		{ "a copy", "for (int a = 0; a < 16; a++) y[i*16+a] = x[i*16+a];",
		  "y is judged as `permutation ascending` and is wrong" },
		{ "the first value everywhere", SORT("p > q") " for (int c = 1; c < 16; c++) y[i*16+c] = y[i*16];",
		  "y is judged as `permutation" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

#define COMPACT(order, test) \
	"int m = 0; for (int c = 0; c < 24; c++) y[i*24+c] = 0;" \
	"for (int c = 0; c < 24; c++) { int j = " order "; if (" test ") y[i*24 + m++] = x[i*24+j]; } count[i] = m;"

static void compaction(struct sample *s)
{
	static const struct problem p = { "compaction", "  x: i32[n, 24] = random\n  y: out i32[n, 24] set\n  count: out i32[n]\n",
					  "x, y, count", COMPACT("c", "x[i*24+j] > 0") };
	static const struct problem exact = { "compaction-default",
					      "  x: i32[n, 24] = random\n  y: out i32[n, 24]\n  count: out i32[n]\n", "x, y, count",
					      COMPACT("c", "x[i*24+j] > 0") };
	static const struct attempt list[] = {
		{ "from the end", COMPACT("23-c", "x[i*24+j] > 0"), NULL },
		{ "the first half", COMPACT("c", "x[i*24+j] > 0 && j < 12"), "is wrong in" },
		{ "one value changed", COMPACT("c", "x[i*24+j] > 0") " if (i == 5 && m > 0) y[i*24] = 8;",
		  "y is judged as `set` and is wrong in 1 of" },
	};
	struct attempt undeclared = { "from the end", list[0].body, "the baseline can declare `set`" };
	judge_all(s, &p, list, MEM_COUNT(list));
	judge(s, &exact, &undeclared);
}

/* Threads append to one list; whoever comes first stands first. */
static void appending(struct sample *s)
{
	static const struct problem p = {
		"append", "  x: u32[n] = random(0, 100000)\n  y: inout u32[n] set = zeros\n  used: inout u32[1] = zeros\n",
		"x, y, used", "uint at; if (x[i] % 3 == 0) { InterlockedAdd(used[0], 1u, at); y[at] = x[i]; }"
	};
	static const struct attempt list[] = {
		{ "the last threads first",
		  "uint at; int j = n - 1 - i; if (x[j] % 3 == 0) { InterlockedAdd(used[0], 1u, at); y[at] = x[j]; }", NULL },
		{ "multiples of six", "uint at; if (x[i] % 6 == 0) { InterlockedAdd(used[0], 1u, at); y[at] = x[i]; }",
		  "y is judged as `set` and is wrong" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

static void quantising(struct sample *s)
{
	static const struct problem p = { "quantise", "  x: f32[n, 64] = random\n  q: out i32[n, 64] within 1 units\n", "x, q",
					  "for (int c = 0; c < 64; c++) q[i*64+c] = (int)floor(x[i*64+c] * 100.0 + 0.5);" };
	static const struct attempt list[] = {
		{ "another rounding", "for (int c = 0; c < 64; c++) q[i*64+c] = (int)floor(x[i*64+c] * 100.0);", NULL },
		{ "another scale", "for (int c = 0; c < 64; c++) q[i*64+c] = (int)floor(x[i*64+c] * 97.0 + 0.5);",
		  "q is judged as `within 1 unit` and is wrong" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

static void in_place(struct sample *s)
{
	static const struct problem p = { "inplace", "  z: inout f32[n, 8] within 4 ulp = random(1, 2)\n", "z",
					  "for (int c = 0; c < 8; c++) z[i*8+c] = z[i*8+c] * 3.0 + 1.0;" };
	static const struct attempt list[] = {
		{ "another order", "for (int c = 7; c >= 0; c--) z[i*8+c] = (z[i*8+c] + z[i*8+c]) + (z[i*8+c] + 1.0);", NULL },
		{ "off by 1e-5", "for (int c = 0; c < 8; c++) z[i*8+c] = z[i*8+c] * 3.00001 + 1.0;",
		  "z is judged as `within 4 ulp` and is wrong" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

#define DRAW(value) "for (int c = 0; c < 64; c++) { uint j = (uint)(i*64+c); y[j] = " value "; }"
#define UNIFORM(function, counter) "(float)(" function "((" counter ") * 747796405u + seed[0]) >> 8) * (1.0/16777216.0)"

static void random_numbers(struct sample *s)
{
	static const struct problem p = { "uniform", "  seed: u32[1] = random(0, 1000000)\n  y: out f32[n, 64] distribution\n",
					  "seed, y", DRAW(UNIFORM("hash", "j")) };
	static const struct attempt list[] = {
		{ "another generator", DRAW(UNIFORM("other", "j")), NULL },
		{ "a constant", DRAW("0.5"),
		  "y is judged as `distribution` and is not distributed as the reference: the variance is 0" },
		{ "numbers without the seed", DRAW("(float)(hash(j * 747796405u) >> 8) * (1.0/16777216.0)"),
		  "the numbers are the same with other inputs" },
		{ "a short period", DRAW(UNIFORM("hash", "(j & 1023u)")), "the numbers repeat" },
		{ "half the spread", DRAW("0.25 + 0.5 * " UNIFORM("hash", "j")), "the variance is" },
		{ "two values", DRAW("(" UNIFORM("hash", "j") ") < 0.5 ? 0.2113 : 0.7887"), "chance explains" },
		{ "each number twice", DRAW(UNIFORM("hash", "(j >> 1)")), "elements 1 apart have correlation" },
		{ "half of them", DRAW(UNIFORM("hash", "j")) " if (i >= n/2) for (int c = 0; c < 64; c++) y[i*64+c] = 0.5;",
		  "y is judged as `distribution`" },
	};
	static const struct problem mask = { "mask", "  seed: u32[1] = random(0, 1000000)\n  y: out u32[n, 64] distribution\n",
					     "seed, y", DRAW("(" UNIFORM("hash", "j") ") < 0.25 ? 0 : 1") };
	static const struct attempt masks[] = {
		{ "another generator", DRAW("(" UNIFORM("other", "j") ") < 0.25 ? 0 : 1"), NULL },
		{ "every fourth", DRAW("j % 4 == 0 ? 0 : 1"), "y is judged as `distribution`" },
		{ "nothing dropped", DRAW("1"), "the mean is 1" },
		{ "a short period", DRAW("(" UNIFORM("hash", "(j & 1023u)") ") < 0.25 ? 0 : 1"), "y is judged as `distribution`" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
	judge_all(s, &mask, masks, MEM_COUNT(masks));
}

/* An error flag that no input raises, beside an output that tells kernels apart. */
static void flag(struct sample *s)
{
	static const struct problem p = { "flag", "  x: f32[n] = random\n  y: out f32[n]\n  error: out i32[1]\n", "x, y, error",
					  "y[i] = x[i] * 2.0; if (i == 0) error[0] = 0;" };
	static const struct attempt list[] = {
		{ "another thread clears it", "y[i] = x[i] + x[i]; if (i == n-1) error[0] = 0;", NULL },
		{ "a flag that is raised", "y[i] = x[i] * 2.0; if (i == 0) error[0] = 1;", "error is wrong in 1 of 1" },
		{ "a flag that is not written", "y[i] = x[i] * 2.0;", "error was never written" },
		{ "a flag alone", "y[i] = 0; if (i == 0) error[0] = 0;", "y is wrong in" },
	};
	judge_all(s, &p, list, MEM_COUNT(list));
}

/* What NaN decides among integers is not specified; what zeros and infinities decide is. */
static void counting(struct sample *s)
{
	static const struct problem p = { "counting", "  x: f32[n,40] = random(-1, 1)\n  y: out i32[n]\n", "x, y",
					  "int c = 0; for (int j = 0; j < 40; j++) c += x[i*40+j] >= 0; y[i] = c;" };
	static const struct attempt list[] = {
		{ "backwards", "int c = 40; for (int j = 0; j < 40; j++) c -= !(x[i*40+j] >= 0); y[i] = c;", NULL },
		{ "what is not less", "int c = 0; for (int j = 0; j < 40; j++) c += !(x[i*40+j] < 0); y[i] = c;", NULL },
		{ "by the sign bit", "int c = 0; for (int j = 0; j < 40; j++) c += asint(x[i*40+j]) >= 0; y[i] = c;",
		  "y is wrong in" },
		{ "finite numbers only",
		  "int c = 0; for (int j = 0; j < 40; j++) c += x[i*40+j] >= 0 && x[i*40+j] < 3.3e38; y[i] = c;",
		  "infinities: integers are made of them as in the reference" },
	};
	static const struct problem near = { "near", "  x: f32[n,40] = random(-1, 1)\n  y: out i32[n]\n", "x, y",
					     "int c = 0; for (int j = 0; j < 40; j++) c += abs(x[i*40+j] - 0.5) < 0.1; y[i] = c;" };
	static const struct attempt not_far = {
		"what is not far", "int c = 0; for (int j = 0; j < 40; j++) c += !(abs(x[i*40+j] - 0.5) >= 0.1); y[i] = c;", NULL
	};
	judge_all(s, &p, list, MEM_COUNT(list));
	judge(s, &near, &not_far);
}

/* Messages say what inputs held, and ask to declare what may be declared. */
static void messages(struct sample *s)
{
	static const struct problem rows = { "rows", "  x: i32[n,4] < 1000\n  y: out i32[n]\n", "x, y", "y[i] = x[i*4];" };
	static const struct problem ranged = { "ranged", "  x: i32[n] < 1000\n  y: out i32[n]\n", "x, y", "y[i] = x[i] * 3;" },
				    whole = { "whole", "  x: i32[n]\n  y: out i32[n]\n", "x, y", "y[i] = x[i] * 3;" },
				    closed = { "closed", "  x: f32[n] = random(1, 2) closed\n  y: out f32[n]\n", "x, y",
					       "y[i] = x[i] * 3;" };
	static const struct attempt at_the_end = { "wrong at the end", "y[i] = x[i] == 999 ? 0 : x[i] * 3;",
						   "(on a few integers at the ends of their range)" };
	static const struct attempt at_the_end_of_floats = { "wrong at the end", "y[i] = x[i] == 2 ? 0 : x[i] * 3;",
							     "(on zeros, denormals and the ends of their domain)" };
	static const struct attempt beyond = { "wrong far away", "y[i] = x[i] > 1000000 ? 0 : x[i] * 3;",
					       "(on all integers of their range: without a range that is their whole type" };
	static const struct attempt of_range = { "wrong where all are at the end",
						 "y[i] = x[i*4] == 999 && x[i*4+1] == 999 && x[i*4+2] == 999 ? 0 : x[i*4];",
						 "(on all integers of their range)" };
	judge(s, &ranged, &at_the_end);
	judge(s, &closed, &at_the_end_of_floats);
	judge(s, &whole, &beyond);
	judge(s, &rows, &of_range);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	if (s.ready) {
		argmax(&s);
		top_k(&s);
		sorting(&s);
		compaction(&s);
		appending(&s);
		quantising(&s);
		in_place(&s);
		random_numbers(&s);
		flag(&s);
		counting(&s);
		messages(&s);
	} else {
		SKIP(1, "no HLSL device");
	}
	sample_fini(&s);
	return tap_done();
}
