/* trajectory: tries out of exchanges, pending transformations, comparisons and validations; see trajectory.h. */
#include "core/record/trajectory.h"

#include <stdlib.h>

#include "core/record/query.h"
#include "base/scrub.h"

static const struct layout_field speed_fields[] = {
	{ LAYOUT_AT(struct trajectory_speed, device, TEXT) },       { LAYOUT_AT(struct trajectory_speed, sizes, TEXT) },
	{ LAYOUT_AT(struct trajectory_speed, params, TEXT) },       { LAYOUT_AT(struct trajectory_speed, parent_params, TEXT) },
	{ LAYOUT_AT(struct trajectory_speed, parent_start, BOOL) }, { LAYOUT_AT(struct trajectory_speed, verdict, TEXT) },
	{ LAYOUT_AT(struct trajectory_speed, speedup, REAL) },      { LAYOUT_AT(struct trajectory_speed, low, REAL) },
	{ LAYOUT_AT(struct trajectory_speed, high, REAL) },         { LAYOUT_AT(struct trajectory_speed, cold, BOOL) },
	{ LAYOUT_AT(struct trajectory_speed, quotable, BOOL) },     { .name = NULL },
};
static const struct layout speed = { "speed", sizeof(struct trajectory_speed), speed_fields };

static const struct layout_field evidence_fields[] = {
	{ LAYOUT_AT(struct trajectory_evidence, validator, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, device, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, sizes, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, params, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, verdict, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, reason, TEXT) },
	{ LAYOUT_AT(struct trajectory_evidence, error, REAL) },
	{ LAYOUT_AT(struct trajectory_evidence, tolerance, REAL) },
	{ .name = NULL },
};
static const struct layout evidence = { "evidence", sizeof(struct trajectory_evidence), evidence_fields };

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct trajectory, id, ID) },
	{ LAYOUT_AT(struct trajectory, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct trajectory, context_hash, TEXT) },
	{ LAYOUT_AT(struct trajectory, context, TEXT) },
	{ LAYOUT_AT(struct trajectory, transformation, TEXT) },
	{ LAYOUT_AT(struct trajectory, transformation_text, TEXT) },
	{ LAYOUT_AT(struct trajectory, pass, INT) },
	{ LAYOUT_AT(struct trajectory, step, TEXT) },
	{ LAYOUT_AT(struct trajectory, attempt, INT) },
	{ LAYOUT_AT(struct trajectory, model, TEXT) },
	{ LAYOUT_AT(struct trajectory, provider, TEXT) },
	{ LAYOUT_AT(struct trajectory, prompt, TEXT) },
	{ LAYOUT_AT(struct trajectory, reply, TEXT) },
	{ LAYOUT_AT(struct trajectory, finish, TEXT) },
	{ LAYOUT_AT(struct trajectory, outcome, TEXT) },
	{ LAYOUT_AT(struct trajectory, tokens_in, COUNT) },
	{ LAYOUT_AT(struct trajectory, tokens_out, COUNT) },
	{ LAYOUT_AT(struct trajectory, tokens_cached, COUNT) },
	{ LAYOUT_AT(struct trajectory, latency_ms, COUNT), .unit = "ms" },
	{ LAYOUT_AT(struct trajectory, state, TEXT) },
	{ LAYOUT_AT(struct trajectory, verdict, TEXT) },
	{ LAYOUT_AT(struct trajectory, checkpoint, ID) },
	{ LAYOUT_AT(struct trajectory, parent_hash, TEXT) },
	{ LAYOUT_AT(struct trajectory, checkpoint_hash, TEXT) },
	{ LAYOUT_AT(struct trajectory, status, TEXT) },
	{ LAYOUT_AT(struct trajectory, result, TEXT) },
	{ LAYOUT_MANY(struct trajectory, speed, speed_count, LIST), .of = &speed, .column = "" },
	{ LAYOUT_MANY(struct trajectory, evidence, evidence_count, LIST), .of = &evidence, .column = "" },
	{ .name = NULL },
};
const struct layout trajectory_layout = { "trajectory", sizeof(struct trajectory), fields };

/* Every text of an object, those of its lists too. */
static void scrub(const struct layout *l, void *object)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		void *member = (char *)object + f->offset;
		if (f->type == LAYOUT_TEXT) {
			char *clean = scrub_text(*(char **)member);
			free(*(char **)member);
			*(char **)member = clean;
		} else if (f->type == LAYOUT_LIST) {
			size_t n = *(size_t *)(void *)((char *)object + f->count);
			for (size_t i = 0; i < n; i++)
				scrub(f->of, *(char **)member + i * f->of->size);
		}
	}
}

/* What is known of the checkpoint that it became. */
static int add_evidence(struct db *db, struct trajectory *t, struct err *e)
{
	struct {
		struct trajectory_speed *at;
		size_t count;
	} speeds = { .count = 0 };
	struct {
		struct trajectory_evidence *at;
		size_t count;
	} rows = { .count = 0 };
	int rc = query_all(db, "trajectory_speed", QUERY(QUERY_INT(t->checkpoint)), &speed, &speeds, e);
	t->speed = speeds.at;
	t->speed_count = speeds.count;
	if (rc == 0)
		rc = query_all(db, "trajectory_evidence", QUERY(QUERY_INT(t->checkpoint)), &evidence, &rows, e);
	t->evidence = rows.at;
	t->evidence_count = rows.count;
	return rc;
}

int trajectory_each(struct db *db, const char *transformation, int (*each)(void *arg, const struct trajectory *t, struct err *e),
		    void *arg, struct err *e)
{
	struct query q;
	int rc;
	query_start(&q, db, "trajectory_list", QUERY(QUERY_TEXT(transformation)));
	while ((rc = query_next(&q, e)) > 0) {
		struct trajectory t;
		layout_init(&trajectory_layout, &t);
		query_get_row(&q, &trajectory_layout, &t);
		rc = t.checkpoint ? add_evidence(db, &t, e) : 0;
		scrub(&trajectory_layout, &t);
		if (rc == 0)
			rc = each(arg, &t, e);
		layout_fini(&trajectory_layout, &t);
		if (rc < 0)
			break;
	}
	query_fini(&q);
	return rc < 0 ? rc : 0;
}
