/* tune_devices: the device side of a tune: one thread per device takes built points from the lanes, checks and times them, and hands what
 * came of it to the thread that records. So the device is not kept waiting by the database, and several GPUs of a host share one tune.
 * Used by tune.c alone. */
#ifndef PEAKD_CORE_TUNE_TUNE_DEVICES_H
#define PEAKD_CORE_TUNE_TUNE_DEVICES_H

#include "core/tune/tune_lanes.h"
#include "core/tune/tune_try.h"

struct tune_devices;

struct tune_devices_config {
	struct tune_try try;            /* how one configuration is tried */
	struct tune_lanes *lanes;
	const struct facts *facts;      /* the devices, at least one; of one kind, since what is built is built once */
	size_t count;
	struct pool_worker **first;     /* the lease of the first (the others are leased here): given back and taken again between turns, so
	                                 * that it is NULL at the end when that was cut short */
	int64_t turn_ns;                /* after so long, whoever waits for a device gets it */
};

/* Where the device threads spent their time, summed over them, nanoseconds. */
struct tune_devices_time {
	int64_t working;    /* preparing, checking, timing */
	int64_t starving;   /* nothing was compiled yet */
	int64_t waiting;    /* others had the device */
	int64_t lasted;     /* from their start to their end */
};

/* All that config points to is borrowed until tune_devices_free. */
int tune_devices_new(const struct tune_devices_config *config, struct tune_devices **ret_devices, struct err *e);
/* The next tried point; NULL when there is nothing more. wait false: NULL also when there is none now. */
struct tune_tried *tune_devices_take(struct tune_devices *devices, bool wait);
/* The best so far at each size, by which hopeless ones are given up. */
void tune_devices_best(struct tune_devices *devices, const double ns[TUNE_SIZES]);
/* Of those that have ended. */
struct tune_devices_time tune_devices_time(struct tune_devices *devices);
/* The lanes must have been stopped, or have ended. Waits for what the devices do now; what they have tried is dropped by tune_devices_free. */
void tune_devices_stop(struct tune_devices *devices);
/* Once stopped: devices that were lost on the way ("cuda:1: …; cuda:2: …"), "" none, borrowed; and the first that was not, config.count when all
 * were. */
const char *tune_devices_lost(struct tune_devices *devices, size_t *ret_left);
/* Stops, too. NULL is fine. */
void tune_devices_free(struct tune_devices *devices);

#endif
