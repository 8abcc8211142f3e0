/* fact: keys and values of devices; see fact.h. */
#include "core/record/fact.h"

#include "base/clock.h"
#include "core/record/query.h"

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct fact, device, TEXT) },
	{ LAYOUT_AT(struct fact, key, TEXT) },
	{ LAYOUT_AT(struct fact, value, TEXT) },
	{ LAYOUT_AT(struct fact, created_ms, INT), .unit = "ms" },
	{ .name = NULL },
};
static const struct layout layout = { "fact", sizeof(struct fact), fields };

int fact_set(struct db *db, const char *device, const char *key, const char *value, struct err *e)
{
	return query_do(db, "fact_set", QUERY(QUERY_TEXT(device), QUERY_TEXT(key), QUERY_TEXT(value), QUERY_INT(clock_wall_ms())),
			NULL, e);
}

int fact_crash(struct db *db, const char *device, int64_t checkpoint, const char *params, const char *why, struct err *e)
{
	int rc = query_do(
		db, "fact_crash",
		QUERY(QUERY_TEXT(device), QUERY_INT(checkpoint), QUERY_TEXT(params), QUERY_TEXT(why), QUERY_INT(clock_wall_ms())),
		NULL, e);
	return rc < 0 ? rc : 0;
}

int fact_get(struct db *db, const char *device, const char *key, char **ret_value, struct err *e)
{
	int rc = query_text(db, "fact_get", QUERY(QUERY_TEXT(device), QUERY_TEXT(key)), ret_value, e);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "nothing is known about %s of device %s", key, device);
	return rc < 0 ? rc : 0;
}

int fact_list(struct db *db, const char *device, struct fact_list *ret_list, struct err *e)
{
	return query_all(db, "fact_list", QUERY(QUERY_TEXT(device)), &layout, ret_list, e);
}

void fact_list_fini(struct fact_list *l)
{
	query_list_fini(&layout, l);
}
