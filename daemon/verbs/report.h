/* report: what a scripted workflow reached, step by step: the tables, the closing line and the JSON of `peakd run`. */
#ifndef PEAKD_DAEMON_VERBS_REPORT_H
#define PEAKD_DAEMON_VERBS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* A step's best configuration at one input size. */
struct report_time {
	char *size;          /* "n=512" */
	char *params;        /* tuning parameters only: "BX=16 BY=8" */
	double median_ns;
	double gflops;       /* NaN when the context declares no flops: */
	double library, library_low, library_high; /* library time / ours, interleaved, with its interval; NaN or 0: none */
	int64_t evidence;    /* the validation that the time points at; 0: none */
};

struct report_step {
	char *name;          /* "baseline", a transformation's name, or a sentence */
	int64_t checkpoint;  /* 0: none was made */
	bool failed;         /* it went wrong: nothing of it counts */
	bool validated;      /* its outputs were right, by the record */
	char *validation;    /* "16/16", "failed", "compiled, not run": one word or two */
	struct report_time *times;
	size_t time_count;
};

struct report {
	char *stem;          /* of the context file */
	char *device, *driver;
	char *command;       /* as typed */
	int64_t started_ms;
	bool compile_only;   /* the device runs nothing */
	bool emulated;       /* it runs, but gives no times */
	struct report_step *steps;
	size_t step_count;
	size_t planned;      /* steps that were asked for, the baseline included */
};

void report_fini(struct report *r);
struct report_step *report_add(struct report *r, const char *name);
/* One table a size: step, median time, GFLOP/s, speed-up over baseline and previous, % of the vendor's library where the context names
 * one, configuration, validation. */
void report_tables(const struct report *r, FILE *out);
/* "peakd: STEM: N.N× over baseline, N checkpoints, all validated"; of several sizes the geometric mean, said so. */
void report_closing(const struct report *r, FILE *out);
/* The fastest validated step's speed-up over the baseline (its own best configuration), the geometric mean over the sizes that
 * both were timed at; NaN when there is none. *ret_sizes: how many sizes. */
double report_speedup(const struct report *r, size_t *ret_sizes);
/* Every step that was asked for was made and validated. */
bool report_all_validated(const struct report *r);
/* {device, driver, date, command, ran, emulated, rows: [{context, n or sizes, step, median_ms, gflops, speedup, library_ratio,
 * library_low, library_high, evidence, validated, params}]}. A speed-up is of two validated steps, or null. */
json_t *report_json(const struct report *r);
int report_write(const struct report *r, const char *path, struct err *e);

#endif
