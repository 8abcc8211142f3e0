/* sample_worker: a worker process for tests, over two socket pairs as the daemon would have it, and one call per
 * request. */
#ifndef PEAKD_TESTS_BACKENDS_SAMPLE_WORKER_H
#define PEAKD_TESTS_BACKENDS_SAMPLE_WORKER_H

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/wire/wire.h"
#include "backends/worker/worker.h"
#include "base/clock.h"
#include "base/mem.h"

struct sample_worker {
	pid_t pid;
	int fd;          /* the wire */
	uint32_t id;     /* of the last request */
};

__attribute__((unused))
static struct sample_worker sample_worker_start(void)
{
	int fd[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		abort();
	struct sample_worker w = { .pid = fork(), .fd = fd[0] };
	if (w.pid == 0) {
		setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); /* tests leave nothing behind */
		dup2(fd[1], STDIN_FILENO);
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		exit(worker_main());
	}
	close(fd[1]);
	return w;
}

/* Closes the wire and returns what waitpid says. */
__attribute__((unused))
static int sample_worker_stop(struct sample_worker *w)
{
	int status = -1;
	close(w->fd);
	waitpid(w->pid, &status, 0);
	return status;
}

/* Sends a request and waits for its answer; a failure comes back as the worker's error. The frame's body is the
 * caller's. */
__attribute__((unused))
static int sample_worker_call(struct sample_worker *w, enum wire_type type, const struct buf *body,
                              struct wire_frame *ret_frame, struct err *e)
{
	struct wire_frame f;
	int64_t deadline = clock_now() + 60 * CLOCK_S;
	if (wire_send(w->fd, type, ++w->id, body->data, body->len, deadline, e) < 0 ||
	    wire_receive(w->fd, &f, deadline, -1, NULL, e) < 0)
		return -(int)e->code;
	if (f.id != w->id || (f.type != type && f.type != WIRE_FAILED)) {
		free(f.body);
		return err_set(e, ERR_INTERNAL, "answer %u to request %u", f.id, w->id);
	}
	if (f.type == WIRE_FAILED) {
		struct wire_in in = { .at = f.body, .end = f.body + f.len };
		int r = wire_failed_decode(&in, e);
		free(f.body);
		return r;
	}
	*ret_frame = f;
	return 0;
}

/* The same for a pair of messages: sample_compile(w, &request, &answer, e) and so on. */
#define SAMPLE_CALL(name, type, request, answer) \
	__attribute__((unused)) \
	static int sample_##name(struct sample_worker *w, const struct wire_##request *m, struct wire_##answer *ret, \
	struct err *e) \
	{ \
		struct buf body = BUF_INIT; \
		struct wire_frame f; \
		wire_##request##_encode(m, &body); \
		int r = sample_worker_call(w, type, &body, &f, e); \
		buf_fini(&body); \
		if (r < 0) \
			return r; \
		struct wire_in in = { .at = f.body, .end = f.body + f.len }; \
		r = wire_##answer##_decode(&in, ret, e); \
		free(f.body); \
		return r; \
	}
SAMPLE_CALL(compile, WIRE_COMPILE, compile, compiled)
SAMPLE_CALL(prepare, WIRE_PREPARE, prepare, prepared)
SAMPLE_CALL(execute, WIRE_EXECUTE, execute, executed)
SAMPLE_CALL(compare, WIRE_COMPARE, compare, compared)
SAMPLE_CALL(measure, WIRE_MEASURE, measure, measured)
SAMPLE_CALL(pair, WIRE_PAIR, pair, paired)
SAMPLE_CALL(energy, WIRE_ENERGY, energy, energised)
#undef SAMPLE_CALL

__attribute__((unused))
static int sample_open(struct sample_worker *w, const char *id, struct facts *ret_facts, struct err *e)
{
	struct buf body = BUF_INIT;
	struct wire_frame f;
	wire_name_encode(&(struct wire_name){ .id = (char *)(uintptr_t)id }, &body);
	int r = sample_worker_call(w, WIRE_OPEN, &body, &f, e);
	buf_fini(&body);
	if (r < 0)
		return r;
	struct wire_in in = { .at = f.body, .end = f.body + f.len };
	r = wire_facts_decode(&in, ret_facts, e);
	free(f.body);
	return r;
}

__attribute__((unused))
static int sample_release(struct sample_worker *w, uint32_t run, struct err *e)
{
	struct buf body = BUF_INIT;
	struct wire_frame f;
	wire_release_encode(&(struct wire_release){ .run = run }, &body);
	int r = sample_worker_call(w, WIRE_RELEASE, &body, &f, e);
	buf_fini(&body);
	if (r == 0)
		free(f.body);
	return r;
}

/* Compiles and prepares one HLSL source for a plan; the run's number, or a failure. */
__attribute__((unused))
static int sample_load(struct sample_worker *w, const char *device, struct wire_define *defines, size_t define_count,
                       struct plan *plan, struct err *e)
{
	char *backend = mem_str("hlsl"), *arch = mem_str("spirv1.3"), *macros = mem_str("");
	struct wire_compile c = { .backend = backend, .arch = arch, .macros = macros, .device = (char *)(uintptr_t)device,
	                          .defines = defines, .define_count = define_count, .plan = plan };
	struct wire_compiled binary;
	struct wire_prepared prepared;
	int r = sample_compile(w, &c, &binary, e);
	if (r == 0) {
		struct wire_prepare p = { .binary = binary.binary, .binary_len = binary.binary_len, .plan = plan };
		r = sample_prepare(w, &p, &prepared, e);
		wire_compiled_fini(&binary);
	}
	free(backend);
	free(arch);
	free(macros);
	return r < 0 ? r : (int)prepared.run;
}

#endif
