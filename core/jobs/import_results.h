/* import_results: measured configurations as other tools write and read them: Kernel Tuner's cache files, and T4,
 * the results format that the auto-tuning community agreed on (schema 1.0.0). Called by core/jobs/import, by `peakd
 * workflow import`, and for the part "t4" of a checkpoint. */
#ifndef PEAKD_CORE_JOBS_IMPORT_RESULTS_H
#define PEAKD_CORE_JOBS_IMPORT_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/record/measurement.h"

/* One configuration; all texts owned. */
struct import_result {
	char *params;         /* "BX=16 BY=8"; values that are not numbers are left out */
	char *device, *sizes; /* where and at which input sizes ("n=64"); NULL: unknown */
	enum measurement_status status;
	double ms;       /* NAN unless timed */
	double *runs_ms; /* each timed execution; NULL: unknown */
	size_t run_count;
	double compile_ms;  /* NAN: unknown */
	bool proven;        /* only written: the figure may be quoted */
	int64_t created_ms; /* only written; 0: unknown */
};

struct import_results {
	char *format; /* "Kernel Tuner's cache" or "T4 results" */
	char *device; /* of all of them; NULL: unknown */
	struct import_result *at;
	size_t count;
};

/* Reads either format. A cache file that Kernel Tuner is still writing (without its end) is read as far as it goes.
 * Returns -ERR_INPUT with the line and what was expected. */
int import_results_read(const char *text, size_t len, struct import_results *ret_results, struct err *e);
/* Appends the results as T4. Leaves out configurations without an outcome (cancelled, disturbed). */
void import_results_write(const struct import_results *results, struct buf *out);
/* Keeps the `most` fastest; failures are dropped first. */
void import_results_shorten(struct import_results *results, size_t most);
void import_results_fini(struct import_results *results);

#endif
