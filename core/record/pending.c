/* pending: rows of half-done transformations and the table of their states; see pending.h. */
#include "core/record/pending.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/query.h"
#include "core/record/store.h"
#include "core/record/token.h"

static const char *const state_names[PENDING_STATES] = {
	[PENDING_OPEN] = "open",
	[PENDING_WAITING] = "waiting",
	[PENDING_ACCEPTED] = "accepted",
	[PENDING_GIVEN_UP] = "given-up",
	[PENDING_CANCELLED] = "cancelled",
};

/* Row: from, column: to. What a model gave up on, a person or an agent may take up again. */
static const bool allowed[PENDING_STATES][PENDING_STATES] = {
	[PENDING_OPEN] = { [PENDING_OPEN] = true, [PENDING_WAITING] = true, [PENDING_ACCEPTED] = true,
	                   [PENDING_GIVEN_UP] = true, [PENDING_CANCELLED] = true },
	[PENDING_WAITING] = { [PENDING_OPEN] = true, [PENDING_WAITING] = true, [PENDING_ACCEPTED] = true,
	                      [PENDING_GIVEN_UP] = true, [PENDING_CANCELLED] = true },
	[PENDING_GIVEN_UP] = { [PENDING_OPEN] = true, [PENDING_WAITING] = true, [PENDING_CANCELLED] = true },
};

const char *pending_state_name(enum pending_state state)
{
	return state_names[state];
}

static enum pending_state read_state(struct query *q)
{
	char *name = query_get_text(q);
	int i = 0;
	while (i < PENDING_STATES && strcmp(state_names[i], name) != 0)
		i++;
	assert(i < PENDING_STATES && "the schema allows no other state");
	free(name);
	return (enum pending_state)i;
}

static int not_found(const char *id, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, "there is no transformation under way with the id %s: begin it again", id);
}

static int add(struct db *db, const struct pending *p, const char *id, struct err *e)
{
	struct hash text, context;
	int rc = blob_put_text(db, p->text, &text, e);
	if (rc == 0)
		rc = blob_put_text(db, p->context, &context, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "pending_add");
	query_put_text(&q, id);
	query_put_int(&q, p->parent);
	query_put_text(&q, p->workflow);
	query_put_text(&q, p->transformation);
	query_put_text(&q, text.hex);
	query_put_int(&q, p->pass);
	query_put_int(&q, p->step);
	query_put_int(&q, p->attempt);
	query_put_text(&q, context.hex);
	query_put_text(&q, pending_state_name(p->state));
	query_put_text(&q, p->verdict);
	query_put_text(&q, p->data);
	query_put_text(&q, p->job);
	query_put_int(&q, clock_wall_ms());
	return query_run(&q, NULL, e);
}

int pending_add(struct db *db, const struct pending *p, char **ret_id, struct err *e)
{
	assert(p->state == PENDING_OPEN || p->state == PENDING_WAITING);
	char id[TOKEN_SIZE];
	token_make('t', id);
	int rc = store_begin(db, e);
	if (rc < 0)
		return rc;
	rc = store_end(db, add(db, p, id, e), e);
	if (rc == 0)
		*ret_id = mem_str(id);
	return rc;
}

static int check_move(struct db *db, const struct pending *p, struct err *e)
{
	enum pending_state from = PENDING_OPEN;
	struct query q;
	query_init(&q, db, "pending_state");
	query_put_text(&q, p->id);
	int rc = query_next(&q, e);
	if (rc > 0)
		from = read_state(&q);
	query_fini(&q);
	if (rc <= 0)
		return rc < 0 ? rc : not_found(p->id, e);
	if (!allowed[from][p->state])
		return err_set(e, ERR_CONFLICT, "transformation %s is %s, it cannot become %s", p->id,
		               pending_state_name(from), pending_state_name(p->state));
	return 0;
}

static int save(struct db *db, const struct pending *p, struct err *e)
{
	struct hash context;
	int rc = check_move(db, p, e);
	if (rc == 0)
		rc = blob_put_text(db, p->context, &context, e);
	if (rc < 0)
		return rc;
	struct query q;
	query_init(&q, db, "pending_save");
	query_put_text(&q, p->id);
	query_put_int(&q, p->pass);
	query_put_int(&q, p->step);
	query_put_int(&q, p->attempt);
	query_put_text(&q, context.hex);
	query_put_text(&q, pending_state_name(p->state));
	query_put_text(&q, p->verdict);
	query_put_text(&q, p->data);
	query_put_text(&q, p->job);
	query_put_id(&q, p->checkpoint);
	query_put_int(&q, clock_wall_ms());
	return query_run(&q, NULL, e);
}

int pending_save(struct db *db, const struct pending *p, struct err *e)
{
	int rc = store_begin(db, e);
	return rc < 0 ? rc : store_end(db, save(db, p, e), e);
}

static void read_row(struct query *q, struct pending *p)
{
	p->id = query_get_text(q);
	p->parent = query_get_int(q);
	p->workflow = query_get_text(q);
	p->transformation = query_get_text(q);
	p->text = query_get_text(q);
	p->pass = (int)query_get_int(q);
	p->step = (int)query_get_int(q);
	p->attempt = (int)query_get_int(q);
	p->context = query_get_text(q);
	p->state = read_state(q);
	p->verdict = query_get_text(q);
	p->data = query_get_text(q);
	p->job = query_get_text(q);
	p->checkpoint = query_get_int(q);
	p->created_ms = query_get_int(q);
	p->updated_ms = query_get_int(q);
}

void pending_fini(struct pending *p)
{
	free((char *)p->id);
	free((char *)p->workflow);
	free((char *)p->transformation);
	free((char *)p->text);
	free((char *)p->context);
	free((char *)p->verdict);
	free((char *)p->data);
	free((char *)p->job);
	*p = (struct pending){ .id = NULL };
}

void pending_list_fini(struct pending_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		pending_fini(&l->at[i]);
	free(l->at);
	*l = (struct pending_list){ .count = 0 };
}

int pending_get(struct db *db, const char *id, struct pending *ret_pending, struct err *e)
{
	struct query q;
	query_init(&q, db, "pending_get");
	query_put_text(&q, id);
	int rc = query_next(&q, e);
	if (rc > 0)
		read_row(&q, ret_pending);
	query_fini(&q);
	return rc < 0 ? rc : rc == 0 ? not_found(id, e) : 0;
}

QUERY_LIST_READER(read_list, pending, read_row)

int pending_list(struct db *db, bool live, struct pending_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "pending_list");
	query_put_int(&q, live);
	return read_list(&q, ret_list, e);
}
