/* measurement: how fast a checkpoint ran, one row per attempt to time one configuration, and the tune runs that group them. A time
 * is quotable only through `validation`, a passed row for the same checkpoint, device and parameters: a trigger refuses a reference
 * to any other row. Queries for the best, unless told otherwise, take only times whose validation passed and whose checkpoint was
 * not refuted. Their tuning parameters must never have failed on that device, at whatever size (measurement_proven in
 * schema/0003-proven.sql). Written by eval/tune. */
#ifndef PEAKD_CORE_RECORD_MEASUREMENT_H
#define PEAKD_CORE_RECORD_MEASUREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* What became of one configuration. */
enum measurement_status {
	MEASUREMENT_OK,          /* timed */
	MEASUREMENT_PRUNED,      /* declared invalid by host code or the device's limits */
	MEASUREMENT_COMPILE,     /* refused by the compiler */
	MEASUREMENT_WRONG,       /* ran, outputs wrong */
	MEASUREMENT_CRASH,       /* worker or device died */
	MEASUREMENT_TIMEOUT,     /* deadline */
	MEASUREMENT_DISTURBED,   /* timed, but not quotable: throttling, foreign load */
	MEASUREMENT_IMPOSSIBLE,  /* faster than the hardware's floor */
	MEASUREMENT_UNSUPPORTED, /* this device cannot run it */
	MEASUREMENT_CANCELLED,   /* not finished */
	MEASUREMENT_ERROR,       /* anything else, see message */
};
enum { MEASUREMENT_STATUSES = MEASUREMENT_ERROR + 1 };

/* A row of the table; more than 20 fields, because that has as many columns. */
struct measurement {
	int64_t id; /* set by measurement_add */
	int64_t checkpoint;
	int64_t run;        /* tune run, 0 when none */
	const char *device; /* the device's UUID */
	const char *driver; /* driver and its version; NULL */
	const char *sizes;  /* canonical text of the input sizes and scalars */
	const char *params; /* canonical text of all execution parameters, sizes included */
	enum measurement_status status;
	double median_ns;      /* NAN unless timed */
	double min_ns;         /* NAN unless timed */
	double rse;            /* relative standard error of the samples; NAN when not known */
	const double *samples; /* nanoseconds, in the order taken; NULL when not kept */
	size_t sample_count;   /* elements of samples */
	bool cold;             /* L2 cold (the default of quoted figures) */
	int64_t compile_ns;    /* -1 when not known, as the next three */
	int64_t registers;     /* per thread */
	int64_t shared_bytes;  /* static shared memory per block */
	int64_t spill_bytes;   /* local memory per thread */
	const char *message;   /* why it is not ok; NULL */
	int64_t validation;    /* evidence, 0 when none */
	const char *job;       /* job id, NULL */
	int64_t created_ms;    /* 0: set by measurement_add */
	bool proven;           /* as read: the time may be quoted now */
};

struct measurement_list {
	struct measurement *at;
	size_t count;
};

/* One tune run: which space, how, and when. */
struct measurement_run {
	int64_t id; /* set by measurement_run_begin */
	int64_t checkpoint;
	const char *device;
	const char *strategy; /* name of the search strategy */
	const char *settings; /* canonical text: seed, limits, sizes */
	int64_t planned;      /* configurations that it means to try; -1 when open */
	const char *job;      /* job id, NULL */
	int64_t created_ms;   /* 0: set by measurement_run_begin */
	int64_t ended_ms;     /* 0 while it runs or when it was killed */
};

struct measurement_run_list {
	struct measurement_run *at;
	size_t count;
};

/* Selects and bounds rows; zeroed means all rows of a checkpoint. */
struct measurement_query {
	int64_t checkpoint;
	int64_t run;        /* 0: any */
	const char *device; /* NULL: any */
	const char *sizes;  /* NULL: any */
	bool unproven;      /* rows without a passed validation too (for looking, not for quoting) */
	bool warm;          /* warm figures instead of cold ones */
	int limit;          /* 0: all */
};

/* "ok", "pruned", … Static storage. */
const char *measurement_status_name(enum measurement_status status);
/* Whether a time that was read may be quoted: "proven", "refuted" (its evidence failed later), "unvalidated". Static storage. */
const char *measurement_standing(const struct measurement *m);

/* Adds one row and sets m->id and m->created_ms; texts and samples stay the caller's. For many rows: store_begin first.
 * ERR_CONFLICT when `validation` is of another checkpoint, device or parameters. */
int measurement_add(struct db *db, struct measurement *m, struct err *e);
/* The fastest rows by median among those that are ok, fastest first; one row per set of parameters (its newest). */
int measurement_top(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e);
/* The first of measurement_top; ERR_NOT_FOUND when there is none. measurement_fini it. */
int measurement_best(struct db *db, const struct measurement_query *q, struct measurement *ret_measurement, struct err *e);
/* The best of each device and sizes, ordered by device, then sizes. `limit` and `sizes` are not used. */
int measurement_best_each(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e);
/* The UUID of the device of this class (note_device_class) that measured the checkpoint last; free(), NULL: none did. */
int measurement_device(struct db *db, int64_t checkpoint, const char *class, char **ret_device, struct err *e);
/* All rows of whatever status, warmth and proof, oldest first. */
int measurement_list(struct db *db, const struct measurement_query *q, struct measurement_list *ret_list, struct err *e);
/* What the device was like beside each sample (trial.h's conditions); at most once for a row. */
int measurement_conditions_add(struct db *db, int64_t measurement, const char *conditions, struct err *e);
void measurement_fini(struct measurement *m);
void measurement_list_fini(struct measurement_list *l);

/* Adds a run and sets r->id and r->created_ms. */
int measurement_run_begin(struct db *db, struct measurement_run *r, struct err *e);
int measurement_run_end(struct db *db, int64_t run, struct err *e);
/* The runs of a checkpoint, newest first. */
int measurement_runs(struct db *db, int64_t checkpoint, struct measurement_run_list *ret_list, struct err *e);
void measurement_run_list_fini(struct measurement_run_list *l);

#endif
