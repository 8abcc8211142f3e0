/* exchange: every question to a model and its answer, by whichever way it was asked, so that any workflow can be
 * replayed without a model. Written by transform's steps; read by the replay provider and by the exporter of
 * recordings (whose file format is not this file's matter). */
#ifndef PEAKD_CORE_RECORD_EXCHANGE_H
#define PEAKD_CORE_RECORD_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;

/* What an answer is looked up by. */
struct exchange_key {
	const char *context;        /* hash of the context that was given to the model */
	const char *transformation; /* its name */
	int pass;                   /* from 1 */
	const char *step;           /* "device", "host" or "macros" */
	int attempt;                /* from 1; repairs and fresh samples count on */
};

struct exchange {
	int64_t id;                  /* set by exchange_add */
	struct exchange_key key;
	const char *text_hash;       /* SHA-256 of the transformation's text; NULL when not known */
	const char *model;           /* name as the provider reports it; the agent's or person's own for their work */
	const char *provider;        /* "openai", "anthropic", "replay", "agent", "person", … */
	const char *prompt;          /* the whole prompt as text */
	const char *reply;           /* the whole reply as text; NULL when none came */
	const char *finish;          /* finish reason as the provider words it; NULL */
	const char *outcome;         /* what peakd made of it: "accepted", "truncated", …; NULL until judged */
	int64_t tokens_in;           /* -1 when not known, as the next four */
	int64_t tokens_out;
	int64_t tokens_cached;
	int64_t tokens_reasoning;
	int64_t latency_ms;
	const char *job;             /* job id, NULL */
	int64_t created_ms;          /* when 0, exchange_add sets it */
};

struct exchange_list {
	struct exchange *at;
	size_t count;
};

/* Stores prompt and reply as blobs and adds a row; sets x->id. Texts stay the caller's. The context need not be stored
 * as a blob (imports of recordings). */
int exchange_add(struct db *db, struct exchange *x, struct err *e);
/* What became of the reply, once it is known. */
int exchange_set_outcome(struct db *db, int64_t id, const char *outcome, struct err *e);
/* The newest exchange with this key that has a reply; exchange_fini it. ERR_NOT_FOUND says which parts of the key are
 * known. */
int exchange_find(struct db *db, const struct exchange_key *key, struct exchange *ret_exchange, struct err *e);
/* Oldest first; only those of `job` unless NULL, only those whose context is `context` unless NULL; at most `limit`
 * (0: all). */
int exchange_list(struct db *db, const char *job, const char *context, int limit, struct exchange_list *ret_list,
                  struct err *e);
void exchange_fini(struct exchange *x);
void exchange_list_fini(struct exchange_list *l);

#endif
