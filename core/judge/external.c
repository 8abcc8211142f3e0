/* external: which programs there are, what they are asked, and how they run; see external.h. external_answer.c reads what they
 * answer. */
#include "core/judge/external.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "core/context/host.h"
#include "core/judge/external_answer.h"
#include "core/workers/child.h"

enum { PROTOCOL = 1, SLICE_MS = 20, ANSWER_MAX = 1 << 20 /* bytes on stdout */ };
#define DEADLINE_NS (60 * CLOCK_S)

/* --- which there are ---------------------------------------------------------------------------------------------------------- */

struct programs {
	char **at;
	size_t count;
};

/* A script that cannot be executed is one whose mode was forgotten: starting it fails, and the answer says so. */
static bool is_program(const char *path)
{
	struct stat st;
	char begin[2] = "";
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	FILE *f = access(path, X_OK) == 0 ? NULL : fopen(path, "re");
	bool script = f && fread(begin, 1, sizeof begin, f) == sizeof begin && memcmp(begin, "#!", sizeof begin) == 0;
	if (f)
		fclose(f);
	return script || access(path, X_OK) == 0;
}

/* False when it is not a readable folder. Other files in it are notes, or parts of programs. */
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
		qsort(p->at + first, p->count - first, sizeof p->at[0], order_texts);
	return true;
}

/* A program that is named but does not exist stays in the list: starting it fails, and the answer says so. */
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

/* --- what they are asked
 * ---------------------------------------------------------------------------------------------------------- */

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
	return json_pack("{s:o, s:o, s:s, s:o, s:o}", "kernel", text_of(context_kernel(ctx)), "backend",
			 text_of(context_backend(ctx)), "hash", context_hash(ctx)->hex, "regions", regions, "source",
			 text_of(context_render(ctx)));
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
			json_array_append_new(all, json_pack("{s:o, s:[i,i,i], s:[i,i,i], s:i}", "kernel", text_of(l->kernel),
							     "grid", (int)l->grid[0], (int)l->grid[1], (int)l->grid[2], "block",
							     (int)l->block[0], (int)l->block[1], (int)l->block[2], "shared_bytes",
							     (int)l->shared));
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
	json_t *all = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "protocol", PROTOCOL, "ask", what, "context",
				context_of(s->ctx), "params", params_of(s->params), "defines", defines_of(s->ctx, s->params),
				"launches", launches_of(plan), "device", device);
	if (isfinite(s->median_ns))
		json_object_set_new(all, "measurement", json_pack("{s:f}", "median_ns", s->median_ns));
	*ret_text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	plan_free(plan);
	return *ret_text ? 0 : err_set(e, ERR_INTERNAL, "the question to the %s cannot be written as JSON", what);
}

/* --- how they run ----------------------------------------------------------------------------------------------------------- */

struct running {
	pid_t pid;
	int out, complaints; /* our ends; -1 closed */
	struct buf said;     /* the end of its stderr */
};

/* A file in memory, at its beginning, so that neither side waits for the other; -1 with errno. */
static int input_file(const char *input)
{
	int fd = memfd_create("peakd-input", MFD_CLOEXEC);
	for (size_t at = 0, len = strlen(input); fd >= 0 && at < len;) {
		ssize_t n = write(fd, input + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static int start(struct running *r, const char *path, const char *input, struct err *e)
{
	int out[2] = { -1, -1 }, complaints[2] = { -1, -1 }, in = input_file(input), rc;
	/* It is named by its path; $PATH is not searched. */
	char *file = mem_fmt("%s%s", strchr(path, '/') ? "" : "./", path);
	if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(complaints, O_CLOEXEC) != 0) {
		rc = err_sys(e, errno, "cannot make the pipes of %s", path);
		goto out;
	}
	rc = child_start((char *const[]){ file, NULL }, in, out[1], complaints[1], &r->pid);
	if (rc != 0) {
		r->pid = 0;
		rc = err_set(e, ERR_NOT_FOUND, "%s cannot be started: %s", path, strerror(rc));
		goto out;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(complaints[0], F_SETFL, O_NONBLOCK);
	r->out = out[0];
	r->complaints = complaints[0];
	out[0] = complaints[0] = -1;
out:
	child_close(&in);
	child_close(&out[0]);
	child_close(&out[1]);
	child_close(&complaints[0]);
	child_close(&complaints[1]);
	free(file);
	return rc;
}

/* Reads what is there now. Closes at the end of the file. */
static void drain(int *fd, struct buf *to, size_t max)
{
	char chunk[4096];
	while (*fd >= 0 && to->len <= max) {
		ssize_t n = read(*fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno != EAGAIN))
			child_close(fd);
		if (n <= 0)
			return;
		buf_add(to, chunk, (size_t)n);
	}
}

static int follow(struct running *r, int64_t deadline, const struct cancel *cancel, struct buf *out, struct err *e)
{
	for (;;) {
		struct pollfd fds[2] = { { .fd = r->out, .events = POLLIN }, { .fd = r->complaints, .events = POLLIN } };
		bool ended = child_has_ended(r->pid);
		drain(&r->out, out, ANSWER_MAX);
		if (out->len > ANSWER_MAX)
			return err_set(e, ERR_CRASH, "it wrote more than %d bytes", ANSWER_MAX);
		/* Complaints may have any length: their end is kept, and one round reads a bounded part of them. */
		drain(&r->complaints, &r->said, 16 * CHILD_WORDS_MAX);
		if (r->said.len > CHILD_WORDS_MAX)
			buf_drop(&r->said, r->said.len - CHILD_WORDS_MAX);
		if (ended)
			return 0;
		if (cancel_check(cancel, e) < 0)
			return -ERR_CANCELLED;
		if (clock_now() >= deadline)
			return err_set(e, ERR_TIMEOUT, "it did not end in time");
		if (r->out < 0 && r->complaints < 0)
			clock_sleep(SLICE_MS * CLOCK_MS / 4);
		else
			poll(fds, 2, SLICE_MS);
	}
}

/* Everything in its group ends with it. */
static int end(struct running *r, int rc, struct err *e)
{
	int status = child_end(r->pid);
	if (rc == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		char *words = child_last_words(&r->said);
		if (WIFSIGNALED(status))
			rc = err_set(e, ERR_CRASH, "it was ended by signal %d (%s)%s", WTERMSIG(status),
				     strsignal(WTERMSIG(status)), words);
		else
			rc = err_set(e, ERR_CRASH, "it exited with status %d%s", WEXITSTATUS(status), words);
		free(words);
	}
	return rc;
}

/* Runs `path` without arguments, `input` as its stdin, until it exits with status 0; *out gets its stdout. deadline: monotonic.
 * -ERR_NOT_FOUND when it cannot be started; -ERR_TIMEOUT; -ERR_CRASH for a signal or another status (with the end of its stderr) or
 * when it writes too much; -ERR_CANCELLED. */
static int run_program(const char *path, const char *input, int64_t deadline, const struct cancel *cancel, struct buf *out,
		       struct err *e)
{
	struct running r = { .pid = 0, .out = -1, .complaints = -1, .said = BUF_INIT };
	int rc = start(&r, path, input, e);
	if (rc == 0) {
		rc = follow(&r, deadline, cancel, out, e);
		rc = end(&r, rc, e);
	}
	child_close(&r.out);
	child_close(&r.complaints);
	buf_fini(&r.said);
	return rc;
}

/* What one program said, or how it failed itself. */
struct reply {
	const struct context *ctx;
	char *name;
	struct buf out;
	struct err why; /* ERR_NONE: it ended well */
	int64_t took_ns;
};

/* Asks every validator, or else every evaluator; `take` gets each reply, and may take its name. */
static int ask_all(const struct eval *ev, const struct external_subject *s, bool validate, void (*take)(void *all, struct reply *r),
		   void *all, struct err *e)
{
	const char *list = ev->external == NULL ? NULL : validate ? ev->external->validators : ev->external->evaluators;
	struct programs programs = { .count = 0 };
	int64_t deadline = ev->external && ev->external->deadline_ns > 0 ? ev->external->deadline_ns : DEADLINE_NS;
	char *question = NULL;
	int rc = 0;
	list_programs(list, &programs);
	if (programs.count)
		rc = ask(s, validate ? "validate" : "evaluate", &question, e);
	for (size_t i = 0; rc == 0 && i < programs.count; i++) {
		struct reply r = { .ctx = s->ctx, .name = name_of(programs.at[i]), .out = BUF_INIT };
		int64_t start = clock_now();
		if (run_program(programs.at[i], question, start + deadline, ev->cancel, &r.out, &r.why) == 0)
			external_answer_name(r.name, &r.why);
		r.took_ns = clock_now() - start;
		if (r.why.code == ERR_CANCELLED) {
			*e = r.why;
			rc = -ERR_CANCELLED;
		} else {
			take(all, &r);
		}
		buf_fini(&r.out);
		free(r.name);
	}
	while (programs.count)
		free(programs.at[--programs.count]);
	free(programs.at);
	free(question);
	return rc;
}

/* --- validators -------------------------------------------------------------------------------------------------------------- */

static void take_answer(void *arg, struct reply *r)
{
	struct external_answers *all = arg;
	struct external_answer answer = { .name = r->name, .took_ns = r->took_ns };
	r->name = NULL;
	if (r->why.code == ERR_NONE)
		external_answer_read(r->out.data, r->out.len, r->ctx, &answer, &r->why);
	if (r->why.code != ERR_NONE) {
		answer.verdict = VALIDATION_SKIPPED;
		answer.broken = true;
		answer.reason = mem_fmt("the validator itself failed: %s", r->why.text);
	}
	*MEM_PUSH(all->at, all->count) = answer;
}

int external_validate(const struct eval *ev, const struct external_subject *s, struct external_answers *ret_answers, struct err *e)
{
	struct external_answers all = { .count = 0 };
	int rc = ask_all(ev, s, true, take_answer, &all, e);
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

/* --- evaluators -------------------------------------------------------------------------------------------------------------- */

static void take_metrics(void *arg, struct reply *r)
{
	struct external_metrics *all = arg;
	if (r->why.code == ERR_NONE)
		external_answer_metrics(r->out.data, r->out.len, r->name, all, &r->why);
	if (r->why.code != ERR_NONE)
		*MEM_PUSH(all->skipped, all->skipped_count) = mem_fmt("%s: %s", r->name, r->why.text);
}

int external_evaluate(const struct eval *ev, const struct external_subject *s, struct external_metrics *ret_metrics, struct err *e)
{
	struct external_metrics all = { .count = 0 };
	int rc = ask_all(ev, s, false, take_metrics, &all, e);
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
	mem_free_texts(m->skipped, m->skipped_count);
	free(m->at);
	*m = (struct external_metrics){ .count = 0 };
}
