/* core/tune/tune: a whole tune on the device of this machine: everything recorded, the winner validated. */
#include "core/tune/tune.h"
#include "core/judge/validate.h"
#include "core/record/measurement.h"
#include "core/sample.h"

static void note_progress(void *arg, double done, double total, const char *message)
{
	(void)done;
	(void)total;
	snprintf(arg, 256, "%s", message);
}

/* Right at the size that is tuned, wrong at the check: size for some configurations: nothing is quoted then, however fast. */
static void refuted(struct sample *s, const struct context *root, const struct params *size)
{
	struct context *ctx = sample_context("acc += A[row*n+k]*B[k*n+col]*(BX == 16 && n == 17 ? 1.5 : 1.0);");
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct params *prefer[3];
	struct tune_request q = { .ctx = ctx, .baseline = root, .facts = &s->facts, .size = size, .budget = 3, .seed = 3,
	                          .prefer = prefer, .prefer_count = MEM_COUNT(prefer), .give_up = 1e9 };
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	for (int i = 0; i < 3; i++) {
		prefer[i] = params_copy(size);
		params_set_int(prefer[i], "BX", true, i < 2 ? 16 : 8);
		params_set_int(prefer[i], "BY", true, i < 1 ? 8 : 4);
	}
	struct measurement_list list;
	int64_t checkpoint = sample_checkpoint(s, ctx);
	size_t quoted = 0, wrong = 0;
	is_int(tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e), 0, "a tune whose finalists are wrong at other sizes ends %s",
	       e.text);
	is_int((long long)t.timed, 3, "all are right and timed at the tuned size");
	is_int((long long)t.top_count, 1, "parameters that fail at the check: size are refuted");
	is_int((long long)t.wrong, 2, "and they count as wrong");
	struct measurement_query mq = { .checkpoint = checkpoint, .device = s->facts.uuid };
	measurement_top(s->db, &mq, &list, &e);
	for (size_t i = 0; i < list.count; i++) {
		quoted++;
		wrong += strstr(list.at[i].params, "BX=16") != NULL;
	}
	ok(quoted == 0 && wrong == 0, "no time of a refuted checkpoint is quoted (%zu are, %zu of them wrong)", quoted, wrong);
	struct checkpoint c;
	is_int(checkpoint_get(s->db, checkpoint, &c, &e), 0, "the checkpoint is there");
	ok(c.status == CHECKPOINT_FAILED && c.note && strstr(c.note, "n=17 BX=16"),
	   "one wrong configuration refutes it, and is named: %s", c.note ? c.note : "");
	checkpoint_fini(&c);
	measurement_list_fini(&list);
	tune_result_fini(&t);
	for (int i = 0; i < 3; i++)
		params_free(prefer[i]);
	context_free(ctx);
}

/* Does a tune under this precision end well on a device whose plain and TF32 pipes are said to be slower than any? */
static bool possible(struct sample *s, const char *precision, const struct params *size)
{
	struct context *ctx = sample_context_with(precision, SAMPLE_RIGHT);
	struct facts facts = s->facts;
	facts.peak_f32 = facts.peak_tensor_tf32 = 1000;
	facts.peak_tensor_f16 = 1e18;
	struct eval ev = { .pool = s->pool, .references = s->references };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &facts, .size = size, .budget = 2, .seed = 3,
				  .finalists = 1 };
	struct tune_result t = { 0 };
	struct err e = ERR_INIT;
	int64_t checkpoint = sample_checkpoint(s, ctx);
	int rc = tune_run(&ev, &q, s->db, checkpoint, NULL, &t, &e);
	if (rc < 0)
		has_str(e.text, "faster than the hardware can be", "a time below the floor is refused as such");
	tune_result_fini(&t);
	context_free(ctx);
	return rc == 0;
}

static void floors(struct sample *s, const struct params *size)
{
	ok(!possible(s, "", size), "strict: the plain pipe is the floor");
	ok(!possible(s, "precision: tensor:tf32/f32\n", size), "TF32: its pipe is");
	ok(possible(s, "precision: tensor:f32/f32\n", size), "f32 made of narrower products may use the fastest pipe");
}

int main(int argc, char **argv)
{
	struct sample s;
	struct err e = ERR_INIT;
	char last[256] = "";
	sample_worker(argc, argv);
	sample_init(&s);
	if (!s.ready) {
		SKIP(8, "no HLSL device");
		sample_fini(&s);
		return tap_done();
	}
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	struct params *size = params_new();
	params_set_int(size, "n", false, 64);
	int64_t checkpoint = sample_checkpoint(&s, ctx);
	struct eval ev = { .pool = s.pool, .references = s.references, .progress = note_progress, .progress_arg = last };
	struct tune_request q = { .ctx = ctx, .baseline = ctx, .facts = &s.facts, .size = size, .budget = 5, .seed = 3,
				  .finalists = 1 };
	struct tune_result t = { 0 };
	int rc = tune_run(&ev, &q, s.db, checkpoint, NULL, &t, &e);
	if (rc < 0)
		printf("# %s\n", e.text);
	is_int(rc, 0, "a tune ends well");
	is_int(t.space, 8, "the space has eight valid configurations");
	is_int(t.tried, 5, "five configurations are tried");
	is_int(t.timed, 5, "and timed");
	ok(t.top_count >= 1 && t.top[0].median_ns > 0 && t.top[0].samples >= 10, "the winner has ten samples or more");
	ok(last[0] != '\0', "progress was told: %s", last);
	struct measurement_query mq = { .checkpoint = checkpoint, .device = s.facts.uuid };
	struct measurement best;
	rc = measurement_best(s.db, &mq, &best, &e);
	is_int(rc, 0, "the best row is recorded");
	if (rc == 0) {
		ok(best.validation > 0, "and its row points at its evidence");
		measurement_fini(&best);
	}
	tune_result_fini(&t);
	refuted(&s, ctx, size);
	floors(&s, size);
	params_free(size);
	context_free(ctx);
	sample_fini(&s);
	return tap_done();
}
