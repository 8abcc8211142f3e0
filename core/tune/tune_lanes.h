/* tune_lanes: the two sides of a search that work at the same time. Compile lanes ask the search for points and build them; device
 * lanes, one thread per device, take what is built, check it, time it, and hand it to the thread that records. Both queues are
 * bounded, so that no side runs far ahead, no device waits for the database, and several GPUs of a host share one tune. Used by
 * tune.c. */
#ifndef PEAKD_CORE_TUNE_TUNE_LANES_H
#define PEAKD_CORE_TUNE_TUNE_LANES_H

#include "core/judge/check.h"
#include "core/search/search.h"
#include "core/search/tunespace.h"
#include "core/tune/tune.h"
#include "core/workers/variant.h"

/* --- compiling ------------------------------------------------------------------------------------------------------------- */

/* One point that went through a compile lane. */
struct tune_built {
	size_t point;
	struct variant variant; /* empty unless it compiled */
	struct params *params;
	struct err why; /* ERR_NONE when it compiled */
	struct tune_built *next;
};

struct tune_compilers;

struct tune_compilers_config {
	const struct eval *ev;
	const struct context *ctx;
	const struct facts *facts;
	const struct tunespace *space;
	struct search *search; /* the lanes' alone while they live */
};

/* Starts one lane per compile worker; all that config points to is borrowed until tune_compilers_free. */
int tune_compilers_new(const struct tune_compilers_config *config, struct tune_compilers **ret_compilers, struct err *e);
/* No new points: no device gets one from now on. */
void tune_compilers_stop(struct tune_compilers *c);
/* The result of a point: nanoseconds, INFINITY for one that is out. Every point that was taken must be told. */
void tune_compilers_tell(struct tune_compilers *c, size_t point, double ns);
/* Lets lanes finish what they build and drops what was not taken. NULL is fine. */
void tune_compilers_free(struct tune_compilers *c);

/* --- trying ---------------------------------------------------------------------------------------------------------------- */

/* What every try of a tune has in common. */
struct tune_try {
	const struct eval *ev;
	const struct tune_request *q;
	const struct tunespace *const *spaces; /* of each size, the searched one first */
	size_t size_count;
	struct trial_timing timing; /* without hopeless_ns */
	double give_up;             /* times the best so far */
	bool weigh;                 /* energy is wanted */
	uint64_t seed;
	uint32_t poison;
};

/* The result of a configuration at one size. */
struct tune_judged {
	struct params *params;      /* complete; owned after the first size, there the built point's */
	struct variant variant;     /* built here after the first size; else empty */
	const struct variant *used; /* the one that ran: above or the built point's; NULL: none */
	struct err why;             /* of building, preparing, timing or weighing; ERR_NONE: no trouble */
	bool checked;               /* `check` is set */
	struct check check;
	struct trial_times times; /* empty unless it passed and was timed */
	double joules;            /* NAN: not asked for */
};

/* The result of one point on a device. */
struct tune_tried {
	struct tune_built *built;
	const struct facts *facts; /* of the device; borrowed */
	struct tune_judged at[TUNE_SIZES];
	size_t count;      /* sizes that were looked at: it stops at the first that is out or hopeless */
	struct err broken; /* no reference, or cancelled: the tune ends; ERR_NONE */
	int64_t took_ns;   /* on the device */
	struct tune_tried *next;
};

/* The execution parameters at another of the request's sizes; params_free them. */
struct params *tune_try_params(const struct tune_request *q, const struct params *params, size_t size);
void tune_tried_free(struct tune_tried *t);

/* --- devices --------------------------------------------------------------------------------------------------------------- */

struct tune_devices;

struct tune_devices_config {
	struct tune_try try; /* how one configuration is tried */
	struct tune_compilers *compilers;
	const struct facts *facts; /* the devices, at least one; of one kind, since each point is built once */
	size_t count;
	struct pool_worker **first; /* the lease of the first (the others are leased here): given back and taken again between
				     * turns, so NULL at the end when that was cut short */
	int64_t turn_ns;            /* after so long, whoever waits for a device gets it */
};

/* Where the device threads spent their time, summed over them, nanoseconds. */
struct tune_devices_time {
	int64_t working;  /* preparing, checking, timing */
	int64_t starving; /* nothing was compiled yet */
	int64_t waiting;  /* others had the device */
	int64_t lasted;   /* from their start to their end */
};

/* All that config points to is borrowed until tune_devices_free. */
int tune_devices_new(const struct tune_devices_config *config, struct tune_devices **ret_devices, struct err *e);
/* The next tried point; NULL when there is nothing more. wait false: NULL also when there is none now. */
struct tune_tried *tune_devices_take(struct tune_devices *devices, bool wait);
/* The best so far at each size, by which hopeless configurations are given up. */
void tune_devices_best(struct tune_devices *devices, const double ns[TUNE_SIZES]);
/* Of those that have ended. */
struct tune_devices_time tune_devices_time(struct tune_devices *devices);
/* The compilers must have been stopped, or have ended. Waits for what the devices do now; tune_devices_free drops what they have
 * tried. */
void tune_devices_stop(struct tune_devices *devices);
/* Once stopped: devices that were lost meanwhile ("cuda:1: …; cuda:2: …"), "" none, borrowed; and the first that was not,
 * config.count when all were. */
const char *tune_devices_lost(struct tune_devices *devices, size_t *ret_left);
/* Stops, too. NULL is fine. */
void tune_devices_free(struct tune_devices *devices);

#endif
