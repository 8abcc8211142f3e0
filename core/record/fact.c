/* fact: keys and values of devices; see fact.h. */
#include "core/record/fact.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/query.h"

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

static void read_row(struct query *q, struct fact *f)
{
	f->device = query_get_text(q);
	f->key = query_get_text(q);
	f->value = query_get_text(q);
	f->created_ms = query_get_int(q);
}

QUERY_LIST_READER(read_list, fact, read_row)

int fact_list(struct db *db, const char *device, struct fact_list *ret_list, struct err *e)
{
	struct query q;
	query_init(&q, db, "fact_list");
	query_put_text(&q, device);
	return read_list(&q, ret_list, e);
}

void fact_list_fini(struct fact_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free((char *)l->at[i].device);
		free((char *)l->at[i].key);
		free((char *)l->at[i].value);
	}
	free(l->at);
	*l = (struct fact_list){ .count = 0 };
}
