/* exchange: every question to a model and its answer, by whichever way it was asked, as evidence of how a checkpoint came
 * about. Written by core/jobs/work_transform and work_draft; read by daemon/tools/part. */
#ifndef PEAKD_CORE_RECORD_EXCHANGE_H
#define PEAKD_CORE_RECORD_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* Where an exchange stands in its transformation. */
struct exchange_key {
	const char *context;        /* hash of the context that the model was given */
	const char *transformation; /* its name */
	int pass;                   /* from 1 */
	const char *step;           /* "device", "host" or "macros" */
	int attempt;                /* from 1; repairs and fresh samples count on */
};

struct exchange {
	int64_t id; /* set by exchange_add */
	struct exchange_key key;
	const char *text_hash; /* SHA-256 of the transformation's text; NULL when not known */
	const char *model;     /* the provider's name for it; an agent's own for its work */
	const char *provider;  /* "openai:MODEL", "replay:NAME", "agent", … */
	const char *prompt;    /* the whole prompt as text */
	const char *reply;     /* the whole reply as text; NULL when none came */
	const char *finish;    /* reply_finish_name; NULL */
	const char *outcome;   /* what peakd made of it: reply_outcome_name; NULL */
	int64_t tokens_in;     /* -1 when not known, as the next three */
	int64_t tokens_out;
	int64_t tokens_cached;
	int64_t latency_ms;
	const char *job;    /* job id, NULL */
	int64_t created_ms; /* set by exchange_add when 0 */
};

struct exchange_list {
	struct exchange *at;
	size_t count;
};

/* Stores prompt and reply as blobs and adds a row; sets x->id. Texts stay the caller's. */
int exchange_add(struct db *db, struct exchange *x, struct err *e);
/* What a job's models were asked: how often, and for how many tokens, as far as their providers count them. */
struct exchange_spent {
	int64_t calls, tokens_in, tokens_out, tokens_cached;
};
int exchange_spent(struct db *db, const char *job, struct exchange_spent *ret_spent, struct err *e);
/* Oldest first; only those of `job` unless NULL, only those of `transformation` unless NULL; at most `limit` (0: all). */
int exchange_list(struct db *db, const char *job, const char *transformation, int limit, struct exchange_list *ret_list,
		  struct err *e);
void exchange_list_fini(struct exchange_list *l);

#endif
