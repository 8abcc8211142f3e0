/* fact: what is known about a device beyond one run: its name, measured ceilings, limits. Key and value are texts of
 * the writer's choice. Written by core/measure; read by prompts, `devices` and reports. */
#ifndef PEAKD_CORE_RECORD_FACT_H
#define PEAKD_CORE_RECORD_FACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

struct fact {
	const char *device; /* the device's UUID */
	const char *key;    /* "name", "ceiling.f32", … */
	const char *value;
	int64_t created_ms; /* when it was last set */
};

struct fact_list {
	struct fact *at;
	size_t count;
};

/* Sets or replaces one. */
int fact_set(struct db *db, const char *device, const char *key, const char *value, struct err *e);
/* Keeps under "last_crash" what ended a worker of the device last: kernel, configuration, and the cause with what it said. */
int fact_crash(struct db *db, const char *device, int64_t checkpoint, const char *params, const char *why, struct err *e);
/* One value, free() it. ERR_NOT_FOUND. */
int fact_get(struct db *db, const char *device, const char *key, char **ret_value, struct err *e);
/* All of one device, or of every device when NULL, ordered by device and key. */
int fact_list(struct db *db, const char *device, struct fact_list *ret_list, struct err *e);
void fact_list_fini(struct fact_list *l);

#endif
