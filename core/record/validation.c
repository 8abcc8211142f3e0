/* validation: rows of verdicts; see validation.h. */
#include "core/record/validation.h"

#include "core/record/query.h"

static const char *const verdict_names[] = {
	[VALIDATION_PASSED] = "passed",
	[VALIDATION_FAILED] = "failed",
	[VALIDATION_SKIPPED] = "skipped",
	[VALIDATION_VERDICTS] = NULL,
};

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct validation, id, ID) },
	{ LAYOUT_AS(struct validation, checkpoint, ID, "checkpoint_id") },
	{ LAYOUT_AT(struct validation, validator, TEXT) },
	{ LAYOUT_AT(struct validation, device, TEXT) },
	{ LAYOUT_AT(struct validation, sizes, TEXT) },
	{ LAYOUT_AT(struct validation, params, TEXT) },
	{ LAYOUT_AT(struct validation, size_kind, TEXT) },
	{ LAYOUT_AT(struct validation, seed_hash, TEXT) },
	{ LAYOUT_AT(struct validation, verdict, WORD), .words = verdict_names },
	{ LAYOUT_AT(struct validation, reason, TEXT) },
	{ LAYOUT_AT(struct validation, error, REAL) },
	{ LAYOUT_AT(struct validation, tolerance, REAL) },
	{ LAYOUT_AT(struct validation, details, TEXT) },
	{ LAYOUT_AT(struct validation, took_ns, COUNT), .unit = "ns" },
	{ LAYOUT_AS(struct validation, job, TEXT, "job_id") },
	{ LAYOUT_AT(struct validation, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "validation", sizeof(struct validation), fields };

const char *validation_verdict_name(enum validation_verdict verdict)
{
	return verdict_names[verdict];
}

int validation_add(struct db *db, struct validation *v, struct err *e)
{
	return query_insert(db, "validation", &layout, v, e);
}

void validation_fini(struct validation *v)
{
	layout_fini(&layout, v);
}

void validation_list_fini(struct validation_list *l)
{
	query_list_fini(&layout, l);
}

int validation_list(struct db *db, int64_t checkpoint, const char *device, int limit, struct validation_list *ret_list,
		    struct err *e)
{
	return query_all(db, "validation_list", QUERY(QUERY_INT(checkpoint), QUERY_TEXT(device), QUERY_LIMIT(limit)), &layout,
			 ret_list, e);
}

int validation_failed(struct db *db, int64_t checkpoint, const char *device, int limit, struct validation_list *ret_list,
		      struct err *e)
{
	return query_all(db, "validation_failed", QUERY(QUERY_INT(checkpoint), QUERY_TEXT(device), QUERY_LIMIT(limit)), &layout,
			 ret_list, e);
}

int validation_of(struct db *db, int64_t checkpoint, const char *device, const char *params, struct validation *ret_validation,
		  struct err *e)
{
	int rc = query_one(db, "validation_of", QUERY(QUERY_INT(checkpoint), QUERY_TEXT(device), QUERY_TEXT(params)), &layout,
			   ret_validation, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld was never validated on device %s with %s: validate it",
			       (long long)checkpoint, device, params);
	return rc < 0 ? rc : 0;
}

int validation_count(struct db *db, int64_t checkpoint, struct validation_counts *ret_counts, struct err *e)
{
	struct query q;
	int rc;
	*ret_counts = (struct validation_counts){ .of = { 0 } };
	query_start(&q, db, "validation_count", QUERY(QUERY_INT(checkpoint)));
	while ((rc = query_next(&q, e)) > 0) {
		struct validation row;
		query_get_row(&q, &layout, &row); /* the verdict; what follows it is how many */
		ret_counts->of[row.verdict] = query_get_int(&q);
	}
	query_fini(&q);
	return rc;
}
