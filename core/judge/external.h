/* external: validators and evaluators without C: the user's own programs. Each gets a context under one set of execution parameters
 * and answers with findings or metrics, as JSON (docs/validators.md). validate.c asks validators once outputs are right, profile.c
 * asks evaluators once the time is measured.
 *
 * None passes by default: a program that cannot be found or started, crashes, hangs or answers with anything but the protocol has
 * failed itself. The answer says so, and nothing is accepted. */
#ifndef PEAKD_CORE_JUDGE_EXTERNAL_H
#define PEAKD_CORE_JUDGE_EXTERNAL_H

#include "base/buf.h"
#include "core/context/context.h"
#include "core/record/validation.h"
#include "core/workers/eval.h"

/* Which programs there are; one for the daemon, struct eval points to it. */
struct external_config {
	const char *validators; /* executables and folders of them, ':' between; NULL or "": none */
	const char *evaluators;
	int64_t deadline_ns; /* for one of them on one configuration */
};

/* What a program is asked about. */
struct external_subject {
	const struct context *ctx;
	const struct params *params; /* all execution parameters */
	const struct facts *facts;
	double median_ns; /* evaluators: the cold time of one execution; validators: NAN */
};

/* What one validator said. */
struct external_answer {
	char *name; /* of its file, without what follows the first dot */
	enum validation_verdict verdict;
	bool broken;   /* skipped because the validator itself failed, not because it says so */
	char *reason;  /* one line; NULL when passed */
	char *details; /* each finding with its source line; NULL without */
	int64_t took_ns;
};

struct external_answers {
	struct external_answer *at;
	size_t count;
};

/* Asks every validator, in the order of the list, those of a folder by name. 0 with answers whatever they are; -ERR_CANCELLED, or
 * the host code's error. None configured: no answers. */
int external_validate(const struct eval *ev, const struct external_subject *subject, struct external_answers *ret_answers,
		      struct err *e);
void external_answers_fini(struct external_answers *a);

/* One figure of an evaluator. */
struct external_metric {
	char *name;   /* "EVALUATOR.NAME" */
	double value; /* finite */
	char *unit;   /* "" for a number */
};

struct external_metrics {
	struct external_metric *at;
	size_t count;
	char **skipped; /* "EVALUATOR: why", of those that gave none */
	size_t skipped_count;
};

/* The same for evaluators. */
int external_evaluate(const struct eval *ev, const struct external_subject *subject, struct external_metrics *ret_metrics,
		      struct err *e);
void external_metrics_fini(struct external_metrics *m);

#endif
