/* exchange: rows of questions and answers; see exchange.h. */
#include "core/record/exchange.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"

static void put_key(struct query *q, const struct exchange_key *key)
{
	query_put_text(q, key->context);
	query_put_text(q, key->transformation);
	query_put_int(q, key->pass);
	query_put_text(q, key->step);
}

static int add(struct db *db, const struct exchange *x, int64_t created_ms, int64_t *ret_id, struct err *e)
{
	struct hash prompt, reply;
	int rc = blob_put_text(db, x->prompt, &prompt, e);
	if (rc == 0 && x->reply)
		rc = blob_put_text(db, x->reply, &reply, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "exchange_add");
	put_key(&q, &x->key);
	query_put_int(&q, x->key.attempt);
	query_put_text(&q, x->text_hash);
	query_put_text(&q, x->model);
	query_put_text(&q, x->provider);
	query_put_text(&q, prompt.hex);
	query_put_text(&q, x->reply ? reply.hex : NULL);
	query_put_text(&q, x->finish);
	query_put_text(&q, x->outcome);
	query_put_count(&q, x->tokens_in);
	query_put_count(&q, x->tokens_out);
	query_put_count(&q, x->tokens_cached);
	query_put_count(&q, x->tokens_reasoning);
	query_put_count(&q, x->latency_ms);
	query_put_text(&q, x->job);
	query_put_int(&q, created_ms);
	rc = query_run(&q, ret_id, e);
	return rc < 0 ? rc : 0;
}

int exchange_add(struct db *db, struct exchange *x, struct err *e)
{
	int64_t id = 0, created_ms = x->created_ms ? x->created_ms : clock_wall_ms();
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = store_end(db, add(db, x, created_ms, &id, e), e);
	if (rc < 0)
		return rc;
	x->id = id;
	x->created_ms = created_ms;
	return 0;
}

int exchange_set_outcome(struct db *db, int64_t id, const char *outcome, struct err *e)
{
	struct query q;
	query_init(&q, db, "exchange_set_outcome");
	query_put_int(&q, id);
	query_put_text(&q, outcome);
	return query_run(&q, NULL, e);
}

static void read_row(struct query *q, struct exchange *x)
{
	x->id = query_get_int(q);
	x->key.context = query_get_text(q);
	x->key.transformation = query_get_text(q);
	x->key.pass = (int)query_get_int(q);
	x->key.step = query_get_text(q);
	x->key.attempt = (int)query_get_int(q);
	x->text_hash = query_get_text(q);
	x->model = query_get_text(q);
	x->provider = query_get_text(q);
	x->prompt = query_get_text(q);
	x->reply = query_get_text(q);
	x->finish = query_get_text(q);
	x->outcome = query_get_text(q);
	x->tokens_in = query_get_count(q);
	x->tokens_out = query_get_count(q);
	x->tokens_cached = query_get_count(q);
	x->tokens_reasoning = query_get_count(q);
	x->latency_ms = query_get_count(q);
	x->job = query_get_text(q);
	x->created_ms = query_get_int(q);
}

void exchange_fini(struct exchange *x)
{
	free((char *)x->key.context);
	free((char *)x->key.transformation);
	free((char *)x->key.step);
	free((char *)x->text_hash);
	free((char *)x->model);
	free((char *)x->provider);
	free((char *)x->prompt);
	free((char *)x->reply);
	free((char *)x->finish);
	free((char *)x->outcome);
	free((char *)x->job);
	*x = (struct exchange){ .id = 0 };
}

void exchange_list_fini(struct exchange_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		exchange_fini(&l->at[i]);
	free(l->at);
	*l = (struct exchange_list){ .count = 0 };
}

/* Says how much of the key was ever recorded, so that one can see where a replay left the recording. */
static int not_found(struct db *db, const struct exchange_key *key, struct err *e)
{
	int64_t of_name = 0, of_context = 0, of_step = 0;
	struct query q;
	query_init(&q, db, "exchange_known");
	put_key(&q, key);
	int rc = query_next(&q, e);
	if (rc > 0) {
		of_name = query_get_int(&q);
		of_context = query_get_int(&q);
		of_step = query_get_int(&q);
	}
	query_fini(&q);
	if (rc < 0)
		return rc;
	const char *why = of_name == 0 ? "nothing of this transformation is recorded"
	                : of_context == 0 ? "the transformation is recorded for other contexts only"
	                : of_step == 0 ? "this context is recorded for other passes and steps only"
	                : "this step is recorded for other attempts only";
	return err_set(e, ERR_NOT_FOUND, "no recorded reply for transformation %s, context %.12s…, pass %d, step %s, "
	               "attempt %d: %s; ask a model instead, or import the recording", key->transformation,
	               key->context, key->pass, key->step, key->attempt, why);
}

int exchange_find(struct db *db, const struct exchange_key *key, struct exchange *ret_exchange, struct err *e)
{
	struct query q;
	query_init(&q, db, "exchange_find");
	put_key(&q, key);
	query_put_int(&q, key->attempt);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_exchange);
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(db, key, e) : 0;
}

QUERY_LIST_READER(read_list, exchange, read_row)

int exchange_list(struct db *db, const char *job, const char *context, int limit, struct exchange_list *ret_list,
                  struct err *e)
{
	struct query q;
	query_init(&q, db, "exchange_list");
	query_put_text(&q, job);
	query_put_text(&q, context);
	query_put_limit(&q, limit);
	return read_list(&q, ret_list, e);
}
