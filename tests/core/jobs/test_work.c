/* core/jobs/work: jobs from request to result on the device of this machine. Contexts of several shapes are validated and tuned,
 * and compile-only devices are called what they are. A transformation's file is read once, and a cancel is answered within a second
 * wherever it comes. */
#include "core/jobs/work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/jobs/engine.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/record/validation.h"
#include "core/sample.h"
#include "pace.h"

/* Two outputs, a scalar that is no integer, two sizes, no tuning parameters. */
static const char plain[] = "---\n"
			    "kernel: split\n"
			    "backend: hlsl\n"
			    "inputs:\n"
			    "  n: int = {512, 1024}\n"
			    "  a: f32 = 1.5\n"
			    "  X: f32[n] = random\n"
			    "  Y: out f32[n]\n"
			    "  Z: out f32[n]\n"
			    "---\n"
			    "```hlsl\n"
			    "[numthreads(64, 1, 1)]\n"
			    "void split(uint3 id : SV_DispatchThreadID) {\n"
			    "  if (id.x >= uint(n)) return;\n"
			    "  Y[id.x] = a * X[id.x];\n"
			    "  Z[id.x] = X[id.x] - a;\n"
			    "}\n```\n"
			    "```lua host\n"
			    "launch(\"split\", {cdiv(n, 64)}, {64}, {X, Y, Z, n, a})\n"
			    "```\n";

/* Compiles, starts, and then runs for as long as the device lets it. */
static const char *const endless = "for (int r = 0; r < 2000000; r++) acc += A[row*n+k]*B[k*n+col]*(1.0/2000000);";

struct bench {
	struct sample s;
	struct work work;
	struct engine *engine;
};

static char *submit(struct bench *b, const char *name, int64_t checkpoint, const char *key, const char *value)
{
	const struct engine_kind *kind = work_kind(name);
	struct err e = ERR_INIT;
	char *id = NULL;
	bool fresh;
	void *request = layout_new(kind->request);
	char *json = mem_fmt("{\"checkpoint\":%lld,\"budget\":3,\"samples\":3%s%s%s%s%s}", (long long)checkpoint, key ? ",\"" : "",
			     key ? key : "", key ? "\":\"" : "", key ? value : "", key ? "\"" : "");
	if (layout_read_text(kind->request, json, request, &e) < 0 ||
	    engine_submit(b->engine, b->s.db, &(struct engine_submission){ name, request, false, NULL }, &id, &fresh, &e) < 0)
		printf("# %s\n", e.text);
	layout_free(kind->request, request);
	free(json);
	return id;
}

/* Until it has ended, however long it waits for a device that other tests use, too. The result is empty when there is none. */
static enum job_state outcome(struct bench *b, const char *id, json_t **ret_result, char **ret_error)
{
	struct err e = ERR_INIT;
	enum job_state state = JOB_FAILED;
	*ret_result = NULL;
	for (;;) {
		struct job job;
		if (job_get(b->s.db, id, &job, &e) < 0)
			break;
		state = job.state;
		bool ended = job_state_ended(state);
		if (ended)
			*ret_result = job.result ? json_loads(job.result, 0, NULL) : NULL;
		if (ended)
			*ret_error = mem_str(job.error_text ? job.error_text : "");
		job_fini(&job);
		if (ended)
			return state;
		clock_sleep(10 * CLOCK_MS);
	}
	*ret_error = mem_str(e.text);
	return state;
}

/* A figure of the first input size; a text of it, or of the result. */
static double first(const json_t *r, const char *name)
{
	return json_number_value(json_object_get(json_array_get(json_object_get(r, "sizes"), 0), name));
}

static const char *first_text(const json_t *r, const char *name)
{
	const char *text = json_string_value(json_object_get(json_array_get(json_object_get(r, "sizes"), 0), name));
	return text ? text : "";
}

static const char *text_of(const json_t *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r, name));
	return text ? text : "";
}

static struct context *parse(const char *text)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse("plain", text, &ctx, &e) < 0)
		printf("# %s\n", e.text);
	return ctx;
}

/* Runs a job to its end and keeps its result. */
static enum job_state run(struct bench *b, const char *kind, int64_t checkpoint, const char *name, const char *value,
			  json_t **ret_result, char **ret_error)
{
	char *id = submit(b, kind, checkpoint, name, value);
	enum job_state state = outcome(b, id, ret_result, ret_error);
	free(id);
	return state;
}

static void shapes(struct bench *b)
{
	struct context *ctx = parse(plain);
	int64_t checkpoint = sample_checkpoint(&b->s, ctx);
	json_t *r;
	char *error = NULL;
	is_int(run(b, "validate", checkpoint, NULL, NULL, &r, &error), JOB_DONE, "two outputs and a real scalar: validate %s",
	       error);
	ok(json_is_true(json_object_get(r, "passed")), "and pass: %s", text_of(r, "summary"));
	json_decref(r);
	free(error);
	is_int(run(b, "tune", checkpoint, NULL, NULL, &r, &error), JOB_DONE, "without tuning parameters: tune %s", error);
	is_int(json_integer_value(json_object_get(r, "count")), 2, "at both sizes");
	is_int(first(r, "space"), 1, "spaces of one point");
	ok(first(r, "estimated_seconds") > 0, "an estimate was given");
	json_decref(r);
	free(error);
	is_int(run(b, "tune", checkpoint, "sizes", "n=512", &r, &error), JOB_DONE, "one size alone: tune %s", error);
	is_int(json_integer_value(json_object_get(r, "count")), 1, "at that size");
	has_str(first_text(r, "size"), "n=512", "and no other");
	json_decref(r);
	free(error);
	context_free(ctx);
}

static void evidence(struct bench *b, int64_t checkpoint)
{
	struct measurement_list list;
	struct measurement_query q = { .checkpoint = checkpoint };
	struct err e = ERR_INIT;
	struct measurement best;
	size_t quoted = 0, few = 0;
	measurement_list(b->s.db, &q, &list, &e);
	for (size_t i = 0; i < list.count; i++) {
		quoted += list.at[i].validation != 0;
		few += list.at[i].validation != 0 && list.at[i].sample_count < 10;
	}
	ok(list.count > quoted && quoted > 0 && few == 0, "only leaders have evidence, and ten samples (%zu of %zu rows)", quoted,
	   list.count);
	measurement_list_fini(&list);
	if (measurement_best(b->s.db, &q, &best, &e) == 0) {
		struct validation v;
		is_int(validation_of(b->s.db, checkpoint, best.device, best.params, &v, &e), 0, "the best points at a validation");
		ok(best.validation > 0 && v.id >= best.validation && v.verdict == VALIDATION_PASSED,
		   "and the newest of these parameters, behind the pairs, passed");
		validation_fini(&v);
		measurement_fini(&best);
	}
}

/* After a refutation no job says how fast the checkpoint is, whatever it measures. */
static void refuted(struct bench *b, int64_t checkpoint)
{
	json_t *r;
	struct err e = ERR_INIT;
	char *error = NULL;
	is_int(run(b, "profile", checkpoint, NULL, NULL, &r, &error), JOB_DONE, "a profile %s", error);
	ok(first(r, "cold_ns") > 0 && first(r, "evidence") > 0, "says how fast it is, and on what evidence");
	json_decref(r);
	free(error);
	checkpoint_set_status(b->s.db, checkpoint, CHECKPOINT_FAILED, "a planted reason", &e);
	is_int(run(b, "profile", checkpoint, NULL, NULL, &r, &error), JOB_FAILED, "not so of a checkpoint that was refuted");
	has_str(error, "a planted reason", "which is said");
	ok(first(r, "cold_ns") == 0, "without a figure");
	json_decref(r);
	free(error);
	is_int(run(b, "tune", checkpoint, NULL, NULL, &r, &error), JOB_DONE, "it can be tuned %s", error);
	has_str(first_text(r, "unproven"), "a planted reason", "but what comes of it is not proven");
	json_decref(r);
	free(error);
	checkpoint_set_status(b->s.db, checkpoint, CHECKPOINT_DRAFT, NULL, &e);
}

static void tuned(struct bench *b)
{
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	int64_t checkpoint = sample_checkpoint(&b->s, ctx);
	json_t *r;
	char *error = NULL;
	is_int(run(b, "tune", checkpoint, NULL, NULL, &r, &error), JOB_DONE, "a matmul: tune %s", error);
	ok(first(r, "median_ns") > 0 && first(r, "tried") == 3, "within its budget");
	json_decref(r);
	free(error);
	evidence(b, checkpoint);
	refuted(b, checkpoint);
	is_int(run(b, "tune", checkpoint, "sizes", "n=lots", &r, &error), JOB_FAILED, "a size that is none is refused");
	ok(*error != '\0', "with a message: %s", error);
	json_decref(r);
	free(error);
	is_int(run(b, "validate", checkpoint, "device", "hlsl:7", &r, &error), JOB_FAILED, "a device that is not there is refused");
	has_str(error, "hlsl:0", "and those that are get named");
	json_decref(r);
	free(error);
	context_free(ctx);
}

/* Whether a job says that, before it ends. */
static bool says(struct bench *b, const char *id, const char *words)
{
	struct err e = ERR_INIT;
	bool said = false, ended = false;
	while (!said && !ended) {
		struct event_list events = { .count = 0 };
		struct job job = { .id = NULL };
		ended = job_get(b->s.db, id, &job, &e) < 0 || job_state_ended(job.state);
		job_fini(&job);
		event_since(b->s.db, id, 0, 0, &events, &e);
		for (size_t i = 0; i < events.count && !said; i++)
			said = strstr(events.at[i].message, words) != NULL;
		event_list_fini(&events);
		clock_sleep(said || ended ? 0 : 5 * CLOCK_MS);
	}
	return said;
}

/* Cancels a job that was submitted; false when it was done before it heard of that. */
static bool cancelled(struct bench *b, const char *id, const char *what, const char *when)
{
	struct err e = ERR_INIT;
	json_t *r;
	char *error = NULL;
	struct pace pace = pace_begin();
	engine_cancel(b->engine, b->s.db, id, &e);
	enum job_state state = outcome(b, id, &r, &error);
	bool soon = pace_within(&pace, CLOCK_S);
	if (state != JOB_DONE)
		ok(state == JOB_CANCELLED && soon, "%s cancelled %s ends within a second (%s, %s)", what, when, pace_text(&pace),
		   error);
	json_decref(r);
	free(error);
	return state != JOB_DONE;
}

static bool cancelled_after(struct bench *b, const char *kind, int64_t checkpoint, int64_t ms)
{
	char *id = submit(b, kind, checkpoint, NULL, NULL), *when = mem_fmt("after %lld ms", (long long)ms);
	clock_sleep(ms * CLOCK_MS);
	bool heard = cancelled(b, id, kind, when);
	free(when);
	free(id);
	return heard;
}

static bool cancelled_in_line(struct bench *b, int64_t checkpoint)
{
	char *id = submit(b, "validate", checkpoint, NULL, NULL);
	bool heard = says(b, id, "another job uses it") && cancelled(b, id, "validate", "in line for the device");
	free(id);
	return heard;
}

static void cancels(struct bench *b)
{
	static const int64_t moments[] = { 0, 30, 100, 300, 1000 };
	struct context *slow = sample_context(endless), *ctx = sample_context(SAMPLE_RIGHT);
	int64_t checkpoint = sample_checkpoint(&b->s, slow), right = sample_checkpoint(&b->s, ctx);
	bool heard = false;
	for (size_t i = 0; i < MEM_COUNT(moments); i++)
		ok(cancelled_after(b, i % 2 ? "validate" : "tune", checkpoint, moments[i]), "and what never ends was not done");
	/* What does end may have done so: then another. */
	for (int i = 0; i < 20 && !heard; i++)
		heard = cancelled_after(b, "tune", right, 60);
	ok(heard, "a tune is cancelled before it is done");
	/* One holds the device, another waits for it, once that has it. */
	char *holder = submit(b, "validate", checkpoint, NULL, NULL), *error = NULL;
	struct err e = ERR_INIT;
	json_t *r;
	heard = false;
	for (int i = 0; i < 20 && !heard; i++)
		heard = cancelled_in_line(b, right);
	ok(heard, "a validation is cancelled before it had the device");
	engine_cancel(b->engine, b->s.db, holder, &e);
	outcome(b, holder, &r, &error);
	json_decref(r);
	free(error);
	free(holder);
	is_int(run(b, "validate", right, NULL, NULL, &r, &error), JOB_DONE, "afterwards a job finds healthy workers %s", error);
	ok(json_is_true(json_object_get(r, "passed")), "and passes");
	json_decref(r);
	free(error);
	context_free(slow);
	context_free(ctx);
}

/* A transformation's file that is saved anew while somebody reads it: what is read first is a pipe, and another file from then
 * on. */
struct saved {
	char *pipe, *later;
};

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		printf("# %s cannot be written\n", path);
}

static void *save_anew(void *arg)
{
	static const char text[] = "---\nname: once\nsummary: A constant.\n---\n## Pass 1: A constant\nexpect: valid\n\n"
				   "### device\n```hlsl insert\nstatic const int FIRST = 1;\n```\n";
	struct saved *s = arg;
	int fd = open(s->pipe, O_WRONLY | O_CLOEXEC); /* somebody has opened it */
	if (rename(s->later, s->pipe) != 0 || write(fd, text, sizeof text - 1) < 0)
		printf("# %s cannot be saved anew\n", s->pipe);
	close(fd);
	return NULL;
}

static void saved_anew(struct bench *b)
{
	static const char model[] = "openai:http://127.0.0.1:9/v1?model=never-asked";
	struct saved s = { .pipe = mem_fmt("%s/once.md", b->s.folder), .later = mem_fmt("%s/later", b->s.folder) };
	const char *folders[] = { b->s.folder };
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	int64_t checkpoint = sample_checkpoint(&b->s, ctx);
	struct err e = ERR_INIT;
	json_t *r;
	char *error = NULL;
	pthread_t thread;
	struct library *empty = b->work.library;
	b->work.library = library_new(folders, 1);
	b->work.models = models_new(NULL, 0);
	is_int(models_add(b->work.models, model, &e), 0, "a model %s", e.text);
	write_text(s.later, "something else\n");
	if (mkfifo(s.pipe, 0600) != 0)
		printf("# no pipe\n");
	pthread_create(&thread, NULL, save_anew, &s);
	is_int(run(b, "transform", checkpoint, "transformation", "once", &r, &error), JOB_DONE,
	       "a transformation whose file is saved anew meanwhile is carried out as it was read at first %s", error);
	ok(json_integer_value(json_object_get(r, "checkpoint")) > checkpoint, "and makes a checkpoint");
	int unread = open(s.pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a job that never came so far leaves the writer waiting */
	pthread_join(thread, NULL);
	close(unread);
	json_decref(r);
	free(error);
	free(s.pipe);
	free(s.later);
	models_free(b->work.models);
	library_free(b->work.library);
	b->work.models = NULL;
	b->work.library = empty;
	context_free(ctx);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct err e = ERR_INIT;
	sample_worker(argc, argv);
	sample_init(&b.s);
	if (!b.s.ready) {
		SKIP(1, "no HLSL device");
		sample_fini(&b.s);
		return tap_done();
	}
	b.work = (struct work){
		.store = b.s.store, .pool = b.s.pool, .references = b.s.references, .library = library_new(NULL, 0)
	};
	struct engine_config config = { .store = b.s.store, .pool = b.s.pool, .kinds = work_kinds, .user = &b.work, .threads = 4 };
	is_int(engine_new(&config, &b.engine, &e), 0, "an engine");
	shapes(&b);
	tuned(&b);
	saved_anew(&b);
	cancels(&b);
	engine_free(b.engine);
	library_free(b.work.library);
	sample_fini(&b.s);
	return tap_done();
}
