/* core/record/workflow, nearest: heads, moves, tags and names. */
#include "core/record/workflow.h"
#include "base/suggest.h"
#include "fixture.h"
#include "tap.h"

static int64_t resolve(struct fixture *f, const char *name)
{
	struct err e = ERR_INIT;
	int64_t id = 0;
	int rc = workflow_resolve(f->db, name, &id, &e);
	return rc < 0 ? rc : id;
}

static int64_t head_of(struct fixture *f, const char *name)
{
	struct err e = ERR_INIT;
	struct workflow w;
	if (workflow_get(f->db, name, &w, &e) < 0)
		return 0;
	int64_t head = w.head;
	workflow_fini(&w);
	return head;
}

static void test_moves(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t a = fixture_checkpoint(&f, "a", 0), b = fixture_checkpoint(&f, "b", a);
	int64_t c = fixture_checkpoint(&f, "c", b);
	int64_t b2 = fixture_checkpoint(&f, "b2", a), z = fixture_checkpoint(&f, "z", 0);
	is_int(workflow_create(f.db, "matmul", a, &e), 0, "a workflow is created");
	is_int(workflow_create(f.db, "matmul", a, &e), -ERR_CONFLICT, "only once");
	is_int(workflow_create(f.db, "zeta", 99, &e), -ERR_NOT_FOUND, "not from nothing");
	is_int(workflow_append(f.db, "matmul", c, &e), -ERR_CONFLICT, "a checkpoint that skips one is refused");
	has_str(e.text, "not made from", "with the reason");
	is_int(workflow_append(f.db, "matmul", b, &e), 0, "the next one is appended");
	is_int(workflow_append(f.db, "matmul", c, &e), 0, "and the next");
	is_int(workflow_append(f.db, "matmul", c, &e), 0, "the head itself does nothing");
	is_int(workflow_append(f.db, "matmul", b2, &e), -ERR_CONFLICT, "a sibling is refused");
	is_int(workflow_restore(f.db, "matmul", z, &e), -ERR_CONFLICT, "another line cannot be restored");
	is_int(workflow_restore(f.db, "matmul", a, &e), 0, "the head goes back");
	is_int(head_of(&f, "matmul"), a, "to the root");
	is_int(workflow_append(f.db, "matmul", b2, &e), 0, "and on along another line");
	is_int(workflow_restore(f.db, "matmul", c, &e), 0, "what was left behind can be restored");

	int64_t at = 0;
	is_int(workflow_resolve(f.db, "matmul@{1}", &at, &e), 0, "where the head was one move ago");
	is_int(at, b2, "is the end of the other line");
	is_int(workflow_resolve(f.db, "matmul@{5}", &at, &e), 0, "every move is kept");
	is_int(at, a, "back to the first");
	is_int(workflow_resolve(f.db, "matmul@{6}", &at, &e), -ERR_NOT_FOUND, "and no more");

	struct checkpoint_list log = { .count = 0 };
	checkpoint_log(f.db, c, 0, &log, &e);
	ok(log.count == 3 && log.at[0].id == c && log.at[1].id == b && log.at[2].id == a, "the log, newest first");
	is_int(log.at[0].parents[0], b, "with parents");
	checkpoint_list_fini(&log);

	checkpoint_set_status(f.db, b2, CHECKPOINT_FAILED, "wrong", &e);
	workflow_restore(f.db, "matmul", a, &e);
	is_int(workflow_append(f.db, "matmul", b2, &e), -ERR_CONFLICT, "a failed checkpoint is not appended");
	has_str(e.text, "failed its validation", "with the reason");
	is_int(workflow_create(f.db, "other", c, &e), 0, "a branch from any checkpoint");
	struct workflow_list list = { .count = 0 };
	workflow_list(f.db, &list, &e);
	ok(list.count == 2 && list.at[1].root == a && list.at[1].head == c, "knows where its line begins");
	workflow_list_fini(&list);
	fixture_fini(&f);
}

static void test_names(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	int64_t a = fixture_checkpoint(&f, "a", 0), b = fixture_checkpoint(&f, "b", a);
	int64_t c = fixture_checkpoint(&f, "c", b);
	int64_t id = 0;
	is_int(workflow_resolve(f.db, "matmul", &id, &e), -ERR_NOT_FOUND, "an empty database has no names");
	has_str(e.text, "peakd workflow create FILE.peak.md", "and says what to do");
	workflow_create(f.db, "matmul", a, &e);
	workflow_append(f.db, "matmul", b, &e);
	workflow_append(f.db, "matmul", c, &e);
	is_int(workflow_tag(f.db, "best.one", b, &e), 0, "a tag");
	is_int(workflow_tag(f.db, "best.one", c, &e), -ERR_CONFLICT, "only once");
	is_int(workflow_tag(f.db, "matmul", c, &e), -ERR_CONFLICT, "not with a workflow's name");
	is_int(workflow_create(f.db, "best.one", c, &e), -ERR_CONFLICT, "nor the other way round");
	struct workflow_tag_list tags = { .count = 0 };
	workflow_tags(f.db, &tags, &e);
	ok(tags.count == 1 && tags.at[0].checkpoint == b && strcmp(tags.at[0].name, "best.one") == 0,
	   "tags are listed");
	workflow_tag_list_fini(&tags);

	is_int(resolve(&f, "matmul"), c, "NAME is the head");
	is_int(resolve(&f, "matmul~"), b, "NAME~");
	is_int(resolve(&f, "matmul~2"), a, "NAME~2");
	is_int(resolve(&f, "matmul~0"), c, "NAME~0");
	is_int(workflow_resolve(f.db, "matmul~3", &id, &e), -ERR_NOT_FOUND, "NAME~3 is too far");
	has_str(e.text, "it has 2 checkpoints before it", "says how far");
	is_int(resolve(&f, "matmul@{root}"), a, "NAME@{root}");
	is_int(resolve(&f, "matmul@{1}"), b, "NAME@{1} is where the head was");
	is_int(resolve(&f, "matmul@{1}~1"), a, "and its parent");
	is_int(resolve(&f, "matmul@{9}"), -ERR_NOT_FOUND, "NAME@{9} never was");
	is_int(resolve(&f, "best.one"), b, "a tag");
	is_int(resolve(&f, "best.one~1"), a, "a tag's parent");
	char number[32];
	snprintf(number, sizeof number, "%lld", (long long)b);
	is_int(resolve(&f, number), b, "a number");
	is_int(resolve(&f, "99999999999999999999999"), -ERR_NOT_FOUND, "a number that is too long");
	struct checkpoint got;
	checkpoint_get(f.db, b, &got, &e);
	is_int(resolve(&f, got.hash.hex), b, "a hash");
	got.hash.hex[6] = '\0';
	is_int(resolve(&f, got.hash.hex), b, "its first six characters");
	got.hash.hex[5] = '\0';
	is_int(resolve(&f, got.hash.hex), -ERR_NOT_FOUND, "five are too few");
	checkpoint_fini(&got);
	const char *bad[] = { "matmul~x", "matmul~-1", "matmul@{", "matmul@{root}x", "matmul@{x}", "matmul@{}" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_int(resolve(&f, bad[i]), -ERR_INPUT, "%s is malformed", bad[i]);
	is_int(resolve(&f, ""), -ERR_NOT_FOUND, "so is nothing");
	checkpoint_get(f.db, b, &got, &e);
	is_int(resolve(&f, got.context.hex), b, "the hash of its context");
	checkpoint_fini(&got);
	is_int(workflow_rename(f.db, "matmul", "best.one", &e), -ERR_CONFLICT, "a workflow is not renamed to a tag");
	is_int(workflow_rename(f.db, "matmul", "a/b", &e), -ERR_INPUT, "nor to what is not a name");
	is_int(workflow_rename(f.db, "matmul", "product", &e), 0, "but to a name that is free");
	is_int(resolve(&f, "product~2"), a, "which finds the same checkpoints");
	is_int(workflow_rename(f.db, "product", "matmul", &e), 0, "and back");
	workflow_create(f.db, "short-lived", c, &e);
	is_int(workflow_delete(f.db, "short-lived", &e), 0, "a workflow is deleted");
	is_int(workflow_delete(f.db, "short-lived", &e), -ERR_NOT_FOUND, "once");
	is_int(resolve(&f, "matmul"), c, "its checkpoints stay");
	is_int(workflow_resolve(f.db, "matmull", &id, &e), -ERR_NOT_FOUND, "a name with a slip");
	has_str(e.text, "did you mean matmul?", "names the nearest");
	is_int(workflow_resolve(f.db, "best.on", &id, &e), -ERR_NOT_FOUND, "also of tags");
	has_str(e.text, "did you mean best.one?", "and so");
	is_int(workflow_resolve(f.db, "attention", &id, &e), -ERR_NOT_FOUND, "a name like nothing else");
	has_str(e.text, "list the workflows", "says where the names are");
	const char *names[] = { "", "12", "a b", "a~1", "a@b", "-x", "ü", "a\nb", "a/b", "a/../../x", "../x" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		is_int(workflow_create(f.db, names[i], a, &e), -ERR_INPUT, "name %zu cannot be one", i);
	is_int(workflow_create(f.db, "deadbeef", a, &e), -ERR_INPUT, "what reads as a hash cannot");
	is_int(workflow_create(f.db, "decade", a, &e), -ERR_INPUT, "even if it is a word");
	is_int(workflow_create(f.db, "2048-x.y_z", a, &e), 0, "this one can");
	fixture_fini(&f);
}

static void test_distance(void)
{
	is_int(suggest_distance("kitten", "sitting"), 3, "kitten, sitting");
	is_int(suggest_distance("", "abc"), 3, "nothing, abc");
	is_int(suggest_distance("abc", ""), 3, "abc, nothing");
	is_int(suggest_distance("same", "same"), 0, "same, same");
	char big[1000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	is_int(suggest_distance(big, "x"), 126, "a long name is cut");
	struct suggest n;
	suggest_init(&n, "ab");
	suggest_offer(&n, "xy");
	is_str(n.best, "", "nothing in common is not near");
}

int main(void)
{
	test_moves();
	test_names();
	test_distance();
	return tap_done();
}
