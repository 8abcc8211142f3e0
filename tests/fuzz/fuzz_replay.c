/* Recordings of a model's answers: the input is first a recording's file, then an answer that is recorded and must be
 * read back. Works in a folder of its own below $TMPDIR or /tmp. */
#include <stdio.h>
#include <unistd.h>

#include "core/transform/replay.h"
#include "fuzz/fuzz.h"

static void read_file(const char *folder, const uint8_t *data, size_t size)
{
	char *path = mem_fmt("%s/a.md", folder);
	FILE *f = fopen(path, "wbe");
	assert(f && fwrite(data, 1, size, f) == size);
	fclose(f);
	struct replay *r = NULL;
	struct err e = ERR_INIT;
	if (replay_new(folder, 1, &r, &e) == 0)
		assert(replay_count(r) == 1);
	else
		assert(e.code == ERR_INPUT && e.text[0]);
	replay_free(r);
	unlink(path);
	free(path);
}

/* Only a newline at the end may be added. */
static bool same_answer(const char *got, const char *want)
{
	size_t n = strlen(want);
	return strncmp(got, want, n) == 0 && (!got[n] || strcmp(got + n, "\n") == 0);
}

static void record(const char *folder, char *text)
{
	struct prompt prompt = PROMPT_INIT;
	prompt_add(&prompt, PROMPT_USER, text);
	const struct model_request request = { .prompt = &prompt,
					       .key = { .context = hash_text("x"), .transformation = "tiling",
							.pass = 1, .step = 1, .attempt = 1 } };
	const struct model_answer answer = { .text = text, .model = text };
	struct model_answer got;
	struct replay *r = NULL;
	struct err e = ERR_INIT;
	assert(replay_record(folder, &request, &answer, &e) == 0);
	assert(replay_new(folder, 1, &r, &e) == 0);
	const struct model *model = replay_model(r);
	assert(model->ask(model->arg, &request, &got, &e) == 0);
	assert(same_answer(got.text, text) && !got.note);
	model_answer_fini(&got);
	replay_free(r);
	prompt_fini(&prompt);
	char *path = mem_fmt("%s/tiling-1-1-1-%.8s.md", folder, request.key.context.hex);
	unlink(path);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = mem_fmt("%s/peakd-fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	assert(mkdtemp(folder));
	read_file(folder, data, size);
	char *text = fuzz_text(data, size);
	record(folder, text);
	free(text);
	assert(rmdir(folder) == 0);
	free(folder);
	return 0;
}
