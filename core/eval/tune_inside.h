/* tune_inside: one tune while it runs: what tune.c (the search), tune_record.c (rows) and tune_leaders.c (the end) share. */
#ifndef PEAKD_CORE_EVAL_TUNE_INSIDE_H
#define PEAKD_CORE_EVAL_TUNE_INSIDE_H

#include "core/eval/trial.h"
#include "core/eval/tune.h"

enum { TUNE_POISON = 0xFF };

/* A leader while the tune runs. */
struct leader {
	struct params *params;
	struct variant variant;
	double median_ns;       /* of the search */
};

struct tuner {
	const struct eval *ev;
	const struct tune_request *q;
	struct db *db;
	int64_t checkpoint;
	const char *job;
	struct pool_worker *device;        /* leased; NULL while validation leases it */
	struct tune_result result;
	struct leader leaders[TUNE_TOP];   /* fastest first */
	size_t leader_count;
	double floor_ns;        /* faster than this is impossible; 0 unknown */
	size_t planned;         /* configurations */
	uint64_t seed;          /* of the values, secret */
	int64_t started;        /* monotonic */
};

/* The status of a configuration that ended with this code. */
enum measurement_status tune_status(enum err_code code);
/* Writes one measurement row of a device. variant, times and message may be NULL; validation 0: no evidence. */
int tune_record(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant, enum measurement_status status,
                const struct trial_times *times, int64_t validation, const char *message, struct err *e);
/* A configuration that is out: counted, kept as an example of what failed, recorded. */
int tune_record_out(struct tuner *u, const struct facts *facts, const struct params *params, const struct variant *variant,
                    enum measurement_status status, const char *message, struct err *e);
/* Adds an example of what failed, while there is room. */
void tune_record_why(struct tuner *u, const struct params *params, const char *message);

/* Proves and re-times leaders until enough of them stand; result.top is theirs, fastest first. */
int tune_leaders_finish(struct tuner *u, struct err *e);
/* Then, for a context that names a library: the winner against it; fills result.library. What goes wrong there is told in it and
 * fails nothing. */
int tune_vendor_finish(struct tuner *u, struct err *e);

#endif
