/* simulate: replays a search on a space whose times are all known, so that strategies can be compared without a
 * device. Reads such spaces from Kernel Tuner's cache files. Called by `peakd tune --simulate` and by tests. */
#ifndef PEAKD_CORE_SEARCH_SIMULATE_H
#define PEAKD_CORE_SEARCH_SIMULATE_H

#include "core/search/search.h"

/* A space that Kernel Tuner measured completely. Points stand in the order of the file. */
struct simulate_space {
	struct search_space space;
	double *times;    /* per point, in milliseconds; INFINITY where it failed */
	char **names;     /* per dimension: the parameter */
	uint16_t *points; /* these three own what `space` borrows */
	double **values;
	size_t *value_counts;
};

/* Loads a cache file of Kernel Tuner (JSON, plain or gzipped). Returns -ERR_INPUT with the line and what was
 * expected, or -ERR_IO. */
int simulate_load(const char *path, struct simulate_space *ret_space, struct err *e);
void simulate_fini(struct simulate_space *space);
struct simulate_search {
	const struct search_space *space;
	const double *times; /* one for each point of the space, in any unit; INFINITY: failed */
	const char *strategy;
	size_t budget; /* points at most */
	uint64_t seed;
};
/* Runs one search from a fresh state, and tells each point's time before it asks for the next. *ret_trajectory holds the
 * *ret_count times in the order of the search; free it. Returns -ERR_INPUT for an unknown strategy. */
int simulate_run(const struct simulate_search *s, double **ret_trajectory, size_t *ret_count, struct err *e);

#endif
