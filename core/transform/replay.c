/* replay: see replay.h. A recording is front matter, the prompt's words for people, and the answer, each in a fence. */
#include "core/transform/replay.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/front_matter.h"
#include "base/markdown.h"
#include "base/mem.h"

struct recording {
	struct model_key key;
	char *source; /* where it was read, for messages */
	char *model, *text;
	char prompt[HASH_SIZE]; /* hash of the prompt's words when it was recorded */
	enum reply_finish finish;
	uint64_t prompt_tokens, cached_tokens, output_tokens, elapsed_ms;
};

struct replay {
	struct recording *at;
	size_t count;
	char *folder, *name;
	struct model model;
};

static const struct front_matter_key keys[] = {
	{ "transformation", FRONT_MATTER_TEXT },
	{ "pass", FRONT_MATTER_TEXT },
	{ "step", FRONT_MATTER_TEXT },
	{ "attempt", FRONT_MATTER_TEXT },
	{ "context", FRONT_MATTER_TEXT },
	{ "prompt", FRONT_MATTER_OPTIONAL },
	{ "model", FRONT_MATTER_OPTIONAL },
	{ "finish", FRONT_MATTER_OPTIONAL },
	{ "prompt-tokens", FRONT_MATTER_OPTIONAL },
	{ "cached-tokens", FRONT_MATTER_OPTIONAL },
	{ "output-tokens", FRONT_MATTER_OPTIONAL },
	{ "elapsed-ms", FRONT_MATTER_OPTIONAL },
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void recording_fini(struct recording *r)
{
	free(r->source);
	free(r->model);
	free(r->text);
}

static uint64_t number_of(const struct front_matter *m, const char *key)
{
	return strtoull(front_matter_value(m, key), NULL, 10);
}

/* The answer is the fence marked "answer"; its text is as the model sent it but for the end of the last line. */
static char *find_answer(const char *body)
{
	struct markdown m = { .at = body, .line = 1, .lists = true };
	struct markdown_block f;
	while (markdown_next_fence(&m, &f)) {
		if (f.info_len == 6 && memcmp(f.info, "answer", 6) == 0 && f.closed)
			return mem_strn(f.body, f.body_len);
	}
	return NULL;
}

static int parse_recording(const char *source, const char *text, struct recording *ret_r, struct err *e)
{
	struct front_matter m = { .body = "" };
	struct recording r = { .finish = REPLY_FINISH_OTHER };
	int rc = front_matter_parse(source, text, keys, MEM_COUNT(keys), &m, e);
	if (rc < 0)
		goto out;
	snprintf(r.key.context.hex, sizeof r.key.context.hex, "%s", front_matter_value(&m, "context"));
	snprintf(r.key.transformation, sizeof r.key.transformation, "%s", front_matter_value(&m, "transformation"));
	r.key.pass = (unsigned)number_of(&m, "pass");
	r.key.step = (unsigned)number_of(&m, "step");
	r.key.attempt = (unsigned)number_of(&m, "attempt");
	snprintf(r.prompt, sizeof r.prompt, "%s", front_matter_value(&m, "prompt"));
	for (int f = REPLY_FINISH_STOP; f <= REPLY_FINISH_OTHER; f++) {
		if (strcmp(reply_finish_name((enum reply_finish)f), front_matter_value(&m, "finish")) == 0)
			r.finish = (enum reply_finish)f;
	}
	r.prompt_tokens = number_of(&m, "prompt-tokens");
	r.cached_tokens = number_of(&m, "cached-tokens");
	r.output_tokens = number_of(&m, "output-tokens");
	r.elapsed_ms = number_of(&m, "elapsed-ms");
	r.text = find_answer(m.body);
	if (!hash_valid(r.key.context.hex) || !*r.key.transformation || !r.key.pass || !r.key.step || !r.key.attempt || !r.text) {
		rc = err_set(e, ERR_INPUT,
			     "recording %s: expected front matter with context (64 hexadecimal digits), transformation, "
			     "pass, step and attempt, and a closed fence marked `answer`",
			     source);
		free(r.text);
		goto out;
	}
	r.model = mem_str(front_matter_value(&m, "model"));
	r.source = mem_str(source);
	*ret_r = r;
out:
	front_matter_fini(&m);
	return rc;
}

static int read_recording(const char *path, struct recording *ret_r, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = buf_add_packed_file(&text, path, e);
	if (rc == 0 && strlen(buf_text(&text)) != text.len)
		rc = err_set(e, ERR_INPUT, "%s holds a NUL byte: it is not a recording", path);
	if (rc == 0)
		rc = parse_recording(path, buf_text(&text), ret_r, e);
	buf_fini(&text);
	return rc;
}

static bool same_key(const struct model_key *a, const struct model_key *b)
{
	return strcmp(a->context.hex, b->context.hex) == 0 && strcmp(a->transformation, b->transformation) == 0 &&
	       a->pass == b->pass && a->step == b->step && a->attempt == b->attempt;
}

static int add_recording(struct replay *r, struct recording *take_next, struct err *e)
{
	for (size_t i = 0; i < r->count; i++) {
		if (!same_key(&r->at[i].key, &take_next->key))
			continue;
		int rc = err_set(e, ERR_INPUT,
				 "recordings %s and %s answer the same question (context, transformation, pass, step, "
				 "attempt); remove one",
				 r->at[i].source, take_next->source);
		recording_fini(take_next);
		return rc;
	}
	*MEM_PUSH(r->at, r->count) = *take_next;
	return 0;
}

/* --- answering ------------------------------------------------------------------------------------------------------ */

static int not_recorded(const struct replay *r, const struct model_key *key, struct err *e)
{
	const struct recording *near = NULL;
	for (size_t i = 0; i < r->count; i++) {
		const struct model_key *k = &r->at[i].key;
		if (strcmp(k->transformation, key->transformation) == 0 && k->pass == key->pass && k->step == key->step &&
		    (!near || k->attempt == key->attempt))
			near = &r->at[i];
	}
	if (!near)
		return err_set(e, ERR_NOT_FOUND,
			       "%s holds no answer for transformation %s, pass %u, step %u; record one with a model", r->name,
			       key->transformation, key->pass, key->step);
	if (near->key.attempt != key->attempt)
		return err_set(e, ERR_NOT_FOUND,
			       "%s holds no answer for attempt %u of transformation %s, pass %u, step %u. When it was recorded, "
			       "the attempt before was accepted; now it is not",
			       r->name, key->attempt, key->transformation, key->pass, key->step);
	return err_set(e, ERR_NOT_FOUND,
		       "%s holds an answer for transformation %s, pass %u, step %u only for context %.12s. The context here is "
		       "%.12s: it was edited since. Record anew with a model",
		       r->name, key->transformation, key->pass, key->step, near->key.context.hex, key->context.hex);
}

/* What was recorded, as an answer; note: why it may not fit, free()'d with it, or NULL. */
static struct model_answer answer_of(const struct recording *r, char *note)
{
	return (struct model_answer){
		.text = mem_str(r->text),
		.model = mem_str(r->model),
		.finish = r->finish,
		.prompt_tokens = r->prompt_tokens,
		.cached_tokens = r->cached_tokens,
		.output_tokens = r->output_tokens,
		.elapsed_ms = r->elapsed_ms,
		.note = note,
	};
}

static int ask(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	const struct replay *r = arg;
	for (size_t i = 0; i < r->count; i++) {
		const struct recording *found = &r->at[i];
		if (!same_key(&found->key, &request->key))
			continue;
		struct hash now = prompt_hash(request->prompt);
		bool same = strcmp(now.hex, found->prompt) == 0;
		*ret_answer = answer_of(
			found,
			same ? NULL : mem_fmt("the prompt's words differ from those that %s was recorded with", found->source));
		return 0;
	}
	return not_recorded(r, &request->key, e);
}

static int is_recording(const struct dirent *d)
{
	size_t n = strlen(d->d_name);
	return n > 3 && d->d_name[0] != '.' && strcmp(d->d_name + n - 3, ".md") == 0 && strcasecmp(d->d_name, "README.md") != 0;
}

static char *try_folder(const char *folder, unsigned attempt)
{
	return attempt > 1 ? mem_fmt("%s/try-%u", folder, attempt) : mem_str(folder);
}

static int load_folder(struct replay *r, const char *folder, struct err *e)
{
	struct dirent **list;
	int n = scandir(folder, &list, is_recording, alphasort), rc = 0;
	if (n < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "there is no folder of recordings %s; record one with a model first", folder);
	if (n < 0)
		return err_sys(e, errno, "recordings cannot be read from %s", folder);
	for (int i = 0; i < n; i++) {
		char *path = mem_fmt("%s/%s", folder, list[i]->d_name);
		struct recording next;
		if (rc == 0)
			rc = read_recording(path, &next, e);
		if (rc == 0)
			rc = add_recording(r, &next, e);
		free(path);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* One line of a packed study: {"file": "try-2/NAME.md", "text": the recording}. */
static int load_line(struct replay *r, const char *path, const char *line, size_t len, unsigned attempt, struct err *e)
{
	struct recording next;
	json_t *entry = json_loadb(line, len, 0, NULL);
	const char *file = json_string_value(json_object_get(entry, "file"));
	const char *text = json_string_value(json_object_get(entry, "text"));
	unsigned number = 1;
	int rc = 0;
	if (file == NULL || text == NULL)
		rc = err_set(e, ERR_INPUT, "%s: expected {\"file\": …, \"text\": …} on every line", path);
	else
		sscanf(file, "try-%u/", &number);
	if (rc == 0 && number == attempt) {
		char *source = mem_fmt("%s: %s", path, file);
		rc = parse_recording(source, text, &next, e);
		if (rc == 0)
			rc = add_recording(r, &next, e);
		free(source);
	}
	json_decref(entry);
	return rc;
}

static int load_packed(struct replay *r, const char *path, unsigned attempt, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = buf_add_packed_file(&text, path, e);
	for (const char *line = buf_text(&text); rc == 0 && *line;) {
		size_t n = strcspn(line, "\n");
		rc = load_line(r, path, line, n, attempt, e);
		line += n + (line[n] == '\n');
	}
	buf_fini(&text);
	return rc;
}

int replay_new(const char *path, unsigned attempt, struct replay **ret_replay, struct err *e)
{
	struct replay *r = MEM_NEW(struct replay);
	const char *slash = strrchr(path, '/');
	struct stat st;
	bool packed = stat(path, &st) == 0 && S_ISREG(st.st_mode);
	r->folder = packed ? mem_str(path) : try_folder(path, attempt);
	r->name = mem_fmt("replay:%s", slash && slash[1] ? slash + 1 : path);
	r->model = (struct model){ .arg = r, .name = r->name, .ask = ask };
	int rc = packed ? load_packed(r, path, attempt, e) : load_folder(r, r->folder, e);
	if (rc == 0 && !r->count)
		rc = packed ? err_set(e, ERR_NOT_FOUND, "%s holds no recordings of try %u", path, attempt)
			    : err_set(e, ERR_NOT_FOUND, "%s holds no recordings (*.md)", r->name);
	if (rc < 0)
		replay_free(r);
	else
		*ret_replay = r;
	return rc;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		recording_fini(&r->at[i]);
	free(r->at);
	free(r->folder);
	free(r->name);
	free(r);
}

const struct model *replay_model(struct replay *r)
{
	return &r->model;
}

size_t replay_count(const struct replay *r)
{
	return r->count;
}

/* --- recording ------------------------------------------------------------------------------------------------------ */

/* The name is the provider's own word, and stands on one line of the front matter. */
static char *one_line(const char *name)
{
	char *line = mem_str(name ? name : "");
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ')
			*c = ' ';
	}
	return line;
}

static void render(const struct model_request *request, const struct model_answer *answer, struct buf *out)
{
	const struct model_key *k = &request->key;
	struct hash words = prompt_hash(request->prompt);
	char *model = one_line(answer->model);
	buf_addf(out, "---\ntransformation: %s\npass: %u\nstep: %u\nattempt: %u\ncontext: %s\nprompt: %s\n", k->transformation,
		 k->pass, k->step, k->attempt, k->context.hex, words.hex);
	buf_addf(out,
		 "model: %s\nfinish: %s\nprompt-tokens: %llu\ncached-tokens: %llu\noutput-tokens: %llu\nelapsed-ms: "
		 "%llu\n---\n",
		 model, reply_finish_name(answer->finish), (unsigned long long)answer->prompt_tokens,
		 (unsigned long long)answer->cached_tokens, (unsigned long long)answer->output_tokens,
		 (unsigned long long)answer->elapsed_ms);
	free(model);
	for (size_t i = 0; i < request->prompt->count; i++) {
		const struct prompt_turn *turn = &request->prompt->turns[i];
		buf_addf(out, "\n## %s\n\n", prompt_role_name(turn->role));
		prompt_fence(out, "prompt", turn->text);
	}
	buf_adds(out, "\n## answer\n\n");
	prompt_fence(out, "answer", answer->text);
}

static int write_file(const char *path, const struct buf *text, struct err *e)
{
	char *temporary = mem_fmt("%s.%ld.tmp", path, (long)getpid());
	FILE *f = fopen(temporary, "wbe");
	int rc = f ? 0 : err_sys(e, errno, "recording %s cannot be written", path);
	if (f) {
		bool good = fwrite(buf_text(text), 1, text->len, f) == text->len;
		good = fclose(f) == 0 && good;
		if (!good || rename(temporary, path) < 0) {
			rc = err_sys(e, errno, "recording %s cannot be written", path);
			unlink(temporary);
		}
	}
	free(temporary);
	return rc;
}

/* The folder and those above it. */
static int make_folder(const char *folder, struct err *e)
{
	char *path = mem_str(folder);
	int rc = 0;
	for (char *c = path + 1; rc == 0; c++) {
		char was = *c;
		if (was != '/' && was != '\0')
			continue;
		*c = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			rc = err_sys(e, errno, "folder %s for recordings cannot be made", path);
		*c = was;
		if (was == '\0')
			break;
	}
	free(path);
	return rc;
}

static char *recording_path(const char *folder, const struct model_key *k)
{
	return mem_fmt("%s/%s-%u-%u-%u-%.8s.md", folder, k->transformation, k->pass, k->step, k->attempt, k->context.hex);
}

int replay_record(const char *folder, const struct model_request *request, const struct model_answer *answer, struct err *e)
{
	int rc = make_folder(folder, e);
	if (rc < 0)
		return rc;
	struct buf text = BUF_INIT;
	char *path = recording_path(folder, &request->key);
	render(request, answer, &text);
	rc = write_file(path, &text, e);
	buf_fini(&text);
	free(path);
	return rc;
}

struct replay_recorder {
	const struct model *inner;
	char *folder;
	struct model model;
};

/* A question that was answered before in the same words: an interrupted study resumes without paying twice. */
static bool recorded_before(const char *folder, const struct model_request *request, struct model_answer *ret_answer)
{
	char *path = recording_path(folder, &request->key);
	struct recording r = { 0 };
	struct err ignored = ERR_INIT;
	bool found = access(path, R_OK) == 0 && read_recording(path, &r, &ignored) == 0;
	if (found) {
		found = same_key(&r.key, &request->key) && strcmp(r.prompt, prompt_hash(request->prompt).hex) == 0;
		if (found)
			*ret_answer = answer_of(&r, NULL);
		recording_fini(&r);
	}
	free(path);
	return found;
}

static int ask_and_record(void *arg, const struct model_request *request, struct model_answer *ret_answer, struct err *e)
{
	struct replay_recorder *r = arg;
	struct model_answer answer = { 0 };
	if (recorded_before(r->folder, request, ret_answer))
		return 0;
	int rc = r->inner->ask(r->inner->arg, request, &answer, e);
	if (rc == 0)
		rc = replay_record(r->folder, request, &answer, e);
	if (rc == 0)
		*ret_answer = answer;
	else
		model_answer_fini(&answer);
	return rc;
}

struct replay_recorder *replay_recorder_new(const struct model *inner, const char *folder, unsigned attempt)
{
	struct replay_recorder *r = MEM_NEW(struct replay_recorder);
	r->inner = inner;
	r->folder = try_folder(folder, attempt);
	r->model = (struct model){ .arg = r, .name = inner->name, .ask = ask_and_record };
	return r;
}

void replay_recorder_free(struct replay_recorder *r)
{
	if (!r)
		return;
	free(r->folder);
	free(r);
}

const struct model *replay_recorder_model(struct replay_recorder *r)
{
	return &r->model;
}
