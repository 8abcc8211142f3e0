/* lineage: a checkpoint with what judging and transforming it need: its own context, its parent's, its baseline's, and the
 * transformations between the baseline and it. Read from the database; used by the work_* files and daemon/tools. */
#ifndef PEAKD_CORE_RECORD_LINEAGE_H
#define PEAKD_CORE_RECORD_LINEAGE_H

#include "core/context/context.h"
#include "core/record/checkpoint.h"

struct lineage {
	int64_t id; /* the checkpoint's number */
	int64_t root_id;
	int64_t parent_id; /* 0 for a root */
	struct context *ctx;
	struct context *root;
	struct context *parent; /* NULL for a root */
	char **applied;         /* names of transformations, oldest first */
	size_t applied_count;
};

int lineage_load(struct db *db, int64_t checkpoint, struct lineage *ret_lineage, struct err *e);
void lineage_fini(struct lineage *l);

#endif
