/* tune: measures what a tune costs beyond compilers and kernels: `build/bench/tune MODE`.
 *
 *	own [--count N]            a fake backend that answers at once: peakd's own CPU and wall time per configuration, beside
 *	                           the CPU time of one event row in its database; its memory after a tenth and at the end
 *	overlap [--count N]        a fake backend with given times (compiling 20 ms, device 5 ms): how long the device is idle
 *	                           while compiled work waits, and what a second device gains. With --device A and --sleep-ms N:
 *	                           of the first and of all of these, which may be remote (docs/remote.md)
 *	many [--count N]           1, 4, 16 and 64 fake devices (or --workers N), each with a tune of its own, all in this process;
 *	                           a configuration occupies its device for --sleep-ms (20): configurations a second, this
 *	                           process's CPU time for each, and how long a row of another thread takes meanwhile
 *	compile [--count N]        NVRTC for --device (default cuda:sm_90a; needs no GPU): configurations a second through peakd's
 *	                           compile lanes, and through the same number of independent processes that have everything loaded
 *	devices --device A         a real tune of a small product on one or several devices ("cuda:0,1"): configurations a second
 *	                           in the search
 *
 * JSON on stdout. This program is also the worker. Caches are off: each configuration has different text, and binaries are not
 * kept. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "backends/cuda/cuda.h"
#include "backends/worker/worker.h"
#include "bench/fake_worker.h"
#include "bench/memory.h"
#include "core/context/context.h"
#include "core/context/host.h"
#include "core/judge/reference.h"
#include "core/record/checkpoint.h"
#include "core/record/event.h"
#include "core/record/job.h"
#include "core/record/store.h"
#include "core/tune/tune.h"
#include "core/workers/lanes.h"
#include "core/workers/remote.h"
#include "core/workers/variant.h"

static const char fake_context[] =
	"---\nkernel: k\nbackend: hlsl\ninputs:\n  n: int = {64}\n  A: f32[n] = random\n  C: out f32[n]\n"
	"tune:\n  X: i for i = 1,400\n  Y: i for i = 1,400\n---\n```hlsl\n[numthreads(64, 1, 1)]\nvoid k(uint3 id : "
	"SV_DispatchThreadID) { C[id.x] = X * Y; }\n```\n"
	"```lua host\nlaunch(\"k\", {1}, {64}, {A, C, n})\n```\n";

/* A small kernel: a tiled product with some unrolling. SALT makes each configuration's text different. */
static const char cuda_context[] =
	"---\nkernel: mm\nbackend: cuda\ninputs:\n  n: int = {1024}\n  A: f32[n, n] = random\n  B: f32[n, n] = random\n  C: out "
	"f32[n, n]\n"
	"tune:\n  T: {8, 16, 32}\n  U: {1, 2, 4, 8}\n  SALT: i for i = 1,4000\nflops: 2*n^3\noptions:\n  - --no-cache\n---\n"
	"```cuda\nextern \"C\" __global__ void mm(const float *A, const float *B, float *C, int n)\n{\n"
	"\t__shared__ float a[T][T], b[T][T];\n\tint row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + "
	"threadIdx.x;\n\tfloat acc = 0;\n"
	"\tfor (int k = 0; k < n; k += T) {\n\t\ta[threadIdx.y][threadIdx.x] = A[row * n + k + threadIdx.x];\n"
	"\t\tb[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + col];\n\t\t__syncthreads();\n#pragma unroll U\n"
	"\t\tfor (int i = 0; i < T; i++)\n\t\t\tacc += a[threadIdx.y][i] * b[i][threadIdx.x];\n\t\t__syncthreads();\n\t}\n"
	"\tC[row * n + col] = acc + 0 * SALT;\n}\n```\n```lua host\nlaunch(\"mm\", {cdiv(n, T), cdiv(n, T)}, {T, T}, {A, B, C, "
	"n})\n```\n";

struct bench {
	struct pool *pool;
	struct remotes *remotes;
	struct references *references;
	struct store *store;
	struct db *db;
	struct context *ctx;
	struct facts *facts;
	size_t device_count;
	struct params *size;
	int64_t checkpoint;
	char *job;
	char folder[64];
	long rss_tenth_kib;
};

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Like the daemon, writes an event row each time. */
static void progress(void *arg, double done, double total, const char *message)
{
	struct bench *b = arg;
	struct err e = ERR_INIT;
	if (total == 0)
		return; /* another thread waits for its device */
	if (event_append(b->db, b->job, &(struct event){ .kind = "progress", .progress = done, .total = total, .message = message },
			 NULL, &e) < 0)
		fprintf(stderr, "tune: %s\n", e.text);
	if (b->rss_tenth_kib == 0 && done >= total / 10) /* events come at times: none may be the tenth part's own */
		b->rss_tenth_kib = resident_kib();
}

/* The part of a bench that each tune has of its own. */
static int begin_work(struct bench *b, const char *text, struct err *e)
{
	struct checkpoint c = { .by = "root", .status = CHECKPOINT_ACCEPTED };
	char *canonical;
	int rc = store_take(b->store, &b->db, e);
	if (rc == 0)
		rc = context_parse("bench", text, &b->ctx, e);
	if (rc < 0)
		return rc;
	c.kernel = context_kernel(b->ctx);
	c.backend = context_backend(b->ctx);
	canonical = context_canonical(b->ctx);
	rc = checkpoint_add(b->db, &c, canonical, &b->checkpoint, e);
	free(canonical);
	if (rc >= 0)
		rc = job_create(b->db, "tune", "", &b->job, e);
	if (rc >= 0)
		rc = params_parse(b->ctx, strcmp(c.backend, "cuda") == 0 ? "n=1024" : "n=64", false, &b->size, e);
	return rc < 0 ? rc : 0;
}

static void end_work(struct bench *b)
{
	params_free(b->size);
	free(b->job);
	context_free(b->ctx);
	store_give(b->db);
}

static int open_bench(struct bench *b, const char *text, const char *device, unsigned width, struct err *e)
{
	struct pool_config config = { .compile_workers = width, .lock_space = b->folder };
	*b = (struct bench){ .folder = "/tmp/peakd-bench-XXXXXX" };
	if (mkdtemp(b->folder) == NULL)
		return err_set(e, ERR_IO, "no folder");
	char *path = mem_fmt("%s/t.db", b->folder);
	int rc = remotes_new((const char *const[]){ "any", NULL }, &b->remotes, e);
	config.remotes = b->remotes;
	b->pool = pool_new(&config);
	b->references = references_new(256 << 20);
	if (rc == 0)
		rc = store_open(path, &b->store, e);
	free(path);
	if (rc == 0)
		rc = begin_work(b, text, e);
	return rc == 0 ? pool_device_set(b->pool, device, &b->facts, &b->device_count, e) : rc;
}

static void close_bench(struct bench *b)
{
	char *command = mem_fmt("rm -rf '%s'", b->folder);
	end_work(b);
	free(b->facts);
	store_close(b->store);
	references_free(b->references);
	pool_free(b->pool);
	remotes_free(b->remotes);
	if (b->folder[0] && system(command) != 0)
		fprintf(stderr, "tune: %s is left\n", b->folder);
	free(command);
}

static int tune(struct bench *b, size_t count, size_t devices, bool tell, struct tune_result *ret_result, struct err *e)
{
	struct eval ev = { .pool = b->pool, .references = b->references, .progress = tell ? progress : NULL, .progress_arg = b };
	struct tune_request q = { .ctx = b->ctx,
				  .baseline = b->ctx,
				  .facts = b->facts,
				  .device_count = devices,
				  .size = b->size,
				  .budget = count,
				  .strategy = "random",
				  .seed = 1,
				  .finalists = 1 };
	b->rss_tenth_kib = 0;
	return tune_run(&ev, &q, b->db, b->checkpoint, b->job, ret_result, e);
}

/* --- own and overlap -------------------------------------------------------------------------------------------------------- */

/* CPU milliseconds of an event row, which show how fast this machine is. */
static double row_cpu_ms(struct bench *b)
{
	enum { ROWS = 2000 };
	double cpu = cpu_seconds();
	for (int i = 0; i < ROWS; i++)
		progress(b, i, ROWS, "a row");
	return (cpu_seconds() - cpu) * 1e3 / ROWS;
}

static int run_own(size_t count, struct err *e)
{
	struct bench b;
	struct tune_result r;
	setenv("PEAKD_BENCH_FAKE", "0 0 1", 1);
	int rc = open_bench(&b, fake_context, "hlsl:0", 2, e);
	if (rc == 0)
		rc = tune(&b, 200, 1, false, &r, e); /* warm */
	if (rc == 0) {
		tune_result_fini(&r);
		double cpu = cpu_seconds();
		int64_t began = clock_now();
		rc = tune(&b, count, 1, true, &r, e);
		if (rc == 0) {
			double each = (cpu_seconds() - cpu) * 1e3 / (double)r.tried,
			       wall = (double)(clock_now() - began) / 1e6 / (double)r.tried;
			printf("{\"mode\": \"own\", \"configurations\": %zu, \"cpu_ms_each\": %.4f, \"cpu_ms_row\": %.4f, "
			       "\"wall_ms_each\": %.4f, "
			       "\"rss_kib_tenth\": %ld, \"rss_kib_end\": %ld}\n",
			       r.tried, each, row_cpu_ms(&b), wall, b.rss_tenth_kib, resident_kib());
			tune_result_fini(&r);
		}
	}
	close_bench(&b);
	return rc;
}

/* devices: how many of them take part; 0: all. */
static int overlap_on(const char *device, size_t count, size_t devices, double *ret_rate, struct err *e)
{
	struct bench b;
	struct tune_result r;
	int rc = open_bench(&b, fake_context, device, 12, e);
	if (rc == 0 && devices == 0)
		devices = b.device_count;
	/* A daemon's workers live on, and a batch system's jobs from one tune to the next. */
	if (rc == 0)
		rc = tune(&b, 2 * devices, devices, false, &r, e);
	if (rc == 0) {
		tune_result_fini(&r);
		rc = tune(&b, count, devices, true, &r, e);
	}
	if (rc == 0) {
		double lasted = (double)r.device_lasted_ns, idle = (lasted - (double)r.device_ns - (double)r.starving_ns) / lasted;
		*ret_rate = (double)r.tried / (lasted / (double)devices / 1e9);
		printf("{\"mode\": \"overlap\", \"devices\": %zu, \"configurations\": %zu, \"per_second\": %.1f, "
		       "\"idle_while_work_waits\": %.4f, "
		       "\"starving\": %.4f}\n",
		       devices, r.tried, *ret_rate, idle, (double)r.starving_ns / lasted);
		tune_result_fini(&r);
	}
	close_bench(&b);
	return rc;
}

static int run_overlap(const char *device, const char *sleep_ms, size_t count, struct err *e)
{
	double one = 0, all = 0;
	char *times = mem_fmt("20000 %lld 2", atoll(sleep_ms) * 1000);
	setenv("PEAKD_BENCH_FAKE", times, 1);
	free(times);
	int rc = overlap_on(device, count, 1, &one, e);
	if (rc == 0)
		rc = overlap_on(device, count, 0, &all, e);
	if (rc == 0)
		printf("{\"mode\": \"overlap\", \"second_device\": %.3f}\n", all / one);
	return rc;
}

/* --- many -------------------------------------------------------------------------------------------------------------------- */

enum { MANY_MAX = 64, MANY_WARM = 4, PROBES_MAX = 4096, PROBE_MS = 20 };

/* One device and the tune that has it. Pool, references and store are everybody's. */
struct member {
	struct bench b;
	size_t count;
	struct tune_result result;
	struct err why;
	int rc;
	pthread_t thread;
};

/* Who writes a row now and then, as a client's call does. */
struct probe {
	struct bench *b;
	atomic_bool over;
	double ms[PROBES_MAX];
	size_t count;
};

static void *many_tune(void *arg)
{
	struct member *m = arg;
	m->rc = store_take(m->b.store, &m->b.db, &m->why);
	if (m->rc == 0)
		m->rc = tune(&m->b, m->count, 1, true, &m->result, &m->why);
	store_give(m->b.db);
	m->b.db = NULL;
	return NULL;
}

static void *many_probe(void *arg)
{
	struct probe *p = arg;
	struct err e = ERR_INIT;
	struct db *db = NULL;
	if (store_take(p->b->store, &db, &e) < 0)
		return NULL;
	while (!atomic_load(&p->over) && p->count < PROBES_MAX) {
		int64_t began = clock_now();
		if (event_append(db, p->b->job, &(struct event){ .kind = "progress", .message = "probe" }, NULL, &e) < 0)
			fprintf(stderr, "tune: %s\n", e.text);
		p->ms[p->count++] = (double)(clock_now() - began) / 1e6;
		clock_sleep(PROBE_MS * CLOCK_MS);
	}
	store_give(db);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* All members' tunes at once. *ret_tried: of all. A tune that fails says why. */
static int many_round(struct member *members, size_t n, size_t count, size_t *ret_tried, struct err *e)
{
	int rc = 0;
	*ret_tried = 0;
	for (size_t i = 0; i < n; i++) {
		members[i].count = count;
		members[i].why = (struct err)ERR_INIT;
		if (pthread_create(&members[i].thread, NULL, many_tune, &members[i]) != 0)
			abort();
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(members[i].thread, NULL);
		if (members[i].rc < 0)
			fprintf(stderr, "tune: %s: %s\n", members[i].b.facts->id, members[i].why.text);
		if (members[i].rc < 0 && rc == 0) {
			*e = members[i].why;
			rc = members[i].rc;
		}
		*ret_tried += members[i].rc == 0 ? members[i].result.tried : 0;
		if (members[i].rc == 0)
			tune_result_fini(&members[i].result);
	}
	return rc;
}

static int many_measure(struct member *members, size_t n, size_t count, double sleep_ms, struct err *e)
{
	static struct probe p;
	pthread_t thread;
	size_t tried;
	int rc = many_round(members, n, MANY_WARM, &tried, e);
	if (rc < 0)
		return rc;
	p = (struct probe){ .b = &members[0].b };
	if (pthread_create(&thread, NULL, many_probe, &p) != 0)
		abort();
	double cpu = cpu_seconds();
	int64_t began = clock_now();
	rc = many_round(members, n, count, &tried, e);
	double wall = (double)(clock_now() - began) / 1e9;
	cpu = cpu_seconds() - cpu;
	atomic_store(&p.over, true);
	pthread_join(thread, NULL);
	if (rc < 0 || tried == 0 || p.count == 0)
		return rc < 0 ? rc : err_set(e, ERR_INTERNAL, "nothing was tried");
	qsort(p.ms, p.count, sizeof p.ms[0], by_size);
	printf("{\"mode\": \"many\", \"workers\": %zu, \"sleep_ms\": %g, \"due\": %zu, \"configurations\": %zu, \"seconds\": %.2f, "
	       "\"per_second\": %.1f, \"of_sleeping\": %.3f, \"cpu_ms_each\": %.3f, \"cores\": %.2f, \"row_ms_median\": %.2f, "
	       "\"row_ms_p95\": %.2f, \"row_ms_max\": %.2f, \"rss_kib\": %ld}\n",
	       n, sleep_ms, n * count, tried, wall, (double)tried / wall, (double)tried / wall * sleep_ms / 1e3 / (double)n,
	       cpu * 1e3 / (double)tried, cpu / wall, p.ms[p.count / 2], p.ms[p.count * 95 / 100], p.ms[p.count - 1],
	       resident_kib());
	fflush(stdout);
	return 0;
}

static int many_on(size_t n, size_t count, unsigned width, double sleep_ms, struct err *e)
{
	struct bench b;
	static struct member members[MANY_MAX];
	size_t begun = 0;
	char *times = mem_fmt("0 %.0f %zu", sleep_ms * 1e3, n);
	const char *mark = strstr(fake_context, "X * Y");
	setenv("PEAKD_BENCH_FAKE", times, 1);
	free(times);
	int rc = open_bench(&b, fake_context, "hlsl:all", width, e);
	for (; rc == 0 && begun < n; begun++) {
		struct bench *own = &members[begun].b;
		/* Another kernel for each, with a reference of its own. */
		char *text = mem_fmt("%.*s%zu + %s", (int)(mark - fake_context), fake_context, begun, mark);
		*own = (struct bench){
			.pool = b.pool, .references = b.references, .store = b.store, .facts = &b.facts[begun], .device_count = 1
		};
		rc = begin_work(own, text, e);
		free(text);
		store_give(own->db); /* its thread takes one */
		own->db = NULL;
	}
	if (rc == 0)
		rc = many_measure(members, n, count, sleep_ms, e);
	for (size_t i = 0; i < begun; i++)
		end_work(&members[i].b);
	close_bench(&b);
	return rc;
}

static int run_many(const char *workers, const char *sleep_ms, unsigned width, size_t count, struct err *e)
{
	static const size_t steps[] = { 1, 4, 16, MANY_MAX };
	size_t only = (size_t)atoll(workers);
	int rc = only > MANY_MAX ? err_set(e, ERR_INPUT, "at most %d workers", MANY_MAX) : 0;
	if (only)
		return rc < 0 ? rc : many_on(only, count, width, atof(sleep_ms), e);
	for (size_t i = 0; rc == 0 && i < MEM_COUNT(steps); i++)
		rc = many_on(steps[i], count, width, atof(sleep_ms), e);
	return rc;
}

/* --- compile ---------------------------------------------------------------------------------------------------------------- */

struct batch {
	struct eval ev;
	struct bench *b;
	size_t first;
	atomic_uint bad;
};

static struct params *nth_params(const struct bench *b, size_t i)
{
	static const int tiles[] = { 8, 16, 32 }, unrolls[] = { 1, 2, 4, 8 };
	struct params *params = NULL;
	struct err e = ERR_INIT;
	char *text = mem_fmt("n=1024 T=%d U=%d SALT=%zu", tiles[i % 3], unrolls[i / 3 % 4], i + 1);
	if (params_parse(b->ctx, text, true, &params, &e) < 0)
		fprintf(stderr, "tune: %s\n", e.text);
	free(text);
	return params;
}

static void build_one(void *arg, size_t i)
{
	struct batch *batch = arg;
	struct variant v = { 0 };
	struct err e = ERR_INIT;
	struct params *params = nth_params(batch->b, batch->first + i);
	if (variant_build(&batch->ev, batch->b->ctx, params, batch->b->facts, &v, &e) < 0 && atomic_fetch_add(&batch->bad, 1) == 0)
		fprintf(stderr, "tune: %s\n", e.text);
	variant_fini(&v);
	params_free(params);
}

/* The work of a lane's worker alone. */
static bool compile_here(const struct bench *b, size_t i)
{
	struct params *params = nth_params(b, i);
	struct plan *plan = NULL;
	struct wire_compiled compiled = { .binary = NULL };
	struct err e = ERR_INIT;
	const struct spec *spec = context_spec(b->ctx);
	struct wire_compile request = { .backend = (char *)"cuda",
					.arch = (char *)b->facts->arch,
					.macros = (char *)context_region(b->ctx, REGION_MACROS),
					.device = (char *)context_region(b->ctx, REGION_DEVICE),
					.options = spec->options,
					.option_count = spec->option_count };
	int rc = host_run(b->ctx, params, b->facts, &plan, &e);
	request.plan = plan;
	request.defines = context_defines(b->ctx, params, &request.define_count);
	if (rc == 0)
		rc = cuda_compile(&request, &compiled, &e);
	context_defines_free(request.defines, request.define_count);
	wire_compiled_fini(&compiled);
	plan_free(plan);
	params_free(params);
	return rc == 0;
}

enum { ROUNDS = 3, WARM = 4 };

/* The seconds that `count` compilations take in `width` processes. Each loads by a few compilations before the clock starts. */
static double independent(const struct bench *b, unsigned width, size_t first, size_t count)
{
	int ready[2], go[2];
	pid_t *pids = MEM_NEW_N(pid_t, width);
	char c;
	if (pipe(ready) != 0 || pipe(go) != 0)
		abort();
	for (unsigned w = 0; w < width; w++) {
		pids[w] = fork();
		if (pids[w] != 0)
			continue;
		bool good = true;
		for (size_t i = 0; i < WARM; i++)
			good = compile_here(b, 3000 + w * WARM + i) && good;
		if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		for (size_t i = w; i < count; i += width)
			good = compile_here(b, first + i) && good;
		_exit(!good);
	}
	for (unsigned w = 0; w < width; w++)
		if (read(ready[0], &c, 1) != 1)
			abort();
	int64_t began = clock_now();
	for (unsigned w = 0; w < width; w++)
		if (write(go[1], "g", 1) != 1)
			abort();
	int status, bad = 0;
	/* Waits for each by its number, because the pool's workers are children, too. */
	for (unsigned w = 0; w < width; w++)
		bad += waitpid(pids[w], &status, 0) != pids[w] || status != 0;
	int64_t took = clock_now() - began;
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	free(pids);
	if (bad)
		fprintf(stderr, "tune: %d independent processes failed\n", bad);
	return (double)took / 1e9;
}

static double through_lanes(struct bench *b, unsigned width, size_t first, size_t count)
{
	struct batch batch = { .ev = { .pool = b->pool }, .b = b, .first = first };
	int64_t began = clock_now();
	struct lanes *lanes = lanes_new(width - 1, count, build_one, &batch);
	lanes_wait(lanes, count);
	lanes_free(lanes);
	return (double)(clock_now() - began) / 1e9;
}

/* Alternates, because other load on the machine comes and goes. The lanes' workers sleep while the independent processes run. */
static int run_compile(const char *device, unsigned width, size_t count, struct err *e)
{
	struct bench b;
	double lanes = 1e9, alone = 1e9;
	int rc = open_bench(&b, cuda_context, device, width, e);
	if (rc == 0) {
		through_lanes(&b, width, 3000, WARM * width); /* loads */
		for (int i = 0; i < ROUNDS; i++) {
			double a = independent(&b, width, (size_t)i * 2 * count, count),
			       l = through_lanes(&b, width, ((size_t)i * 2 + 1) * count, count);
			alone = a < alone ? a : alone;
			lanes = l < lanes ? l : lanes;
		}
		printf("{\"mode\": \"compile\", \"arch\": \"%s\", \"width\": %u, \"configurations\": %zu, \"lanes_per_second\": "
		       "%.1f, "
		       "\"independent_per_second\": %.1f, \"ratio\": %.3f}\n",
		       b.facts->arch, width, count, (double)count / lanes, (double)count / alone, alone / lanes);
	}
	close_bench(&b);
	return rc;
}

/* --- devices ---------------------------------------------------------------------------------------------------------------- */

static int run_devices(const char *device, unsigned width, size_t count, struct err *e)
{
	struct bench b;
	struct tune_result r;
	int rc = open_bench(&b, cuda_context, device, width, e);
	/* A daemon's workers live on, so their start, a second each, does not count in a tune's rate. */
	if (rc == 0)
		rc = tune(&b, WARM * b.device_count, b.device_count, false, &r, e);
	if (rc == 0) {
		tune_result_fini(&r);
		rc = tune(&b, count, b.device_count, true, &r, e);
	}
	if (rc == 0) {
		double lasted = (double)r.device_lasted_ns, each = lasted / (double)b.device_count / 1e9;
		printf("{\"mode\": \"devices\", \"device\": \"%s\", \"name\": \"%s\", \"width\": %u, \"tried\": %zu, \"timed\": "
		       "%zu, \"seconds\": %.3f, "
		       "\"per_second\": %.2f, \"idle_while_work_waits\": %.4f, \"starving\": %.4f}\n",
		       device, b.facts->name, width, r.tried, r.timed, each, (double)r.tried / each,
		       (lasted - (double)r.device_ns - (double)r.starving_ns) / lasted, (double)r.starving_ns / lasted);
		tune_result_fini(&r);
	}
	close_bench(&b);
	return rc;
}

static const char *option(int argc, char **argv, const char *name, const char *or_else)
{
	for (int i = 2; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return or_else;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct err e = ERR_INIT;
	int (*worker)(void) = getenv("PEAKD_BENCH_FAKE") ? fake_worker_main : worker_main;
	if (strcmp(mode, "worker") == 0 && argc > 2)
		return strcmp(argv[2], "--hold") == 0 ? remote_end_hold(argc > 3 ? argv[3] : "") : remote_end_guard(worker);
	if (strcmp(mode, "worker") == 0)
		return worker();
	size_t count = (size_t)atoll(option(argc, argv, "--count", "0"));
	unsigned width = (unsigned)atoi(option(argc, argv, "--width", "0"));
	int rc;
	if (width == 0)
		width = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (strcmp(mode, "own") == 0)
		rc = run_own(count ? count : 100000, &e);
	else if (strcmp(mode, "overlap") == 0)
		rc = run_overlap(option(argc, argv, "--device", "hlsl:all"), option(argc, argv, "--sleep-ms", "5"),
				 count ? count : 1000, &e);
	else if (strcmp(mode, "many") == 0)
		rc = run_many(option(argc, argv, "--workers", "0"), option(argc, argv, "--sleep-ms", "20"), width,
			      count ? count : 200, &e);
	else if (strcmp(mode, "compile") == 0)
		rc = run_compile(option(argc, argv, "--device", "cuda:sm_90a"), width, count ? count : 100, &e);
	else if (strcmp(mode, "devices") == 0)
		rc = run_devices(option(argc, argv, "--device", "cuda:0"), width, count ? count : 200, &e);
	else
		rc = err_set(&e, ERR_INPUT,
			     "usage: tune own|overlap|many|compile|devices [--count N] [--width N] [--device D] [--sleep-ms N] "
			     "[--workers N]");
	if (rc < 0)
		fprintf(stderr, "tune: %s\n", e.text);
	return rc < 0;
}
