/* landscape: kernels that do not exist, with a known fastest form: what a policy is worth can be counted over many seeds without a
 * device or a model. The policies are the very ones of policy.h; only what answers them is made up. Called by `peakd optimize
 * --simulate` and by the policies' test. */
#ifndef PEAKD_CORE_OPTIMIZE_LANDSCAPE_H
#define PEAKD_CORE_OPTIMIZE_LANDSCAPE_H

#include "base/err.h"
#include "core/optimize/policy.h"

enum { LANDSCAPE_ROOFS = 3 /* memory, compute, latency: the first three of enum advice_class */, LANDSCAPE_IDEAS = 20 };

/* A change to the code that may be tried once. */
struct landscape_idea {
	char name[64];
	double factor[LANDSCAPE_ROOFS]; /* what it does to the time that each limit asks for */
	int needs;                      /* another idea that must be part of the code before; negative: none */
	double fails;                   /* how often a model gets it wrong, 0 to 1 */
	bool listed;                    /* the library offers it; else only a model thinks of it */
};

/* Time is the fourth-power mean of the limits' times, so that the slowest decides and the others still count; none falls below its
 * floor. */
struct landscape {
	struct landscape_idea ideas[LANDSCAPE_IDEAS];
	size_t count;
	double start[LANDSCAPE_ROOFS], floor[LANDSCAPE_ROOFS];
	double noise;   /* standard deviation of a measured logarithm */
	double optimum; /* ln(start / fastest) over all sets of ideas */
};

/* The same seed makes the same landscape: fourteen ideas, of which a third pays at once, some only together, and some never. */
void landscape_make(uint64_t seed, struct landscape *ret_landscape);
/* A recorded line of transformations, a line each: "NAME RATIO FAILS": how many times as fast the step made the code, and how often
 * models failed at it. Each needs the one before; ideas that always fail are mixed in. -ERR_INPUT names the line. */
int landscape_read(const char *where, const char *text, struct landscape *ret_landscape, struct err *e);
/* Runs a policy for `calls` model calls. ret_best has room for calls values: the largest true gain (ln) after each. */
void landscape_search(const struct landscape *l, const struct policy *policy, unsigned calls, uint64_t seed, double *ret_best);

#endif
