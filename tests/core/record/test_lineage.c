/* core/record/lineage: from a checkpoint back to its root, with its parent and the transformations in between. */
#include "core/record/lineage.h"

#include "core/sample.h"
#include "core/record/application.h"
#include "core/record/workflow.h"

int main(int argc, char **argv)
{
	struct sample s;
	struct lineage l;
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&s);
	struct context *a = sample_context(SAMPLE_RIGHT), *b = sample_context("acc = mad(A[row*n+k], B[k*n+col], acc);"),
	               *c = sample_context("acc += B[k*n+col]*A[row*n+k];");
	int64_t root = sample_checkpoint(&s, a), first = sample_add(&s, b, root, "refactor", CHECKPOINT_DRAFT, NULL),
		second = sample_add(&s, c, first, "edit", CHECKPOINT_DRAFT, NULL);
	is_int(lineage_load(s.db, root, &l, &e), 0, "a root has a lineage %s", e.text);
	ok(l.id == root && l.root_id == root && l.parent_id == 0 && l.parent == NULL && l.root, "of itself alone");
	is_int((long long)l.applied_count, 0, "without transformations");
	lineage_fini(&l);
	is_int(lineage_load(s.db, second, &l, &e), 0, "so does what came of it");
	ok(l.root_id == root && l.parent_id == first, "root and parent are told apart");
	is_str(context_hash(l.ctx)->hex, context_hash(c)->hex, "its own context");
	is_str(context_hash(l.parent)->hex, context_hash(b)->hex, "its parent's");
	is_str(context_hash(l.root)->hex, context_hash(a)->hex, "its root's");
	ok(l.applied_count == 1 && strcmp(l.applied[0], "refactor") == 0, "edits are no transformations");
	lineage_fini(&l);
	is_int(lineage_load(s.db, 4711, &l, &e), -ERR_NOT_FOUND, "a checkpoint that does not exist has none");
	/* What was tried on a line: children of its checkpoints, kept or not. */
	struct application_tried_list tried;
	struct context *d = sample_context("acc -= -A[row*n+k]*B[k*n+col];");
	int64_t other = sample_add(&s, d, root, "unroll", CHECKPOINT_DRAFT, NULL);
	is_int(checkpoint_set_status(s.db, other, CHECKPOINT_FAILED, "wrong results\nmore", &e), 0, "a version fails %s", e.text);
	is_int(application_tried(s.db, second, 0, &tried, &e), 0, "a line tells what was tried on it %s", e.text);
	is_int((long long)tried.count, 3, "its own steps and the one beside them");
	bool kept = false, failed = false;
	for (size_t i = 0; i < tried.count; i++) {
		kept |= tried.at[i].checkpoint == first && tried.at[i].on_line && strcmp(tried.at[i].by, "refactor") == 0;
		failed |= tried.at[i].checkpoint == other && !tried.at[i].on_line && strcmp(tried.at[i].status, "failed") == 0 &&
			  strncmp(tried.at[i].note, "wrong", 5) == 0;
	}
	ok(kept, "a step that the line goes on from is kept");
	ok(failed, "one that failed says why");
	application_tried_fini(&tried);
	is_int(application_tried(s.db, second, 1, &tried, &e), 0, "at most as many as are asked for %s", e.text);
	ok(tried.count == 1, "the newest");
	application_tried_fini(&tried);
	is_int(application_tried(s.db, other, 0, &tried, &e), 0, "another line knows the steps beside it %s", e.text);
	is_int((long long)tried.count, 2, "but nothing that was tried from a version that it does not hold");
	application_tried_fini(&tried);
	context_free(a);
	context_free(b);
	context_free(c);
	context_free(d);
	sample_fini(&s);
	return tap_done();
}
