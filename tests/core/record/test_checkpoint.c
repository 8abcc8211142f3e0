/* core/record/checkpoint: identity, parents, status, lists. */
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/checkpoint.h"
#include "fixture.h"
#include "tap.h"

static void test_add(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct checkpoint c;
	struct hash text, never = hash_text("never stored");
	fixture_init(&f);
	int64_t root = fixture_checkpoint(&f, "naive", 0), id = 0, again = 0;
	is_int(blob_put_text(f.db, "# Tile it", &text, &e), 0, "a transformation's text is stored");
	struct checkpoint made = {
		.kernel = "matmul", .backend = "cuda", .parents = &root, .parent_count = 1, .by = "tb-tiling",
		.text = text.hex, .domain = "n % 8 == 0", .status = CHECKPOINT_DRAFT,
	};
	is_int(checkpoint_add(f.db, &made, "tiled", &id, &e), 1, "a checkpoint is new");
	is_int(checkpoint_add(f.db, &made, "tiled", &again, &e), 0, "the same one is not new");
	ok(id > root && id == again, "and has the same number");
	is_int(checkpoint_get(f.db, id, &c, &e), 0, "it is read");
	is_str(c.by, "tb-tiling", "its transformation");
	is_str(c.text, text.hex, "its text");
	is_str(c.domain, "n % 8 == 0", "its domain");
	is_str(c.context.hex, hash_text("tiled").hex, "its context's hash");
	ok(c.parent_count == 1 && c.parents[0] == root && c.status == CHECKPOINT_DRAFT, "its parent and status");

	/* The identity is part of the format of databases that are to be merged: it must not change by accident. */
	struct checkpoint r;
	checkpoint_get(f.db, root, &r, &e);
	char *canonical = mem_fmt("peakd checkpoint 1\ncontext %s\nby root\n", hash_text("naive").hex);
	is_str(r.hash.hex, hash_text(canonical).hex, "a root's hash is what checkpoint.h says");
	free(canonical);
	canonical = mem_fmt("peakd checkpoint 1\ncontext %s\nparent %s\nby tb-tiling\ntext %s\n", c.context.hex,
	                    r.hash.hex, text.hex);
	is_str(c.hash.hex, hash_text(canonical).hex, "and a child's");
	free(canonical);
	checkpoint_fini(&r);
	checkpoint_fini(&c);

	char *context = NULL;
	is_int(checkpoint_context(f.db, id, &context, &e), 0, "its context is read");
	is_str(context, "tiled", "as it was");
	free(context);
	made.by = "two\nlines";
	is_int(checkpoint_add(f.db, &made, "tiled", &again, &e), -ERR_INPUT, "a name of two lines is refused");
	made.by = "edit";
	checkpoint_add(f.db, &made, "tiled", &again, &e);
	ok(again != id, "another transformation to the same context is another checkpoint");
	int64_t nobody = 999;
	made.parents = &nobody;
	is_int(checkpoint_add(f.db, &made, "x", &again, &e), -ERR_NOT_FOUND, "a parent that does not exist is refused");
	made.parents = &root;
	made.text = never.hex;
	is_int(checkpoint_add(f.db, &made, "x", &again, &e), -ERR_NOT_FOUND, "a text that is not stored is refused");
	struct checkpoint_list list = { .count = 0 };
	is_int(blob_has(f.db, hash_text("x").hex, &e), 0, "what was refused left nothing");
	checkpoint_list(f.db, 1, &list, &e);
	ok(list.count == 1 && list.at[0].id > id, "the newest");
	checkpoint_list_fini(&list);
	is_int(checkpoint_get(f.db, 999, &c, &e), -ERR_NOT_FOUND, "one that does not exist");
	fixture_fini(&f);
}

static void test_parents(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t a = fixture_checkpoint(&f, "a", 0), b = fixture_checkpoint(&f, "b", a);
	int64_t c = fixture_checkpoint(&f, "c", a);
	int64_t bc[] = { b, c }, cb[] = { c, b }, one = 0, two = 0;
	struct checkpoint merge = { .kernel = "k", .backend = "hlsl", .parents = cb, .parent_count = 2, .by = "cross" };
	checkpoint_add(f.db, &merge, "d", &one, &e);
	merge.parents = bc;
	is_int(checkpoint_add(f.db, &merge, "d", &two, &e), 0, "the order of parents is no part of the identity");
	struct checkpoint got;
	checkpoint_get(f.db, one, &got, &e);
	ok(got.parent_count == 2 && got.parents[0] == c && got.parents[1] == b, "but it is kept");
	checkpoint_fini(&got);
	int64_t root = 0;
	is_int(checkpoint_root(f.db, one, &root, &e), 0, "where its line begins");
	is_int(root, a, "is the root");
	is_int(checkpoint_root(f.db, 99, &root, &e), -ERR_NOT_FOUND, "nothing begins nowhere");
	struct checkpoint_list list = { .count = 0 };
	checkpoint_log(f.db, one, 0, &list, &e);
	ok(list.count == 4 && list.at[0].id == one && list.at[3].id == a, "all ancestors once, newest first");
	checkpoint_list_fini(&list);
	fixture_fini(&f);
}

static void test_status(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct checkpoint c = { .kernel = "k", .backend = "cuda", .by = "root" };
	int64_t id = 0;
	fixture_init(&f);
	checkpoint_add(f.db, &c, "a", &id, &e);
	is_int(checkpoint_set_status(f.db, id, CHECKPOINT_FAILED, "12 mismatches", &e), 0, "a draft fails");
	is_int(checkpoint_set_status(f.db, id, CHECKPOINT_ACCEPTED, NULL, &e), 0, "is repaired and accepted");
	is_int(checkpoint_set_status(f.db, id, CHECKPOINT_ACCEPTED, NULL, &e), 0, "twice");
	is_int(checkpoint_set_status(f.db, id, CHECKPOINT_DRAFT, NULL, &e), -ERR_CONFLICT, "and no draft any more");
	has_str(e.text, "is accepted and cannot become draft", "says the message");
	is_int(checkpoint_set_status(f.db, id, CHECKPOINT_FAILED, NULL, &e), 0, "but it can be refuted");
	is_int(checkpoint_set_status(f.db, 77, CHECKPOINT_FAILED, NULL, &e), -ERR_NOT_FOUND, "an unknown one cannot");
	checkpoint_get(f.db, id, &c, &e);
	ok(c.status == CHECKPOINT_FAILED, "the row says so");
	is_str(c.note, "12 mismatches", "and keeps the last note");
	checkpoint_fini(&c);
	fixture_fini(&f);
}

int main(void)
{
	test_add();
	test_parents();
	test_status();
	return tap_done();
}
