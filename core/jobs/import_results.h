/* import_results: measured configurations as other tools write and read them: Kernel Tuner's cache files, and T4, the results format that
 * the auto-tuning community agreed on (schema 1.0.0). Called by core/jobs/import, by `peakd workflow import`, and for the part "t4" of a
 * checkpoint. */
#ifndef PEAKD_CORE_JOBS_IMPORT_RESULTS_H
#define PEAKD_CORE_JOBS_IMPORT_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/record/measurement.h"

/* One configuration; all texts owned. */
struct import_result {
	char *params;            /* "BX=16 BY=8"; what is no number was left out */
	char *device, *sizes;    /* where and at which input sizes ("n=64"); NULL: the file does not say */
	enum measurement_status status;
	double ms;               /* NAN unless it was timed */
	double *runs_ms;         /* each execution that was timed; NULL: not said */
	size_t run_count;
	double compile_ms;       /* NAN: not known */
	bool proven;             /* written only: it may be quoted now */
	int64_t created_ms;      /* written only; 0: not known */
};

struct import_results {
	char *format;            /* "Kernel Tuner's cache" or "T4 results" */
	char *device;            /* of all of them; NULL: not said */
	struct import_result *at;
	size_t count;
};

/* Reads either format; a cache file that is still being written to (no end yet) is taken as far as it goes. -ERR_INPUT says what was
 * expected. */
int import_results_read(const char *text, size_t len, struct import_results *ret_results, struct err *e);
/* Appends them as T4. Configurations that say nothing (cancelled, disturbed) are left out. */
void import_results_write(const struct import_results *results, struct buf *out);
/* Keeps the `most` fastest; those that failed go first. */
void import_results_shorten(struct import_results *results, size_t most);
void import_results_fini(struct import_results *results);

#endif
