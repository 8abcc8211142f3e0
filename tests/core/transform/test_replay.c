/* Recordings: written, read back, matched by key, and clear about what is missing. */
#include "core/transform/replay.h"
#include "tap.h"

#include <dirent.h>
#include <unistd.h>

#include "base/mem.h"

static struct model_request request_of(const struct prompt *p, const char *context, unsigned attempt)
{
	struct model_request r = { .prompt = p,
				   .key = { .context = hash_text(context), .pass = 2, .step = 1, .attempt = attempt } };
	strcpy(r.key.transformation, "demo");
	return r;
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		char *path = mem_fmt("%s/%s", folder, d->d_name);
		unlink(path);
		free(path);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static int answer_once(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	(void)request, (void)e;
	*ret_answer = (struct model_answer){ .text = mem_str(arg),
					     .model = mem_str("m-1"),
					     .finish = REPLY_FINISH_STOP,
					     .prompt_tokens = 11,
					     .output_tokens = 7 };
	return 0;
}

/* An answer with a fence of its own, blanks and an accent. */
static char answer_text[] = "Voil\u00e0:\n\n```hlsl\nvoid f() {}\n```\n\n  done\n";

static void test_round_trip(const char *folder)
{
	struct err e = ERR_INIT;
	struct prompt p = PROMPT_INIT;
	prompt_add(&p, PROMPT_SYSTEM, "rules");
	prompt_add(&p, PROMPT_USER, "do\n```\nx\n```\n");
	const struct model inner = { answer_text, "fake", answer_once };
	struct replay_recorder *recorder = replay_recorder_new(&inner, folder, 1);
	const struct model *m = replay_recorder_model(recorder);
	struct model_answer a = { 0 };
	struct model_request q = request_of(&p, "ctx", 1);
	is_int(m->ask(m->arg, &q, &a, &e), 0, "an exchange is recorded: %s", e.text);
	is_str(a.text, answer_text, "and its answer passed on");
	model_answer_fini(&a);
	replay_recorder_free(recorder);

	const struct model other = { (char[]){ "another answer" }, "fake", answer_once };
	recorder = replay_recorder_new(&other, folder, 1);
	m = replay_recorder_model(recorder);
	is_int(m->ask(m->arg, &q, &a, &e), 0, "the same question once more");
	is_str(a.text, answer_text, "is not asked again");
	is_int(a.prompt_tokens, 11, "and counts as it did");
	model_answer_fini(&a);
	struct prompt changed = PROMPT_INIT;
	prompt_add(&changed, PROMPT_SYSTEM, "other rules");
	struct model_request again = request_of(&changed, "ctx", 1);
	is_int(m->ask(m->arg, &again, &a, &e), 0, "in other words");
	is_str(a.text, "another answer", "it is");
	model_answer_fini(&a);
	prompt_fini(&changed);
	replay_recorder_free(recorder);
	recorder = replay_recorder_new(&inner, folder, 1);
	m = replay_recorder_model(recorder);
	is_int(m->ask(m->arg, &q, &a, &e), 0, "and its answer replaces the one that was there");
	model_answer_fini(&a);
	replay_recorder_free(recorder);

	struct replay *r = NULL;
	is_int(replay_new(folder, 1, &r, &e), 0, "the folder is read: %s", e.text);
	is_int(r ? replay_count(r) : 0, 1, "one recording");
	if (!r)
		return;
	m = replay_model(r);
	is_int(m->ask(m->arg, &q, &a, &e), 0, "it answers: %s", e.text);
	is_str(a.text, answer_text, "with the same words, byte for byte");
	is_str(a.model, "m-1", "under the model's name");
	is_int(a.prompt_tokens, 11, "with its counts");
	ok(!a.note, "the prompt is the same");
	model_answer_fini(&a);
	prompt_add(&p, PROMPT_USER, "another device");
	is_int(m->ask(m->arg, &q, &a, &e), 0, "other words are no obstacle");
	has_str(a.note, "differ", "but are told");
	model_answer_fini(&a);
	q = request_of(&p, "other", 1);
	is_int(m->ask(m->arg, &q, &a, &e), -ERR_NOT_FOUND, "another context is one");
	has_str(e.text, "only for context", "and the message tells it");
	q = request_of(&p, "ctx", 2);
	is_int(m->ask(m->arg, &q, &a, &e), -ERR_NOT_FOUND, "so is another attempt");
	has_str(e.text, "attempt 2", "and the message tells it");
	replay_free(r);
	prompt_fini(&p);
}

/* An answer with carriage returns from a model whose name is two lines: both come from outside. */
static void test_hostile(void)
{
	char folder[] = "/tmp/peakd-test-XXXXXX";
	char text[] = "```cuda\r\nvoid k() {}\r\n```\r\n\r\n", name[] = "m\nattempt: 7\t\x01!";
	struct err e = ERR_INIT;
	struct prompt p = PROMPT_INIT;
	struct replay *r = NULL;
	struct model_answer got = { 0 };
	prompt_add(&p, PROMPT_USER, "do\r\n");
	ok(mkdtemp(folder) != NULL, "a folder");
	struct model_request q = request_of(&p, "ctx", 1);
	is_int(replay_record(folder, &q, &(struct model_answer){ .text = text, .model = name }, &e), 0, "recorded");
	is_int(replay_new(folder, 1, &r, &e), 0, "a model's name of two lines does not spoil the folder: %s", e.text);
	const struct model *m = r ? replay_model(r) : NULL;
	is_int(m ? m->ask(m->arg, &q, &got, &e) : -1, 0, "it answers: %s", e.text);
	is_str(got.text ? got.text : "", text, "carriage returns are kept");
	is_str(got.model ? got.model : "", "m attempt: 7 !", "the name is one line");
	model_answer_fini(&got);
	replay_free(r);
	prompt_fini(&p);
	remove_folder(folder);
}

static void test_bad(const char *folder)
{
	struct err e = ERR_INIT;
	struct replay *r;
	char *path = mem_fmt("%s/bad.md", folder);
	FILE *f = fopen(path, "w");
	fputs("---\ntransformation: demo\n---\n", f);
	fclose(f);
	is_int(replay_new(folder, 1, &r, &e), -ERR_INPUT, "a file that is no recording");
	has_str(e.text, "bad.md", "is named");
	free(path);
	is_int(replay_new("/nonexistent", 1, &r, &e), -ERR_NOT_FOUND, "a folder that is not there");
}

/* The studies that are shipped: every try of every question, and the first try as its own files have it. */
static void test_packed(void)
{
	static const struct {
		const char *name;
		size_t each; /* recordings of one try */
	} studies[] = { { "h200-attention-fp16", 22 }, { "h200-batched-fp16", 20 }, { "h200-fp16", 20 }, { "h200-fp32", 30 },
			{ "h200-fp32-tensor", 18 },	{ "rmsnorm-fp16-cuda", 6 },  { "softmax-fp16-cuda", 8 } };
	struct err e = ERR_INIT;
	struct replay *r = NULL;
	for (size_t i = 0; i < MEM_COUNT(studies); i++) {
		char *path = mem_fmt("bench/results/study-%s.recordings.jsonl.gz", studies[i].name);
		char *folder = mem_fmt("examples/recordings/%s", studies[i].name);
		for (unsigned attempt = 1; attempt <= 5; attempt++) {
			is_int(replay_new(path, attempt, &r, &e), 0, "%s: try %u is read: %s", path, attempt, e.text);
			is_int(r ? replay_count(r) : 0, studies[i].each, "with every recording");
			replay_free(r);
			r = NULL;
		}
		is_int(replay_new(path, 6, &r, &e), -ERR_NOT_FOUND, "there is no sixth try");
		is_int(replay_new(folder, 1, &r, &e), 0, "the first try has files: %s", e.text);
		is_int(r ? replay_count(r) : 0, studies[i].each, "as many as in the study");
		replay_free(r);
		r = NULL;
		free(path);
		free(folder);
	}
	char bad[] = "/tmp/peakd-test-XXXXXX";
	FILE *f = fdopen(mkstemp(bad), "w");
	fputs("{\"file\": \"a.md\"}\n", f);
	fclose(f);
	is_int(replay_new(bad, 1, &r, &e), -ERR_INPUT, "a line without a text is refused");
	has_str(e.text, bad, "and the file is named");
	unlink(bad);
}

int main(void)
{
	char folder[] = "/tmp/peakd-test-XXXXXX";
	ok(mkdtemp(folder) != NULL, "a folder");
	test_round_trip(folder);
	test_hostile();
	test_bad(folder);
	test_packed();
	remove_folder(folder);
	return tap_done();
}
