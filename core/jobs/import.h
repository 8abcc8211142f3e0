/* import: turns what another tool has measured (Kernel Tuner's cache files, T4 results) into rows of a checkpoint.
 * Such rows are no evidence: their device is called "imported: NAME", no validation stands behind them, and peakd
 * never quotes them. The next tune starts with the fastest of them and measures them again. Called by the workflow
 * tool. */
#ifndef PEAKD_CORE_JOBS_IMPORT_H
#define PEAKD_CORE_JOBS_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

struct import_summary {
	size_t found; /* configurations in the file */
	size_t taken; /* rows added: the fastest for each set of this context's parameters */
	int64_t run;  /* the measurement run that holds the rows; its strategy is "import" */
	char *text;   /* a summary for people; free() it */
};

/* Adds all configurations of `text` as one run. `sizes` ("n=2048") names the measured input sizes when the file does
 * not and the context has several; NULL otherwise. `origin` tells people where the text comes from. Returns
 * -ERR_INPUT, and adds nothing, when the text is not such a file, shares no tuning parameter with the checkpoint, or
 * leaves the input sizes open. */
int import_take(struct db *db, int64_t checkpoint, const char *text, const char *sizes, const char *origin,
		struct import_summary *ret_summary, struct err *e);

#endif
