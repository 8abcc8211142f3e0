/* work_size: what jobs that go through input sizes share: which sizes, which configuration at each, and fields that carry the size's
 * number behind their name ("median_ns_0"). Used by work_compare.c, work_profile.c and
 * work_tune.c. */
#ifndef PEAKD_CORE_JOBS_WORK_SIZE_H
#define PEAKD_CORE_JOBS_WORK_SIZE_H

#include "base/fields.h"
#include "core/record/lineage.h"

struct facts;

struct work_sizes {
	struct params **at;
	size_t count;
};

/* The sizes that the request names ("sizes", one assignment, partial is fine), or all that the context declares. */
int work_size_list(const struct fields *request, const struct context *ctx, const struct facts *facts, struct work_sizes *ret_sizes,
                   struct err *e);
void work_sizes_fini(struct work_sizes *s);
/* The fastest proven configuration of the checkpoint at this size, or the only one that there is. -ERR_NOT_FOUND: tune it first. */
int work_size_best(struct db *db, const struct lineage *l, const struct facts *facts, const struct params *size, bool warm,
                   struct params **ret_params, struct err *e);

void work_size_text(struct fields *result, const char *name, size_t i, const char *value);
/* Not finite: left out. */
void work_size_number(struct fields *result, const char *name, size_t i, double value);

#endif
