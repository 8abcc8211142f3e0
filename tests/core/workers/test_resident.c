/* Arrays that stay on the device: values, truths and comparisons by the judge's kernels, in another process than the candidate's.
 * Needs an NVIDIA GPU; skipped, with the reason, without one. */
#include "core/workers/resident.h"

#include <math.h>

#include "core/sample.h"
#include "core/workers/trial.h"

struct place {
	struct sample s;
	struct eval ev;
	struct pool_worker *worker, *judge;
};

struct kernel {
	struct context *ctx;
	struct params *params;
	struct variant variant;
	struct trial trial;
};

static bool begin(struct place *p, const char *text, struct pool_worker *where, struct kernel *k)
{
	struct err e = ERR_INIT;
	memset(k, 0, sizeof *k);
	bool good = context_parse("test.peak.md", text, &k->ctx, &e) == 0 &&
		    params_parse(k->ctx, "n=5000", true, &k->params, &e) == 0 &&
		    variant_build(&p->ev, k->ctx, k->params, &p->s.facts, &k->variant, &e) == 0 &&
		    trial_begin(&k->trial, where, &k->variant, &e) == 0;
	ok(good, "a context is prepared %s", e.text);
	return good;
}

static void end(struct kernel *k)
{
	trial_end(&k->trial);
	variant_fini(&k->variant);
	params_free(k->params);
	context_free(k->ctx);
}

/* --- values -------------------------------------------------------------------------------------------------------------- */

#define COPY(type, fill)                                                                                                           \
	"---\nkernel: copy\nbackend: cuda\ninputs:\n  n: int = {5000}\n  X: " type "[7, n; n + 3] = " fill "\n  Y: out " type      \
	"[7, n]\n---\n"                                                                                                            \
	"```cuda\nextern \"C\" __global__ void copy(const char *X, char *Y, int n, int size)\n{\n"                                 \
	"\tint i = blockIdx.x * 256 + threadIdx.x;\n\tif (i < n * size)\n"                                                         \
	"\t\tY[(long)blockIdx.y * n * size + i] = X[(long)blockIdx.y * (n + 3) * size + i];\n}\n```\n"                             \
	"```lua host\nlocal size = Y.bytes // (7 * n)\nlaunch(\"copy\", {cdiv(n * size, 256), 7}, 256, {X, Y, n, "                 \
	"i32(size)})\n```\n"

static const char *const copies[] = {
	COPY("f32", "random"),
	COPY("f32", "normal"),
	COPY("f16", "random"),
	COPY("bf16", "normal"),
	COPY("e4m3", "random"),
	COPY("f64", "random(2, 5)"),
	COPY("i32", "random(-70, 90)"),
	COPY("u8", "iota"),
	COPY("i16", "random"),
	COPY("f32", "ones"),
	COPY("f16", "iota"),
	COPY("f32", "zeros"),
	COPY("e5m2", "normal"),
};

/* The output after an execution, as the host reads it; free(). */
static uint8_t *content(struct trial *t, const struct trial_input *input, size_t *ret_len, uint8_t **ret_answer)
{
	struct err e = ERR_INIT;
	const uint8_t *bytes = NULL;
	if (trial_execute(t, input, EVAL_EXECUTE_NS, NULL, &e) < 0 || trial_output(t, 0, ret_answer, &bytes, ret_len, &e) < 0)
		printf("# %s\n", e.text);
	return (uint8_t *)bytes;
}

static void test_values(struct place *p, const char *text)
{
	struct kernel host, device;
	struct err e = ERR_INIT;
	unsigned different = 0;
	if (begin(p, text, p->worker, &host) && begin(p, text, p->worker, &device)) {
		ok(trial_adopt(&device.trial, p->judge, &e) == 0, "another process opens the buffers %s", e.text);
		for (enum plan_values v = PLAN_DECLARED; v < PLAN_VALUES; v++)
			for (uint32_t move = 0; move < 2; move++) {
				struct trial_input input = { .seed = 77 + v,
							     .poison = 0x5A,
							     .values = v,
							     .perturbation = move,
							     .amplitude = move ? 0.01 : 0,
							     .immediates = { .count = 3, .at = { -9999, 1e-5, 777 } } };
				size_t n = 0, m = 0;
				uint8_t *a = NULL, *b = NULL, *x = content(&host.trial, &input, &n, &a),
					*y = content(&device.trial, &input, &m, &b);
				if (!x || !y || n != m || memcmp(x, y, n) != 0) {
					printf("# values %d moved %u differ\n", v, move);
					different++;
				}
				free(a);
				free(b);
			}
		is_int(different, 0, "the device makes the values that the host makes");
	}
	end(&host);
	end(&device);
}

/* --- truths -------------------------------------------------------------------------------------------------------------- */

#define SUMS(type, body)                                                                                                           \
	"---\nkernel: sums\nbackend: cuda\ninputs:\n  n: int = {5000}\n  X: f32[n, 700] = random\n  Y: out f32[n, 700]\n---\n"     \
	"```cuda\nextern \"C\" __global__ void sums(const float *X, float *Y, int n)\n{\n"                                         \
	"\tint row = blockIdx.x * 64 + threadIdx.x;\n\tif (row >= n)\n\t\treturn;\n\t" type " s = 0;\n"                            \
	"\tfor (int i = 0; i < 700; i++) {\n\t\t" body "\n\t\tY[row * 700 + i] = s;\n\t}\n}\n```\n"                                \
	"```lua host\nlaunch(\"sums\", cdiv(n, 64), 64, {X, Y, n})\n```\n"
static const char sums_exact[] = SUMS("double", "s += X[row * 700 + i];");
static const char sums_plain[] = SUMS("float", "s += X[row * 700 + i];");
static const char sums_short[] = SUMS("float", "s += i == 350 ? 0 : X[row * 700 + i];");
static const char sums_late[] = SUMS("float", "s += X[row * 700 + i]; if (row == 4999 && i == 699) break;");
static const char sums_writes[] = SUMS("float", "s += X[row * 700 + i]; if (row == 17 && i == 3) ((float *)X)[5] = 1;");

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int step(struct place *p, const struct kernel *k, enum wire_truth_step which, struct wire_truth_found *io_found,
		struct err *e)
{
	struct wire_truth m = { .run = k ? k->trial.run : 0,
				.step = which,
				.hash = HASH,
				.limits = { .shape = { 0x1p-23, 0x1p-126, 0x1.fffffep127, 0x1p-126 },
					    .sums = 0x1p-24,
					    .share = 50,
					    .baseline_share = 256,
					    .baseline_times = BOUND_BASELINE_FACTOR,
					    .rounding = 1,
					    .tiny = 0x1p-126,
					    .most = io_found->most,
					    .amplitude = 0x1p-12,
					    .has_baseline = 1,
					    .fields = 1 } };
	return resident_truth(p->judge, &m, io_found, e);
}

static void make_truth(struct place *p)
{
	struct kernel exact, plain;
	struct wire_truth_found found = { 0 };
	struct err e = ERR_INIT;
	struct trial_input input = { .seed = 5, .poison = 0xFF, .keep = WIRE_RESIDENT };
	if (begin(p, sums_exact, p->judge, &exact) && begin(p, sums_plain, p->judge, &plain)) {
		int rc = trial_execute(&exact.trial, &input, EVAL_EXECUTE_NS, NULL, &e);
		rc = rc < 0 ? rc : step(p, &exact, WIRE_TRUTH_KEEP, &found, &e);
		ok(rc == 0 && found.elements == 5000 * 700 && found.most > 20 && found.most < 100,
		   "a truth is kept (up to %.3g) %s", found.most, e.text);
		for (uint32_t i = 1; rc == 0 && i <= 4; i++) {
			input.perturbation = i;
			input.amplitude = 0x1p-12;
			rc = trial_execute(&exact.trial, &input, EVAL_EXECUTE_NS, NULL, &e);
			rc = rc < 0 ? rc : step(p, &exact, WIRE_TRUTH_MOVED, &found, &e);
		}
		input.perturbation = 0;
		input.amplitude = 0;
		rc = rc < 0 ? rc : trial_execute(&plain.trial, &input, EVAL_EXECUTE_NS, NULL, &e);
		rc = rc < 0 ? rc : step(p, &plain, WIRE_TRUTH_BOUND, &found, &e);
		ok(rc == 0 && (double)found.tally.judged > 0.95 * (double)found.elements && found.tally.gross == 0 && !found.capped,
		   "%llu of %llu elements judge; the baseline is within %.3g of the bounds %s",
		   (unsigned long long)found.tally.judged, (unsigned long long)found.elements, found.tally.baseline_ratio, e.text);
		ok(found.tally.telling > 1000000 && found.tally.low > found.tally.high, "zeros and constants do not pass");
	}
	end(&exact);
	end(&plain);
}

static void judge(struct place *p, const char *text, struct wire_compared *ret, struct err *e)
{
	struct kernel k;
	struct trial_input input = { .seed = 5, .poison = 0x5A };
	struct trial_expected want = { .hash = HASH, .type = DTYPE_F64, .poison = 0x5A };
	memset(ret, 0, sizeof *ret);
	if (begin(p, text, p->worker, &k) && trial_adopt(&k.trial, p->judge, e) == 0 &&
	    trial_execute(&k.trial, &input, EVAL_EXECUTE_NS, NULL, e) == 0)
		trial_compare(&k.trial, 0, &want, ret, e);
	end(&k);
}

static void test_truth(struct place *p)
{
	struct wire_compared c;
	struct err e = ERR_INIT;
	make_truth(p);
	judge(p, sums_plain, &c, &e);
	ok(c.elements == 5000 * 700 && c.mismatched == 0 && c.worst_ratio < 1 && c.worst_ratio > 0,
	   "an honest kernel passes: worst ratio %.3g, mean %.3g %s", c.worst_ratio, c.mean_ratio, e.text);
	judge(p, sums_short, &c, &e);
	ok(c.mismatched > 5000 * 300 && c.mismatch[0].index == 350, "a dropped term is found: %llu wrong, the first is %lld %s",
	   (unsigned long long)c.mismatched, (long long)c.mismatch[0].index, e.text);
	judge(p, sums_late, &c, &e);
	ok(c.mismatched == 1 && c.untouched == 1 && c.mismatch[0].index == 5000 * 700 - 1,
	   "an element that was never written is found %s", e.text);
	judge(p, sums_writes, &c, &e);
	has_str(e.text, "wrote to its input X", "a changed input is found");
	e = (struct err)ERR_INIT;
	struct wire_truth_found found = { 0 };
	ok(step(p, NULL, WIRE_TRUTH_DROP, &found, &e) == 0 && step(p, NULL, WIRE_TRUTH_BOUND, &found, &e) < 0,
	   "a truth is dropped");
}

int main(int argc, char **argv)
{
	struct place p;
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&p.s);
	p.ev = (struct eval){ .pool = p.s.pool, .references = p.s.references };
	if (pool_device(p.s.pool, "cuda:0", &p.s.facts, &e) < 0) {
		SKIP(1, "no CUDA device: %s", e.text);
		sample_fini(&p.s);
		return tap_done();
	}
	ok(pool_take_device(p.s.pool, &p.s.facts, &(struct pool_wish){ .cancel = NULL }, &p.worker, &e) == 0,
	   "a device is leased %s", e.text);
	p.judge = pool_reference(p.worker);
	ok(resident_prepare(&p.ev, &p.s.facts, p.judge, &e) == 0, "the judge's kernels are loaded %s", e.text);
	ok(resident_prepare(&p.ev, &p.s.facts, p.judge, &e) == 0, "and loaded once");
	for (size_t i = 0; i < MEM_COUNT(copies); i++)
		test_values(&p, copies[i]);
	test_truth(&p);
	pool_give(p.worker);
	sample_fini(&p.s);
	return tap_done();
}
