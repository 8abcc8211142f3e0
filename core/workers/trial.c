/* trial: the device requests of the wire as functions; see trial.h. */
#include "core/workers/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/workers/span.h"

/* What timing may take beyond its own cap: warm-up, one slow sample, the flushes between; the search for a library's algorithm. */
#define SLACK_NS (60 * CLOCK_S)

static bool lives(const struct pool_worker *worker, unsigned generation)
{
	return generation == pool_generation(worker) && pool_is_alive(worker);
}

bool trial_is_alive(const struct trial *t)
{
	return t->worker && lives(t->worker, t->generation);
}

/* -ERR_CRASH when the process that holds the trial is gone. */
static int check_alive(const struct trial *t, struct err *e)
{
	if (trial_is_alive(t))
		return 0;
	return err_set(e, ERR_CRASH, "the worker that held this configuration is gone");
}

/* One request as a span: these launch kernels, or prepare for it. */
static void begin_span(const struct trial *t, enum wire_type type, struct span *ret_span)
{
	span_begin(ret_span, type == WIRE_RELEASE ? NULL : pool_span(t->worker), wire_type_name(type));
	if (ret_span->sink == NULL)
		return;
	char *params = params_text(t->variant->params);
	span_note(ret_span, "peakd.kernel", t->variant->compiled.kernel_count ? t->variant->compiled.kernels[0].name : NULL);
	span_note(ret_span, "peakd.parameters", params);
	free(params);
}

static int ask(struct trial *t, enum wire_type type, const void *request, int64_t timeout_ns, void *ret_answer, struct err *e)
{
	struct span span;
	begin_span(t, type, &span);
	int rc = check_alive(t, e);
	if (rc == 0)
		rc = pool_ask(t->worker, type, request, timeout_ns, ret_answer, e);
	span_end(&span, rc);
	return rc;
}

int trial_begin(struct trial *t, struct pool_worker *worker, const struct variant *variant, struct err *e)
{
	struct wire_prepare request = { .binary = variant->compiled.binary,
					.binary_len = variant->compiled.binary_len,
					.plan = variant->plan };
	struct wire_prepared prepared;
	*t = (struct trial){ .worker = worker, .variant = variant };
	struct span span;
	begin_span(t, WIRE_PREPARE, &span);
	int rc = pool_ask(worker, WIRE_PREPARE, &request, EVAL_PREPARE_NS, &prepared, e);
	span_end(&span, rc);
	if (rc < 0)
		return rc;
	t->run = prepared.run;
	t->generation = pool_generation(worker);
	return 0;
}

/* A request to the judge's process. Whatever ends it, a baseline on other values perhaps, is no evidence against what is judged. */
static int ask_judge(struct pool_worker *judge, enum wire_type type, const void *request, int64_t timeout_ns, void *ret_answer,
		     struct err *e)
{
	int rc = pool_ask(judge, type, request, timeout_ns, ret_answer, e);
	if (rc == -ERR_CRASH || rc == -ERR_TIMEOUT || rc == -ERR_NOT_FOUND)
		return err_set(e, ERR_IO, "the process that judges: %s", e->text);
	return rc;
}

int trial_allocate(struct trial *t, struct pool_worker *judge, const struct variant *variant, struct err *e)
{
	struct wire_prepared prepared;
	*t = (struct trial){ .variant = variant };
	int rc = pool_ask(judge, WIRE_ADOPT, &(struct wire_adopt){ .plan = variant->plan }, EVAL_PREPARE_NS, &prepared, e);
	if (rc < 0)
		return rc;
	t->worker = judge;
	t->run = prepared.run;
	t->generation = pool_generation(judge);
	return 0;
}

int trial_share(struct trial *t, struct wire_shared *ret_shared, struct err *e)
{
	return ask(t, WIRE_SHARE, &(struct wire_release){ .run = t->run }, EVAL_PREPARE_NS, ret_shared, e);
}

/* The judge gives the buffers up first: they are the worker's. */
static void release_adopted(struct trial *t)
{
	struct err ignored = ERR_INIT;
	if (t->judge && lives(t->judge, t->judge_generation))
		pool_ask(t->judge, WIRE_RELEASE, &(struct wire_release){ .run = t->adopted }, EVAL_PREPARE_NS, NULL, &ignored);
	t->judge = NULL;
}

int trial_adopt(struct trial *t, struct pool_worker *judge, struct err *e)
{
	struct wire_shared shared;
	struct wire_prepared prepared;
	release_adopted(t);
	int rc = trial_share(t, &shared, e);
	if (rc < 0)
		return rc;
	struct wire_adopt adopt = { .at = shared.at, .count = shared.count, .plan = t->variant->plan };
	rc = ask_judge(judge, WIRE_ADOPT, &adopt, EVAL_PREPARE_NS, &prepared, e);
	wire_shared_fini(&shared);
	if (rc < 0)
		return rc;
	t->judge = judge;
	t->rotated = false;
	t->adopted = prepared.run;
	t->judge_generation = pool_generation(judge);
	return 0;
}

void trial_end(struct trial *t)
{
	struct err ignored = ERR_INIT;
	release_adopted(t);
	/* Where the process is gone, so is the run; no new process is started to release it. */
	if (t->worker == NULL || check_alive(t, &ignored) < 0)
		return;
	ask(t, WIRE_RELEASE, &(struct wire_release){ .run = t->run }, EVAL_PREPARE_NS, NULL, &ignored);
	t->worker = NULL;
}

static const char *buffer_name(const struct trial *t, uint32_t number)
{
	return number <= t->variant->plan->buffer_count ? t->variant->plan->buffers[number - 1].name : "?";
}

/* The judge's process sets up and examines, the worker launches. */
static int execute_apart(struct trial *t, const struct wire_execute *whole, int64_t timeout_ns, struct wire_executed *ret,
			 struct err *e)
{
	struct wire_execute part = *whole, launch = *whole;
	struct wire_executed ignored;
	bool looks = whole->keep & WIRE_LOOK;
	int rc = 0;
	part.run = t->adopted;
	part.keep = whole->keep | WIRE_RESIDENT | WIRE_SET_UP;
	launch.keep = WIRE_LAUNCH;
	if (!looks)
		rc = ask_judge(t->judge, WIRE_EXECUTE, &part, EVAL_COMPARE_NS, &ignored, e);
	if (rc == 0 && !looks)
		rc = ask(t, WIRE_EXECUTE, &launch, timeout_ns, ret, e);
	part.keep = WIRE_RESIDENT | WIRE_EXAMINE;
	uint64_t ns = ret->device_ns;
	if (rc == 0)
		rc = ask_judge(t->judge, WIRE_EXECUTE, &part, EVAL_COMPARE_NS, ret, e);
	ret->device_ns = ns;
	return rc;
}

int trial_execute(struct trial *t, const struct trial_input *input, int64_t timeout_ns, uint64_t *ret_device_ns, struct err *e)
{
	struct wire_execute request = { .run = t->run,
					.seed = input->seed,
					.poison = input->poison,
					.values = input->values,
					.keep = input->keep,
					.perturbation = input->perturbation,
					.amplitude = input->amplitude,
					.still = input->still,
					.share = input->share,
					.immediates = input->immediates };
	struct wire_executed executed = { 0 };
	if (!(input->keep & WIRE_LOOK))
		t->left_count = 0;
	int rc = t->judge && (t->rotated || !lives(t->judge, t->judge_generation)) ? trial_adopt(t, t->judge, e) : 0;
	if (rc < 0)
		return rc;
	rc = t->judge ? execute_apart(t, &request, timeout_ns, &executed, e)
		      : ask(t, WIRE_EXECUTE, &request, timeout_ns, &executed, e);
	if (rc < 0)
		return rc;
	if (executed.changed_input)
		rc = err_set(e, ERR_WRONG, "the kernel wrote to its input %s", buffer_name(t, executed.changed_input));
	else if (executed.broken_zone)
		rc = err_set(e, ERR_WRONG, "the kernel wrote outside %s (before its first or behind its last element)",
			     buffer_name(t, executed.broken_zone));
	if (ret_device_ns)
		*ret_device_ns = executed.device_ns;
	return rc;
}

int trial_races(struct trial *t, const struct wire_races *asked, bool *ret_settled, char **ret_finding, struct err *e)
{
	struct wire_raced raced;
	struct wire_races races = *asked;
	races.run = t->run;
	int rc = ask(t, WIRE_RACES, &races, EVAL_COMPARE_NS, &raced, e);
	if (rc < 0)
		return rc;
	if (*raced.finding)
		*ret_finding = mem_str(raced.finding);
	if (ret_settled)
		*ret_settled = raced.settled;
	wire_raced_fini(&raced);
	return 0;
}

int trial_count(struct trial *t, uint64_t seed, struct wire_counted *ret_counted, struct err *e)
{
	return ask(t, WIRE_COUNT, &(struct wire_races){ .run = t->run, .seed = seed }, EVAL_COMPARE_NS, ret_counted, e);
}

int trial_counters(struct trial *t, struct wire_counters *ret_counters, struct err *e)
{
	return ask(t, WIRE_COUNTERS, &(struct wire_release){ .run = t->run }, EVAL_COMPARE_NS, ret_counters, e);
}

int trial_product(struct trial *t, const struct plan_gemm *gemm, double tolerance, uint64_t secret, char **ret_finding,
		  struct err *e)
{
	struct wire_product product = { .run = t->run, .gemm = *gemm, .tolerance = tolerance, .secret = secret };
	struct wire_product_found found;
	int rc = ask(t, WIRE_PRODUCT, &product, EVAL_COMPARE_NS, &found, e);
	if (rc < 0 || found.rows == 0)
		return rc;
	const struct plan_buffer *buffers = t->variant->plan->buffers;
	const char *a = buffers[gemm->a].name, *b = buffers[gemm->b].name, *c = buffers[gemm->c].name;
	*ret_finding =
		mem_fmt("%s is not %s·%s in %llu rows, the first %llu: %s·x differs from %s·(%s·x) by %.3g, allowed %.3g", c, a, b,
			(unsigned long long)found.rows, (unsigned long long)found.row, c, a, b, found.off, found.allowed);
	return 0;
}

int trial_output(struct trial *t, uint32_t k, uint8_t **ret_answer, const uint8_t **ret_bytes, size_t *ret_len, struct err *e)
{
	struct buf body = BUF_INIT;
	struct wire_content content;
	uint8_t *answer = NULL; /* the content points into it, so it is not copied */
	size_t len;
	wire_output_encode(&(struct wire_output){ .run = t->run, .output = k }, &body);
	int rc = check_alive(t, e);
	if (rc == 0)
		rc = pool_call(t->worker, WIRE_OUTPUT, &body, EVAL_COMPARE_NS, &answer, &len, e);
	buf_fini(&body);
	if (rc == 0) {
		struct wire_in in = { .at = answer, .end = answer + len };
		rc = wire_content_decode(&in, &content, e);
	}
	if (rc < 0) {
		free(answer);
		return rc;
	}
	*ret_answer = answer;
	*ret_bytes = content.bytes;
	*ret_len = content.len;
	return 0;
}

int trial_compare(struct trial *t, uint32_t k, const struct trial_expected *want, struct wire_compared *ret_compared, struct err *e)
{
	struct wire_compare request = { .run = t->judge ? t->adopted : t->run,
					.output = k,
					.poison = want->poison,
					.want_type = want->type,
					.judgement = want->judgement };
	snprintf(request.reference_hash, sizeof request.reference_hash, "%s", want->hash);
	if (t->judge)
		return ask_judge(t->judge, WIRE_COMPARE, &request, EVAL_COMPARE_NS, ret_compared, e);
	/* The hash first: the worker keeps references, and most often has this one. */
	for (int with_bytes = 0; with_bytes < 2; with_bytes++) {
		struct buf body = BUF_INIT;
		struct wire_tail tail;
		struct pool_request q = { .type = WIRE_COMPARE, .body = &body, .tail = &tail, .timeout_ns = EVAL_COMPARE_NS };
		uint8_t *answer;
		size_t len;
		if (with_bytes) {
			request.reference = want->bytes;
			request.reference_len = want->len;
		}
		wire_encode_split(&wire_compare_table, &request, &body, &tail);
		int rc = check_alive(t, e);
		if (rc == 0)
			rc = pool_request(t->worker, &q, &answer, &len, e);
		buf_fini(&body);
		if (rc < 0)
			return rc;
		struct wire_in in = { .at = answer, .end = answer + len };
		rc = wire_compared_decode(&in, ret_compared, e);
		free(answer);
		if (rc < 0 || !ret_compared->need_reference)
			return rc;
	}
	return err_set(e, ERR_NETWORK, "the worker asks again for a reference that it has just received");
}

/* --- timing ----------------------------------------------------------------------------------------------------------------- */

/* A request during which nothing else keeps a CPU busy that the device shares. */
static int ask_quietly(struct trial *t, enum wire_type type, const void *request, int64_t timeout_ns, void *ret_answer,
		       struct err *e)
{
	int rc = pool_quiet_begin(t->worker, e);
	if (rc < 0)
		return rc;
	t->rotated = true;
	rc = ask(t, type, request, timeout_ns, ret_answer, e);
	pool_quiet_end(t->worker);
	return rc;
}

int trial_split(struct trial *t, struct wire_split *ret_split, struct err *e)
{
	struct wire_split split;
	int rc = ask_quietly(t, WIRE_SPLIT, &(struct wire_release){ .run = t->run }, EVAL_EXECUTE_NS, &split, e);
	if (rc == 0 && split.count != t->variant->plan->op_count) {
		wire_split_fini(&split);
		return err_set(e, ERR_NETWORK, "the worker timed %zu of %zu operations", split.count, t->variant->plan->op_count);
	}
	if (rc == 0)
		*ret_split = split;
	return rc;
}

static double *to_sorted(const double *values, size_t n)
{
	double *sorted = mem_copy(values, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, order_doubles);
	return sorted;
}

static double middle(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double trial_median(const double *values, size_t n)
{
	double *sorted = to_sorted(values, n), m = middle(sorted, n);
	free(sorted);
	return m;
}

static void summarise(struct trial_times *times)
{
	size_t n = times->count;
	double *sorted = to_sorted(times->samples, n), sum = 0, square = 0;
	times->min = sorted[0];
	times->median = middle(sorted, n);
	for (size_t i = 0; i < n; i++)
		sum += sorted[i];
	for (size_t i = 0; i < n; i++)
		square += (sorted[i] - sum / (double)n) * (sorted[i] - sum / (double)n);
	times->rse = n > 1 && sum > 0 ? sqrt(square / (double)(n - 1) / (double)n) / (sum / (double)n) : NAN;
	free(sorted);
}

static double *to_double(const uint64_t *from, size_t n)
{
	double *to = MEM_NEW_N(double, n);
	for (size_t i = 0; i < n; i++)
		to[i] = (double)from[i];
	return to;
}

static void add_reasons(uint32_t throttle, struct buf *out)
{
	static const char *const names[] = { "idle", "setting", "power-cap",     "hardware",
					     "sync", "heat",    "hardware-heat", "power-brake" };
	bool any = false;
	for (unsigned i = 0; i < MEM_COUNT(names); i++)
		if (throttle & 1u << i) {
			buf_addf(out, "%s%s", any ? "," : "", names[i]);
			any = true;
		}
	if (!any)
		buf_addc(out, '-');
}

static void add_load(uint32_t foreign, struct buf *out)
{
	if (foreign == WIRE_UNKNOWN)
		buf_adds(out, "unknown");
	else
		buf_addf(out, "%u%%", foreign);
}

/* "core_mhz memory_mhz watts celsius throttle foreign%" for each; the note when nothing was seen. */
static char *describe_each(const struct wire_condition *list, size_t n, const char *note)
{
	struct buf out = BUF_INIT;
	if (note && *note)
		buf_adds(&out, note);
	for (size_t i = 0; i < n && out.len == 0; i++)
		if (list[i].core_mhz == 0)
			buf_adds(&out, "clocks, power and heat are not known");
	if (out.len)
		return buf_steal(&out);
	buf_adds(&out, "core-mhz memory-mhz watts celsius throttle other-load");
	for (size_t i = 0; i < n; i++) {
		const struct wire_condition *c = &list[i];
		buf_addf(&out, "\n%u %u %.1f %u ", c->core_mhz, c->memory_mhz, (double)c->milliwatts / 1e3, c->celsius);
		add_reasons(c->throttle, &out);
		buf_addc(&out, ' ');
		add_load(c->foreign, &out);
	}
	return buf_steal(&out);
}

static char *describe(const struct wire_condition *list, size_t n, const char *note, const char *reset, const char *clock)
{
	char *each = describe_each(list, n, note),
	     *all = mem_fmt("%s%s%s%s%s", clock, *clock ? "\n" : "", each, *reset ? "\n" : "", reset);
	free(each);
	return all;
}

static void take_left(struct trial *t, const uint64_t *left, size_t count)
{
	t->left_count = count < TRIAL_SEEDS ? (unsigned)count : TRIAL_SEEDS;
	for (unsigned i = 0; i < t->left_count; i++)
		t->left[i] = left[i];
}

/* Of the first sample that was disturbed. */
static void tell_cause(const struct wire_condition *list, size_t n, char text[TRIAL_CAUSE])
{
	struct buf out = BUF_INIT;
	while (n > 0 && !list->disturbed)
		list++, n--;
	if (n > 0) {
		buf_addf(&out, "clock %u MHz, %u C, throttled: ", list->core_mhz, list->celsius);
		add_reasons(list->throttle, &out);
		buf_adds(&out, ", other load ");
		add_load(list->foreign, &out);
	}
	snprintf(text, TRIAL_CAUSE, "%s", buf_text(&out));
	buf_fini(&out);
}

/* --- one -------------------------------------------------------------------------------------------------------------------- */

static int take_measured(const struct wire_measured *m, const char *clock, struct trial_times *ret_times, struct err *e)
{
	if (m->sample_count == 0)
		return err_set(e, ERR_NETWORK, "the worker timed nothing");
	struct trial_times times = { .samples = to_double(m->samples, m->sample_count),
				     .count = m->sample_count,
				     .hopeless = m->hopeless,
				     .disturbed = m->disturbed,
				     .discarded = m->discarded,
				     .conditions = describe(m->conditions, m->sample_count, m->note, m->reset, clock) };
	if (m->disturbed)
		tell_cause(m->conditions, m->sample_count, times.cause);
	summarise(&times);
	*ret_times = times;
	return 0;
}

int trial_measure(struct trial *t, const struct trial_timing *timing, struct trial_times *ret_times, struct err *e)
{
	struct wire_measure request = { .run = t->run,
					.min_samples = timing->min_samples,
					.max_samples = timing->max_samples,
					.rse = timing->rse,
					.cap_ns = (uint64_t)timing->cap_ns,
					.hopeless_ns = (uint64_t)timing->hopeless_ns,
					.warm_up_ns = (uint64_t)timing->warm_up_ns,
					.rests = timing->rests,
					.cache = timing->warm    ? WIRE_HOT
						 : timing->rough ? WIRE_FLUSHED
								 : WIRE_COLD,
					.seeds = (uint64_t *)(uintptr_t)timing->seeds,
					.seed_count = timing->seeds ? TRIAL_SEEDS : 0 };
	struct wire_measured measured;
	int rc = ask_quietly(t, WIRE_MEASURE, &request, timing->cap_ns + SLACK_NS, &measured, e);
	if (rc < 0)
		return rc;
	rc = take_measured(&measured, pool_clock(t->worker), ret_times, e);
	take_left(t, measured.left, measured.left_count);
	wire_measured_fini(&measured);
	return rc;
}

void trial_times_fini(struct trial_times *times)
{
	free(times->samples);
	free(times->conditions);
	*times = (struct trial_times){ 0 };
}

/* --- two -------------------------------------------------------------------------------------------------------------------- */

const char *trial_verdict_name(enum wire_verdict verdict)
{
	switch (verdict) {
	case WIRE_FASTER: return "faster";
	case WIRE_SLOWER: return "slower";
	case WIRE_SAME: return "same";
	case WIRE_UNCLEAR: return "unclear";
	}
	return "unclear";
}

int trial_pair(struct trial *a, struct trial *b, const struct trial_pairing *pairing, struct trial_paired *ret_paired,
	       struct err *e)
{
	struct wire_pair request = { .a = a->run,
				     .b = b->run,
				     .min_pairs = pairing->min_pairs,
				     .max_pairs = pairing->max_pairs,
				     .margin = pairing->margin,
				     .floor_ns = pairing->warm ? 0 : (uint64_t)pairing->floor_ns,
				     .confidence = pairing->confidence,
				     .width = pairing->width,
				     .cap_ns = (uint64_t)pairing->cap_ns,
				     .warm_up_ns = (uint64_t)pairing->warm_up_ns,
				     .cold = !pairing->warm,
				     .seeds = (uint64_t *)(uintptr_t)pairing->seeds,
				     .seed_count = pairing->seeds ? TRIAL_SEEDS : 0 };
	struct wire_paired p;
	if (a->worker != b->worker || a->generation != b->generation)
		return err_set(e, ERR_CRASH, "the worker that held one of the two is gone");
	b->rotated = true;
	int rc = ask_quietly(a, WIRE_PAIR, &request, pairing->cap_ns + SLACK_NS, &p, e);
	if (rc < 0)
		return rc;
	if (p.pair_count == 0) {
		rc = err_set(e, ERR_NETWORK, "the worker timed nothing");
	} else {
		*ret_paired = (struct trial_paired){
			.a = to_double(p.a_ns, p.pair_count),
			.b = to_double(p.b_ns, p.pair_count),
			.count = p.pair_count,
			.ratio = p.ratio,
			.low = p.low,
			.high = p.high,
			.verdict = p.verdict,
			.margin = p.margin,
			.disturbed = p.disturbed,
			.discarded = p.discarded,
			.conditions = describe(p.conditions, p.pair_count, p.note, p.reset, pool_clock(a->worker)),
		};
		take_left(a, p.left_a, p.left_a_count);
		take_left(b, p.left_b, p.left_b_count);
		ret_paired->a_ns = trial_median(ret_paired->a, ret_paired->count);
		ret_paired->b_ns = trial_median(ret_paired->b, ret_paired->count);
		if (p.disturbed)
			tell_cause(p.conditions, p.pair_count, ret_paired->cause);
	}
	wire_paired_fini(&p);
	return rc;
}

/* A kernel that finds its own results may be only twice as fast; nothing honest differs by a fifth, pair after pair. On a busy
 * machine more pairs are needed than on an idle one. Where the device is the CPU, and load hides what pairs of long executions say,
 * processor time is compared instead: it tells both kinds of kernel apart on a loaded machine. What real time has once called
 * faster is not acquitted by it: a kernel could do the same work on more cores. */
int trial_reuse(struct trial *t, int64_t execute_ns, bool on_cpu, double *ret_ratio, struct err *e)
{
	enum {
		FIRST = 5,
		AGAIN = 15,
		MOST = 60,
		TRIES = 5,
		SURE = 3,
		EXCHANGED = 2, /* tries more on a GPU, for one with exchanged buffers: places, too, make one of two sets faster */
		EXECUTIONS = 8 /* in a pair, at most, where one lasts long */
	};
	uint32_t min_pairs = FIRST;
	double load = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
	struct wire_pair request = { .a = t->run,
				     .b = t->run,
				     .margin = 0.25,
				     .confidence = 0.99,
				     .width = 100, /* any: only the verdict counts */
				     .unreset = 1 };
	int faster = 0;
	double before = 1, exchanged = 0;
	*ret_ratio = 1;
	/* The more processes share the CPU, the more an execution costs that caches and threads are not ready for. */
	if (on_cpu && getloadavg(&load, 1) == 1 && cores > 0)
		request.floor_ns = (uint64_t)(WIRE_RESET_CPU_NS * (1 + load / cores));
	for (uint32_t tries = 0; tries < TRIES + (on_cpu ? 0 : EXCHANGED); tries++) {
		struct wire_paired p;
		request.exchanged = !on_cpu && faster == SURE - 1 && exchanged == 0;
		request.min_pairs = min_pairs;
		request.max_pairs = MOST * (tries + 1);
		request.cap_ns = (uint64_t)((tries + 1) * CLOCK_S + EXECUTIONS * request.min_pairs * execute_ns);
		int rc = ask_quietly(t, WIRE_PAIR, &request, (int64_t)request.cap_ns + SLACK_NS, &p, e);
		if (rc < 0)
			return rc;
		enum wire_verdict verdict = p.verdict;
		double ratio = p.ratio, limit = 1 / (1 + p.margin);
		wire_paired_fini(&p);
		if (request.exchanged) {
			exchanged = verdict == WIRE_UNCLEAR ? 0 : ratio;
			continue;
		}
		if (verdict == WIRE_FASTER && ++faster == SURE) {
			/* Both, or a set's place made it faster. The last run left the first set as executions leave it. */
			ratio = on_cpu ? ratio : sqrt(before * exchanged);
			*ret_ratio = ratio < limit ? ratio : 1;
			return 0;
		}
		if (verdict != WIRE_FASTER && verdict != WIRE_UNCLEAR)
			return 0;
		if (verdict == WIRE_FASTER)
			before = ratio;
		min_pairs = AGAIN;
		if (on_cpu && verdict == WIRE_UNCLEAR && faster == 0 && request.unreset == 1 && execute_ns >= CLOCK_MS) {
			request.unreset = 2;
			min_pairs = FIRST;
		}
	}
	return err_set(e, ERR_UNSUPPORTED, "times vary too much here for an answer");
}

void trial_paired_fini(struct trial_paired *p)
{
	free(p->a);
	free(p->b);
	free(p->conditions);
	*p = (struct trial_paired){ 0 };
}

void trial_paired_times(const struct trial_paired *p, bool b, struct trial_times *ret_times)
{
	*ret_times = (struct trial_times){ .samples = b ? p->b : p->a,
					   .count = p->count,
					   .disturbed = p->disturbed,
					   .discarded = p->discarded,
					   .conditions = p->conditions };
	summarise(ret_times);
}

/* --- energy ----------------------------------------------------------------------------------------------------------------- */

int trial_energy(struct trial *t, int64_t min_ns, struct trial_weighed *ret_weighed, struct err *e)
{
	struct wire_energy request = { .run = t->run, .min_ns = (uint64_t)min_ns };
	struct wire_energised x;
	int rc = ask_quietly(t, WIRE_ENERGY, &request, min_ns + SLACK_NS, &x, e);
	if (rc < 0)
		return rc;
	bool known = x.joules > 0 && x.executions > 0 && x.seconds > 0;
	*ret_weighed = (struct trial_weighed){
		.joules = known ? x.joules / (double)x.executions : NAN,
		.watts = known ? x.joules / x.seconds : NAN,
		.seconds = known ? x.seconds : 0,
		.executions = x.executions,
		.core_mhz = x.condition.core_mhz,
		.celsius = x.condition.celsius,
		.note = mem_str(x.note),
	};
	wire_energised_fini(&x);
	return 0;
}
