/* metric: what a profiler said about a checkpoint: one row per metric, device and execution parameters. Written by
 * core/measure and core/tune. */
#ifndef PEAKD_CORE_RECORD_METRIC_H
#define PEAKD_CORE_RECORD_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

struct metric {
	int64_t checkpoint;
	const char *device; /* the device's UUID */
	const char *params; /* canonical text of all execution parameters */
	const char *name;   /* the profiler's own name of it */
	double value;
	const char *unit;   /* "byte/s", "%", … ; "" when it is a number */
	const char *source; /* who measured: "ncu", "driver", "compiler" */
	const char *job;    /* job id, NULL */
	int64_t created_ms; /* 0: set by metric_add */
};

struct metric_list {
	struct metric *at;
	size_t count;
};

/* Adds one row; for many rows: store_begin first. */
int metric_add(struct db *db, struct metric *m, struct err *e);
/* The newest value of each metric of these parameters on this device (either may be NULL: any), ordered by name. */
int metric_list(struct db *db, int64_t checkpoint, const char *device, const char *params, struct metric_list *ret_list,
		struct err *e);
/* One of them; *ret_value is NAN where there is none. */
int metric_newest(struct db *db, int64_t checkpoint, const char *device, const char *params, const char *name, double *ret_value,
		  struct err *e);
void metric_list_fini(struct metric_list *l);

/* What the whole record adds up to, for /metrics (daemon/pages.c): jobs, exchanges with models, verdicts, configurations. */
struct metric_total {
	char *name;   /* the figure's, as Prometheus knows it */
	char *labels; /* "kind=\"tune\",state=\"done\""; "" */
	double value;
};
struct metric_total_list {
	struct metric_total *at;
	size_t count;
};
/* now_ms: wall clock. A scan of a few indexes and of small tables: milliseconds for a hundred thousand rows. */
int metric_totals(struct db *db, int64_t now_ms, struct metric_total_list *ret_list, struct err *e);
void metric_total_list_fini(struct metric_total_list *l);

#endif
