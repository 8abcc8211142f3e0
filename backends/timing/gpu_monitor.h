/* watch: what else goes on on the device while it is timed: clocks, power, heat, throttling and other processes' load, and the energy
 * counter. One per opened device; measure.c, pair.c and energy.c ask it. A backend without a monitoring library has none: nothing is
 * known then, which is said, and no sample counts as disturbed. */
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
	/* Clocks, power, temperature, throttling; what cannot be read stays 0. *ret_max_mhz: the highest core clock, 0 unknown. */
	void (*read)(void *state, struct wire_condition *ret_condition, uint32_t *ret_max_mhz);
	/* Percent of the device used by processes other than this one since wall-clock microseconds `since`; WIRE_UNKNOWN. */
	uint32_t (*foreign)(void *state, uint64_t since);
	/* Millijoules since some time in the past; false when there is no counter. */
	bool (*energy)(void *state, uint64_t *ret_millijoules);
	void (*close)(void *state);
};

struct gpu_monitor;

/* source: NULL when the backend has none (`name` says which backend). Never fails: a watch that sees nothing says why (gpu_monitor_note). */
struct gpu_monitor *gpu_monitor_new(const struct gpu_monitor_source *source, const char *name, const char *uuid);
void gpu_monitor_free(struct gpu_monitor *w);
/* A measurement begins: load of other processes counts from now on, and is asked about anew; with `believe` (for what is not quoted) the last
 * answer counts when it found none less than 100 ms ago. */
void gpu_monitor_begin(struct gpu_monitor *w, bool believe);
/* The device now, and whether what was just measured is disturbed. Cheap enough for every sample: the library is asked every 2 ms at
 * most, for other processes every 100 ms. */
struct wire_condition gpu_monitor_look(struct gpu_monitor *w);
/* Behind a sample of what is to be quoted: a device that heat or hardware slows down gets 20 ms to recover, or others on it to end; any other
 * none. */
void gpu_monitor_rest(const struct wire_condition *c);
bool gpu_monitor_energy(struct gpu_monitor *w, uint64_t *ret_millijoules);
/* Why nothing is seen, "" when something is. Borrowed. */
const char *gpu_monitor_note(const struct gpu_monitor *w);

#endif
