/* decision: rows of decisions; see decision.h. */
#include "core/record/decision.h"

#include "core/record/query.h"

const char *const decision_kinds[] = { "measure", "experiment", "mend", "question", "stop", NULL };
const char *const decision_outcomes[] = { "open",   "faster",   "slower",   "same",    "unclear", "wrong", "no-op",
					  "failed", "answered", "measured", "waiting", "stopped", NULL };

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct decision, id, ID) },
	{ LAYOUT_AT(struct decision, search, TEXT) },
	{ LAYOUT_AT(struct decision, seq, INT) },
	{ LAYOUT_AT(struct decision, policy, TEXT) },
	{ LAYOUT_AT(struct decision, kind, WORD), .words = decision_kinds },
	{ LAYOUT_AT(struct decision, checkpoint, ID), .column = "checkpoint_id" },
	{ LAYOUT_AT(struct decision, reference, ID), .column = "reference_id" },
	{ LAYOUT_AT(struct decision, made, ID), .column = "made_id" },
	{ LAYOUT_AT(struct decision, transformation, TEXT) },
	{ LAYOUT_AT(struct decision, expected_low, REAL) },
	{ LAYOUT_AT(struct decision, expected_high, REAL) },
	{ LAYOUT_AT(struct decision, novelty, REAL) },
	{ LAYOUT_AT(struct decision, reviewed, BOOL), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct decision, reason, TEXT) },
	{ LAYOUT_AT(struct decision, transform_job, TEXT) },
	{ LAYOUT_AT(struct decision, tune_job, TEXT) },
	{ LAYOUT_AT(struct decision, profile_job, TEXT) },
	{ LAYOUT_AT(struct decision, pending, TEXT) },
	{ LAYOUT_AT(struct decision, outcome, WORD), .words = decision_outcomes },
	{ LAYOUT_AT(struct decision, gain, REAL) },
	{ LAYOUT_AT(struct decision, low, REAL) },
	{ LAYOUT_AT(struct decision, high, REAL) },
	{ LAYOUT_AT(struct decision, note, TEXT) },
	{ LAYOUT_AT(struct decision, seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct decision, device_seconds, REAL), .unit = "s" },
	{ LAYOUT_AT(struct decision, calls, INT), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct decision, tokens_in, INT), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct decision, tokens_out, INT), .flags = LAYOUT_OPTIONAL },
	{ LAYOUT_AT(struct decision, created_ms, INT), .unit = "ms" },
	{ LAYOUT_AT(struct decision, ended_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
const struct layout decision_layout = { "decision", sizeof(struct decision), fields };

void decision_init(struct decision *d)
{
	layout_init(&decision_layout, d);
}

void decision_fini(struct decision *d)
{
	layout_fini(&decision_layout, d);
}

void decision_list_fini(struct decision_list *l)
{
	query_list_fini(&decision_layout, l);
}

int decision_add(struct db *db, struct decision *d, struct err *e)
{
	return query_insert(db, "decision", &decision_layout, d, e);
}

int decision_save(struct db *db, const struct decision *d, struct err *e)
{
	int rc = query_save(db, "decision_save", &decision_layout, d, NULL, e);
	return rc < 0 ? rc : 0;
}

int decision_list(struct db *db, const char *job, struct decision_list *ret_list, struct err *e)
{
	return query_all(db, "decision_list", QUERY(QUERY_TEXT(job)), &decision_layout, ret_list, e);
}

int decision_rival(struct db *db, const char *search, const char *job, char **ret_rival, struct err *e)
{
	*ret_rival = NULL;
	int rc = query_text(db, "decision_rival", QUERY(QUERY_TEXT(search), QUERY_TEXT(job)), ret_rival, e);
	return rc < 0 ? rc : 0;
}

int decision_search_of(struct db *db, int64_t checkpoint, char **ret_search, struct err *e)
{
	*ret_search = NULL;
	int rc = query_text(db, "decision_search_of", QUERY(QUERY_INT(checkpoint)), ret_search, e);
	return rc < 0 ? rc : 0;
}
