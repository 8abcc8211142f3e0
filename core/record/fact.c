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
	struct query q;
	query_init(&q, db, "fact_set");
	query_put_text(&q, device);
	query_put_text(&q, key);
	query_put_text(&q, value);
	query_put_int(&q, clock_wall_ms());
	return query_run(&q, NULL, e);
}

int fact_get(struct db *db, const char *device, const char *key, char **ret_value, struct err *e)
{
	struct query q;
	query_init(&q, db, "fact_get");
	query_put_text(&q, device);
	query_put_text(&q, key);
	int rc = query_next(&q, e);
	if (rc > 0)
		*ret_value = query_get_text(&q);
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "nothing is known about %s of device %s", key, device);
	return rc < 0 ? rc : 0;
}

int fact_list(struct db *db, const char *device, struct fact_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "fact_list");
	query_put_text(&q, device);
	return QUERY_LIST(&q, &layout, ret_list, e);
}

void fact_list_fini(struct fact_list *l)
{
	layout_free_list(&layout, l->at, l->count);
	*l = (struct fact_list){ .count = 0 };
}
