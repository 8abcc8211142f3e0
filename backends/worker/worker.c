/* worker: the serving loop of `peakd worker`; see worker.h. One thread, one request at a time, one function per
 * request; what a request may do to this process (crash, hang, print) is the daemon's to expect: it holds the
 * deadline. */
#include "backends/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backends/sandbox/sandbox_scratch.h"
#include "backends/timing/ceilings.h"
#include "backends/worker/worker_inside.h"
#include "base/clock.h"
#include "base/mem.h"

/* Inputs come with red zones, and blocks of a room are rounded up: what is a power of two must fit. */
#define SLACK ((size_t)64 << 20)
#define INPUTS_KEPT (((size_t)1 << 30) + SLACK)
#define REFERENCES_KEPT ((size_t)1 << 30)
#define ROOM_KEPT (((size_t)512 << 20) + SLACK)
#define FRAME_KEPT ((size_t)256 << 20)

static int need_backend(const char *name, const struct backend **ret_backend, struct err *e)
{
	const struct backend *b = backend_find(name);
	if (b == NULL)
		return err_set(e, ERR_UNSUPPORTED, "this build of peakd has no backend named \"%s\"", name);
	*ret_backend = b;
	return 0;
}

/* "hlsl:0" is backend "hlsl" and the rest "0"; ret_rest is borrowed from id, NULL without a colon. */
static int split_id(const char *id, const struct backend **ret_backend, const char **ret_rest, struct err *e)
{
	const char *colon = strchr(id, ':');
	char *name = mem_strn(id, colon ? (size_t)(colon - id) : strlen(id));
	int r = need_backend(name, ret_backend, e);
	if (r == 0)
		*ret_rest = colon ? colon + 1 : NULL;
	free(name);
	return r;
}

static bool is_number(const char *text, uint32_t *ret_number)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

/* --- the sandbox ----------------------------------------------------------------------------------------------------- */

static int enter(struct worker *w, enum sandbox_role role, struct err *e)
{
	if (w->entered)
		return 0;
	int r = sandbox_enter(&w->kernel, role, e);
	w->entered = r == 0;
	w->role = role;
	return r;
}

static int close_cage(struct worker *w, struct err *e)
{
	int r = w->closed ? 0 : sandbox_close(&w->kernel, e);
	w->closed = r == 0;
	return r;
}

/* Drivers cannot be loaded from a compiler's sandbox; the daemon answers this failure with a fresh worker. */
static int need_drivers(const struct worker *w, struct err *e)
{
	if (!w->entered || w->role == SANDBOX_DEVICE || w->kernel.off)
		return 0;
	return err_set(e, ERR_CRASH, "this worker has compiled, and is now kept from all drivers; ask a fresh one");
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

static int serve_ping(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	(void)w;
	(void)out;
	return wire_end(in, "ping", e);
}

static int list_devices(const struct worker *w, const struct backend *b, struct buf *out, struct err *e)
{
	struct facts *facts;
	size_t count;
	int r = need_drivers(w, e);
	if (r == 0)
		r = b->devices(&facts, &count, e);
	if (r < 0)
		return r;
	wire_put_u64(out, count);
	for (size_t i = 0; i < count; i++)
		wire_facts_encode(&facts[i], out);
	free(facts);
	return 0;
}

static int describe(const struct backend *b, const char *arch, struct buf *out, struct err *e)
{
	struct facts facts;
	int r = b->describe(arch, &facts, e);
	if (r < 0)
		return r;
	wire_put_u64(out, 1);
	wire_facts_encode(&facts, out);
	return 0;
}

static int serve_devices(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	const struct backend *b = NULL;
	const char *rest = NULL;
	char *id = wire_get_text(in);
	int r = wire_end(in, "devices", e);
	if (r == 0)
		r = split_id(id, &b, &rest, e);
	if (r == 0)
		r = rest ? describe(b, rest, out, e) : list_devices(w, b, out, e);
	free(id);
	return r;
}

/* The facts of device `index`, as the backend lists it. */
static int find_facts(const struct backend *b, uint32_t index, struct facts *ret_facts, struct err *e)
{
	struct facts *facts;
	size_t count;
	int r = b->devices(&facts, &count, e);
	if (r < 0)
		return r;
	r = index < count ? 0 : err_set(e, ERR_UNSUPPORTED,
	                                "device %s:%u does not exist, there are %zu; see `peakd devices`",
	                                b->name, index, count);
	if (r == 0)
		*ret_facts = facts[index];
	free(facts);
	return r;
}

static int open_device(struct worker *w, const char *id, struct buf *out, struct err *e)
{
	const struct backend *b = NULL;
	const char *rest = NULL;
	uint32_t index;
	if (w->device)
		return err_set(e, ERR_INTERNAL, "this worker has %s open, and opens one device in its life", w->facts.id);
	if (split_id(id, &b, &rest, e) < 0)
		return -(int)e->code;
	if (rest == NULL || !is_number(rest, &index))
		return err_set(e, ERR_UNSUPPORTED, "%s cannot run anything: write a device's number, as in %s:0", id, b->name);
	if (need_drivers(w, e) < 0 || enter(w, SANDBOX_DEVICE, e) < 0 || find_facts(b, index, &w->facts, e) < 0 ||
	    b->open(index, &w->device, e) < 0)
		return -(int)e->code;
	w->backend = b;
	w->watch = gpu_monitor_new(b->watch, b->name, w->facts.uuid); /* may load a library: before the sandbox closes */
	if (close_cage(w, e) < 0)
		return -(int)e->code;
	w->room = room_new(ROOM_KEPT);
	w->frame_kept = w->facts.shares_cpu ? 0 : FRAME_KEPT;
	w->inputs = cache_new(INPUTS_KEPT, w->room);
	w->references = w->facts.shares_cpu ? NULL : cache_new(REFERENCES_KEPT, w->room);
	wire_facts_encode(&w->facts, out);
	return 0;
}

static int serve_open(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	char *id = wire_get_text(in);
	int r = wire_end(in, "open", e);
	if (r == 0)
		r = open_device(w, id, out, e);
	free(id);
	return r;
}

/* --- compile ------------------------------------------------------------------------------------------------------ */

static int serve_compile(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_compile request;
	struct wire_compiled compiled;
	const struct backend *b = NULL;
	int r = enter(w, SANDBOX_COMPILE, e);
	if (r == 0)
		r = close_cage(w, e);
	if (r == 0)
		r = wire_compile_decode(in, &request, e);
	if (r < 0)
		return r;
	r = need_backend(request.backend, &b, e);
	if (r == 0)
		r = b->compile(&request, &compiled, e);
	if (r == 0) {
		wire_compiled_encode(&compiled, out);
		wire_compiled_fini(&compiled);
	}
	wire_compile_fini(&request);
	return r;
}

static int serve_ceilings(struct worker *w, struct wire_in *in, struct buf *out, struct err *e)
{
	struct wire_ceilings list = { 0 };
	const struct backend *b = NULL;
	char *name = wire_get_text(in), *arch = wire_get_text(in);
	uint32_t units = wire_get_u32(in);
	(void)w;
	int r = wire_end(in, "ceilings", e);
	if (r == 0)
		r = need_backend(name, &b, e);
	if (r == 0) {
		ceilings_list(b->ceilings, arch, units, &list);
		wire_ceilings_encode(&list, out);
		wire_ceilings_fini(&list);
	}
	free(name);
	free(arch);
	return r;
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */

static const worker_serve_fn serve_table[] = {
	[WIRE_PING] = serve_ping, [WIRE_DEVICES] = serve_devices, [WIRE_COMPILE] = serve_compile, [WIRE_OPEN] = serve_open,
	[WIRE_CEILINGS] = serve_ceilings, [WIRE_PREPARE] = worker_runs_prepare, [WIRE_EXECUTE] = worker_runs_execute,
	[WIRE_OUTPUT] = worker_runs_output, [WIRE_COMPARE] = worker_runs_compare, [WIRE_RACES] = worker_runs_races,
	[WIRE_PRODUCT] = worker_runs_product, [WIRE_MEASURE] = worker_runs_measure, [WIRE_PAIR] = worker_runs_pair,
	[WIRE_ENERGY] = worker_runs_energy, [WIRE_RELEASE] = worker_runs_release,
};

/* Answers one request. Returns false when the worker is to end: the daemon is gone, or the device is. */
static bool answer(struct worker *w, const struct wire_frame *frame)
{
	struct buf body = BUF_INIT;
	struct err e = ERR_INIT;
	struct wire_in in = { .at = frame->body, .end = frame->body + frame->len };
	worker_serve_fn serve = frame->type < MEM_COUNT(serve_table) ? serve_table[frame->type] : NULL;
	int r = serve ? serve(w, &in, &body, &e)
	              : err_set(&e, ERR_NETWORK, "message type %u is no request", frame->type);
	if (r < 0) {
		buf_clear(&body);
		wire_failed_encode(&e, &body);
	}
	int sent = wire_send_tail(w->out, r < 0 ? WIRE_FAILED : frame->type, frame->id, buf_text(&body), body.len, r < 0 ? NULL : &w->tail,
	                          CLOCK_NEVER, NULL);
	w->tail = (struct wire_tail){ .len = 0 };
	buf_fini(&body);
	return sent == 0 && r != -ERR_CRASH;
}

/* After garbage there is no next frame to find, so the daemon is told and the worker ends. */
static int serve(struct worker *w)
{
	struct wire_frame frame = { .body = NULL };
	for (;;) {
		struct err e = ERR_INIT;
		int r = wire_receive_again(w->in, &frame, CLOCK_NEVER, -1, NULL, &e);
		if (r == -ERR_CRASH) {
			free(frame.body);
			return 0;
		}
		if (r < 0) {
			free(frame.body);
			struct buf body = BUF_INIT;
			wire_failed_encode(&e, &body);
			wire_send(w->out, WIRE_FAILED, 0, body.data, body.len, clock_now() + CLOCK_S, NULL);
			buf_fini(&body);
			return 1;
		}
		bool more = answer(w, &frame);
		if (!more || frame.room > w->frame_kept) {
			free(frame.body);
			frame = (struct wire_frame){ .body = NULL };
		}
		if (!more)
			return 1;
	}
}

/* The wire leaves 0 and 1 before any library is loaded: device printf and vendors' tools write there. */
static int move_wire(struct worker *w)
{
	w->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	w->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (w->in < 0 || w->out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		fprintf(stderr, "peakd worker: standard input, output and error must be open: %s\n", strerror(errno));
		return -1;
	}
	close(null);
	return 0;
}

static int say_hello(struct worker *w)
{
	struct buf body = BUF_INIT;
	struct wire_hello hello = { .version = WIRE_VERSION, .pid = (uint32_t)getpid() };
	struct buf lacks = BUF_INIT;
	sandbox_lacks(&w->kernel, &lacks);
	snprintf(hello.lacks, sizeof hello.lacks, "%s", buf_text(&lacks));
	buf_fini(&lacks);
	wire_hello_encode(&hello, &body);
	int r = wire_send(w->out, WIRE_HELLO, 0, body.data, body.len, CLOCK_NEVER, NULL);
	buf_fini(&body);
	return r;
}

int worker_main(void)
{
	struct worker w = { .kernel = sandbox_probe() };
	sandbox_start();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the daemon, which then closes the wire */
	if (move_wire(&w) < 0)
		return 1;
	int status = say_hello(&w) < 0 ? 1 : serve(&w);
	sandbox_scratch_remove();
	/* A faulted device may hang in its own clean-up: such a worker just ends. */
	if (status)
		_exit(status);
	for (int i = 0; i < WORKER_RUNS_MAX; i++)
		run_free(w.runs[i]);
	gpu_monitor_free(w.watch);
	if (w.device)
		w.backend->close(w.device);
	cache_free(w.inputs);
	cache_free(w.references);
	room_free(w.room);
	return status;
}
