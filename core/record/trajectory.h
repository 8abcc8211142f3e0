/* trajectory: each try of a model or an agent at a step of a transformation, with its context, question, answer, and what came of
 * it: for learning from, outside of this machine. Texts are scrubbed (scrub.h), and devices are named by their class. Read by
 * `peakd trajectories`. */
#ifndef PEAKD_CORE_RECORD_TRAJECTORY_H
#define PEAKD_CORE_RECORD_TRAJECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/layout.h"

struct db;

/* The checkpoint that was made, timed in pairs with its parent. */
struct trajectory_speed {
	char *device; /* its class */
	char *sizes, *params, *parent_params, *verdict;
	double speedup, low, high; /* over the parent, above 1 is faster */
	bool cold, quotable;       /* both sides are validated now, and nothing disturbed the pairs */
	bool parent_start;         /* the parent ran with the parameters that its tuning starts with */
};

/* A validation of that checkpoint. */
struct trajectory_evidence {
	char *validator, *device, *sizes, *params, *verdict, *reason;
	double error, tolerance;
};

/* More than 20 fields, since it is a line of the export. */
struct trajectory {
	int64_t id, created_ms;
	char *context_hash, *context; /* that the model was given; the text is NULL when only the prompt has it */
	char *transformation, *transformation_text;
	int64_t pass, attempt; /* from 1; repairs count on */
	char *step;            /* the region */
	char *model, *provider, *prompt, *reply;
	char *finish, *outcome; /* how the reply ended, and what peakd made of its form */
	int64_t tokens_in, tokens_out, tokens_cached, latency_ms;
	char *state, *verdict; /* of the whole transformation: "accepted", "given-up", ...; what was said last */
	int64_t checkpoint;    /* that it became, in this database; 0: none */
	char *parent_hash, *checkpoint_hash, *status, *result; /* of that checkpoint; its context's text */
	struct trajectory_speed *speed;
	size_t speed_count;
	struct trajectory_evidence *evidence;
	size_t evidence_count;
};
/* A line of JSON: layout_json. */
extern const struct layout trajectory_layout;

/* Calls `each` for every try, oldest first, of one transformation or of all (NULL); a negative return ends it. */
int trajectory_each(struct db *db, const char *transformation, int (*each)(void *arg, const struct trajectory *t, struct err *e),
		    void *arg, struct err *e);

#endif
