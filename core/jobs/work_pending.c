/* work_pending: transform machines as rows; see work_pending.h. */
#include "core/jobs/work_pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/context/context.h"

int work_pending_keep(struct db *db, const char *id, int64_t parent, const char *workflow, const char *job,
                      const struct transform *x, enum pending_state state, char **ret_id, struct err *e)
{
	struct buf data = BUF_INIT;
	const struct transformation *t = transform_transformation(x);
	transform_save(x, &data);
	struct pending row = {
		.id = id, .parent = parent, .workflow = workflow && *workflow ? workflow : NULL, .transformation = t->name,
		.text = t->source, .pass = (int)transform_pass(x), .step = (int)transform_step(x),
		.attempt = (int)transform_key(x).attempt, .context = context_render(transform_context(x)), .state = state,
		.verdict = transform_last(x), .data = buf_text(&data), .job = job,
	};
	char *added = NULL;
	/* A new row begins open or waiting; given up is a move. */
	row.state = id && *id ? state : state == PENDING_WAITING ? PENDING_WAITING : PENDING_OPEN;
	int rc = id && *id ? pending_save(db, &row, e) : pending_add(db, &row, &added, e);
	if (rc >= 0 && added && row.state != state) {
		row.id = added;
		row.state = state;
		rc = pending_save(db, &row, e);
	}
	buf_fini(&data);
	if (rc >= 0 && ret_id)
		*ret_id = added ? added : mem_str(id);
	else
		free(added);
	return rc < 0 ? rc : 0;
}

int work_pending_load(struct db *db, const char *id, const struct facts *facts, struct transform **ret_x,
                      struct pending *ret_row, struct err *e)
{
	struct pending row;
	int rc = pending_get(db, id, &row, e);
	if (rc < 0)
		return rc;
	if (row.state == PENDING_ACCEPTED || row.state == PENDING_CANCELLED)
		rc = err_set(e, ERR_CONFLICT, "transformation %s is %s: begin a new one", id, pending_state_name(row.state));
	else
		rc = transform_load(row.data ? row.data : "", row.data ? strlen(row.data) : 0, facts, ret_x, e);
	if (rc < 0 || ret_row == NULL)
		pending_fini(&row);
	else
		*ret_row = row;
	return rc < 0 ? rc : 0;
}

int work_pending_accept(struct db *db, const char *id, int64_t checkpoint, struct err *e)
{
	struct pending row;
	int rc = pending_get(db, id, &row, e);
	if (rc < 0)
		return rc;
	row.state = PENDING_ACCEPTED;
	row.checkpoint = checkpoint;
	rc = pending_save(db, &row, e);
	pending_fini(&row);
	return rc < 0 ? rc : 0;
}
