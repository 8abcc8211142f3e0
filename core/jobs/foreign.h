/* foreign: measured configurations as other tools write and read them: Kernel Tuner's cache files, and T4,
 * the results format that the auto-tuning community agreed on (schema 1.0.0). Called by core/jobs/foreign_take, by `peakd
 * workflow import`, and for the part "t4" of a checkpoint. */
#ifndef PEAKD_CORE_JOBS_FOREIGN_H
#define PEAKD_CORE_JOBS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/record/measurement.h"

/* One configuration; all texts owned. */
struct foreign_result {
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

struct foreign {
	char *format; /* "Kernel Tuner's cache" or "T4 results" */
	char *device; /* of all of them; NULL: unknown */
	struct foreign_result *at;
	size_t count;
};

/* Reads either format. A cache file that Kernel Tuner is still writing (without its end) is read as far as it goes.
 * Returns -ERR_INPUT with the line and what was expected. */
int foreign_read(const char *text, size_t len, struct foreign *ret_results, struct err *e);
/* Appends the results as T4. Leaves out configurations without an outcome (cancelled, disturbed). */
void foreign_write(const struct foreign *results, struct buf *out);
/* Keeps the `most` fastest; failures are dropped first. */
void foreign_shorten(struct foreign *results, size_t most);
void foreign_fini(struct foreign *results);

/* --- rows of a checkpoint (foreign_take.c) ---------------------------------------------------------------------------------- */

struct db;

struct foreign_summary {
	size_t found; /* configurations in the file */
	size_t taken; /* rows added: the fastest for each set of this context's parameters */
	int64_t run;  /* the measurement run that holds the rows; its strategy is "import" */
	char *text;   /* a summary for people; free() it */
};

/* Adds all configurations of `text` as one run. `sizes` ("n=2048") names the measured input sizes when the file does not and the
 * context has several; NULL otherwise. `origin` tells people where the text comes from. Returns -ERR_INPUT, and adds nothing, when
 * the text is no such file, shares no tuning parameter with the checkpoint, or leaves the input sizes open. */
int foreign_take(struct db *db, int64_t checkpoint, const char *text, const char *sizes, const char *origin,
		 struct foreign_summary *ret_summary, struct err *e);

#endif
