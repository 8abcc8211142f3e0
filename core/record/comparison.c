/* comparison: rows of comparisons; see comparison.h. */
#include "core/record/comparison.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/record/query.h"

int comparison_add(struct db *db, struct comparison *c, struct err *e)
{
	struct query q;
	int64_t id = 0, now = c->created_ms ? c->created_ms : clock_wall_ms();
	query_init(&q, db, "comparison_add");
	query_put_int(&q, c->a);
	query_put_id(&q, c->b);
	query_put_text(&q, c->library);
	query_put_text(&q, c->device);
	query_put_text(&q, c->driver);
	query_put_text(&q, c->sizes);
	query_put_text(&q, c->a_params);
	query_put_text(&q, c->b_params);
	query_put_text(&q, c->verdict);
	query_put_real(&q, c->a_ns);
	query_put_real(&q, c->b_ns);
	query_put_real(&q, c->ratio);
	query_put_real(&q, c->low);
	query_put_real(&q, c->high);
	query_put_real(&q, c->confidence);
	query_put_real(&q, c->margin);
	query_put_bytes(&q, c->samples, 2 * c->pairs * sizeof *c->samples);
	query_put_int(&q, (int64_t)c->discarded);
	query_put_int(&q, c->disturbed);
	query_put_int(&q, c->cold);
	query_put_text(&q, c->conditions);
	query_put_id(&q, c->a_validation);
	query_put_id(&q, c->b_validation);
	query_put_text(&q, c->job);
	query_put_int(&q, now);
	int rc = query_run(&q, &id, e);
	if (rc < 0)
		return rc;
	c->id = id;
	c->created_ms = now;
	return 0;
}

int comparison_library(struct db *db, int64_t checkpoint, const char *device, const char *params, bool cold,
                       struct comparison *ret_comparison, struct err *e)
{
	struct comparison c = { .cold = cold };
	struct query q;
	query_init(&q, db, "comparison_library");
	query_put_int(&q, checkpoint);
	query_put_text(&q, device);
	query_put_text(&q, params);
	query_put_int(&q, cold);
	int rc = query_next(&q, e);
	if (rc > 0) {
		c.id = query_get_int(&q);
		c.a = query_get_int(&q);
		c.b = query_get_int(&q);
		c.library = query_get_text(&q);
		c.device = query_get_text(&q);
		c.sizes = query_get_text(&q);
		c.a_params = query_get_text(&q);
		c.verdict = query_get_text(&q);
		c.a_ns = query_get_real(&q);
		c.b_ns = query_get_real(&q);
		c.ratio = query_get_real(&q);
		c.low = query_get_real(&q);
		c.high = query_get_real(&q);
		c.disturbed = query_get_int(&q) != 0;
		c.created_ms = query_get_int(&q);
		*ret_comparison = c;
	}
	query_fini(&q);
	if (rc == 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld was not compared with a library", (long long)checkpoint);
	return rc < 0 ? rc : 0;
}

void comparison_fini(struct comparison *c)
{
	free((char *)c->library);
	free((char *)c->device);
	free((char *)c->sizes);
	free((char *)c->a_params);
	free((char *)c->verdict);
	*c = (struct comparison){ .a = 0 };
}
