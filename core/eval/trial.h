/* trial: one variant on a device worker: prepared, executed, compared, timed, released. The typed form of the wire's
 * device requests; reference, validate and tune are written on top of it. */
#ifndef PEAKD_CORE_EVAL_TRIAL_H
#define PEAKD_CORE_EVAL_TRIAL_H

#include <stdbool.h>

#include "core/eval/variant.h"

struct trial {
	struct pool_worker *worker;      /* borrowed: a device lease */
	const struct variant *variant;   /* borrowed */
	uint32_t run;                    /* the worker's number for it */
	unsigned generation;             /* of the worker process that holds it */
};

int trial_begin(struct trial *t, struct pool_worker *worker, const struct variant *variant, struct err *e);
/* Releases it in the worker if that still lives. */
void trial_end(struct trial *t);
/* What one execution starts from; see struct wire_execute. */
struct trial_input {
	uint64_t seed;
	uint32_t poison;
	enum plan_values values;
	uint32_t keep;       /* WIRE_KEEP_… */
};
/* Fills inputs from the seed, poisons the rest, runs once. -ERR_WRONG when inputs were changed or a red zone was written to. */
int trial_execute(struct trial *t, const struct trial_input *input, int64_t timeout_ns, uint64_t *ret_device_ns, struct err *e);
/* The logical content of output k of the last execution; free(). */
int trial_output(struct trial *t, uint32_t k, uint8_t **ret_bytes, size_t *ret_len, struct err *e);
/* Compares output k of the last execution with reference bytes of that hash. */
int trial_compare(struct trial *t, uint32_t k, const char *hash, const uint8_t *bytes, size_t len, double tolerance,
                  uint32_t poison, struct wire_compared *ret_compared, struct err *e);

/* How to time; see struct wire_measure. */
struct trial_timing {
	uint32_t min_samples, max_samples;
	double rse;
	int64_t cap_ns;
	double hopeless_ns; /* 0: never */
	bool warm;
};
struct trial_times {
	double *samples;    /* nanoseconds per execution, in the order taken; owned */
	size_t count;
	double median, min; /* nanoseconds */
	double rse;         /* relative standard error of the mean */
	bool hopeless;      /* given up early */
};
int trial_measure(struct trial *t, const struct trial_timing *timing, struct trial_times *ret_times, struct err *e);
void trial_times_fini(struct trial_times *times);

#endif
