/* sanitize: finds compute-sanitizer, puts it in front of a device worker, and reads its log; see sanitize.h. */
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
#include "core/judge/check.h"
#include "core/workers/child.h"

enum { SAMPLES = 2, OVERSAMPLE = 16, SHOWN = 3, LOG_MAX = 8 << 20, WORDS = 20 };
#define EXECUTE_NS (6 * EVAL_EXECUTE_NS) /* a kernel under a sanitizer is slower by one or two orders of magnitude */

/* --- the log ------------------------------------------------------------------------------------------------------------------ */

/* A log is lines behind "========= "; a report begins at the left margin and goes on indented. */
#define MARK "========="
enum { LINE_BYTES = 600 };

/* One report while it is read. */
struct report {
	char *what, *place, *detail;
	size_t hazards; /* "[508 hazards]"; 0 not said */
};

static const char *const beginnings[] = {
	"Invalid ",
	"Misaligned ",
	"Uninitialized ",
	"Unused memory",
	"Race reported",
	"Error: Race",
	"Warning: Race",
	"Warning: Potential",
	"Error: Potential",
	"Barrier error",
	"Divergent thread",
	"Stack overflow",
	"Illegal instruction",
	"Malloc/Free",
	"Leaked ",
	"Hardware stack",
	"Out-of-range",
	"Host write",
	"Host read",
	"Warp assert",
	"Device assert",
	"Fatal UVM",
	"Invalid",
};

/* The tool's own troubles. */
static const char *const troubles[] = {
	"Internal Sanitizer Error",
	"Error: Target application terminated before",
	"Unable to find injection",
	"Error: No attachable process",
	"Device not supported",
	"Error: Failed to",
	"Insufficient",
	"Error: The application did not",
	"Unsupported",
	"Cannot ",
};

static bool begins(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static void finding_fini(struct sanitize_finding *f)
{
	free(f->what);
	free(f->region);
	free(f->kernel);
	free(f->detail);
}

/* The same thing at the same place is one finding. */
static void add_finding(struct sanitize_log *log, const struct sanitize_finding *take_finding)
{
	struct sanitize_finding f = *take_finding;
	for (size_t i = 0; i < log->count; i++) {
		struct sanitize_finding *old = &log->at[i];
		if (old->line == f.line && strcmp(old->what, f.what) == 0 && strcmp(old->region, f.region) == 0 &&
		    strcmp(old->kernel, f.kernel) == 0) {
			old->count += f.count;
			finding_fini(&f);
			return;
		}
	}
	*MEM_PUSH(log->at, log->count) = f;
}

static void end_report(struct sanitize_log *log, struct report *r)
{
	struct sanitize_finding f = { .what = NULL };
	if (r->what == NULL)
		return;
	/* "matmul(float *, int)+0x1a0 in device:12", "0x160 in device:12:matmul(float *)" and older "0x00000160 in
	 * device:12:matmul". */
	const char *place = r->place;
	const char *in = place ? strstr(place, " in ") : NULL;
	const char *colon = in ? strchr(in + 4, ':') : NULL;
	f.region = colon ? mem_strn(in + 4, (size_t)(colon - in - 4)) : mem_str("");
	f.line = colon ? strtol(colon + 1, NULL, 10) : 0;
	const char *name = place ? place : "", *behind = colon ? strchr(colon + 1, ':') : NULL;
	if (strncmp(name, "0x", 2) == 0)
		name = behind ? behind + 1 : "";
	f.kernel = mem_strn(name, strcspn(name, "(+ "));
	/* A region's name may come with a folder in front. */
	const char *slash = strrchr(f.region, '/');
	if (slash) {
		char *base = mem_str(slash + 1);
		free(f.region);
		f.region = base;
	}
	f.what = mem_str(r->what);
	f.detail = mem_str(r->detail ? r->detail : "");
	f.count = r->hazards ? r->hazards : 1;
	free(r->what);
	free(r->place);
	free(r->detail);
	*r = (struct report){ .what = NULL };
	add_finding(log, &f);
}

static void add_detail(struct report *r, const char *text)
{
	char *joined = r->detail ? mem_fmt("%s; %s", r->detail, text) : mem_str(text);
	free(r->detail);
	r->detail = joined;
}

static void read_hazards(struct report *r, const char *text)
{
	const char *open = strrchr(text, '['), *end = open ? strstr(open, " hazard") : NULL;
	if (end)
		r->hazards = strtoul(open + 1, NULL, 10);
}

static void read_line(struct sanitize_log *log, struct report *r, const char *text)
{
	size_t indent = strspn(text, " ");
	const char *words = text + indent;
	if (strstr(words, "SUMMARY:")) {
		end_report(log, r);
		log->complete = true;
	} else if (*words == '\0') {
		end_report(log, r);
	} else if (indent > 1) {
		if (r->what) {
			if (strncmp(words, "at ", 3) == 0 && r->place == NULL) {
				r->place = mem_str(words + 3);
			} else if (strncmp(words, "and ", 4) == 0 && strstr(words, " access at ")) {
				char *what = mem_fmt("%s %.*s", r->what, (int)(strstr(words, " at ") - words), words);
				free(r->what);
				r->what = what;
				add_detail(r, words);
				read_hazards(r, words);
			} else if (strncmp(words, "by thread", 9) == 0 || strncmp(words, "Address ", 8) == 0 ||
				   strncmp(words, "Access to ", 10) == 0 || strncmp(words, "and is ", 7) == 0 ||
				   strncmp(words, "Access at ", 10) == 0) {
				add_detail(r, words);
			}
		}
	} else if (begins(words, troubles, MEM_COUNT(troubles))) {
		end_report(log, r);
		if (log->failure == NULL)
			log->failure = mem_str(words);
	} else if (begins(words, beginnings, MEM_COUNT(beginnings))) {
		/* The first line of a race names a place itself: "Race reported between Write access at sum(int *)+0x250 in
		 * device:16". */
		end_report(log, r);
		const char *at = strstr(words, " at ");
		/* Potential hazards name an address there, not a place. */
		if (at && strstr(at, " in ") && strncmp(at + 4, "__", 2) != 0) {
			r->what = mem_strn(words, (size_t)(at - words));
			r->place = mem_str(at + 4);
		} else {
			const char *address = strstr(words, " at __");
			r->what = mem_strn(words, address ? (size_t)(address - words) : strcspn(words, "\n"));
		}
		read_hazards(r, words);
	} else {
		end_report(log, r); /* errors of API calls, banners, notes */
	}
}

void sanitize_log_add(struct sanitize_log *log, const char *text)
{
	struct report r = { .what = NULL };
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char line[LINE_BYTES];
		n = strcspn(text, "\n");
		if (strncmp(text, MARK, sizeof MARK - 1) != 0)
			continue;
		size_t len = n - (sizeof MARK - 1);
		len = len < sizeof line ? len : sizeof line - 1;
		memcpy(line, text + sizeof MARK - 1, len);
		while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
			len--;
		line[len] = '\0';
		read_line(log, &r, line);
	}
	end_report(log, &r);
}

void sanitize_log_fini(struct sanitize_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		finding_fini(&log->at[i]);
	free(log->at);
	free(log->failure);
	*log = (struct sanitize_log){ .at = NULL };
}

static int more_often(const void *a, const void *b)
{
	const struct sanitize_finding *x = a, *y = b;
	return (x->count < y->count) - (x->count > y->count);
}

void sanitize_log_show(const struct sanitize_log *log, const struct context *ctx, size_t max, struct buf *out)
{
	if (log->count == 0)
		return;
	struct sanitize_finding *sorted = mem_copy(log->at, log->count * sizeof *sorted);
	qsort(sorted, log->count, sizeof *sorted, more_often);
	for (size_t i = 0; i < log->count && i < max; i++) {
		const struct sanitize_finding *f = &sorted[i];
		char *source = context_line(ctx, f->region, f->line);
		buf_adds(out, f->what);
		if (f->line)
			buf_addf(out, " at %s:%ld", f->region, f->line);
		if (*f->kernel)
			buf_addf(out, " in %s", f->kernel);
		buf_addf(out, ", reported %zu time%s\n", f->count, f->count == 1 ? "" : "s");
		if (source)
			buf_addf(out, "    %ld | %s\n", f->line, source);
		if (*f->detail)
			buf_addf(out, "    %s\n", f->detail);
		free(source);
	}
	if (log->count > max)
		buf_addf(out, "and %zu more places\n", log->count - max);
	free(sorted);
}

/* --- the tool ----------------------------------------------------------------------------------------------------------------- */

static const char *const tools[] = { "memcheck", "racecheck", "initcheck", "synccheck" };

bool sanitize_known(const char *tool)
{
	for (size_t i = 0; i < MEM_COUNT(tools); i++)
		if (strcmp(tools[i], tool) == 0)
			return true;
	return false;
}

/* --- configurations -------------------------------------------------------------------------------------------------------------
 */

struct picked {
	struct params *at[64];
	size_t count;
	double bytes; /* of the first */
};

static void picked_fini(struct picked *p)
{
	while (p->count)
		params_free(p->at[--p->count]);
}

/* Points of one size that host code accepts, from a seeded start; they replace *io_best when they need less memory. */
static void offer_size(const struct sanitize_request *q, const struct space *space, size_t size, struct picked *io_best)
{
	struct picked p = { .count = 0 };
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
			p.bytes = (double)plan_bytes(plan);
		p.at[p.count++] = params;
		plan_free(plan);
	}
	if (p.count && (io_best->count == 0 || p.bytes < io_best->bytes)) {
		picked_fini(io_best);
		*io_best = p;
	} else {
		picked_fini(&p);
	}
}

static int pick(const struct sanitize_request *q, struct picked *ret_picks, struct err *e)
{
	struct space *check = NULL, *declared = NULL;
	*ret_picks = (struct picked){ .count = 0 };
	int rc = space_new_check(q->ctx, q->facts, NULL, &check, e);
	if (rc == 0)
		rc = space_new(q->ctx, q->facts, NULL, &declared, e);
	for (size_t s = 0; rc == 0 && s < space_size_count(check); s++)
		offer_size(q, check, s, ret_picks);
	for (size_t s = 0; rc == 0 && s < space_size_count(declared); s++)
		offer_size(q, declared, s, ret_picks);
	space_free(check);
	space_free(declared);
	return rc;
}

/* --- one configuration behind the tool
 * ---------------------------------------------------------------------------------------------- */

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

/* The worker's own errors go to `why`; the tool's findings are in its logs once the lease has ended. */
static int execute(const struct eval *ev, const struct sanitize_request *q, const struct variant *v, const char *const *launcher,
		   struct err *why)
{
	struct pool_worker *worker = NULL;
	struct trial t;
	/* Poisoned buffers count as initialised: for initcheck what no input fills stays as the driver gave it. */
	bool raw = strcmp(q->tool, "initcheck") == 0;
	struct trial_input input = { .seed = q->seed,
				     .poison = TRIAL_POISON,
				     .keep = raw ? WIRE_KEEP_SCRATCH | WIRE_KEEP_OUTPUTS | WIRE_KEEP_RAW : 0 };
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

/* One run of the tool over all configurations. */
struct course {
	const struct eval *ev;
	const struct sanitize_request *q;
	const char *exe, *folder;
	struct evidence to;      /* goes there when it has a checkpoint */
	struct sanitize_log all; /* of every configuration */
	char *skipped;           /* NULL */
};

/* *ret_verdict, *ret_reason (free()) and the findings, which are added. Negative when cancelled. */
static int try_one(struct course *c, const struct params *params, enum validation_verdict *ret_verdict, char **ret_reason,
		   struct err *e)
{
	struct variant v = { 0 };
	struct sanitize_log log = { .at = NULL };
	struct err why = ERR_INIT;
	const char *launcher[WORDS];
	struct eval lines = *c->ev;
	char *path = mem_fmt("%s/log.%%p", c->folder);
	lines.line_info = true;
	/* Words in front of the worker. The sandbox is off: the tool reaches into the worker through files and sockets that the
	 * sandbox closes; what it compiles was compiled by another, sandboxed worker. */
	const char *const words[] = {
		"env",  "PEAKD_SANDBOX=off", c->exe, "--tool",           c->q->tool, "--log-file",          path, "--print-limit",
		"1000", "--show-backtrace",  "no",   "--launch-timeout", "60",       "--require-cuda-init", "no", NULL,
	};
	memcpy(launcher, words, sizeof words);
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
	for (size_t i = 0; i < log.count; i++)
		add_finding(&c->all, &log.at[i]);
	free(log.at);
	free(log.failure);
	log = (struct sanitize_log){ .at = NULL };
	variant_fini(&v);
	free(path);
	return rc == -ERR_CANCELLED ? rc : 0;
}

static int try_all(struct course *c, const struct picked *picks, size_t count[VALIDATION_VERDICTS], struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < picks->count; i++) {
		enum validation_verdict verdict;
		char *reason = NULL;
		rc = try_one(c, picks->at[i], &verdict, &reason, e);
		if (rc == 0) {
			const struct params *params = picks->at[i];
			struct hash seed = hash_bytes(&c->q->seed, sizeof c->q->seed);
			struct validation row = {
				.validator = c->q->tool,
				.size_kind = "input",
				.seed_hash = seed.hex,
				.verdict = verdict,
				.reason = reason,
				.error = NAN,
				.tolerance = NAN,
				.took_ns = -1,
			};
			rc = c->to.db && c->to.checkpoint > 0 ? check_evidence(&c->to, params, &row, e) : 0;
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

static void conclude(struct course *c, const size_t count[3], struct sanitize_result *r)
{
	struct buf details = BUF_INIT;
	r->configurations = count[VALIDATION_PASSED] + count[VALIDATION_FAILED];
	r->passed = count[VALIDATION_PASSED] > 0 && count[VALIDATION_FAILED] == 0 && count[VALIDATION_SKIPPED] == 0;
	r->skipped = r->configurations == 0;
	if (c->all.count) {
		sanitize_log_show(&c->all, c->q->ctx, SHOWN, &details);
		r->details = buf_steal(&details);
		r->summary = mem_fmt("%s: %zu finding%s in %zu of %zu configurations; %.*s", c->q->tool, c->all.count,
				     c->all.count == 1 ? "" : "s", count[VALIDATION_FAILED], r->configurations,
				     (int)strcspn(r->details, "\n"), r->details);
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

int sanitize_run(const struct eval *ev, const struct sanitize_request *q, struct db *db, int64_t checkpoint, const char *job,
		 struct sanitize_result *ret_result, struct err *e)
{
	const char *tmp = getenv("TMPDIR"), *named = getenv("PEAKD_SANITIZER");
	struct sanitize_result r = { 0 };
	char *exe = child_find_tool("PEAKD_SANITIZER", "compute-sanitizer"),
	     *folder = mem_fmt("%s/peakd-sanitizer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct course c = { .ev = ev,
			    .q = q,
			    .exe = exe,
			    .folder = folder,
			    .to = { .db = db, .checkpoint = checkpoint, .facts = q->facts, .job = job } };
	struct picked picks = { .count = 0 };
	size_t count[VALIDATION_VERDICTS] = { 0 };
	int rc = 0;
	if (strcmp(q->facts->backend, "cuda") != 0 && !(named && *named)) {
		skip(q, "compute-sanitizer is for CUDA", &r);
	} else if (strchr(q->facts->id, '/')) {
		skip(q, "compute-sanitizer runs on devices of this machine alone", &r);
	} else if (exe == NULL) {
		skip(q, "compute-sanitizer is not on this machine (looked in $PEAKD_SANITIZER, the CUDA toolkit's bin and $PATH)",
		     &r);
	} else if (mkdtemp(folder) == NULL) {
		rc = err_sys(e, errno, "%s cannot be made", folder);
	} else {
		rc = pick(q, &picks, e);
		if (rc == 0 && picks.count == 0)
			skip(q, "host code accepts no configuration", &r);
		else if (rc == 0 && (rc = try_all(&c, &picks, count, e)) == 0)
			conclude(&c, count, &r);
		picked_fini(&picks);
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
