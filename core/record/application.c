/* application: applications out of proven comparisons; see application.h. */
#include "core/record/application.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/query.h"

/* One comparison, told as the checkpoint's speed-up over its parent. */
struct pair {
	int64_t checkpoint, parent;
	char *by, *device, *sizes, *verdict;
	double speedup;
};

static const struct layout_field fields[] = {
	{ LAYOUT_AT(struct pair, checkpoint, ID) }, { LAYOUT_AT(struct pair, parent, ID) },
	{ LAYOUT_AT(struct pair, by, TEXT) },       { LAYOUT_AT(struct pair, device, TEXT) },
	{ LAYOUT_AT(struct pair, sizes, TEXT) },    { LAYOUT_AT(struct pair, verdict, TEXT) },
	{ LAYOUT_AT(struct pair, speedup, REAL) },  { .name = NULL },
};
static const struct layout layout = { "application", sizeof(struct pair), fields };

struct pairs {
	struct pair *at;
	size_t count;
};

static bool same_application(const struct pair *a, const struct pair *b)
{
	return a->checkpoint == b->checkpoint && strcmp(a->device, b->device) == 0;
}

/* Pairs at[0…n) are of one application; the newest of each size comes first and counts alone. */
static struct application summarize(const struct pair *at, size_t n)
{
	struct application a = {
		.checkpoint = at->checkpoint, .parent = at->parent, .by = mem_str(at->by), .device = mem_str(at->device)
	};
	double sum = 0;
	bool faster = false, decided = false;
	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(at[i].sizes, at[i - 1].sizes) == 0)
			continue;
		bool gained = strcmp(at[i].verdict, "faster") == 0;
		a.sizes++;
		sum += log(at[i].speedup);
		faster |= gained;
		decided |= gained || strcmp(at[i].verdict, "unclear") != 0;
	}
	a.log_speedup = sum / (double)a.sizes;
	a.outcome = !decided ? APPLICATION_UNCLEAR : faster && sum > 0 ? APPLICATION_FASTER : APPLICATION_NOT_FASTER;
	return a;
}

int application_list(struct db *db, const char *device_class, const char *device, size_t limit, struct application_list *ret_list,
		     struct err *e)
{
	struct pairs pairs;
	int rc = query_all(db, "application_pairs", QUERY(QUERY_TEXT(device_class), QUERY_TEXT(device)), &layout, &pairs, e);
	if (rc < 0)
		return rc;
	struct application_list l = { .count = 0 };
	for (size_t i = 0, n; i < pairs.count && (limit == 0 || l.count < limit); i += n) {
		for (n = 1; i + n < pairs.count && same_application(&pairs.at[i], &pairs.at[i + n]);)
			n++;
		*MEM_PUSH(l.at, l.count) = summarize(&pairs.at[i], n);
	}
	query_list_fini(&layout, &pairs);
	*ret_list = l;
	return 0;
}

void application_list_fini(struct application_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->at[i].by);
		free(l->at[i].device);
	}
	free(l->at);
	*l = (struct application_list){ .count = 0 };
}

static const struct layout_field tried_fields[] = {
	{ LAYOUT_AT(struct application_tried, checkpoint, ID) },
	{ LAYOUT_AT(struct application_tried, parent, ID) },
	{ LAYOUT_AT(struct application_tried, by, TEXT) },
	{ LAYOUT_AT(struct application_tried, status, TEXT) },
	{ LAYOUT_AT(struct application_tried, note, TEXT) },
	{ LAYOUT_AT(struct application_tried, on_line, BOOL) },
	{ .name = NULL },
};
static const struct layout tried_layout = { "tried", sizeof(struct application_tried), tried_fields };

int application_tried(struct db *db, int64_t checkpoint, int limit, struct application_tried_list *ret_list, struct err *e)
{
	return query_all(db, "application_tried", QUERY(QUERY_INT(checkpoint), QUERY_LIMIT(limit)), &tried_layout, ret_list, e);
}

void application_tried_fini(struct application_tried_list *l)
{
	query_list_fini(&tried_layout, l);
}
