/* worker: `peakd worker`; see worker.h. One thread, one request at a time. What a request may do to this process
 * (crash, hang, print) is for the daemon to handle: it holds the deadline. */
#include "backends/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backends/sandbox/sandbox.h"
#include "backends/timing/ceilings.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/wire.h"
#include "backends/worker/backend.h"
#include "backends/worker/runs.h"
#include "base/clock.h"
#include "base/mem.h"

#define FRAME_KEPT ((size_t)256 << 20)

struct worker {
	int in, out;                  /* the wire, above 2 */
	struct runs *runs;            /* of the opened device; NULL before */
	struct facts facts;           /* of that device */
	char host[FACTS_TEXT];        /* of all devices here */
	size_t frame_kept;            /* request memory up to this size is reused; 0 where a kernel could read references there */
	struct sandbox_kernel kernel; /* what the sandbox is made of */
	bool entered, closed;         /* sandbox_enter and sandbox_close were called */
	enum sandbox_role role;       /* of the sandbox, once entered */
};

static int need_backend(const char *name, const struct backend **ret_backend, struct err *e)
{
	const struct backend *b = backend_find(name);
	if (b == NULL)
		return err_set(e, ERR_UNSUPPORTED, "this build of peakd has no backend named \"%s\"", name);
	*ret_backend = b;
	return 0;
}

/* "hlsl:0" is backend "hlsl" and the rest "0"; *ret_rest is borrowed from id, NULL without a colon. */
static int split_id(const char *id, const struct backend **ret_backend, const char **ret_rest, struct err *e)
{
	const char *colon = strchr(id, ':');
	char *name = mem_strn(id, colon ? (size_t)(colon - id) : strlen(id));
	int rc = need_backend(name, ret_backend, e);
	*ret_rest = colon ? colon + 1 : NULL;
	free(name);
	return rc;
}

/* --- the sandbox -------------------------------------------------------------------------------------------------- */

static int enter(struct worker *w, enum sandbox_role role, struct err *e)
{
	struct sandbox_needs needs = { .read_count = 0 };
	if (w->entered)
		return 0;
	if (!w->kernel.off && w->kernel.landlock)
		backend_sandbox_needs(role, &needs);
	int rc = sandbox_enter(&w->kernel, role, &needs, e);
	w->entered = rc == 0;
	w->role = role;
	return rc;
}

static int close_sandbox(struct worker *w, struct err *e)
{
	int rc = w->closed ? 0 : sandbox_close(&w->kernel, e);
	w->closed = rc == 0;
	return rc;
}

/* The sandbox of a compiler admits no drivers. The daemon answers this failure with a fresh worker. */
static int need_drivers(const struct worker *w, struct err *e)
{
	if (!w->entered || w->role == SANDBOX_DEVICE || w->kernel.off)
		return 0;
	return err_set(e, ERR_CRASH, "this worker has compiled, so its sandbox keeps it from all drivers; ask a fresh one");
}

/* --- requests: struct of wire_calls[type] in, the other out ------------------------------------------------------- */

static int serve_devices(struct worker *w, void *request, void *answer, struct err *e)
{
	const struct wire_name *m = request;
	struct wire_devices *list = answer;
	const struct backend *b = NULL;
	const char *arch = NULL;
	int rc = split_id(m->id, &b, &arch, e);
	if (rc == 0 && arch) {
		list->at = MEM_NEW(struct facts);
		list->count = 1;
		return b->describe(arch, list->at, e);
	}
	if (rc == 0)
		rc = need_drivers(w, e);
	if (rc == 0)
		rc = b->devices(&list->at, &list->count, e);
	for (size_t i = 0; rc == 0 && i < list->count; i++)
		memcpy(list->at[i].host, w->host, sizeof w->host);
	return rc;
}

static int serve_open(struct worker *w, void *request, void *answer, struct err *e)
{
	const struct wire_name *m = request;
	struct facts *list = NULL;
	size_t count = 0;
	const struct backend *b = NULL;
	struct backend_device *device = NULL;
	const char *rest = NULL;
	char *end = NULL;
	if (w->runs)
		return err_set(e, ERR_INTERNAL, "this worker has %s open already, and a worker opens only one device", w->facts.id);
	if (split_id(m->id, &b, &rest, e) < 0)
		return -(int)e->code;
	errno = 0;
	unsigned long index = rest && rest[0] >= '0' && rest[0] <= '9' ? strtoul(rest, &end, 10) : 0;
	if (end == NULL || *end || errno || index > UINT32_MAX)
		return err_set(e, ERR_UNSUPPORTED, "%s cannot run anything: write a device's number, as in %s:0", m->id, b->name);
	if (need_drivers(w, e) < 0 || enter(w, SANDBOX_DEVICE, e) < 0 || b->devices(&list, &count, e) < 0)
		return -(int)e->code;
	int rc = index < count ? b->open((uint32_t)index, &device, e)
			       : err_set(e, ERR_UNSUPPORTED, "device %s:%lu does not exist, there are %zu; see `peakd devices`",
					 b->name, index, count);
	if (rc == 0) {
		w->facts = list[index];
		memcpy(w->facts.host, w->host, sizeof w->host);
	}
	free(list);
	if (rc < 0)
		return rc;
	/* May load a library, so before the sandbox closes. */
	struct gpu_monitor *monitor = gpu_monitor_new(w->facts.shares_cpu ? NULL : b->monitor, b->name, w->facts.uuid);
	w->runs = runs_new(b, device, monitor, w->facts.shares_cpu);
	w->frame_kept = w->facts.shares_cpu ? 0 : FRAME_KEPT;
	*(struct facts *)answer = w->facts;
	return close_sandbox(w, e);
}

static int serve_compile(struct worker *w, void *request, void *answer, struct err *e)
{
	const struct wire_compile *m = request;
	const struct backend *b = NULL;
	if (enter(w, SANDBOX_COMPILE, e) < 0 || close_sandbox(w, e) < 0 || need_backend(m->backend, &b, e) < 0)
		return -(int)e->code;
	return b->compile(m, answer, e);
}

static int serve_ceilings(struct worker *w, void *request, void *answer, struct err *e)
{
	const struct wire_target *m = request;
	const struct backend *b = NULL;
	(void)w;
	int rc = need_backend(m->backend, &b, e);
	if (rc == 0)
		ceilings_list(b->ceilings, m, answer);
	return rc;
}

static int serve_source(struct worker *w, void *request, void *answer, struct err *e)
{
	const struct wire_name *m = request;
	struct wire_name *source = answer;
	const struct backend *b = NULL;
	(void)w;
	int rc = need_backend(m->id, &b, e);
	if (rc == 0)
		source->id = mem_str(b->resident ? b->resident->source : "");
	return rc;
}

static int (*const serve[WIRE_LAST + 1])(struct worker *w, void *request, void *answer, struct err *e) = {
	[WIRE_DEVICES] = serve_devices,   [WIRE_COMPILE] = serve_compile, [WIRE_OPEN] = serve_open,
	[WIRE_CEILINGS] = serve_ceilings, [WIRE_SOURCE] = serve_source,
};

/* --- the loop ----------------------------------------------------------------------------------------------------- */

/* Answers one request. False when the worker is to end: the daemon is gone, or the device is. */
static bool answer(struct worker *w, const struct wire_frame *frame)
{
	struct buf body = BUF_INIT;
	struct wire_tail tail = { .bytes = NULL };
	struct err e = ERR_INIT;
	struct wire_in in = { .at = frame->body, .end = frame->body + frame->len };
	const struct wire_call *call = &wire_calls[frame->type];
	void *request = NULL, *result = NULL;
	int rc = call->request ? 0 : err_set(&e, ERR_NETWORK, "message type %u is not a request", frame->type);
	if (rc == 0) {
		request = mem_new(1, call->request->size);
		result = mem_new(1, call->answer->size);
		rc = wire_decode(call->request, &in, request, &e);
	}
	if (rc == 0 && runs_serves(frame->type))
		rc = w->runs && w->closed ? runs_serve(w->runs, frame->type, request, result, &e)
					  : err_set(&e, ERR_INTERNAL, "nothing can be prepared before a device is open");
	else if (rc == 0 && serve[frame->type]) /* not a ping */
		rc = serve[frame->type](w, request, result, &e);
	if (rc < 0)
		wire_failed_encode(&e, &body);
	else
		wire_encode_split(call->answer, result, &body, &tail);
	int sent = wire_send_tail(w->out, rc < 0 ? WIRE_FAILED : frame->type, frame->id, &body, &tail, CLOCK_NEVER, NULL);
	if (request) {
		wire_fini(call->request, request);
		wire_fini(call->answer, result);
	}
	free(request);
	free(result);
	buf_fini(&body);
	return sent == 0 && rc != -ERR_CRASH && rc != -ERR_IO;
}

/* Ends with 0 when the daemon closed the wire. After garbage there is no next frame to find: the daemon is told, and
 * the worker ends. */
static int serve_all(struct worker *w)
{
	struct wire_frame frame = { .body = NULL };
	for (;;) {
		struct err e = ERR_INIT;
		int rc = wire_receive_again(w->in, &frame, CLOCK_NEVER, -1, NULL, &e);
		bool more = rc == 0 && answer(w, &frame);
		if (!more || frame.room > w->frame_kept) {
			free(frame.body);
			frame = (struct wire_frame){ .body = NULL };
		}
		if (rc < 0 && rc != -ERR_CRASH) {
			struct buf body = BUF_INIT;
			wire_failed_encode(&e, &body);
			wire_send(w->out, WIRE_FAILED, 0, body.data, body.len, clock_now() + CLOCK_S, NULL);
			buf_fini(&body);
		}
		if (!more)
			return rc == -ERR_CRASH ? 0 : 1;
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

/* "NAME, CPU": times of a device that is the CPU, and of launches, belong to both. */
static void name_host(char host[FACTS_TEXT])
{
	struct utsname names;
	char line[FACTS_TEXT], cpu[FACTS_TEXT / 2] = "";
	FILE *f = fopen("/proc/cpuinfo", "re");
	while (f && !*cpu && fgets(line, sizeof line, f))
		sscanf(line, "model name : %63[^\n]", cpu);
	if (f)
		fclose(f);
	bool named = uname(&names) == 0;
	snprintf(host, FACTS_TEXT, "%.60s, %s", named ? names.nodename : "", *cpu ? cpu : named ? names.machine : "unknown CPU");
}

int worker_main(void)
{
	struct worker w = { .kernel = sandbox_probe() };
	name_host(w.host);
	sandbox_start();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is for the daemon, which then closes the wire */
	if (move_wire(&w) < 0)
		return 1;
	struct buf body = BUF_INIT, lacks = BUF_INIT;
	struct wire_hello hello = { .version = WIRE_VERSION, .pid = (uint32_t)getpid(), .wall_ms = (uint64_t)clock_wall_ms() };
	sandbox_lacks(&w.kernel, &lacks);
	snprintf(hello.lacks, sizeof hello.lacks, "%s", buf_text(&lacks));
	wire_hello_encode(&hello, &body);
	int status = wire_send(w.out, WIRE_HELLO, 0, body.data, body.len, CLOCK_NEVER, NULL) < 0 ? 1 : serve_all(&w);
	buf_fini(&lacks);
	buf_fini(&body);
	sandbox_end();
	/* A faulted device may hang in its own clean-up: such a worker just ends. */
	if (status)
		_exit(status);
	runs_free(w.runs);
	return status;
}

int worker_become(const char *const *argv)
{
	struct err e = ERR_INIT;
	bool builds = strcmp(argv[0], "+") == 0;
	if (builds && argv[1] == NULL)
		err_set(&e, ERR_INPUT, "no program is named");
	else
		sandbox_exec((char *const *)argv + builds, builds ? SANDBOX_BUILDER : SANDBOX_PROGRAM, &e);
	fprintf(stderr, "%s\n", e.text);
	return 1;
}
