/* work: what each kind of job does. Requests and results are fields (base/fields.h); the tools in daemon/tools make the requests
 * and show the results. One kind is one file core/work_*.c and one line in work.c's table. */
#ifndef PEAKD_CORE_JOBS_WORK_H
#define PEAKD_CORE_JOBS_WORK_H

#include "core/jobs/engine.h"
#include "core/workers/eval.h"
#include "core/judge/external.h"
#include "core/transform/library.h"
#include "core/transform/models.h"

/* What the jobs of one daemon share; engine_config.user points to it. */
struct work {
	struct store *store;
	struct pool *pool;
	struct references *references;
	struct binaries *binaries;   /* NULL: none are kept */
	struct library *library;
	struct models *models;
	struct external_config external; /* the user's validators and evaluators */
};

/* The table of kinds for engine_new; ends with a NULL name. */
extern const struct engine_kind work_kinds[];

/* An eval for one job: its pool, cancel and progress. */
struct eval work_eval(struct engine_job *job);
/* The device that the request names ("device"), or the first one of the context's backend when it names none. */
int work_device(struct engine_job *job, const struct context *ctx, struct facts *ret_facts, struct err *e);
/* The same where several may work together ("cuda:all", "cuda:0,1"). ret_facts: free(). */
int work_devices(struct engine_job *job, const struct context *ctx, struct facts **ret_facts, size_t *ret_count, struct err *e);

/* Every kind's result also tells what the job spent (struct eval_spent), each left out where it is nothing: leased_seconds,
 * validation_seconds, validation_leased_seconds. */

/* validate — in: checkpoint, device, samples (16), sanitizer (a tool of compute-sanitizer, instead of comparing outputs). out: passed, summary, passed_count, failed_count, pruned_count, domain. */
int work_validate(struct engine_job *job, struct fields *result, struct err *e);
/* tune — in: checkpoint, device, budget (128; any number when seconds or device_seconds are given), seconds, device_seconds, strategy
 * (auto), sizes ("n=2048", empty: every declared size), over (each: a winner per size; mean, worst: one for all), objective (time),
 * warm, seed, resume (goes on with an earlier tune, or answers as it did). out: count, and for each size i: size_i, best_i, median_ns_i, value_i (of an objective), gflops_i, run_i, space_i,
 * tried_i, resumed_i, pruned_i, refused_i, wrong_i, broken_i, why_i, and where the context names a library: library_i, library_ratio_i
 * (library time / ours), library_low_i, library_high_i; also when it was cancelled: what it has, with unproven_i. */
int work_tune(struct engine_job *job, struct fields *result, struct err *e);
/* compare — in: a, b (checkpoints; without b: a against its parent), device, sizes, warm. out: a, b, count, and for each size i:
 * size_i, verdict_i (of B relative to A), ratio_i (B's time / A's), low_i, high_i, a_ns_i, b_ns_i, a_params_i, b_params_i, pairs_i. */
int work_compare(struct engine_job *job, struct fields *result, struct err *e);
/* profile — in: checkpoint, device, sizes. out: count, and for each size i: cold_ns_i, warm_ns_i, gflops_i, joules_i, watts_i,
 * conditions_i, pipe_i, pipe_percent_i, copy_percent_i, library_ratio_i with low and high, registers_i, shared_bytes_i, metrics_i (a text: what
 * the user's evaluators gave). */
int work_profile(struct engine_job *job, struct fields *result, struct err *e);
/* transform — in: checkpoint, workflow (may be empty), transformation (name or text), model, device, samples (16), pending (id of
 * a half-done one to go on with), try (1; the how manyth independent try this is, for recordings). out: checkpoint, summary,
 * asked, repairs, tokens_in, tokens_out, tokens_cached, first_try ("right", or the first trouble: "malformed", "compile", "wrong",
 * "crash", "narrow"), pending (when it got stuck). */
int work_transform(struct engine_job *job, struct fields *result, struct err *e);
/* submit — one answer to a step of a transformation that the client carries out itself. in: pending, answer, device, samples.
 * out: pending, state (waiting, accepted, given-up), outcome, summary, checkpoint when accepted. */
int work_submit(struct engine_job *job, struct fields *result, struct err *e);
/* edit — in: checkpoint, workflow, device, samples, and region + text, or source (a whole context). out: checkpoint, passed,
 * summary. */
int work_edit(struct engine_job *job, struct fields *result, struct err *e);
/* draft — in: source, backend (cuda), declared (a line each), model (asked where questions are open), device (tries what came out). out:
 * complete, context, questions, notes (a line each), asked, tokens_in, tokens_out, tokens_cached. Makes no checkpoint. */
int work_draft(struct engine_job *job, struct fields *result, struct err *e);

#endif
