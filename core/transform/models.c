/* models: names → providers; see models.h. */
#include "core/transform/models.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/transform/llm.h"
#include "core/transform/replay.h"

enum { RETRIES = 2 };

struct entry {
	char *name, *spec;
};

struct models {
	char **folders;
	size_t folder_count;
	char *record;     /* folder for recordings; NULL: none are made */
	struct lock lock; /* LOCK_LEAF, of the entries, which a reload replaces */
	struct entry *entries;
	size_t count;
};

struct models *models_new(const char *const *folders, size_t count)
{
	struct models *m = MEM_NEW(struct models);
	lock_init(&m->lock, LOCK_LEAF);
	for (size_t i = 0; i < count; i++)
		if (folders[i])
			*MEM_PUSH(m->folders, m->folder_count) = mem_str(folders[i]);
	return m;
}

void models_free(struct models *m)
{
	if (m == NULL)
		return;
	mem_free_texts(m->folders, m->folder_count);
	for (size_t i = 0; i < m->count; i++) {
		free(m->entries[i].name);
		free(m->entries[i].spec);
	}
	free(m->entries);
	free(m->record);
	lock_fini(&m->lock);
	free(m);
}

void models_record(struct models *m, const char *folder)
{
	free(m->record);
	m->record = mem_str(folder);
}

void models_names(struct models *m, char ***ret_names, size_t *ret_count)
{
	lock_take(&m->lock);
	*ret_names = MEM_NEW_N(char *, m->count + 1);
	*ret_count = m->count;
	for (size_t i = 0; i < m->count; i++)
		(*ret_names)[i] = mem_str(m->entries[i].name);
	lock_release(&m->lock);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A misspelt option would be a setting that silently is not made. */
static int check_options(const char *spec, const char *options, struct err *e)
{
	static const char *const known[] = { "model",       "key_env",    "key_credential", "reasoning",
					     "temperature", "max_tokens", "old_max_tokens", "retries",
					     "stall_s",     "total_s",    "connect_s" };
	char hint[96];
	bool model = false;
	int rc = 0;
	while (*options && rc == 0) {
		size_t len = strcspn(options, "&"), i = 0;
		char *name = mem_strn(options, strcspn(options, "=&")), *value = mem_strn(options, len);
		while (i < MEM_COUNT(known) && strcmp(known[i], name) != 0)
			i++;
		bool set = strlen(value) > strlen(name) + 1;
		model = model || (i == 0 && set);
		if (i == MEM_COUNT(known))
			rc = err_set(e, ERR_INPUT, "'%s': there is no option '%s'%s after '?'", spec, name,
				     suggest_hint(name, known, MEM_COUNT(known), hint));
		else if (!set)
			rc = err_set(e, ERR_INPUT, "'%s': '%s' has no value: write %s=…", spec, name, name);
		free(name);
		free(value);
		options += len + (options[len] == '&');
	}
	return rc < 0 || model ? rc : err_set(e, ERR_INPUT, "'%s' does not say which model: write ?model=M after the URL", spec);
}

static int check_spec(const char *spec, struct err *e)
{
	if (begins(spec, "replay:") && spec[7])
		return 0;
	if (!begins(spec, "openai:") && !begins(spec, "anthropic:"))
		return err_set(e, ERR_INPUT, "'%s' is not a model: write replay:NAME, openai:URL?model=M or anthropic:URL?model=M",
			       spec);
	const char *url = strchr(spec, ':') + 1, *query = strchr(url, '?');
	if (!begins(url, "http://") && !begins(url, "https://"))
		return err_set(e, ERR_INPUT,
			       "'%s' has no URL: it begins with http:// or https://, as in openai:http://127.0.0.1:8080/v1?model=M",
			       spec);
	return check_options(spec, query ? query + 1 : "", e);
}

int models_add(struct models *m, const char *text, struct err *e)
{
	size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	bool named = name > 0 && text[name] == '=';
	const char *spec = named ? text + name + 1 : text;
	int rc = check_spec(spec, e);
	if (rc < 0)
		return rc;
	*MEM_PUSH(m->entries, m->count) = (struct entry){ named ? mem_strn(text, name) : mem_str("default"), mem_str(spec) };
	return 0;
}

int models_replace(struct models *m, const char *const *texts, struct err *e)
{
	struct models *fresh = models_new(NULL, 0);
	int rc = 0;
	for (size_t i = 0; rc == 0 && texts[i]; i++)
		rc = models_add(fresh, texts[i], e);
	if (rc == 0) {
		lock_take(&m->lock);
		struct entry *entries = m->entries;
		size_t count = m->count;
		m->entries = fresh->entries;
		m->count = fresh->count;
		lock_release(&m->lock);
		fresh->entries = entries;
		fresh->count = count;
	}
	models_free(fresh);
	return rc;
}

/* The value of `key` among "a=1&b=2"; NULL when there is none; free(). */
static char *option(const char *options, const char *key)
{
	size_t n = strlen(key);
	while (options && *options) {
		size_t len = strcspn(options, "&");
		if (len > n && strncmp(options, key, n) == 0 && options[n] == '=')
			return mem_strn(options + n + 1, len - n - 1);
		options += len + (options[len] == '&');
	}
	return NULL;
}

static unsigned number(const char *options, const char *key, unsigned or_else)
{
	char *text = option(options, key);
	unsigned value = text ? (unsigned)strtoul(text, NULL, 10) : or_else;
	free(text);
	return value;
}

static int open_llm(const char *spec, struct models_open *ret_open, struct err *e)
{
	const char *colon = strchr(spec, ':'), *query = strchr(spec, '?');
	unsigned retries = number(query + 1, "retries", RETRIES);
	char *url = mem_strn(colon + 1, (size_t)(query - colon - 1)), *temperature = option(query + 1, "temperature");
	struct llm_config c = {
		.format = begins(spec, "openai:") ? LLM_OPENAI : LLM_ANTHROPIC,
		.base_url = url,
		.model = option(query + 1, "model"),
		.key_env = option(query + 1, "key_env"),
		.key_credential = option(query + 1, "key_credential"),
		.reasoning = option(query + 1, "reasoning"),
		.has_temperature = temperature != NULL,
		.temperature = temperature ? strtod(temperature, NULL) : 0,
		.old_max_tokens = number(query + 1, "old_max_tokens", 0) != 0,
		.max_tokens = number(query + 1, "max_tokens", 0),
		.retries = retries > 0 ? retries : UINT_MAX /* which means none */,
		.stall_ms = number(query + 1, "stall_s", 0) * 1000,
		.total_ms = number(query + 1, "total_s", 0) * 1000,
		.connect_ms = number(query + 1, "connect_s", 0) * 1000,
	};
	int rc = llm_new(&c, &ret_open->llm, e);
	if (rc == 0)
		ret_open->model = llm_model(ret_open->llm);
	free(url);
	free(temperature);
	free((char *)c.model);
	free((char *)c.key_env);
	free((char *)c.key_credential);
	free((char *)c.reasoning);
	return rc;
}

/* A path, or the folder NAME or the file NAME.jsonl.gz in one of the recording folders. */
static int open_replay(const struct models *m, const char *name, unsigned attempt, struct models_open *ret_open, struct err *e)
{
	static const char *const endings[] = { "", ".jsonl.gz" };
	char *found = strchr(name, '/') ? mem_str(name) : NULL;
	for (size_t i = 0; i < m->folder_count * MEM_COUNT(endings) && !found; i++) {
		const char *folder = m->folders[i / MEM_COUNT(endings)], *ending = endings[i % MEM_COUNT(endings)];
		char *path = mem_fmt("%s/%s%s", folder, name, ending);
		if (access(path, R_OK) == 0)
			found = mem_str(path);
		free(path);
	}
	int rc = found ? replay_new(found, attempt, &ret_open->replay, e)
		       : err_set(e, ERR_NOT_FOUND, "no recordings '%s', neither your own nor those that come with peakd", name);
	if (rc == 0)
		ret_open->model = replay_model(ret_open->replay);
	free(found);
	return rc;
}

static int unknown(struct models *m, const char *name, struct err *e)
{
	struct buf names = BUF_INIT;
	char **list = NULL;
	size_t count = 0;
	models_names(m, &list, &count);
	for (size_t i = 0; i < count; i++)
		buf_addf(&names, "%s %s", i ? "," : "", list[i]);
	mem_free_texts(list, count);
	int rc = err_set(e, ERR_NOT_FOUND,
			 "no model '%s'; configured:%s. Start the daemon with `peakd serve --model NAME=SPEC` or PEAKD_MODEL=SPEC "
			 "in its environment. SPEC is openai:URL?model=M or anthropic:URL?model=M. Or name recordings "
			 "(replay:NAME), or apply the steps yourself with transform_begin and transform_submit",
			 name, count ? buf_text(&names) : " none");
	buf_fini(&names);
	return rc;
}

/* The specification of a model; NULL when there is none. free(). */
static char *find_spec(struct models *m, const char *name)
{
	char *spec = NULL;
	lock_take(&m->lock);
	for (size_t i = m->count; spec == NULL && i-- > 0;)
		if (strcmp(m->entries[i].name, name) == 0)
			spec = mem_str(m->entries[i].spec);
	lock_release(&m->lock);
	bool is_replay = begins(name, "replay:") && name[7] && name[7] != '.' && strchr(name, '/') == NULL; /* a name, no path */
	return spec || !is_replay ? spec : mem_str(name);
}

int models_open(struct models *m, const char *name, unsigned attempt, struct models_open *ret_open, struct err *e)
{
	struct models_open open = { 0 };
	if (name == NULL || *name == '\0')
		name = "default";
	char *spec = find_spec(m, name);
	if (spec == NULL)
		return unknown(m, name, e);
	int rc = begins(spec, "replay:") ? open_replay(m, spec + 7, attempt, &open, e) : open_llm(spec, &open, e);
	free(spec);
	if (rc < 0)
		return err_wrap(e, "model %s", name);
	if (m->record && open.llm) {
		open.recorder = replay_recorder_new(open.model, m->record, attempt);
		open.model = replay_recorder_model(open.recorder);
	}
	*ret_open = open;
	return 0;
}

void models_trace(struct models_open *open, char *take_traceparent, const struct span *span)
{
	if (open->llm)
		llm_trace(open->llm, take_traceparent, span);
	else
		free(take_traceparent);
}

void models_close(struct models_open *open)
{
	replay_recorder_free(open->recorder);
	llm_free(open->llm);
	replay_free(open->replay);
	*open = (struct models_open){ 0 };
}
