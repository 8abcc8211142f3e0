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
		.tokens_in = 100, .tokens_out = 20, .tokens_cached = -1, .latency_ms = 1500,
		.job = "j1",
	};
}

static void test_exchanges(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	struct hash of_a = hash_text("a");
	struct exchange x = example(of_a.hex, 1, 1, "first");
	is_int(exchange_add(f.db, &x, &e), 0, "an exchange is kept %s", e.text);
	ok(x.id > 0 && x.created_ms > 0, "with a number and a time");
	x = example(of_a.hex, 1, 2, NULL);
	exchange_add(f.db, &x, &e);
	x = example(of_a.hex, 2, 1, "third");
	x.key.transformation = "tb-tiling";
	exchange_add(f.db, &x, &e);

	struct exchange_list list = { .count = 0 };
	is_int(exchange_list(f.db, "j1", NULL, 0, &list, &e), 0, "all of a job are listed: %s", e.text);
	ok(list.count == 3 && list.at[0].id < list.at[1].id && list.at[1].reply == NULL, "oldest first");
	const struct exchange *got = &list.at[0];
	is_str(got->reply, "first", "a reply is kept");
	is_str(got->prompt, "please", "its prompt too");
	is_str(got->key.context, of_a.hex, "its key too");
	ok(got->tokens_in == 100 && got->tokens_cached == -1 && got->latency_ms == 1500, "and its figures");
	exchange_list_fini(&list);
	exchange_list(f.db, NULL, "tb-tiling", 0, &list, &e);
	ok(list.count == 1 && list.at[0].key.pass == 2, "those of a transformation are listed");
	exchange_list_fini(&list);
	exchange_list(f.db, NULL, NULL, 2, &list, &e);
	is_int(list.count, 2, "at most so many");
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
	char *id = NULL, *first = NULL, *second = NULL;
	struct pending got;
	job_create(f.db, "transform", "", &first, &e);
	job_create(f.db, "transform", "", &second, &e);
	is_int(pending_of_job(f.db, first, &got, &e), 0, "a job that took nothing");
	p.job = first;
	is_int(pending_add(f.db, &p, &id, &e), 0, "a transformation begins %s", e.text);
	ok(id[0] == 't', "with an id");
	is_int(pending_of_job(f.db, first, &got, &e), 1, "its job finds it again");
	ok(strcmp(got.id, id) == 0 && got.checkpoint == 0, "by its id");
	pending_fini(&got);
	fixture_close(&f);
	fixture_open(&f);
	is_int(pending_take(f.db, id, second, &got, &e), 0, "while its job is queued nobody else takes it");
	is_str(got.job, first, "that job stays its owner");
	pending_fini(&got);
	is_int(pending_take(f.db, id, first, &got, &e), 1, "the job itself does, after a restart: %s", e.text);
	ok(got.pass == 1 && got.step == 1 && strcmp(got.state, "waiting") == 0 && got.verdict == NULL, "it is as it was");
	is_str(got.text, "# Tile", "with its text");
	struct pending next = got;
	next.step = 2;
	next.context = "half done";
	next.verdict = "compiles";
	is_int(pending_save(f.db, &next, &e), 0, "a step is saved");
	pending_fini(&got);
	job_cancel(f.db, first, &e);
	is_int(pending_take(f.db, id, second, &got, &e), 1, "when its job has ended, another one takes it");
	is_str(got.context, "half done", "with its context");
	next = got;
	next.job = first;
	is_int(pending_save(f.db, &next, &e), -ERR_CONFLICT, "then the first one writes no more");
	next.job = second;
	next.state = "accepted";
	next.checkpoint = fixture_checkpoint(&f, "b", p.parent);
	is_int(pending_save(f.db, &next, &e), 0, "the other one finishes it");
	const int64_t made = next.checkpoint;
	pending_fini(&got);
	is_int(pending_of_job(f.db, second, &got, &e), 1, "its checkpoint is found by its job");
	ok(got.checkpoint == made, "with its number");
	pending_fini(&got);
	is_int(pending_take(f.db, id, NULL, &got, &e), 0, "what is final can still be read");
	is_str(got.job, second, "and stays whose it was");
	pending_fini(&got);
	is_int(pending_take(f.db, "tnone", NULL, &got, &e), -ERR_NOT_FOUND, "an unknown id");
	free(id);
	free(first);
	free(second);
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
