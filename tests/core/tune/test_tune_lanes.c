/* core/tune/tune on one device and on two of them, by a worker without compiler and device: a device on which no worker can be
 * started any more is left, and what it was given goes to the other one. Where there is no other the tune ends with that, instead
 * of calling all configurations wrong. */
#include "core/tune/tune.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "bench/fake_worker.h"
#include "core/sample.h"
#include "core/record/measurement.h"
#include "core/workers/device_lock.h"

enum { POINTS = 40, IN_SEARCH = 6, IN_PLAYOFF = POINTS + 5 };

/* $PEAKD_TEST_GONE: "DEVICE TYPE COUNT FILE BACK": once, at that request, that device is gone, until there is something in the file
 * that there is from then on; with BACK that is so at once, so that only the worker is gone. Another device waits at that request
 * until it has come to that: threads may be served as they will, that one gets as many. */
static bool gone(unsigned device, enum wire_type type, unsigned count)
{
	char file[256];
	unsigned which, at, last, back;
	struct stat about;
	const char *text = getenv("PEAKD_TEST_GONE");
	if (text == NULL || sscanf(text, "%u %u %u %255s %u", &which, &at, &last, file, &back) != 5)
		return false;
	for (int i = 0; which != device && type == at && count == last && access(file, F_OK) != 0 && i < 6000; i++)
		clock_sleep(10 * CLOCK_MS);
	if (which != device)
		return false;
	bool first = type == at && count == last && access(file, F_OK) != 0;
	if (first) {
		FILE *mark = fopen(file, "w");
		fputs(back ? "back" : "", mark);
		fclose(mark);
	}
	return first || (stat(file, &about) == 0 && about.st_size == 0);
}

static uint64_t time_of(const char *defines, enum fake_timing how)
{
	const char *at = strstr(defines, "X=");
	(void)how;
	return 1000000 + 1000 * (uint64_t)(at ? atoi(at + 2) : 0);
}

static struct context *context_of(void)
{
	struct err e = ERR_INIT;
	struct context *ctx = NULL;
	if (context_parse("devices",
			  "---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {64}\n  A: f32[64] = random\n  C: out f32[64]\n"
			  "tune:\n  X: i for i = 1,40\n---\n```hlsl\n[numthreads(64, 1, 1)]\n"
			  "void k(uint3 id : SV_DispatchThreadID) { C[id.x] = X; }\n"
			  "```\n```lua host\nlaunch(\"k\", {1}, {64}, {A, C, n})\n```\n",
			  &ctx, &e) < 0)
		printf("# %s\n", e.text);
	return ctx;
}

struct scene {
	struct sample s;
	struct context *ctx;
	struct facts *facts;
	size_t count;
	int64_t checkpoint;
	struct params *size;
};

static void scene_init(struct scene *c)
{
	struct err e = ERR_INIT;
	sample_init(&c->s);
	c->ctx = context_of();
	c->checkpoint = sample_checkpoint(&c->s, c->ctx);
	c->size = params_new();
	params_set_int(c->size, "n", false, 64);
	is_int(pool_device_set(c->s.pool, "hlsl:all", &c->facts, &c->count, &e), 0, "two devices %s", e.text);
}

static void scene_fini(struct scene *c)
{
	params_free(c->size);
	free(c->facts);
	context_free(c->ctx);
	sample_fini(&c->s);
}

static int tune(struct scene *c, size_t devices, double device_seconds, struct tune_result *ret_result, struct err *e)
{
	struct eval ev = { .pool = c->s.pool, .references = c->s.references };
	struct tune_request q = { .ctx = c->ctx, .baseline = c->ctx, .facts = c->facts, .device_count = devices, .size = c->size,
				  .budget = POINTS, .device_seconds = device_seconds, .strategy = "exhaustive", .seed = 1 };
	return tune_run(&ev, &q, c->s.db, c->checkpoint, "devices", ret_result, e);
}

/* Of that device: rows that may be quoted. */
static size_t quotable(struct scene *c, const char *uuid)
{
	struct measurement_query q = { .checkpoint = c->checkpoint, .device = uuid };
	struct measurement_list rows = { .count = 0 };
	struct err e = ERR_INIT;
	measurement_top(c->s.db, &q, &rows, &e);
	size_t n = rows.count;
	measurement_list_fini(&rows);
	return n;
}

static size_t crashed(struct scene *c)
{
	struct measurement_query q = { .checkpoint = c->checkpoint };
	struct measurement_list rows = { .count = 0 };
	struct err e = ERR_INIT;
	size_t n = 0;
	measurement_list(c->s.db, &q, &rows, &e);
	for (size_t i = 0; i < rows.count; i++)
		n += rows.at[i].status == MEASUREMENT_CRASH;
	measurement_list_fini(&rows);
	return n;
}

static void shared(void)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	scene_init(&c);
	is_int(tune(&c, 2, 0, &t, &e), 0, "a tune on both %s", e.text);
	ok(t.tried == POINTS && t.timed == POINTS && t.top_count == 3, "all are tried once (%zu), and three are validated (%zu)",
	   t.tried, t.top_count);
	tune_result_fini(&t);
	scene_fini(&c);
}

static void out_of_time(void)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	setenv("PEAKD_BENCH_FAKE", "0 100000 2", 1);
	scene_init(&c);
	is_int(tune(&c, 2, 0.2, &t, &e), 0, "a tune with a budget of device time %s", e.text);
	ok(t.tried > 0 && t.tried < POINTS, "the budget was over before all were tried (%zu)", t.tried);
	ok(t.device_ns >= (int64_t)t.tried * 100000000 && t.device_lasted_ns > t.device_ns,
	   "the result tells where the devices' time went: %lld of %lld ms", (long long)t.device_ns / 1000000,
	   (long long)t.device_lasted_ns / 1000000);
	tune_result_fini(&t);
	scene_fini(&c);
	setenv("PEAKD_BENCH_FAKE", "0 1000 2", 1);
}

/* The file is not there yet. */
static void will_go(unsigned device, enum wire_type type, unsigned count, bool back, char file[32])
{
	char text[96];
	strcpy(file, "/tmp/peakd-gone-XXXXXX");
	close(mkstemp(file));
	unlink(file);
	snprintf(text, sizeof text, "%u %u %u %s %u", device, type, count, file, back);
	setenv("PEAKD_TEST_GONE", text, 1);
}

static void one_of_two_goes(unsigned device, enum wire_type type)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	char file[32];
	will_go(device, type, IN_SEARCH, false, file);
	scene_init(&c);
	is_int(tune(&c, 2, 0, &t, &e), 0, "a tune that loses its %s device %s", device ? "second" : "first", e.text);
	size_t broken = type == WIRE_EXECUTE;
	is_int(access(file, F_OK), 0, "the device was lost");
	ok(t.tried == POINTS && t.timed == POINTS - broken && t.broken == broken,
	   "the other device tries all (%zu), and only what ran counts as broken (%zu)", t.timed, t.broken);
	const char *other = c.facts[device == 0].uuid;
	ok(t.top_count == 3 && quotable(&c, other) == 3, "finalists are validated on the other device (%zu)", quotable(&c, other));
	tune_result_fini(&t);
	scene_fini(&c);
	unlink(file);
}

static void all_go(enum wire_type type, unsigned count)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	char file[32];
	will_go(0, type, count, false, file);
	scene_init(&c);
	is_int(tune(&c, 1, 0, &t, &e), count == IN_SEARCH ? -ERR_CRASH : -ERR_IO, "a tune that loses its only device %s ends",
	       count == IN_SEARCH ? "in the search" : "behind it");
	has_str(e.text, count == IN_SEARCH ? "no device is left" : "opening hlsl:0", "and says so");
	size_t ran = type == WIRE_EXECUTE && count == IN_SEARCH;
	is_int((long long)crashed(&c), (long long)ran, "a configuration that had not run does not count as crashed");
	FILE *there = fopen(file, "w");
	ok(there && fputs("back", there) > 0 && fclose(there) == 0, "the device comes back");
	e = (struct err)ERR_INIT;
	is_int(tune(&c, 1, 0, &t, &e), 0, "the tune resumes when the device is back %s", e.text);
	ok(t.tried == POINTS && t.timed == POINTS - ran && t.resumed > 0,
	   "a resumed tune tries what is left (%zu timed, %zu known)", t.timed, t.resumed);
	tune_result_fini(&t);
	scene_fini(&c);
	unlink(file);
	unsetenv("PEAKD_TEST_GONE");
}

/* Another process has the second device and does not give it back: nobody waits for it behind the last configuration. */
static void one_is_taken(void)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	scene_init(&c);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[DEVICE_LOCK_NAME];
	device_lock_name(&c.facts[1], getenv("PEAKD_LOCK_SPACE"), name, &e);
	memcpy(address.sun_path + 1, name, strlen(name));
	int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	is_int(bind(lock, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))), 0,
	       "the second device is another process's");
	alarm(120); /* else it would wait for ever */
	is_int(tune(&c, 2, 0, &t, &e), 0, "a tune on two devices ends although one is never free %s", e.text);
	alarm(0);
	ok(t.tried == POINTS && t.timed == POINTS && t.top_count == 3, "with all configurations tried on the first (%zu)", t.tried);
	close(lock);
	tune_result_fini(&t);
	scene_fini(&c);
}

/* One that kills its worker where finalists are timed again. */
static void worker_goes(void)
{
	struct scene c;
	struct tune_result t;
	struct err e = ERR_INIT;
	char file[32];
	will_go(0, WIRE_PREPARE, IN_PLAYOFF, true, file);
	scene_init(&c);
	is_int(tune(&c, 1, 0, &t, &e), 0, "a tune whose worker dies while finalists are timed again ends well %s", e.text);
	ok(access(file, F_OK) == 0 && t.timed == POINTS && t.top_count == 3, "three finalists are validated (%zu)", t.top_count);
	tune_result_fini(&t);
	scene_fini(&c);
	unlink(file);
	unsetenv("PEAKD_TEST_GONE");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		fake_time = time_of;
		fake_gone = gone;
		return fake_worker_main();
	}
	setenv("PEAKD_BENCH_FAKE", "0 1000 2", 1);
	shared();
	out_of_time();
	one_is_taken();
	one_of_two_goes(1, WIRE_PREPARE);
	one_of_two_goes(1, WIRE_EXECUTE);
	one_of_two_goes(0, WIRE_PREPARE);
	all_go(WIRE_PREPARE, IN_SEARCH);
	all_go(WIRE_EXECUTE, IN_SEARCH);
	all_go(WIRE_PREPARE, IN_PLAYOFF);
	worker_goes();
	return tap_done();
}
