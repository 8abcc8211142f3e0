/* gpu_monitor: what else happens on the device while it is timed: clocks, power, heat, throttling, other processes'
 * load, and the energy counter. There is one per opened device, and measure.c asks it. Where the backend has no
 * monitoring library nothing is known: the note says so, and no sample counts as disturbed. */
#ifndef PEAKD_BACKENDS_TIMING_GPU_MONITOR_H
#define PEAKD_BACKENDS_TIMING_GPU_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/wire.h"
#include "base/err.h"

/* A backend's monitoring library (CUDA: NVML). */
struct gpu_monitor_source {
	/* -ERR_UNSUPPORTED: no library, or it does not know the device of this UUID. */
	int (*open)(const char *uuid, void **ret_state, struct err *e);
	/* Clocks, power, temperature, throttling; unknown values stay 0. *ret_max_mhz: the highest core clock, 0
	 * unknown. */
	void (*read)(void *state, struct wire_condition *ret_condition, uint32_t *ret_max_mhz);
	/* Percent of the device used by processes other than this one since wall-clock microseconds `since`;
	 * WIRE_UNKNOWN. */
	uint32_t (*foreign)(void *state, uint64_t since);
	/* Millijoules since some moment in the past; false when there is no counter. */
	bool (*energy)(void *state, uint64_t *ret_millijoules);
	void (*close)(void *state);
};

struct gpu_monitor;

/* source: NULL when the backend has none; name: the backend's. Never fails: a monitor that sees nothing says why
 * (gpu_monitor_note). */
struct gpu_monitor *gpu_monitor_new(const struct gpu_monitor_source *source, const char *name, const char *uuid);
void gpu_monitor_free(struct gpu_monitor *w);
/* A measurement begins: other processes' load counts from now on, and is asked for anew. With `believe`, for times that
 * are not quoted, the last answer still counts if it found none less than 100 ms ago. */
void gpu_monitor_begin(struct gpu_monitor *w, bool believe);
/* The device now, and whether the sample just taken is disturbed. Cheap enough for every sample: the library is asked
 * every 2 ms at most, about other processes every 100 ms. */
struct wire_condition gpu_monitor_look(struct gpu_monitor *w);
/* Whether only work can end what disturbs now: the clock has not risen yet. */
bool gpu_monitor_is_cold(struct gpu_monitor *w);
/* Between samples that will be quoted: waits 20 ms if heat or hardware slows the device down, or others use it, so that
 * this may end. */
void gpu_monitor_rest(const struct wire_condition *c);
bool gpu_monitor_energy(struct gpu_monitor *w, uint64_t *ret_millijoules);
/* Why nothing is known; "" otherwise. Borrowed. */
const char *gpu_monitor_note(const struct gpu_monitor *w);

#endif
