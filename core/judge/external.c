/* external: which programs there are, and what they are asked; see external.h. What they answer is read in external_answer.c. */
#include "core/judge/external.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/judge/external_answer.h"
#include "core/judge/external_run.h"

enum { PROTOCOL = 1 };
#define DEADLINE_NS (60 * CLOCK_S)

/* --- which there are ---------------------------------------------------------------------------------------------------------- */

struct programs {
	char **at;
	size_t count;
};

static void programs_fini(struct programs *p)
{
	while (p->count)
		free(p->at[--p->count]);
	free(p->at);
}

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* False when it is no folder that can be read. What cannot be executed in it is a note or a part of something that can. */
static bool add_folder(struct programs *p, const char *folder)
{
	DIR *d = opendir(folder);
	size_t first = p->count;
	if (d == NULL)
		return false;
	for (struct dirent *entry; (entry = readdir(d));) {
		char *path = mem_fmt("%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' && is_program(path))
			*MEM_PUSH(p->at, p->count) = path;
		else
			free(path);
	}
	closedir(d);
	if (p->count > first)
		qsort(p->at + first, p->count - first, sizeof p->at[0], by_name);
	return true;
}

/* What is named and is not there stays in the list: starting it fails, and that is said. */
static void list_programs(const char *list, struct programs *p)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		char *path = mem_strn(list, n);
		if (n == 0 || add_folder(p, path))
			free(path);
		else
			*MEM_PUSH(p->at, p->count) = path;
		list += n + (list[n] == ':');
	}
}

static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	return mem_strn(base, strcspn(base, "."));
}

/* --- what they are asked ---------------------------------------------------------------------------------------------------------- */

/* A text that a model wrote need not be UTF-8: then bad bytes are '?'. */
static json_t *text_of(const char *text)
{
	struct buf copy = BUF_INIT;
	json_t *value = json_string(text);
	if (value)
		return value;
	buf_adds(&copy, text);
	for (size_t i = 0; i < copy.len; i++)
		if ((unsigned char)copy.data[i] >= 0x80)
			copy.data[i] = '?';
	value = json_string(buf_text(&copy));
	buf_fini(&copy);
	return value;
}

static json_t *context_of(const struct context *ctx)
{
	json_t *regions = json_object();
	for (int r = 0; r < REGION_COUNT; r++)
		json_object_set_new(regions, context_region_name((enum region)r), text_of(context_region(ctx, (enum region)r)));
	return json_pack("{s:o, s:o, s:s, s:o, s:o}", "kernel", text_of(context_kernel(ctx)), "backend", text_of(context_backend(ctx)), "hash",
	                 context_hash(ctx)->hex, "regions", regions, "source", text_of(context_render(ctx)));
}

static json_t *params_of(const struct params *params)
{
	json_t *all = json_object();
	for (size_t i = 0; i < params->count; i++)
		json_object_set_new(all, params->at[i].name,
		                    params->at[i].is_float ? json_real(params->at[i].f) : json_integer(params->at[i].i));
	return all;
}

static json_t *defines_of(const struct context *ctx, const struct params *params)
{
	size_t count;
	struct wire_define *defines = context_defines(ctx, params, &count);
	json_t *all = json_object();
	for (size_t i = 0; i < count; i++)
		json_object_set_new(all, defines[i].name, text_of(defines[i].value));
	context_defines_free(defines, count);
	return all;
}

static json_t *launches_of(const struct plan *plan)
{
	json_t *all = json_array();
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			json_array_append_new(all, json_pack("{s:o, s:[i,i,i], s:[i,i,i], s:i}", "kernel", text_of(l->kernel), "grid", (int)l->grid[0],
			                                     (int)l->grid[1], (int)l->grid[2], "block", (int)l->block[0], (int)l->block[1],
			                                     (int)l->block[2], "shared_bytes", (int)l->shared));
	}
	return all;
}

/* The question as a text. free() with the C library's free. */
static int ask(const struct external_subject *s, const char *what, char **ret_text, struct err *e)
{
	struct plan *plan = NULL;
	int rc = host_run(s->ctx, s->params, s->facts, &plan, e);
	if (rc < 0)
		return rc;
	json_t *device = json_pack("{s:o, s:o, s:o, s:i}", "id", text_of(s->facts->id), "name", text_of(s->facts->name), "arch",
	                           text_of(s->facts->arch), "warp_size", (int)s->facts->warp_size);
	json_t *all = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "protocol", PROTOCOL, "ask", what, "context", context_of(s->ctx), "params",
	                        params_of(s->params), "defines", defines_of(s->ctx, s->params), "launches", launches_of(plan), "device", device);
	if (isfinite(s->median_ns))
		json_object_set_new(all, "measurement", json_pack("{s:f}", "median_ns", s->median_ns));
	*ret_text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	plan_free(plan);
	return *ret_text ? 0 : err_set(e, ERR_INTERNAL, "the question to the %s cannot be written as JSON", what);
}

/* One program's answer in *out; a failure in *why is its own. Negative when cancelled. */
static int call(const struct eval *ev, const char *path, const char *question, struct buf *out, struct err *why, struct err *e)
{
	int64_t deadline = ev->external->deadline_ns > 0 ? ev->external->deadline_ns : DEADLINE_NS;
	int rc = external_run(path, question, strlen(question), clock_now() + deadline, ev->cancel, out, why);
	if (rc == 0 || why->code != ERR_CANCELLED)
		return 0;
	*e = *why;
	return rc;
}

/* --- validators ------------------------------------------------------------------------------------------------------------------ */

static int ask_validator(const struct eval *ev, const struct external_subject *s, const char *path, const char *question,
                         struct external_answers *all, struct err *e)
{
	struct buf out = BUF_INIT;
	struct err why = ERR_INIT;
	struct external_answer answer = { .name = name_of(path) };
	int64_t start = clock_now();
	int rc = call(ev, path, question, &out, &why, e);
	if (rc == 0 && why.code == ERR_NONE && external_answer_name(answer.name, &why) == 0)
		external_answer_read(out.data, out.len, s->ctx, &answer, &why);
	if (rc == 0 && why.code != ERR_NONE) {
		answer.verdict = VALIDATION_SKIPPED;
		answer.broken = true;
		answer.reason = mem_fmt("the validator itself failed: %s", why.text);
	}
	answer.took_ns = clock_now() - start;
	*MEM_PUSH(all->at, all->count) = answer;
	buf_fini(&out);
	return rc;
}

int external_validate(const struct eval *ev, const struct external_subject *s, struct external_answers *ret_answers, struct err *e)
{
	struct programs programs = { .count = 0 };
	struct external_answers all = { .count = 0 };
	char *question = NULL;
	int rc = 0;
	list_programs(ev->external ? ev->external->validators : NULL, &programs);
	if (programs.count)
		rc = ask(s, "validate", &question, e);
	for (size_t i = 0; rc == 0 && i < programs.count; i++)
		rc = ask_validator(ev, s, programs.at[i], question, &all, e);
	programs_fini(&programs);
	free(question);
	if (rc < 0)
		external_answers_fini(&all);
	else
		*ret_answers = all;
	return rc;
}

void external_answers_fini(struct external_answers *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->at[i].name);
		free(a->at[i].reason);
		free(a->at[i].details);
	}
	free(a->at);
	*a = (struct external_answers){ .count = 0 };
}

/* --- evaluators ------------------------------------------------------------------------------------------------------------------ */

static int ask_evaluator(const struct eval *ev, const char *path, const char *question, struct external_metrics *all, struct err *e)
{
	struct buf out = BUF_INIT;
	struct err why = ERR_INIT;
	char *name = name_of(path);
	int rc = call(ev, path, question, &out, &why, e);
	if (rc == 0 && why.code == ERR_NONE && external_answer_name(name, &why) == 0)
		external_answer_metrics(out.data, out.len, name, all, &why);
	if (rc == 0 && why.code != ERR_NONE)
		*MEM_PUSH(all->skipped, all->skipped_count) = mem_fmt("%s: %s", name, why.text);
	free(name);
	buf_fini(&out);
	return rc;
}

int external_evaluate(const struct eval *ev, const struct external_subject *s, struct external_metrics *ret_metrics, struct err *e)
{
	struct programs programs = { .count = 0 };
	struct external_metrics all = { .count = 0 };
	char *question = NULL;
	int rc = 0;
	list_programs(ev->external ? ev->external->evaluators : NULL, &programs);
	if (programs.count)
		rc = ask(s, "evaluate", &question, e);
	for (size_t i = 0; rc == 0 && i < programs.count; i++)
		rc = ask_evaluator(ev, programs.at[i], question, &all, e);
	programs_fini(&programs);
	free(question);
	if (rc < 0)
		external_metrics_fini(&all);
	else
		*ret_metrics = all;
	return rc;
}

void external_metrics_fini(struct external_metrics *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->at[i].name);
		free(m->at[i].unit);
	}
	for (size_t i = 0; i < m->skipped_count; i++)
		free(m->skipped[i]);
	free(m->at);
	free(m->skipped);
	*m = (struct external_metrics){ .count = 0 };
}
