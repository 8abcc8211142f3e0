/* exchange: rows of questions and answers; see exchange.h. */
#include "core/record/exchange.h"

#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct exchange, id, ID) },
	{ LAYOUT_AS(struct exchange, key.context, TEXT, "context") },
	{ LAYOUT_AS(struct exchange, key.transformation, TEXT, "transformation") },
	{ LAYOUT_AS(struct exchange, key.pass, INT, "pass") },
	{ LAYOUT_AS(struct exchange, key.step, TEXT, "step") },
	{ LAYOUT_AS(struct exchange, key.attempt, INT, "attempt") },
	{ LAYOUT_AT(struct exchange, text_hash, TEXT) },
	{ LAYOUT_AT(struct exchange, model, TEXT) },
	{ LAYOUT_AT(struct exchange, provider, TEXT) },
	{ LAYOUT_AT(struct exchange, prompt, TEXT) },
	{ LAYOUT_AT(struct exchange, reply, TEXT) },
	{ LAYOUT_AT(struct exchange, finish, TEXT) },
	{ LAYOUT_AT(struct exchange, outcome, TEXT) },
	{ LAYOUT_AT(struct exchange, tokens_in, COUNT) },
	{ LAYOUT_AT(struct exchange, tokens_out, COUNT) },
	{ LAYOUT_AT(struct exchange, tokens_cached, COUNT) },
	{ LAYOUT_AT(struct exchange, latency_ms, COUNT), .unit = "ms" },
	{ LAYOUT_AS(struct exchange, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct exchange, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "exchange", sizeof(struct exchange), fields };

/* The row holds hashes where the struct holds texts. */
static int add(struct db *db, struct exchange *x, struct err *e)
{
	struct exchange row = *x;
	struct hash prompt, reply;
	int rc = blob_put_text(db, row.prompt, &prompt, e);
	if (rc == 0 && row.reply)
		rc = blob_put_text(db, row.reply, &reply, e);
	if (rc < 0)
		return rc;
	row.prompt = prompt.hex;
	row.reply = row.reply ? reply.hex : NULL;
	rc = query_insert(db, "exchange", &layout, &row, e);
	x->id = row.id;
	x->created_ms = row.created_ms;
	return rc;
}

int exchange_add(struct db *db, struct exchange *x, struct err *e)
{
	int rc = store_begin(db, e);
	return rc < 0 ? rc : store_end(db, add(db, x, e), e);
}

static const struct layout_field spent_fields[] = {
	{ LAYOUT_AT(struct exchange_spent, calls, INT) },
	{ LAYOUT_AT(struct exchange_spent, tokens_in, INT) },
	{ LAYOUT_AT(struct exchange_spent, tokens_out, INT) },
	{ LAYOUT_AT(struct exchange_spent, tokens_cached, INT) },
	{ .name = NULL },
};
static const struct layout spent_layout = { "spent", sizeof(struct exchange_spent), spent_fields };

int exchange_spent(struct db *db, const char *job, struct exchange_spent *ret_spent, struct err *e)
{
	int rc = query_one(db, "exchange_spent", QUERY(QUERY_TEXT(job)), &spent_layout, ret_spent, e);
	return rc < 0 ? rc : 0;
}

void exchange_list_fini(struct exchange_list *l)
{
	query_list_fini(&layout, l);
}

int exchange_list(struct db *db, const char *job, const char *transformation, int limit, struct exchange_list *ret_list,
		  struct err *e)
{
	return query_all(db, "exchange_list", QUERY(QUERY_TEXT(job), QUERY_TEXT(transformation), QUERY_LIMIT(limit)), &layout,
			 ret_list, e);
}
