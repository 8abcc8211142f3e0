/* speed: how many times as fast a checkpoint's configuration is as its baseline and its parent. There is one truth: pairs that were
 * timed alternately in one process (comparison.h). Medians of separate runs are never divided. Asked by everybody who shows a
 * ratio. */
#ifndef PEAKD_CORE_RECORD_SPEED_H
#define PEAKD_CORE_RECORD_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/layout.h"

struct db;

/* times: above 1 is faster; NAN: not compared. */
struct speed_ratio {
	double times, low, high; /* and its interval */
	char *verdict;           /* "faster", "slower", "same", "unclear"; NULL: not compared */
};

struct speed {
	struct speed_ratio baseline; /* over the baseline at its own best parameters */
	struct speed_ratio start;    /* over the baseline with the parameters that its tuning starts with */
	struct speed_ratio parent;   /* over the parent at its best */
	double joules;               /* of one execution of this configuration, as weighed last; NAN: not weighed */
	char *load;                  /* what others did meanwhile on a CPU that is the device; NULL */
	char *compared;              /* all of it in words; NULL: nothing was compared */
};
/* JSON: speedup, start_speedup, step_speedup, each with _low, _high and _verdict; load. */
extern const struct layout speed_layout;

/* One configuration. All borrowed. */
struct speed_query {
	int64_t checkpoint, parent, root; /* parent 0: none */
	const char *device, *sizes;
	const char *params; /* all execution parameters */
	bool warm;
};

/* What is recorded now. `s` holds nothing before; speed_fini it. Never fails: what cannot be read was not compared. */
void speed_of(struct db *db, const struct speed_query *q, struct speed *s);
void speed_fini(struct speed *s);

enum { SPEED_TEXT = 64 };
/* "1.37x (1.35-1.39)", "unclear (0.93-1.12)", "at least 40.84x (40.84-133.30)", "at most 0.12x (0.05-0.12)", "-" where nothing was
 * compared; returns text. */
char *speed_text(const struct speed_ratio *r, char text[SPEED_TEXT]);
/* The same behind the verdict: "faster, 1.37x (1.35-1.39)", "unclear (0.93-1.12)". */
char *speed_words(const struct speed_ratio *r, char text[SPEED_TEXT]);
/* An interval that says little, however far from 1 it lies. */
bool speed_unclear(const struct speed_ratio *r);

#endif
