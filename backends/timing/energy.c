/* energy: see energy.h. Reading the counter takes milliseconds (4 ms on an H200 with driver 580), in which the device would stand still; so
 * a second thread reads it while this one executes. Both ends of the window are moments at which the counter has just moved. */
#include "backends/timing/energy.h"

#include <pthread.h>
#include <stdatomic.h>

#include "backends/timing/sample.h"
#include "base/clock.h"
#include "base/mem.h"

#define BATCH_NS UINT64_C(20000000)
#define LOOK_NS CLOCK_MS
#define STEP_NS (300 * CLOCK_MS) /* longer than any counter's step */

/* What the reading thread saw; the other one reads it after the join. */
struct reader {
	struct gpu_monitor *watch;
	atomic_bool stop;
	uint64_t first_mj, last_mj;    /* when it moved first and last */
	int64_t first_ns, last_ns;
	unsigned steps;                /* moves, the first one included */
};

static void *read_counter(void *arg)
{
	struct reader *r = arg;
	uint64_t before = 0, now = 0;
	bool known = gpu_monitor_energy(r->watch, &before);
	while (known && !atomic_load(&r->stop)) {
		clock_sleep(LOOK_NS);
		known = gpu_monitor_energy(r->watch, &now);
		if (!known || now == before)
			continue;
		before = r->last_mj = now;
		r->last_ns = clock_now();
		if (r->steps++ == 0) {
			r->first_mj = now;
			r->first_ns = r->last_ns;
		}
	}
	return NULL;
}

/* Executes for so long; the rate in *ret_rate. */
static int run_for(const struct backend *b, struct backend_run *run, uint32_t batch, int64_t ns, struct wire_energised *out,
                   double *ret_rate, struct err *e)
{
	int64_t start = clock_now(), now = start;
	int r = 0;
	while (r == 0 && now - start < ns) {
		uint64_t ignored;
		r = sample_take(b, run, batch, WIRE_WARM, &ignored, e);
		out->executions += batch;
		now = clock_now();
	}
	*ret_rate = (double)out->executions / ((double)(now - start) / 1e9);
	return r;
}

static int weigh(const struct backend *b, struct backend_run *run, struct reader *reader, const struct wire_energy *m, uint32_t batch,
                 struct wire_energised *out, struct err *e)
{
	pthread_t thread;
	double rate = 0;
	if (pthread_create(&thread, NULL, read_counter, reader) != 0)
		return err_set(e, ERR_INTERNAL, "cannot start the thread that reads the energy counter");
	/* A step more on either side than what is asked for. */
	int r = run_for(b, run, batch, (int64_t)m->min_ns + 2 * STEP_NS, out, &rate, e);
	atomic_store(&reader->stop, true);
	pthread_join(thread, NULL);
	if (r < 0 || reader->steps < 2)
		return r;
	out->seconds = (double)(reader->last_ns - reader->first_ns) / 1e9;
	out->joules = (double)(reader->last_mj - reader->first_mj) / 1e3;
	out->executions = (uint64_t)(rate * out->seconds + 0.5);
	return 0;
}

int energy_measure(const struct backend *b, struct backend_run *run, struct gpu_monitor *watch, const struct wire_energy *m,
                   struct wire_energised *ret_energised, struct err *e)
{
	struct wire_energised out = { 0 };
	struct reader reader = { .watch = watch };
	uint64_t first, ns, ignored;
	if (!gpu_monitor_energy(watch, &ignored)) {
		out.note = mem_str(*gpu_monitor_note(watch) ? gpu_monitor_note(watch) : "the device has no energy counter");
		*ret_energised = out;
		return 0;
	}
	gpu_monitor_begin(watch, false);
	int r = sample_warm_up(b, run, 5 * BATCH_NS, &first, &ns, e);
	if (r == 0)
		r = weigh(b, run, &reader, m, ns < BATCH_NS ? (uint32_t)(BATCH_NS / ns) : 1, &out, e);
	if (r < 0)
		return r;
	out.condition = gpu_monitor_look(watch);
	if (out.joules > 0 && (double)m->min_ns <= out.seconds * 1e9) {
		out.note = mem_str(gpu_monitor_note(watch));
	} else {
		out.joules = out.seconds = 0;
		out.note = mem_str("the device's energy counter does not move, or too seldom");
	}
	*ret_energised = out;
	return 0;
}
