/* selftest: see selftest.h. */
#include "core/judge/selftest.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/judge/validate.h"

enum { SAMPLES = 2 };

/* One file of the suite. */
struct specimen {
	char *name; /* without .peak.md */
	bool bad;
	struct context *ctx, *baseline;
	struct err why;    /* why it could not be read: for some cheats that is the refusal */
	char *because;     /* of the cheats: part of the reason that is expected */
	bool compile_only; /* the compiler's or host code's refusal needs no device */
};

static void specimen_fini(struct specimen *s)
{
	free(s->name);
	free(s->because);
	context_free(s->ctx);
	context_free(s->baseline);
}

/* --- reading ------------------------------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(const char *folder, const char *only, char ***ret_names, size_t *ret_count, struct err *e)
{
	DIR *d = opendir(folder);
	char **names = NULL;
	size_t count = 0;
	if (d == NULL)
		return err_set(e, ERR_NOT_FOUND,
			       "the suite's folder %s cannot be read: %s; install peakd whole, or set PEAKD_SHARE to a source "
			       "tree",
			       folder, strerror(errno));
	for (struct dirent *x; (x = readdir(d)) != NULL;)
		if ((ends_with(x->d_name, ".bad.peak.md") || ends_with(x->d_name, ".good.peak.md")) &&
		    (!only || strstr(x->d_name, only)))
			*MEM_PUSH(names, count) = mem_str(x->d_name);
	closedir(d);
	if (count)
		qsort(names, count, sizeof *names, by_name);
	*ret_names = names;
	*ret_count = count;
	return 0;
}

/* The value of a line `KEY: value` in the prose of a context's text; NULL when there is none. free(). */
static char *line_of(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
		if (strncmp(at, key, n) == 0 && at[n] == ':') {
			const char *value = at + n + 1 + strspn(at + n + 1, " ");
			return mem_strn(value, strcspn(value, "\r\n"));
		}
	return NULL;
}

static void read_baseline(struct specimen *s, const char *folder, const char *name)
{
	char *path = mem_fmt("%s/%s.root.peak.md", folder, name);
	if (context_load(path, &s->baseline, &s->why) < 0)
		s->why.code = ERR_INTERNAL; /* a mistake in the suite is not a refusal */
	free(path);
}

static void specimen_read(const char *folder, const char *file, struct specimen *s)
{
	char *path = mem_fmt("%s/%s", folder, file), *root = NULL, *needs = NULL;
	*s = (struct specimen){ .name = mem_strn(file, strlen(file) - strlen(".peak.md")), .bad = ends_with(file, ".bad.peak.md") };
	if (context_load(path, &s->ctx, &s->why) == 0) {
		const char *text = context_render(s->ctx);
		s->because = line_of(text, "Because");
		root = line_of(text, "Root");
		needs = line_of(text, "Needs");
		s->compile_only = needs && strcmp(needs, "compiler") == 0;
		if (root)
			read_baseline(s, folder, root);
		else
			s->baseline = context_ref(s->ctx);
	}
	free(root);
	free(needs);
	free(path);
}

/* --- judging ------------------------------------------------------------------------------------------------------------ */

static const struct facts *find_device(const struct specimen *s, const struct facts *devices, size_t count)
{
	const struct facts *found = NULL;
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i].backend, context_backend(s->ctx)) == 0 && (!found || (devices[i].runs && !found->runs)))
			found = &devices[i];
	return found;
}

/* What a verdict means for this specimen. */
static enum selftest_outcome outcome(const struct specimen *s, const struct validate_result *v, char **ret_text)
{
	bool expected = s->because && strstr(v->summary, s->because);
	if (!s->bad || (!v->passed && expected)) {
		*ret_text = mem_str(v->summary);
		if (s->bad)
			return SELFTEST_REFUSED;
		return v->passed ? SELFTEST_PASSED : v->failed_count == 0 && v->skipped_count ? SELFTEST_SKIPPED : SELFTEST_BROKEN;
	}
	*ret_text = mem_fmt("%s; expected: %s", v->summary, s->because ? s->because : "(the file has no line Because:)");
	return SELFTEST_BROKEN;
}

static enum selftest_outcome judge(const struct eval *ev, const struct specimen *s, const struct facts *facts, char **ret_text,
				   struct err *e)
{
	struct validate_request q = { .ctx = s->ctx,
				      .baseline = s->baseline,
				      .parent = s->baseline,
				      .facts = facts,
				      .samples = SAMPLES,
				      .seed = check_seed() };
	struct validate_result v = { 0 };
	bool executed = facts->runs && !s->compile_only;
	int rc =
		executed ? validate_run(ev, &q, NULL, 0, NULL, &v, e) : validate_compile(ev, s->ctx, facts, SAMPLES, q.seed, &v, e);
	enum selftest_outcome result = SELFTEST_BROKEN;
	if (rc < 0) {
		/* A baseline that cannot judge is refused by peakd itself. */
		if (s->bad && s->because && strstr(e->text, s->because))
			result = SELFTEST_REFUSED;
		else if (e->code == ERR_UNSUPPORTED)
			result = SELFTEST_SKIPPED;
		*ret_text = mem_str(e->text);
	} else if (!executed && v.passed && !s->compile_only) {
		*ret_text = mem_fmt("compiled for %s; a device must run it", facts->id);
		result = SELFTEST_SKIPPED;
	} else {
		result = outcome(s, &v, ret_text);
	}
	validate_result_fini(&v);
	return result;
}

int selftest_run(const struct eval *ev, const struct selftest_request *q, struct selftest_counts *ret_counts, struct err *e)
{
	char **names = NULL;
	size_t count = 0;
	struct selftest_counts counts = { { 0 } };
	int rc = list(q->folder, q->only, &names, &count, e);
	for (size_t i = 0; i < count; i++) {
		struct specimen s;
		struct err why = ERR_INIT;
		char *text = NULL;
		if (rc == 0) {
			specimen_read(q->folder, names[i], &s);
			const struct facts *facts = s.why.code == ERR_NONE ? find_device(&s, q->devices, q->device_count) : NULL;
			enum selftest_outcome got = SELFTEST_BROKEN;
			if (s.why.code != ERR_NONE) {
				text = mem_str(s.why.text);
			} else if (facts == NULL) {
				text = mem_fmt("no %s device or compiler here", context_backend(s.ctx));
				got = SELFTEST_SKIPPED;
			} else {
				got = judge(ev, &s, facts, &text, &why);
			}
			if (why.code == ERR_CANCELLED)
				rc = (*e = why, -ERR_CANCELLED);
			for (char *c = text; (c = strchr(c, '\n')) != NULL;)
				*c = ' ';
			counts.of[got]++;
			q->tell(q->arg, &(struct selftest_result){ .name = s.name, .outcome = got, .text = text });
			specimen_fini(&s);
		}
		free(text);
		free(names[i]);
	}
	free(names);
	if (rc == 0)
		*ret_counts = counts;
	return rc;
}
