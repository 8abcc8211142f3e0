/* trial: one variant on a device worker: prepared, executed, compared, timed, released. The typed form of the wire's device
 * requests; reference, validate, tune and the measurements are written on top of it. */
#ifndef PEAKD_CORE_WORKERS_TRIAL_H
#define PEAKD_CORE_WORKERS_TRIAL_H

#include <stdbool.h>

#include "core/workers/variant.h"

enum { TRIAL_SEEDS = 3 };
struct trial {
	struct pool_worker *worker;    /* borrowed: a device lease */
	const struct variant *variant; /* borrowed */
	uint32_t run;                  /* the worker's number for it */
	unsigned generation;           /* of the worker process that holds it */
	struct pool_worker
		*judge;   /* borrowed: the process that fills and compares its buffers; NULL: the worker does (resident.h) */
	uint32_t adopted; /* that process's number for it */
	unsigned judge_generation;
	bool rotated;               /* it was timed since, and may have other buffers now */
	uint64_t left[TRIAL_SEEDS]; /* seeds of timed executions whose outputs the worker keeps; WIRE_LOOK examines them */
	unsigned left_count;
};

int trial_begin(struct trial *t, struct pool_worker *worker, const struct variant *variant, struct err *e);
/* From now on `judge` (borrowed) fills the trial's buffers and compares them, on the device (resident.h). */
int trial_adopt(struct trial *t, struct pool_worker *judge, struct err *e);
/* Memory of the judge's process for the arrays of variant->plan, that nothing is launched on; and how other processes open it:
 * wire_shared_fini. */
int trial_allocate(struct trial *t, struct pool_worker *judge, const struct variant *variant, struct err *e);
int trial_share(struct trial *t, struct wire_shared *ret_shared, struct err *e);
/* Whether its process is still the one that it was prepared in. */
bool trial_is_alive(const struct trial *t);
/* Releases it in the worker if that still lives. */
void trial_end(struct trial *t);
/* What outputs and scratch hold before an execution: NaN in every float type, so that what is never written shows. */
enum { TRIAL_POISON = 0xFF };
/* What one execution starts from; see struct wire_execute. */
struct trial_input {
	uint64_t seed;
	uint32_t poison;
	enum plan_values values;
	uint32_t keep; /* WIRE_KEEP_… */
	uint32_t perturbation;
	double amplitude;
	uint64_t still; /* these buffers move by amplitude·share */
	double share;
	struct plan_immediates immediates; /* of PLAN_IMMEDIATES and PLAN_IMMEDIATE_ROWS */
};
/* Fills inputs from the seed, poisons the rest, runs once. -ERR_WRONG when an input was changed or a red zone was written to. */
int trial_execute(struct trial *t, const struct trial_input *input, int64_t timeout_ns, uint64_t *ret_device_ns, struct err *e);
/* The first data race between threads of a block that the backend's interpreter finds, or an output that depends on the order of
 * blocks as `ordered` does not permit; `run` is filled in. *ret_settled (may be NULL): other values cannot show more. *ret_finding
 * (free()) is NULL when there is none. -ERR_UNSUPPORTED where it cannot judge. */
int trial_races(struct trial *t, const struct wire_races *asked, bool *ret_settled, char **ret_finding, struct err *e);
/* Whether output c of the last execution is the product of inputs a and b, by Freivalds' check with vectors from `secret`; gemm
 * names the plan's buffers. *ret_finding (free()) is NULL when it is. tolerance: relative, of the output. */
int trial_product(struct trial *t, const struct plan_gemm *gemm, double tolerance, uint64_t secret, char **ret_finding,
		  struct err *e);
/* The logical content of output k of the last execution. *ret_bytes lies within *ret_answer, which the caller frees. */
int trial_output(struct trial *t, uint32_t k, uint8_t **ret_answer, const uint8_t **ret_bytes, size_t *ret_len, struct err *e);
/* What an output must be. All borrowed. */
struct trial_expected {
	const char *hash;     /* of the bytes, as hash_array makes it */
	const uint8_t *bytes; /* as in struct wire_compare: values, then bounds */
	size_t len;
	enum dtype type; /* of the values */
	struct judgement judgement;
	uint32_t poison; /* of the execution, to count what was never written */
};
/* Compares output k of the last execution. */
int trial_compare(struct trial *t, uint32_t k, const struct trial_expected *want, struct wire_compared *ret_compared,
		  struct err *e);

/* How to time; see struct wire_measure. */
struct trial_timing {
	uint32_t min_samples, max_samples;
	double rse;
	int64_t cap_ns;
	double hopeless_ns; /* 0: never */
	int64_t warm_up_ns; /* of executions at most, until the times are steady */
	bool warm;
	bool rough;            /* cold by flushing alone, for an order and no figure: WIRE_FLUSHED */
	bool rests;            /* for a quoted figure: a disturbed device gets time to recover */
	const uint64_t *seeds; /* TRIAL_SEEDS, of the values that timed executions get in turn; the first is that of the last
				  execution. NULL: the worker draws the others, and only outputs of the first can be examined */
};
enum { TRIAL_CAUSE = 96 };
struct trial_times {
	double *samples; /* nanoseconds per execution, in the order taken; owned */
	size_t count;
	double median, min;      /* nanoseconds */
	double rse;              /* relative standard error of the mean */
	bool hopeless;           /* given up early */
	bool disturbed;          /* the device was throttled or others used it: must not be quoted */
	char cause[TRIAL_CAUSE]; /* of that, "" without: "clock 1200 MHz, 88 C, throttled: heat, other load 0%" */
	size_t discarded;        /* disturbed samples that were taken again */
	char *conditions; /* clocks, power, heat, throttling at each sample, one line each, or why they are not known; owned */
};
int trial_measure(struct trial *t, const struct trial_timing *timing, struct trial_times *ret_times, struct err *e);
void trial_times_fini(struct trial_times *times);

/* How to compare; see struct wire_pair. */
struct trial_pairing {
	uint32_t min_pairs, max_pairs;
	double margin, confidence, width;
	int64_t floor_ns; /* of a cold execution; warm there is none */
	int64_t cap_ns, warm_up_ns;
	bool warm;
	const uint64_t *seeds; /* as above, for both */
};
struct trial_paired {
	double *a, *b; /* nanoseconds per execution, pair by pair; owned */
	size_t count;
	double a_ns, b_ns;         /* medians */
	double ratio, low, high;   /* time of b / time of a, with its interval */
	enum wire_verdict verdict; /* b relative to a, */
	double margin;             /* by this margin */
	bool disturbed;
	char cause[TRIAL_CAUSE]; /* as above */
	size_t discarded;
	char *conditions; /* as above */
};
/* What the kernels do, by an interpreter: wire_counted_fini. -ERR_UNSUPPORTED where there is none for this code. */
int trial_count(struct trial *t, uint64_t seed, struct wire_counted *ret_counted, struct err *e);
/* Device time of each operation of the plan; what the last execution left is gone afterwards. wire_split_fini. */
int trial_split(struct trial *t, struct wire_split *ret_split, struct err *e);
/* Hardware counters and stalls, on a worker that was started for them (counters.h): wire_counters_fini. */
int trial_counters(struct trial *t, struct wire_counters *ret_counters, struct err *e);
/* Whether executions that find everything as the last one left it are faster than executions that find all of it reset:
 * *ret_ratio of their times, well below 1 only where three comparisons are sure; 1: not. execute_ns: of one execution; on_cpu: the
 * device is the CPU.
 * -ERR_UNSUPPORTED where the device gives no times, or times that vary too much. */
int trial_reuse(struct trial *t, int64_t execute_ns, bool on_cpu, double *ret_ratio, struct err *e);
/* Times two trials of the same worker alternately. */
int trial_pair(struct trial *a, struct trial *b, const struct trial_pairing *pairing, struct trial_paired *ret_paired,
	       struct err *e);
void trial_paired_fini(struct trial_paired *p);
/* The pairs' times of one of the two (b: the second) as figures of its own; borrowed from p, so do not call trial_times_fini. */
void trial_paired_times(const struct trial_paired *p, bool b, struct trial_times *ret_times);
/* Of n >= 1 values, which need not be in order. */
double trial_median(const double *values, size_t n);
/* "faster", "slower", "same", "unclear". Static storage. */
const char *trial_verdict_name(enum wire_verdict verdict);

struct trial_weighed {
	double joules;         /* per execution; NAN: not known */
	double watts, seconds; /* NAN and 0 then */
	uint64_t executions;
	uint32_t core_mhz, celsius; /* at the end; 0 not known */
	char *note;                 /* why it is not known; "" */
};
/* Energy of continuous warm execution for at least min_ns. */
int trial_energy(struct trial *t, int64_t min_ns, struct trial_weighed *ret_weighed, struct err *e);

#endif
