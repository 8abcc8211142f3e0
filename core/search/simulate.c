/* simulate: see simulate.h. Nothing outlives a run, so that no seed profits from what another has seen. */
#include "core/search/simulate.h"

#include "base/mem.h"

int simulate_run(const struct search_space *space, const double *times, const char *strategy, size_t budget, uint64_t seed,
                 double **ret_trajectory, size_t *ret_count, struct err *e)
{
	struct search *search;
	int rc = search_new(strategy, space, budget, seed, &search, e);
	if (rc < 0)
		return rc;
	double *trajectory = MEM_NEW_N(double, (budget < space->count ? budget : space->count) + 1);
	size_t n = 0, point;
	while ((point = search_ask(search)) != SEARCH_NONE) {
		trajectory[n++] = times[point];
		search_tell(search, point, times[point]);
	}
	search_free(search);
	*ret_trajectory = trajectory;
	*ret_count = n;
	return 0;
}
