/* core/judge: right kernels pass, wrong ones fail for the right reason, and no worker survives what kills it for long. */
#include "core/judge/validate.h"

#include "base/clock.h"
#include "core/record/validation.h"
#include "core/sample.h"

static int64_t judged; /* the checkpoint that judge() made last */

static struct validate_result judge(struct sample *s, const struct context *root, const struct context *ctx)
{
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct validate_request q = { .ctx = ctx, .baseline = root, .parent = root, .facts = &s->facts, .samples = 3, .seed = 5 };
	struct validate_result r = { 0 };
	struct err e = ERR_INIT;
	judged = sample_checkpoint(s, ctx);
	if (validate_run(&ev, &q, s->db, judged, NULL, &r, &e) < 0) {
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

/* The evidence says of each round how far the output was off, the worst element too. */
static void errors_told(struct sample *s, const struct context *root)
{
	struct context *backwards = sample_context("acc += A[row*n+n-1-k]*B[(n-1-k)*n+col];");
	struct validate_result r = judge(s, root, backwards);
	struct validation_list list = { 0 };
	struct err e = ERR_INIT;
	double error = 0, largest = 0;
	(void)validation_list(s->db, judged, NULL, 0, &list, &e);
	for (size_t i = 0; i < list.count; i++) {
		const char *at = list.at[i].details ? strstr(list.at[i].details, "C: relative error ") : NULL;
		if (at && sscanf(at, "C: relative error %lf, the largest %lf", &error, &largest) == 2 && error > 0)
			break;
	}
	ok(error > 0 && error < 1e-6 && largest >= error && largest < 1e-5, "errors are told: %.2e, the largest %.2e", error,
	   largest);
	validation_list_fini(&list);
	validate_result_fini(&r);
	context_free(backwards);
}

static const char *log_of(const struct validate_result *r, const char *size)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		char *params = params_text(r->findings[i].params);
		bool there = strncmp(params, size, strlen(size)) == 0 && params[strlen(size)] == ' ';
		free(params);
		if (there)
			return r->findings[i].check.log ? r->findings[i].check.log : "";
	}
	return "";
}

/* What a validation took is told, and of it what the device was leased for. */
static void time_told(struct sample *s, const struct context *root)
{
	struct eval_spent spent = { .leased_ns = 7 };
	struct eval ev = { .pool = s->pool, .references = s->references, .spent = &spent };
	struct validate_request q = { .ctx = root, .baseline = root, .facts = &s->facts, .samples = 1, .seed = 5 };
	struct validate_result r = { 0 };
	struct err e = ERR_INIT;
	int64_t began = clock_now();
	is_int(validate_run(&ev, &q, NULL, 0, NULL, &r, &e), 0, "validated %s", e.text);
	int64_t took = clock_now() - began, all = atomic_load(&spent.validation_ns),
		leased = atomic_load(&spent.validation_leased_ns);
	ok(leased > 0 && leased <= all && all <= took, "leased %lld ns of %lld ns, in %lld ns", (long long)leased, (long long)all,
	   (long long)took);
	is_int(atomic_load(&spent.leased_ns) - 7, leased, "nothing but this was leased for");
	validate_result_fini(&r);
}

/* Requests that share a secret share their values, and so their references, size by size; without one, each has values of its own.
 * A size that is not deep gets the cheap steps. */
static void shared_values(struct sample *s, const struct context *root)
{
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct params *size = params_new(), *other = params_new();
	struct validate_result r[4] = { 0 };
	struct err e = ERR_INIT;
	params_set_int(size, "n", false, 64);
	params_set_int(other, "n", false, 65);
	const struct params *deep[] = { size, other };
	struct validate_request q = { .ctx = root, .baseline = root, .facts = &s->facts, .samples = 1, .seed = 5 };
	for (size_t i = 0; i < MEM_COUNT(r); i++) {
		q.secret = i < 2 ? 77 : 0;
		q.deep = i == 1 ? &deep[1] : &deep[0];
		q.deep_count = i == 1 || i == 2;
		if (validate_run(&ev, &q, NULL, 0, NULL, &r[i], &e) < 0)
			printf("# %s\n", e.text);
	}
	ok(r[0].finding_count > 1 && r[0].finding_count == r[1].finding_count && r[0].passed && r[1].passed,
	   "the same configurations, and they pass");
	for (size_t i = 0; i < r[0].finding_count && i < r[1].finding_count; i++) {
		ok(r[0].findings[i].seed == r[1].findings[i].seed, "one secret, one seed");
		ok(r[2].findings[i].seed != r[3].findings[i].seed && r[2].findings[i].seed != r[0].findings[i].seed,
		   "no secret, seeds of their own");
		ok(i == 0 || r[0].findings[i].seed != r[0].findings[0].seed, "each size has another seed");
	}
	has_str(log_of(&r[0], "n=64"), "with another poison", "without a list of deep sizes every size gets the full suite");
	has_str(log_of(&r[2], "n=64"), "with another poison", "a deep size gets the full suite");
	has_str(log_of(&r[1], "n=64"), "with other values", "another size gets the cheap steps");
	ok(strstr(log_of(&r[1], "n=64"), "with another poison") == NULL, "and no more");
	has_str(log_of(&r[1], "n=17"), "with another poison", "a check: size gets the full suite");
	for (size_t i = 0; i < MEM_COUNT(r); i++)
		validate_result_fini(&r[i]);
	params_free(other);
	params_free(size);
}

/* On a device of its own the reference process works ahead, beside the rounds: verdicts are the same. */
static void beside_each_other(struct sample *s, const struct context *root, const struct context *other)
{
	struct references *fresh = references_new(64 << 20);
	struct eval ev = { .pool = s->pool, .references = fresh };
	struct params *size = params_new();
	struct facts facts = s->facts;
	struct context *wrong = sample_context("acc += A[row*n+k]*B[k*n+col]; if (k + 1 == n && n == 17) acc += 1;");
	params_set_int(size, "n", false, 64);
	struct reference_values later = { .size = size, .seed = 3 };
	const struct context *judged_ones[] = { other, wrong };
	facts.shares_cpu = false;
	for (size_t i = 0; i < MEM_COUNT(judged_ones); i++) {
		struct validate_request q = { .ctx = judged_ones[i], .baseline = root, .facts = &facts, .samples = 2, .seed = 5,
					      .secret = 99, .later = &later, .later_count = 1 };
		struct validate_result r = { 0 };
		struct err e = ERR_INIT;
		is_int(validate_run(&ev, &q, NULL, 0, NULL, &r, &e), 0, "validated beside references %s", e.text);
		ok(r.passed == (i == 0), "%s", r.summary ? r.summary : "?");
		validate_result_fini(&r);
	}
	params_free(size);
	context_free(wrong);
	references_free(fresh);
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	if (!s.ready) {
		SKIP(14, "no HLSL device");
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
	errors_told(&s, root);
	time_told(&s, root);
	validate_result_fini(&r);
	shared_values(&s, root);
	beside_each_other(&s, root, other);
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]*1.01;", "C is wrong in");
	refused(&s, root, "if (col != 3) acc += A[row*n+k]*B[k*n+col];", "C is wrong in");
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]; if (k == 5) acc = sqrt(-1.0-k);", "NaN");
	refused(&s, root, "acc += A[row*n+k]*B[k*n+col]", "device:");
	context_free(root);
	context_free(other);
	sample_fini(&s);
	return tap_done();
}
