/* sanitize: compute-sanitizer found, put in front of a device worker, and its log read; see sanitize.h. */
#include "core/judge/sanitize.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/context/host.h"
#include "core/context/space.h"
#include "core/workers/trial.h"
#include "core/record/validation.h"

enum { SAMPLES = 2, OVERSAMPLE = 16, SHOWN = 3, LOG_MAX = 8 << 20, POISON = 0xFF, WORDS = 20 };
#define EXECUTE_NS (6 * EVAL_EXECUTE_NS) /* a kernel under a sanitizer is slower by one or two orders of magnitude */

static const char *const tools[] = { "memcheck", "racecheck", "initcheck", "synccheck" };

bool sanitize_known(const char *tool)
{
	for (size_t i = 0; i < MEM_COUNT(tools); i++)
		if (strcmp(tools[i], tool) == 0)
			return true;
	return false;
}

/* --- the tool ----------------------------------------------------------------------------------------------------------------- */

static char *in_folders(const char *list, const char *tail)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		char *path = mem_fmt("%.*s/%s", (int)n, list, tail);
		if (n && access(path, X_OK) == 0)
			return path;
		free(path);
		list += n + (list[n] == ':');
	}
	return NULL;
}

/* Where the tool is; NULL when it is nowhere. free() */
static char *find_tool(void)
{
	static const char *const variables[] = { "PEAKD_CUDA_TOOLKIT", "CUDA_HOME", "CUDA_PATH" };
	const char *named = getenv("PEAKD_SANITIZER");
	char *path = NULL;
	if (named && *named)
		return access(named, X_OK) == 0 ? mem_str(named) : NULL;
	for (size_t i = 0; path == NULL && i < MEM_COUNT(variables); i++)
		path = in_folders(getenv(variables[i]), "bin/compute-sanitizer");
	if (path == NULL)
		path = in_folders("/usr/local/cuda:/opt/cuda", "bin/compute-sanitizer");
	return path ? path : in_folders(getenv("PATH"), "compute-sanitizer");
}

/* Words in front of the worker. The sandbox is off: the tool reaches into the worker through files and sockets that the sandbox closes; what it
 * compiles was compiled by another, sandboxed worker. */
static void make_launcher(const char *exe, const char *tool, const char *log, const char *ret_words[WORDS])
{
	const char *const words[] = {
		"env", "PEAKD_SANDBOX=off", exe, "--tool", tool, "--log-file", log, "--print-limit", "1000", "--show-backtrace", "no",
		"--launch-timeout", "60", "--require-cuda-init", "no", NULL,
	};
	memcpy(ret_words, words, sizeof words);
}

/* --- configurations ------------------------------------------------------------------------------------------------------------- */

static double bytes_of(const struct plan *plan)
{
	double sum = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		sum += (double)plan->buffers[i].bytes;
	return sum;
}

struct sample_configs {
	struct params *at[64];
	size_t count;
	double bytes;        /* of the first */
};

static void sample_configs_fini(struct sample_configs *p)
{
	while (p->count)
		params_free(p->at[--p->count]);
}

/* Points of one size that host code accepts, from a seeded start; taken over when they need less memory than those before. */
static void offer_size(const struct sanitize_request *q, const struct space *space, size_t size, struct sample_configs *io_best)
{
	struct sample_configs p = { .count = 0 };
	size_t first, count, want = q->samples ? q->samples : SAMPLES;
	space_size_range(space, size, &first, &count);
	size_t tries = want * OVERSAMPLE < count ? want * OVERSAMPLE : count, step = tries ? count / tries : 1;
	for (size_t i = 0; i < tries && p.count < want && p.count < MEM_COUNT(p.at); i++) {
		struct params *params = space_at(space, first + (q->seed + i * step) % count);
		struct plan *plan = NULL;
		struct err ignored = ERR_INIT;
		if (host_run(q->ctx, params, q->facts, &plan, &ignored) < 0) {
			params_free(params);
			continue;
		}
		if (p.count == 0)
			p.bytes = bytes_of(plan);
		p.at[p.count++] = params;
		plan_free(plan);
	}
	if (p.count && (io_best->count == 0 || p.bytes < io_best->bytes)) {
		sample_configs_fini(io_best);
		*io_best = p;
	} else {
		sample_configs_fini(&p);
	}
}

static int pick(const struct sanitize_request *q, struct sample_configs *ret_picks, struct err *e)
{
	struct space *space = NULL;
	*ret_picks = (struct sample_configs){ .count = 0 };
	int rc = space_new_check(q->ctx, q->facts, NULL, &space, e);
	for (size_t s = 0; rc == 0 && s < space_size_count(space); s++)
		offer_size(q, space, s, ret_picks);
	space_free(space);
	space = NULL;
	if (rc == 0)
		rc = space_new(q->ctx, q->facts, NULL, &space, e);
	for (size_t s = 0; rc == 0 && s < space_size_count(space); s++)
		offer_size(q, space, s, ret_picks);
	space_free(space);
	return rc;
}

/* --- one configuration behind the tool ---------------------------------------------------------------------------------------------- */

static void read_logs(const char *folder, struct sanitize_log *log)
{
	DIR *d = opendir(folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		struct buf text = BUF_INIT;
		char *path = mem_fmt("%s/%s", folder, entry->d_name);
		FILE *f = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (f) {
			text.len -= LOG_MAX - fread(buf_room(&text, LOG_MAX), 1, LOG_MAX, f);
			text.data[text.len] = '\0';
			fclose(f);
			unlink(path);
			sanitize_log_add(log, buf_text(&text));
		}
		buf_fini(&text);
		free(path);
	}
	if (d)
		closedir(d);
}

/* What the worker itself meets is told in `why`; the tool's findings are in its logs once the lease has ended. */
static int execute(const struct eval *ev, const struct sanitize_request *q, const struct variant *v, const char *const *launcher,
                   struct err *why)
{
	struct pool_worker *worker = NULL;
	struct trial t;
	/* Poisoned buffers are initialised ones: for initcheck what no input fills stays as the driver gave it. */
	bool raw = strcmp(q->tool, "initcheck") == 0;
	struct trial_input input = { .seed = q->seed, .poison = POISON, .keep = raw ? WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS | WIRE_KEEP_RAW : 0 };
	int rc = eval_take_device(ev, q->facts, launcher, &worker, why);
	if (rc < 0)
		return rc;
	rc = trial_begin(&t, worker, v, why);
	if (rc == 0) {
		rc = trial_execute(&t, &input, EXECUTE_NS, NULL, why);
		trial_end(&t);
	}
	pool_give(worker);
	return rc;
}

struct course {
	const struct eval *ev;
	const struct sanitize_request *q;
	const char *exe, *folder;
	struct sanitize_log all;     /* of every configuration */
	char *skipped;               /* NULL */
};

static void take_findings(struct sanitize_log *from, struct sanitize_log *to)
{
	for (size_t i = 0; i < from->count; i++)
		*MEM_PUSH(to->at, to->count) = from->at[i];
	free(from->at);
	free(from->failure);
	*from = (struct sanitize_log){ .at = NULL };
}

/* *ret_verdict, *ret_reason (free()) and the findings, which are added. Negative when cancelled. */
static int try_one(struct course *c, const struct params *params, enum validation_verdict *ret_verdict, char **ret_reason, struct err *e)
{
	struct variant v = { 0 };
	struct sanitize_log log = { .at = NULL };
	struct err why = ERR_INIT;
	const char *launcher[WORDS];
	struct eval lines = *c->ev;
	char *path = mem_fmt("%s/log.%%p", c->folder);
	lines.line_info = true;
	make_launcher(c->exe, c->q->tool, path, launcher);
	int rc = variant_build(&lines, c->q->ctx, params, c->q->facts, &v, &why);
	if (rc == 0) {
		rc = execute(c->ev, c->q, &v, launcher, &why);
		read_logs(c->folder, &log);
	}
	*ret_reason = NULL;
	if (why.code == ERR_CANCELLED) {
		*e = why;
		rc = -ERR_CANCELLED;
	} else if (log.count) {
		*ret_verdict = VALIDATION_FAILED;
		*ret_reason = mem_fmt("%s%s%s", log.at[0].what, *log.at[0].region ? " in " : "", log.at[0].region);
	} else if (rc < 0 || log.failure || !log.complete) {
		/* Nothing was found, but nothing was shown either. */
		*ret_verdict = VALIDATION_SKIPPED;
		*ret_reason = mem_str(log.failure ? log.failure : rc < 0 ? why.text : "the tool wrote no summary");
	} else {
		*ret_verdict = VALIDATION_PASSED;
	}
	take_findings(&log, &c->all);
	variant_fini(&v);
	free(path);
	return rc == -ERR_CANCELLED ? rc : 0;
}

static int record(struct course *c, struct db *db, int64_t checkpoint, const char *job, const struct params *params,
                  enum validation_verdict verdict, const char *reason, struct err *e)
{
	struct params *inputs = params_part(params, false);
	char *sizes = params_text(inputs), *text = params_text(params);
	struct hash seed = hash_bytes(&c->q->seed, sizeof c->q->seed);
	struct validation row = {
		.checkpoint = checkpoint, .validator = c->q->tool, .device = c->q->facts->uuid, .sizes = sizes, .params = text, .size_kind = "input",
		.seed_hash = seed.hex, .verdict = verdict, .reason = reason, .error = NAN, .tolerance = NAN, .took_ns = -1, .job = job,
	};
	int rc = db && checkpoint > 0 ? validation_add(db, &row, e) : 0;
	params_free(inputs);
	free(sizes);
	free(text);
	return rc < 0 ? rc : 0;
}

static int try_all(struct course *c, const struct sample_configs *picks, struct db *db, int64_t checkpoint, const char *job, size_t count[3],
                   struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < picks->count; i++) {
		enum validation_verdict verdict;
		char *reason = NULL;
		rc = try_one(c, picks->at[i], &verdict, &reason, e);
		if (rc == 0) {
			rc = record(c, db, checkpoint, job, picks->at[i], verdict, reason, e);
			count[verdict]++;
			eval_progress(c->ev, (double)(i + 1), (double)picks->count, "%s %zu/%zu", c->q->tool, i + 1, picks->count);
		}
		if (rc == 0 && verdict == VALIDATION_SKIPPED && c->skipped == NULL) {
			c->skipped = reason;
			reason = NULL;
		}
		free(reason);
	}
	return rc;
}

/* Findings of several configurations at the same place are one. */
static void join(struct sanitize_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		for (size_t k = log->count - 1; k > i; k--) {
			struct sanitize_finding *a = &log->at[i], *b = &log->at[k];
			if (a->line != b->line || strcmp(a->what, b->what) != 0 || strcmp(a->region, b->region) != 0 || strcmp(a->kernel, b->kernel) != 0)
				continue;
			a->count += b->count;
			free(b->what);
			free(b->region);
			free(b->kernel);
			free(b->detail);
			*b = log->at[--log->count];
		}
}

static void conclude(struct course *c, const size_t count[3], struct sanitize_result *r)
{
	struct buf details = BUF_INIT;
	join(&c->all);
	r->configurations = count[VALIDATION_PASSED] + count[VALIDATION_FAILED];
	r->passed = count[VALIDATION_PASSED] > 0 && count[VALIDATION_FAILED] == 0 && count[VALIDATION_SKIPPED] == 0;
	r->skipped = r->configurations == 0;
	if (c->all.count) {
		sanitize_log_show(&c->all, c->q->ctx, SHOWN, &details);
		r->details = buf_steal(&details);
		r->summary = mem_fmt("%s: %zu finding%s in %zu of %zu configurations; %.*s", c->q->tool, c->all.count, c->all.count == 1 ? "" : "s",
		                     count[VALIDATION_FAILED], r->configurations, (int)strcspn(r->details, "\n"), r->details);
	} else if (r->passed) {
		r->summary = mem_fmt("%s: nothing found in %zu configurations", c->q->tool, r->configurations);
	} else {
		r->summary = mem_fmt("%s: skipped: %s", c->q->tool, c->skipped ? c->skipped : "no configuration could be run");
	}
	buf_fini(&details);
}

static void skip(const struct sanitize_request *q, const char *why, struct sanitize_result *ret_result)
{
	*ret_result = (struct sanitize_result){ .skipped = true, .summary = mem_fmt("%s: skipped: %s", q->tool, why) };
}

static int run_in(struct course *c, struct db *db, int64_t checkpoint, const char *job, struct sanitize_result *ret_result, struct err *e)
{
	struct sample_configs picks;
	size_t count[VALIDATION_VERDICTS] = { 0 };
	int rc = pick(c->q, &picks, e);
	if (rc == 0 && picks.count == 0)
		skip(c->q, "no configuration is accepted by host code", ret_result);
	else if (rc == 0 && (rc = try_all(c, &picks, db, checkpoint, job, count, e)) == 0)
		conclude(c, count, ret_result);
	sample_configs_fini(&picks);
	return rc;
}

int sanitize_run(const struct eval *ev, const struct sanitize_request *q, struct db *db, int64_t checkpoint, const char *job,
                 struct sanitize_result *ret_result, struct err *e)
{
	const char *tmp = getenv("TMPDIR"), *named = getenv("PEAKD_SANITIZER");
	struct sanitize_result r = { 0 };
	char *exe = find_tool(), *folder = mem_fmt("%s/peakd-sanitizer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct course c = { .ev = ev, .q = q, .exe = exe, .folder = folder };
	int rc = 0;
	if (strcmp(q->facts->backend, "cuda") != 0 && !(named && *named)) {
		skip(q, "compute-sanitizer is for CUDA", &r);
	} else if (exe == NULL) {
		skip(q, "compute-sanitizer is not on this machine (looked in $PEAKD_SANITIZER, the CUDA toolkit's bin and $PATH)", &r);
	} else if (mkdtemp(folder) == NULL) {
		rc = err_sys(e, errno, "%s cannot be made", folder);
	} else {
		rc = run_in(&c, db, checkpoint, job, &r, e);
		rmdir(folder);
	}
	sanitize_log_fini(&c.all);
	free(c.skipped);
	free(exe);
	free(folder);
	if (rc == 0)
		*ret_result = r;
	return rc;
}

void sanitize_result_fini(struct sanitize_result *r)
{
	free(r->summary);
	free(r->details);
	*r = (struct sanitize_result){ 0 };
}
