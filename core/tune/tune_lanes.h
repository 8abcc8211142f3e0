/* tune_lanes: the compile side of a tune. Lanes ask the search for points and build them; what is built waits in a bounded queue
 * for the threads that hold devices (tune_devices.h), so that neither side runs far ahead. Used by tune.c and tune_devices.c. */
#ifndef PEAKD_CORE_TUNE_TUNE_LANES_H
#define PEAKD_CORE_TUNE_TUNE_LANES_H

#include "core/search/search.h"
#include "core/search/tunespace.h"
#include "core/workers/variant.h"

/* One point that went through a lane. */
struct tune_built {
	size_t point;
	struct variant variant; /* empty unless it compiled */
	struct params *params;
	struct err why;         /* ERR_NONE when it compiled */
	struct tune_built *next;
};

struct tune_lanes;

struct tune_lanes_config {
	const struct eval *ev;
	const struct context *ctx;
	const struct facts *facts;
	const struct tunespace *space;
	struct search *search;  /* the lanes' alone while they live */
};

/* Starts one lane per compile worker; all that config points to is borrowed until tune_lanes_free. */
int tune_lanes_new(const struct tune_lanes_config *config, struct tune_lanes **ret_lanes, struct err *e);
/* The next built point, waited for; NULL when the search is over or was cancelled. Every one must be told. */
struct tune_built *tune_lanes_take(struct tune_lanes *lanes);
/* One that was taken and could not be tried: it goes to the next who takes. */
void tune_lanes_put_back(struct tune_lanes *lanes, struct tune_built *take_built);
/* No new points: whoever takes gets NULL from now on. */
void tune_lanes_stop(struct tune_lanes *lanes);
/* What became of a point that was taken: nanoseconds, INFINITY for one that is out. */
void tune_lanes_tell(struct tune_lanes *lanes, size_t point, double ns);
/* Lets lanes finish what they build and drops what was not taken. NULL is fine. */
void tune_lanes_free(struct tune_lanes *lanes);

void tune_built_free(struct tune_built *b);

#endif
