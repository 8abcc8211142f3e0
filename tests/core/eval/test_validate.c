/* core/eval: right kernels pass, wrong ones fail for the right reason, and no worker survives what kills it for long. */
#include "core/eval/validate.h"
#include "sample.h"

static struct validate_result judge(struct sample *s, const struct context *root, const struct context *ctx)
{
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct validate_request q = { .ctx = ctx, .root = root, .parent = root, .facts = &s->facts, .samples = 3, .seed = 5 };
	struct validate_result r = { 0 };
	struct err e = ERR_INIT;
	if (validate_run(&ev, &q, s->db, sample_checkpoint(s, ctx), NULL, &r, &e) < 0) {
		printf("# %s\n", e.text);
		r.summary = mem_str(e.text);
	}
	printf("# %s\n", r.summary);
	return r;
}

static void refused(struct sample *s, const struct context *root, const char *body, const char *reason)
{
	struct context *ctx = sample_context(body);
	struct validate_result r = judge(s, root, ctx);
	ok(!r.passed, "refused: %s", body);
	has_str(r.summary, reason, "because: %s", reason);
	validate_result_fini(&r);
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	if (!s.ready) {
		SKIP(9, "no HLSL device");
		sample_fini(&s);
		return tap_done();
	}
	struct context *root = sample_context(SAMPLE_RIGHT), *other = sample_context("acc = mad(A[row*n+k], B[k*n+col], acc);");
	struct validate_result r = judge(&s, root, root);
	ok(r.passed, "the root passes against itself");
	ok(r.passed_count >= 4, "declared and check: sizes were run (%zu)", r.passed_count);
	validate_result_fini(&r);
	r = judge(&s, root, other);
	ok(r.passed, "another order of rounding passes");
	validate_result_fini(&r);
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]*1.01;", "C is wrong in");
	refused(&s, root, "if (col != 3) acc += A[row*n+k]*B[k*n+col];", "C is wrong in");
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]; if (k == 5) acc = sqrt(-1.0-k);", "NaN");
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]", "device:");
	context_free(root);
	context_free(other);
	sample_fini(&s);
	return tap_done();
}
