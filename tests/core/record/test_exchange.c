/* core/record/exchange, pending, fact: recordings, half-done transformations, facts of devices. */
#include "core/record/exchange.h"
#include "core/record/fact.h"
#include "core/record/job.h"
#include "core/record/pending.h"
#include "fixture.h"
#include "tap.h"

static struct exchange example(const char *context, int pass, int attempt, const char *reply)
{
	return (struct exchange){
		.key = { .context = context, .transformation = "refactor", .pass = pass, .step = "device",
		         .attempt = attempt },
		.model = "some-model", .provider = "openai", .prompt = "please", .reply = reply, .finish = "stop",
		.tokens_in = 100, .tokens_out = 20, .tokens_cached = -1, .tokens_reasoning = -1, .latency_ms = 1500,
		.job = "j1",
	};
}

static void test_exchanges(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	struct hash of_a = hash_text("a"), of_b = hash_text("b");
	const char *context = of_a.hex;
	struct exchange x = example(context, 1, 1, "first");
	is_int(exchange_add(f.db, &x, &e), 0, "an exchange is kept %s", e.text);
	is_int(exchange_set_outcome(f.db, x.id, "accepted", &e), 0, "and judged");
	x = example(context, 1, 2, "second");
	exchange_add(f.db, &x, &e);
	x = example(context, 1, 3, NULL);
	exchange_add(f.db, &x, &e);

	struct exchange_key key = x.key;
	struct exchange got;
	key.attempt = 1;
	is_int(exchange_find(f.db, &key, &got, &e), 0, "it is found by its key");
	is_str(got.reply, "first", "with its reply");
	is_str(got.prompt, "please", "its prompt");
	is_str(got.outcome, "accepted", "its outcome");
	ok(got.tokens_in == 100 && got.tokens_cached == -1 && got.latency_ms == 1500 && got.created_ms > 0,
	   "its figures");
	exchange_fini(&got);
	x = example(context, 1, 1, "first again");
	exchange_add(f.db, &x, &e);
	exchange_find(f.db, &key, &got, &e);
	is_str(got.reply, "first again", "the newest counts");
	exchange_fini(&got);

	key.attempt = 3;
	is_int(exchange_find(f.db, &key, &got, &e), -ERR_NOT_FOUND, "one without a reply cannot be replayed");
	has_str(e.text, "other attempts only", "and the message says how far the key is known");
	key.pass = 2;
	exchange_find(f.db, &key, &got, &e);
	has_str(e.text, "other passes and steps only", "by pass");
	key.context = of_b.hex;
	exchange_find(f.db, &key, &got, &e);
	has_str(e.text, "other contexts only", "by context");
	key.transformation = "unknown";
	exchange_find(f.db, &key, &got, &e);
	has_str(e.text, "nothing of this transformation", "by transformation");

	struct exchange_list list = { .count = 0 };
	is_int(exchange_list(f.db, "j1", NULL, 0, &list, &e), 0, "all of a job");
	ok(list.count == 4 && list.at[2].reply == NULL && list.at[0].id < list.at[1].id, "oldest first");
	exchange_list_fini(&list);
	exchange_list(f.db, NULL, context, 2, &list, &e);
	is_int(list.count, 2, "or the first few of a context");
	exchange_list_fini(&list);
	fixture_fini(&f);
}

static void test_pending(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	struct pending p = {
		.parent = fixture_checkpoint(&f, "a", 0), .workflow = "matmul", .transformation = "tb-tiling",
		.text = "# Tile", .pass = 1, .step = 1, .attempt = 1, .context = "a", .state = "waiting",
	};
	char *id = NULL, *first = NULL, *second = NULL, *mine = NULL;
	int64_t checkpoint = -1;
	job_create(f.db, "transform", "", &first, &e);
	job_create(f.db, "transform", "", &second, &e);
	is_int(pending_of_job(f.db, first, &mine, &checkpoint, &e), 0, "a job that took nothing");
	p.job = first;
	is_int(pending_add(f.db, &p, &id, &e), 0, "a transformation begins %s", e.text);
	ok(id[0] == 't', "with an id");
	is_int(pending_of_job(f.db, first, &mine, &checkpoint, &e), 1, "its job finds it again");
	ok(strcmp(mine, id) == 0 && checkpoint == 0, "by its id");
	fixture_close(&f);
	fixture_open(&f);
	struct pending got;
	is_int(pending_take(f.db, id, second, &got, &e), -ERR_CONFLICT, "while its job is queued nobody else takes it");
	has_str(e.text, first, "and the error names that job");
	is_int(pending_take(f.db, id, first, &got, &e), 0, "the job itself does, after a restart: %s", e.text);
	ok(got.pass == 1 && got.step == 1 && strcmp(got.state, "waiting") == 0 && got.verdict == NULL, "it is as it was");
	is_str(got.text, "# Tile", "with its text");
	struct pending next = got;
	next.step = 2;
	next.context = "half done";
	next.verdict = "compiles";
	is_int(pending_save(f.db, &next, &e), 0, "a step is saved");
	pending_fini(&got);
	job_cancel(f.db, first, &e);
	is_int(pending_take(f.db, id, second, &got, &e), 0, "when its job has ended, another one takes it");
	is_str(got.context, "half done", "with its context");
	next = got;
	next.job = first;
	is_int(pending_save(f.db, &next, &e), -ERR_CONFLICT, "then the first one writes no more");
	next.job = second;
	next.state = "accepted";
	next.checkpoint = fixture_checkpoint(&f, "b", p.parent);
	is_int(pending_save(f.db, &next, &e), 0, "the other one finishes it");
	pending_fini(&got);
	free(mine);
	is_int(pending_of_job(f.db, second, &mine, &checkpoint, &e), 1, "its checkpoint is found by its job");
	ok(checkpoint == next.checkpoint, "with its number");
	is_int(pending_take(f.db, id, NULL, &got, &e), 0, "what is final can still be read");
	is_str(got.job, second, "and stays whose it was");
	pending_fini(&got);
	is_int(pending_take(f.db, "tnone", NULL, &got, &e), -ERR_NOT_FOUND, "an unknown id");
	free(id);
	free(first);
	free(second);
	free(mine);
	fixture_fini(&f);
}

static void test_facts(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	is_int(fact_set(f.db, "gpu-1", "name", "H200", &e), 0, "a fact");
	fact_set(f.db, "gpu-1", "ceiling.f32", "1", &e);
	is_int(fact_set(f.db, "gpu-1", "ceiling.f32", "2", &e), 0, "is replaced");
	fact_set(f.db, "gpu-2", "name", "other", &e);
	struct fact_list list = { .count = 0 };
	fact_list(f.db, "gpu-1", &list, &e);
	ok(list.count == 2 && strcmp(list.at[0].value, "2") == 0, "and listed");
	fact_list_fini(&list);
	fact_list(f.db, NULL, &list, &e);
	is_int(list.count, 3, "those of all devices");
	fact_list_fini(&list);
	char *value = NULL;
	is_int(fact_get(f.db, "gpu-1", "age", &value, &e), -ERR_NOT_FOUND, "an unknown one");
	fixture_fini(&f);
}

int main(void)
{
	test_exchanges();
	test_pending();
	test_facts();
	return tap_done();
}
