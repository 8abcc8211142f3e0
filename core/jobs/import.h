/* import: what another tool has measured (Kernel Tuner's cache files, T4 results) as rows of a checkpoint. They are nobody's evidence: the
 * device of each is called "imported: NAME", no validation stands behind it, and so it is never quoted; a tune takes the fastest as seeds
 * and measures them anew. Called by the workflow tool. */
#ifndef PEAKD_CORE_JOBS_IMPORT_H
#define PEAKD_CORE_JOBS_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

struct import_summary {
	size_t found;       /* configurations in the file */
	size_t taken;       /* rows that were added: one per set of this context's parameters, the fastest of those that are alike in them */
	int64_t run;        /* the measurement run that holds them; its strategy is "import" */
	char *text;         /* for people; free() */
};

/* `sizes`: the input sizes that were measured ("n=2048"), where the file does not say and the context has several (NULL: none given).
 * `origin`: where the text is from, for people. -ERR_INPUT for what is no such file, one that shares no tuning parameter with the
 * checkpoint, or sizes that nobody can know. Nothing is added then. */
int import_take(struct db *db, int64_t checkpoint, const char *text, const char *sizes, const char *origin,
                struct import_summary *ret_summary, struct err *e);

#endif
