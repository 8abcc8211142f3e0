/* import_ktcache: a space that Kernel Tuner has brute-forced: its cache file (JSON, plain or gzipped) as a search space with the
 * time of every point. Called by `peakd tune --simulate` through simulate.c's callers and by tests. */
#ifndef PEAKD_CORE_SEARCH_IMPORT_KTCACHE_H
#define PEAKD_CORE_SEARCH_IMPORT_KTCACHE_H

#include "base/err.h"
#include "core/search/search.h"

/* Points stand in the order of the file. */
struct import_ktcache {
	struct search_space space;
	double *times;            /* per point, as written in the file (milliseconds); INFINITY where it failed */
	char **names;             /* per dimension: the parameter */
	uint16_t *points;         /* what space borrows */
	double **values;
	size_t *value_counts;
};

/* -ERR_INPUT for what is no cache file (says what was expected), -ERR_IO for a file that cannot be read. */
int import_ktcache(const char *path, struct import_ktcache *ret_cache, struct err *e);
void import_ktcache_fini(struct import_ktcache *cache);

#endif
