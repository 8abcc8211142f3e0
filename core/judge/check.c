/* check: one execution against the reference; see check.h. */
#include "core/judge/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/judge/bound.h"
#include "core/record/checkpoint.h"
#include "core/record/fact.h"

enum { BIAS_ELEMENTS = 250 /* fewer have no mean worth judging */ };
#define MEAN_MOST 0.5
#define SIGNED_MOST 0.25
/* What may be exact enough for a user: beside the root mean square of an output, and beside the bound. */
#define SMALL_ERROR 1e-3
#define SMALL_RATIO 16

uint64_t check_seed(void)
{
	uint64_t seed;
	hash_random(&seed, sizeof seed);
	return seed;
}

void check_fini(struct check *c)
{
	free(c->reason);
	free(c->output);
	free(c->log);
	free(c->by);
	free(c->weak);
	*c = (struct check){ 0 };
}

void check_failed(struct check *ret_check, const struct err *why)
{
	*ret_check = (struct check){ .code = why->code, .reason = mem_str(why->text), .error = NAN, .tolerance = NAN };
}

bool check_skipped(const struct check *c)
{
	switch (c->code) {
	case ERR_UNSUPPORTED:
	case ERR_CONFLICT:
	case ERR_IO:
	case ERR_BUSY:
	case ERR_INTERNAL: return true;
	case ERR_NONE:
	case ERR_INPUT:
	case ERR_NOT_FOUND:
	case ERR_COMPILE:
	case ERR_PRUNED:
	case ERR_WRONG:
	case ERR_CRASH:
	case ERR_TIMEOUT:
	case ERR_MODEL:
	case ERR_NETWORK: /* what ran in a worker made it speak nonsense */
	case ERR_CANCELLED: return false;
	}
	return false;
}

/* Digits of %g that tell this output's numbers apart; integers up to 2^53 in full. */
static int digits(const struct reference_output *o)
{
	return dtype_is_float(o->type) ? 9 : 20;
}

/* Of an output whose declared kind decides. free() */
static char *objection_of_kind(const struct reference_output *o, const struct plan *plan, const struct wire_compared *c)
{
	const struct judgement *j = &o->judgement;
	struct buf text = BUF_INIT;
	buf_addf(&text, "%s is judged as `", o->name);
	judgement_add_text(j, j->of && j->of <= plan->buffer_count ? plan->buffers[j->of - 1].name : NULL, &text);
	if (j->kind == JUDGE_DISTRIBUTION)
		buf_adds(&text, "` and is not distributed as the reference");
	else
		buf_addf(&text, "` and is wrong in %llu of %llu elements", (unsigned long long)c->mismatched,
			 (unsigned long long)c->elements);
	if (*c->finding)
		buf_addf(&text, ": %s", c->finding);
	else if (c->mismatch_count)
		buf_addf(&text, ", the first at index %lld: got %.*g, want %.*g", (long long)c->mismatch[0].index, digits(o),
			 c->mismatch[0].got, digits(o), c->mismatch[0].want);
	return buf_steal(&text);
}

/* printf tells the sign of NaN, which means nothing. */
static double unsigned_nan(double value)
{
	return isnan(value) ? fabs(value) : value;
}

/* How one element misses. free() */
static char *miss_text(const struct reference_output *o, const struct wire_mismatch *x)
{
	bool known = o->causes && x->index >= 0 && (size_t)x->index < o->elements;
	enum bound_cause cause = known ? (enum bound_cause)o->causes[x->index] : BOUND_CAUSES;
	bool copied = cause == BOUND_EXACT && dtype_is_float(o->type) && isfinite(x->want) && isfinite(x->got);
	char *place = reference_place(o, x->index);
	char *text = x->bound > 0 && isfinite(x->got)
			     ? mem_fmt("at %s it is %.9g, not %.9g; off by %.3g where %.3g is allowed (%s)", place, x->got, x->want,
				       fabs(x->got - x->want), x->bound, bound_cause_text(cause))
			     : mem_fmt("at %s it is %.*g, not %.*g%s", place, digits(o), unsigned_nan(x->got), digits(o),
				       unsigned_nan(x->want), copied ? "; nothing is rounded there, so all bits count" : "");
	free(place);
	return text;
}

/* Honest formulas turn infinities of the reference into NaN (infinity minus infinity). That is loud. Neither a number in place of
 * NaN or infinity is excused, nor one of those in place of a number: a mask that multiplies does not mask. */
static bool is_loud(const struct reference_output *o, const struct wire_compared *c)
{
	if (o->may_be_nan && c->mismatched == c->nan)
		return true;
	uint64_t most = c->ref_nan > c->elements / 4 ? c->ref_nan : c->elements / 4;
	return o->other_values && c->ref_nan > 0 && c->mismatched == c->nan && c->spread == 0 && c->nan <= most;
}

/* Where rounding turns decisions over, as many elements may be off. Where it is known which, few others may. */
static bool is_forgiven(const struct reference_output *o, const struct wire_compared *c)
{
	uint32_t turned = 0;
	for (uint32_t i = 0; o->turns && i < c->mismatch_count; i++)
		turned += o->causes[c->mismatch[i].index] == BOUND_JUMPS;
	bool known = !o->turns || c->mismatch_count - turned <= turned / 2;
	return known && c->mismatched <= o->forgiven && c->nan == 0 && c->max_abs <= o->jump;
}

/* The baseline overflows on such values, too, and what it overflows in may be another element. */
static bool is_overflow(const struct reference_output *o, const struct wire_compared *c)
{
	return c->mismatched == c->nan && c->nan <= 4 * o->overflows;
}

/* Errors that are all large, or all to one side, come from no rounding. */
static bool is_biased(const struct wire_compared *c)
{
	return c->judged >= BIAS_ELEMENTS && (c->mean_ratio > MEAN_MOST || fabs(c->signed_mean) > SIGNED_MOST);
}

/* Whether NaN in place of infinities is there, but a few numbers are what is_loud does not excuse. */
static bool is_by_number(const struct reference_output *o, const struct wire_compared *c)
{
	return o->other_values && c->nan && c->spread == 0 && c->nan < c->mismatched;
}

/* The element that says most, if it is one of the first. */
static const struct wire_mismatch *shown(const struct reference_output *o, const struct wire_compared *c)
{
	for (uint32_t i = 0; i < c->mismatch_count; i++) {
		const struct wire_mismatch *x = &c->mismatch[i];
		if (isfinite(x->got) ? is_by_number(o, c) : c->spread > 0 && isfinite(x->want))
			return x;
	}
	return c->nan && c->mismatch_count ? &c->mismatch[0] : &c->worst;
}

/* What a user may declare to whom errors that are small beside the output do not matter; "" elsewhere. free() */
static char *accuracy_text(const struct reference_output *o, const struct wire_compared *c)
{
	double size = c->ref_norm / sqrt((double)c->elements), off = c->max_abs;
	bool declared = o->hint == NULL && !o->other_values && dtype_is_float(o->type);
	if (!declared || c->nan || c->worst_ratio > SMALL_RATIO || !(off > 0 && off < SMALL_ERROR * size))
		return mem_str("");
	return mem_fmt("; where such errors do not matter, declare `%s` with `within %.1g units`", o->name, 2 * off);
}

/* Why these figures do not pass; NULL when they do. free() */
static char *objection(const struct reference_output *o, const struct plan *plan, const struct wire_compared *c)
{
	unsigned long long all = c->elements;
	const struct wire_mismatch *most = shown(o, c);
	char *text = NULL, *miss;
	if (!reference_is_close(o))
		return c->mismatched ? objection_of_kind(o, plan, c) : NULL;
	miss = miss_text(o, most);
	char *accuracy = accuracy_text(o, c);
	if (c->mismatched && (is_forgiven(o, c) || is_loud(o, c) || is_overflow(o, c)))
		text = NULL;
	else if (c->untouched == all && c->ref_nan == all)
		text = mem_fmt(
			"%s was never written, and the baseline gives NaN in all of its %llu elements. The baseline does not "
			"write %s either, or cannot compute it",
			o->name, all, o->name);
	else if (c->untouched && c->untouched == c->mismatched && c->untouched == c->ref_nan)
		text = mem_fmt("%s was never written in %llu of its %llu elements, and the baseline gives NaN in as many. The "
			       "baseline does not write them either, or cannot compute them",
			       o->name, (unsigned long long)c->untouched, all);
	else if (c->mismatched && c->untouched && dtype_is_float(o->type)) /* integers may be the poison by chance: look_again */
		text = mem_fmt("%s is wrong in %llu of %llu elements, and %llu of them still hold what was there before: never "
			       "written; %s",
			       o->name, (unsigned long long)c->mismatched, all, (unsigned long long)c->untouched, miss);
	else if (is_by_number(o, c))
		text = mem_fmt("%s is a wrong number in %llu of %llu elements (NaN in place of an infinity is excused)%s%s",
			       o->name, (unsigned long long)(c->mismatched - c->nan), all, isfinite(most->got) ? "; " : "",
			       isfinite(most->got) ? miss : "");
	else if (c->spread)
		text = mem_fmt("%s has NaN or infinity in %llu of %llu elements where the reference has none; %s", o->name,
			       (unsigned long long)c->spread, all, miss);
	else if (c->mismatched)
		text = mem_fmt("%s is wrong in %llu of %llu elements; %s%s%s%s", o->name, (unsigned long long)c->mismatched, all,
			       miss, accuracy, *c->finding ? "; " : "", c->finding);
	else if (!o->repeats && is_biased(c))
		text = mem_fmt("%s is off by %.2g of its bounds on average (%.2g with signs); rounding explains at most %g and "
			       "%g; %s",
			       o->name, c->mean_ratio, c->signed_mean, MEAN_MOST, SIGNED_MOST, miss);
	free(miss);
	free(accuracy);
	if (text && o->hint) {
		char *with_hint = mem_fmt("%s; %s", text, o->hint);
		free(text);
		text = with_hint;
	}
	return text;
}

static struct trial_expected expected(const struct reference_output *o, uint32_t poison)
{
	return (struct trial_expected){ .hash = o->hash.hex,
					.bytes = o->wanted,
					.len = o->wanted_len,
					.type = o->wanted_type,
					.judgement = o->judgement,
					.poison = poison };
}

static void fail(struct check *c, char *take_reason)
{
	free(c->reason);
	c->passed = false;
	c->gave_nan = c->wants_nan = false;
	c->code = ERR_WRONG;
	c->reason = take_reason;
}

/* ret_figures: of this output. */
static int compare_output(struct trial *t, uint32_t k, const struct reference_output *o, uint32_t poison, struct check *c,
			  struct wire_compared *ret_figures, struct err *e)
{
	const struct plan_buffer *b = variant_output(t->variant, k);
	if (strcmp(b->name, o->name) != 0)
		return err_set(e, ERR_INPUT, "output %u is %s, but the baseline's is %s: outputs cannot be changed", k, b->name,
			       o->name);
	struct trial_expected want = expected(o, poison);
	int rc = trial_compare(t, k, &want, ret_figures, e);
	if (rc < 0)
		return rc;
	char *why = objection(o, t->variant->plan, ret_figures);
	if (c->passed && (why || c->output == NULL || ret_figures->worst_ratio > c->figures.worst_ratio)) {
		/* The first output that fails is shown; among those that pass, the one nearest to its limit. */
		free(c->output);
		c->output = mem_str(o->name);
		c->error = ret_figures->worst_ratio > 0 ? fabs(ret_figures->worst.got - ret_figures->worst.want) : 0;
		c->tolerance = ret_figures->worst.bound;
		c->figures = *ret_figures;
		c->rank = o->rank;
		memcpy(c->dims, o->dims, sizeof c->dims);
	}
	if (why && c->passed) {
		fail(c, why);
		const struct wire_mismatch *most = shown(o, ret_figures);
		c->gave_nan = reference_is_close(o) && !is_by_number(o, ret_figures) && isnan(most->got);
		c->wants_nan = reference_is_close(o) && isnan(most->want) && isfinite(most->got);
	} else {
		free(why);
	}
	return 0;
}

/* An element that holds the poison may have been computed so. What also holds another poison after another execution was never
 * written, even if nothing judges it. */
static int look_again(struct trial *t, const struct trial_input *input, uint32_t k, const struct reference_output *o,
		      struct check *c, struct err *e)
{
	struct trial_input again = *input;
	struct wire_compared figures;
	again.poison = input->poison == TRIAL_POISON ? CHECK_POISON : TRIAL_POISON;
	struct trial_expected want = expected(o, again.poison);
	int rc = trial_execute(t, &again, EVAL_EXECUTE_NS, NULL, e);
	if (rc == 0)
		rc = trial_compare(t, k, &want, &figures, e);
	if (rc < 0 || figures.untouched == 0)
		return rc;
	char *place = reference_place(o, figures.first_untouched);
	fail(c, mem_fmt("%s was never written in %llu of %llu elements, the first at %s", o->name,
			(unsigned long long)figures.untouched, (unsigned long long)figures.elements, place));
	free(place);
	return 0;
}

/* *ret_suspect: the first output that may not have been written, which look_again finds out; UINT32_MAX: none. */
static int compare_outputs(struct trial *t, const struct trial_input *input, const struct reference *r, struct check *c,
			   uint32_t *ret_suspect, struct err *e)
{
	bool plain = (input->keep & (WIRE_LOOK | WIRE_KEEP_OUTPUTS)) == 0;
	int rc = 0;
	*ret_suspect = UINT32_MAX;
	if (variant_output_count(t->variant) != r->output_count)
		return err_set(e, ERR_INPUT, "the context has %zu outputs, but the baseline has %zu: outputs cannot be changed",
			       variant_output_count(t->variant), r->output_count);
	for (uint32_t k = 0; rc == 0 && k < r->output_count; k++) {
		struct wire_compared figures;
		if (r->outputs[k].unfit)
			continue;
		rc = compare_output(t, k, &r->outputs[k], input->poison, c, &figures, e);
		if (rc == 0 && plain && figures.untouched && *ret_suspect == UINT32_MAX)
			*ret_suspect = k;
	}
	return rc;
}

/* Much longer than the baseline itself needed means hung; the first execution may include a driver's own compilation. */
static int64_t patience(const struct reference *r)
{
	int64_t ns = (int64_t)r->execute_ns * 20 + 10 * CLOCK_S;
	return ns < EVAL_EXECUTE_NS ? ns : EVAL_EXECUTE_NS;
}

/* One execution while it is judged. */
struct judging {
	const struct reference_source *j;
	struct trial *t;
	const struct trial_input *input;
	bool executed;
	uint64_t device_ns;
	struct check c;
	char *unfit;    /* why its values cannot judge it, or one of its outputs */
	struct err why; /* the kernel's own failure */
};

/* Executes, unless that was done, and compares. Those that do not pass quick bounds need the others. */
static void judge_with(struct judging *g, const struct reference *r, bool quick)
{
	uint32_t suspect = UINT32_MAX;
	int rc = g->executed ? 0 : trial_execute(g->t, g->input, patience(r), &g->device_ns, &g->why);
	g->executed = true;
	g->c.device_ns = g->device_ns;
	g->c.tells = !quick && r->tells;
	g->c.weak = mem_str(r->weak);
	g->c.by = mem_str(r->by);
	if (rc == 0)
		rc = compare_outputs(g->t, g->input, r, &g->c, &suspect, &g->why);
	if (rc == 0 && suspect != UINT32_MAX && quick)
		g->c.passed = false;
	else if (rc == 0 && suspect != UINT32_MAX)
		look_again(g->t, g->input, suspect, &r->outputs[suspect], &g->c, &g->why);
}

/* Judges by one of the two references. *ret_decided: as the other would. */
static int judge(struct judging *g, bool quick, bool *ret_decided, struct err *e)
{
	const struct reference *r = NULL;
	const struct reference_values values = { .size = g->t->variant->params,
						 .seed = g->input->seed,
						 .values = g->input->values,
						 .immediates = g->input->immediates,
						 .quick = quick };
	check_fini(&g->c);
	g->c = (struct check){ .passed = true, .error = NAN, .tolerance = NAN };
	int rc = reference_get(g->j, g->t->worker, &values, &r, e);
	if (rc < 0)
		return rc;
	const char *unfit = r->unfit;
	for (size_t k = 0; k < r->output_count && !r->unfit; k++)
		if (r->outputs[k].unfit && (!unfit || strstr(unfit, REFERENCE_ELSEWHERE)))
			unfit = r->outputs[k].unfit;
	free(g->unfit);
	g->unfit = mem_str(unfit);
	if (r->resident && !r->unfit && g->t->judge == NULL)
		rc = trial_adopt(g->t, pool_reference(g->t->worker), e);
	if (rc == 0 && !r->unfit && !(quick && unfit))
		judge_with(g, r, quick);
	reference_release(g->j->ev->references, r);
	*ret_decided = !unfit && (g->c.passed || g->why.code != ERR_NONE);
	return rc < 0 ? -(int)e->code : 0;
}

static int judge_execution(const struct reference_source *j, struct trial *t, const struct trial_input *input, bool quick,
			   struct check *ret_check, char **ret_unfit, struct err *e)
{
	struct judging g = { .j = j, .t = t, .input = input };
	bool decided = false;
	int rc = quick ? judge(&g, true, &decided, e) : 0;
	if (!decided && (rc == 0 || e->code == ERR_INTERNAL)) { /* where quick bounds cannot judge, the others say why */
		*e = (struct err)ERR_INIT;
		rc = judge(&g, false, &decided, e);
	}
	if (rc == 0 && g.why.code == ERR_CANCELLED) {
		*e = g.why;
		rc = -ERR_CANCELLED;
	}
	if (rc == 0 && g.why.code != ERR_NONE) {
		free(g.c.reason);
		g.c.passed = false;
		g.c.code = g.why.code;
		g.c.reason = mem_str(g.why.text);
	}
	if (rc < 0)
		check_fini(&g.c);
	else
		*ret_check = g.c;
	if (rc == 0 && ret_unfit)
		*ret_unfit = g.unfit;
	else
		free(g.unfit);
	return rc;
}

int check_execution(const struct reference_source *j, struct trial *t, const struct trial_input *input, struct check *ret_check,
		    char **ret_unfit, struct err *e)
{
	return judge_execution(j, t, input, false, ret_check, ret_unfit, e);
}

int check_draw(const struct reference_source *j, struct trial *t, const struct trial_input *input, struct check *ret_check,
	       char **ret_unfit, struct err *e)
{
	return judge_execution(j, t, input, true, ret_check, ret_unfit, e);
}

int check_run(const struct reference_source *j, struct trial *t, uint64_t seed, struct check *ret_check, struct err *e)
{
	struct trial_input input = { .seed = seed, .poison = TRIAL_POISON };
	return check_execution(j, t, &input, ret_check, NULL, e);
}

void check_name(struct check *c, const char *when)
{
	if (c->reason == NULL)
		return;
	char *reason = mem_fmt("%s (%s)", c->reason, when);
	free(c->reason);
	c->reason = reason;
}

int check_refuse(const struct check *c, const char *what, struct err *e)
{
	if (check_skipped(c))
		return err_set(e, c->code, "%s", c->reason);
	return err_set(e, ERR_WRONG, "%s: %s", what, c->reason);
}

/* One look after timing: a line in the log, or *io_check becomes its failure. */
static int look_after(const struct reference_source *j, struct trial *t, const struct trial_input *input, const char *when,
		      struct check *io_check, struct err *e)
{
	struct check c;
	int rc = check_draw(j, t, input, &c, NULL, e);
	if (rc < 0)
		return rc;
	if (!c.passed) {
		check_name(&c, when);
		check_fini(io_check);
		*io_check = c;
		return 0;
	}
	char *log = mem_fmt("%spassed %s\n", io_check->log, when);
	free(io_check->log);
	io_check->log = log;
	check_fini(&c);
	return 0;
}

int check_left(const struct reference_source *j, struct trial *t, struct check *io_check, struct err *e)
{
	struct trial_input input = { .poison = WIRE_TIMED_POISON, .keep = WIRE_LOOK };
	int rc = 0;
	if (io_check->log == NULL)
		io_check->log = mem_str("passed with secret values\n");
	for (unsigned i = 0; i < t->left_count && rc == 0 && io_check->passed; i++) {
		input.seed = t->left[i];
		rc = look_after(j, t, &input, CHECK_AS_LEFT, io_check, e);
	}
	t->left_count = 0;
	return rc;
}

int check_after(const struct reference_source *j, struct trial *t, uint64_t seed, struct check *io_check, struct err *e)
{
	struct trial_input input = { .seed = seed, .poison = CHECK_POISON, .keep = WIRE_KEEP_SCRATCH };
	int rc = check_left(j, t, io_check, e);
	return rc < 0 || !io_check->passed ? rc : look_after(j, t, &input, CHECK_AFTER, io_check, e);
}

void check_seeds(uint64_t first, uint64_t ret_seeds[TRIAL_SEEDS])
{
	ret_seeds[0] = first;
	for (int i = 1; i < TRIAL_SEEDS; i++) {
		struct hash next = hash_bytes(&ret_seeds[i - 1], sizeof *ret_seeds);
		memcpy(&ret_seeds[i], next.hex, sizeof *ret_seeds);
	}
}

static bool is_filled(int64_t extent, int tile)
{
	return (tile * extent + WIRE_MAP - 1) / WIRE_MAP < ((tile + 1) * extent + WIRE_MAP - 1) / WIRE_MAP;
}

bool check_has_tile(const struct check *c, int row, int column)
{
	return is_filled(c->rank > 1 ? c->dims[c->rank - 2] : 1, row) && is_filled(c->rank ? c->dims[c->rank - 1] : 1, column);
}

char *check_details(const struct check *c)
{
	struct buf out = BUF_INIT;
	const struct wire_compared *f = &c->figures;
	if (c->output == NULL)
		return mem_str(c->reason ? c->reason : "");
	buf_addf(&out,
		 "%s: %llu elements, %llu judged, %llu wrong, %llu NaN, %llu as before the execution; the worst is off by %.3g, "
		 "allowed %.3g\n",
		 c->output, (unsigned long long)f->elements, (unsigned long long)f->judged, (unsigned long long)f->mismatched,
		 (unsigned long long)f->nan, (unsigned long long)f->untouched, c->error, c->tolerance);
	if (c->by)
		buf_addf(&out, "right outputs by %s\n", c->by);
	struct reference_output shape = { .rank = c->rank };
	memcpy(shape.dims, c->dims, sizeof shape.dims);
	for (uint32_t i = 0; i < f->mismatch_count && i < CHECK_SHOWN; i++) {
		char *place = reference_place(&shape, f->mismatch[i].index);
		buf_addf(&out, "%s: got %.9g, want %.9g, allowed %.3g\n", place, unsigned_nan(f->mismatch[i].got),
			 unsigned_nan(f->mismatch[i].want), f->mismatch[i].bound);
		free(place);
	}
	if (f->mismatched)
		for (int r = 0; r < WIRE_MAP; r++) {
			for (int k = 0; k < WIRE_MAP; k++)
				if (check_has_tile(c, r, k))
					buf_addf(&out, "%s%3.0f%%", k ? " " : "", 100.0 * (double)f->map[r][k]);
			if (check_has_tile(c, r, 0))
				buf_addc(&out, '\n');
		}
	return buf_steal(&out);
}

/* Hanging says that this configuration is useless; anything else that fails says that the kernel is wrong. */
static bool refutes(const struct check *c)
{
	return !c->passed && !c->alone && !check_skipped(c) && c->code != ERR_TIMEOUT && c->code != ERR_PRUNED;
}

int check_evidence(const struct evidence *to, const struct params *params, struct validation *io_row, struct err *e)
{
	struct params *inputs = params_part(params, false);
	char *sizes = params_text(inputs), *text = params_text(params);
	io_row->checkpoint = to->checkpoint;
	io_row->device = to->facts->uuid;
	io_row->sizes = sizes;
	io_row->params = text;
	io_row->job = to->job;
	int rc = validation_add(to->db, io_row, e);
	params_free(inputs);
	free(sizes);
	free(text);
	return rc;
}

int check_record(const struct evidence *to, const struct params *params, const char *size_kind, uint64_t seed,
		 const struct check *c, int64_t *ret_row, struct err *e)
{
	char *details = check_details(c);
	struct hash seed_hash = hash_bytes(&seed, sizeof seed);
	struct validation row = {
		.validator = "outputs",
		.size_kind = size_kind,
		.seed_hash = seed_hash.hex,
		.verdict = c->passed          ? VALIDATION_PASSED
			   : check_skipped(c) ? VALIDATION_SKIPPED
					      : VALIDATION_FAILED,
		.reason = c->reason,
		.error = c->error,
		.tolerance = c->tolerance,
		.details = c->passed ? c->log : details,
		.took_ns = c->device_ns ? (int64_t)c->device_ns : -1,
	};
	int rc = check_evidence(to, params, &row, e);
	if (rc >= 0 && ret_row)
		*ret_row = row.id;
	if (rc >= 0 && refutes(c)) {
		char *text = params_text(params), *why = mem_fmt("%s: %s", text, c->reason);
		rc = c->code == ERR_CRASH ? fact_crash(to->db, to->facts->uuid, to->checkpoint, text, c->reason, e) : 0;
		if (rc >= 0)
			rc = checkpoint_refute(to->db, to->checkpoint, why, e);
		free(text);
		free(why);
	}
	free(details);
	return rc < 0 ? rc : 0;
}
