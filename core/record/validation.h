/* validation: the verdicts about a checkpoint, one row per validator, device and execution parameters. Rows are only
 * added, never changed: a quoted figure points at one (measurement.h). Written by eval/validate and eval/tune. */
#ifndef PEAKD_CORE_RECORD_VALIDATION_H
#define PEAKD_CORE_RECORD_VALIDATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

enum validation_verdict { VALIDATION_PASSED, VALIDATION_FAILED, VALIDATION_SKIPPED };
enum { VALIDATION_VERDICTS = VALIDATION_SKIPPED + 1 };

struct validation {
	int64_t id; /* set by validation_add */
	int64_t checkpoint;
	const char *validator; /* name of the validator: "outputs", … */
	const char *device;    /* the device's UUID */
	const char *sizes;     /* canonical text of the input sizes and scalars */
	const char *params;    /* canonical text of all execution parameters, sizes included */
	const char *size_kind; /* which set the sizes are of: "input", "check", … */
	const char *seed_hash; /* SHA-256 of the secret seed; NULL when none */
	enum validation_verdict verdict;
	const char *reason;  /* why it failed or was skipped; NULL when passed */
	double error;        /* its error figure; NAN when not known */
	double tolerance;    /* what was allowed; NAN when not known */
	const char *details; /* mismatches and so on, for people and models; NULL */
	int64_t took_ns;     /* -1 when not known */
	const char *job;     /* job id, NULL */
	int64_t created_ms;  /* 0: set by validation_add */
};

struct validation_list {
	struct validation *at;
	size_t count;
};

/* How many rows of a checkpoint have each verdict. */
struct validation_counts {
	int64_t of[VALIDATION_VERDICTS];
};

/* "passed", "failed", "skipped". Static storage. */
const char *validation_verdict_name(enum validation_verdict verdict);

/* Adds one row and sets v->id and v->created_ms; the texts stay the caller's. For many rows: store_begin first. */
int validation_add(struct db *db, struct validation *v, struct err *e);
/* The rows of a checkpoint, newest first, on `device` unless NULL, at most `limit` (0: all). */
int validation_list(struct db *db, int64_t checkpoint, const char *device, int limit, struct validation_list *ret_list,
		    struct err *e);
/* The configurations that failed on this device, the newest failure of each, newest first. */
int validation_failed(struct db *db, int64_t checkpoint, const char *device, int limit, struct validation_list *ret_list,
		      struct err *e);
/* The newest row of these parameters on this device; ERR_NOT_FOUND when never judged. validation_fini it. */
int validation_of(struct db *db, int64_t checkpoint, const char *device, const char *params, struct validation *ret_validation,
		  struct err *e);
int validation_count(struct db *db, int64_t checkpoint, struct validation_counts *ret_counts, struct err *e);
void validation_fini(struct validation *v);
void validation_list_fini(struct validation_list *l);

#endif
