/* report: the results of `peakd run` step by step: tables, closing line and JSON. */
#ifndef PEAKD_DAEMON_VERBS_REPORT_H
#define PEAKD_DAEMON_VERBS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "core/record/speed.h"

/* A step's best configuration at one input size. */
struct report_time {
	char *size;   /* "n=512" */
	char *params; /* tuning parameters only: "BX=16 BY=8" */
	double median_ns;
	double gflops, gbs;                        /* NaN when the context declares no flops:, no bytes: */
	double library, library_low, library_high; /* library time / ours, interleaved, with its interval; NaN or 0: none */
	struct speed speed;                        /* in pairs with the baseline and the parent; zeroed: not compared */
	int64_t evidence;                          /* the validation that the time points at; 0: none */
};

struct report_step {
	char *name;         /* "baseline", a transformation's name, or a sentence */
	int64_t checkpoint; /* 0: none was made */
	bool failed;        /* nothing of it counts */
	bool validated;     /* its outputs were right, by the record */
	char *validation;   /* "accepted, 16 passed, 0 failed", "failed", "compiled, not run" */
	struct report_time *times;
	size_t time_count;
};

struct report {
	char *stem; /* of the context file */
	char *device, *driver;
	char *command; /* as typed */
	int64_t started_ms;
	bool compile_only; /* the device cannot run kernels */
	bool emulated;     /* it runs kernels, but its times mean nothing */
	struct report_step *steps;
	size_t step_count;
	size_t planned; /* steps asked for, with the baseline */
};

void report_fini(struct report *r);
struct report_step *report_add(struct report *r, const char *name);
/* Prints one table a size, as wide as a terminal. Columns: step, median time, GFLOP/s, GB/s; speed-up over the baseline at its
 * best, over the baseline's starting parameters and over the previous step; percent of the library's speed where the context names
 * a library; configuration, validation. Speed-ups were timed in pairs; "unclear" where they say little, "-" where there were
 * none. */
void report_tables(const struct report *r, FILE *out);
/* Prints "peakd: STEM: N.N× over baseline (N.N× over its starting parameters), N checkpoints, all validated"; over several sizes a
 * speed-up is their geometric mean. */
void report_closing(const struct report *r, FILE *out);
/* The greatest speed-up of a validated step over the baseline, at its own best configuration or (start) with the parameters that
 * its tuning starts with: the geometric mean over the sizes at which both were timed in pairs. NaN without such a size; *ret_sizes
 * is their number, *ret_unclear that a ratio among them is. */
double report_speedup(const struct report *r, bool start, size_t *ret_sizes, bool *ret_unclear);
/* True when every step asked for exists and is validated. */
bool report_all_validated(const struct report *r);
/* {device, driver, date, command, ran, emulated, rows: [{context, n or sizes, step, median_ms, gflops, gbs, speedup, library_ratio,
 * library_low, library_high, evidence, validated, params, and the names of speed_layout}]}. A speed-up needs two validated steps
 * that were timed in pairs; otherwise it is null. */
json_t *report_json(const struct report *r);
int report_write(const struct report *r, const char *path, struct err *e);

#endif
