/* Other programs: their environment without secrets, their capabilities, and how they are asked. */
#include "core/workers/child.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tap.h"

static char **list(const char *const *texts)
{
	return child_environment((char *const *)(uintptr_t)texts);
}

/* What `program` writes of itself; free(). */
static char *ask(const char *words)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)words, NULL };
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	int rc = child_filter(argv, &(struct child_input){ "input", 5 },
			      &(struct child_bounds){ 10 * CLOCK_S, (size_t)4 << 30, NULL }, &out, &e);
	char *text = rc == 0 ? mem_str(buf_text(&out)) : mem_fmt("error %d: %s", rc, e.text);
	buf_fini(&out);
	return text;
}

static void is_answer(const char *words, const char *want, const char *what)
{
	char *got = ask(words);
	has_str(got, want, "%s", what);
	free(got);
}

static void filter(void)
{
	is_answer("cat; cat /dev/stdin", "inputinput", "a program reads its input, from its descriptor and as a file");
	is_answer("echo because >&2; exit 3", "because", "a program that fails passes its last words on");
	is_answer("exec /nowhere/at/all", "error", "a program that cannot be started is an error");
}

static void *cancel_soon(void *cancel)
{
	clock_sleep(50 * CLOCK_MS);
	cancel_ask(cancel);
	return NULL;
}

static void nothing_on_signal(int signal)
{
	(void)signal;
}

/* What a tool needs is bounded, and waiting for it ends when its caller is cancelled. */
static void bounds(void)
{
	char *const sleeper[] = { (char *)"sleep", (char *)"1000", NULL };
	struct sigaction act = { .sa_handler = nothing_on_signal }, was;
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct cancel cancel = { .asked = false };
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	pthread_t thread;
	/* The program is bounded when it has begun. */
	is_answer("until [ $(ulimit -f) != unlimited ]; do :; done; exec head -c 100000000 /dev/zero", "writes more than 64 MiB",
		  "a program's output is bounded");
	is_answer("until [ $(ulimit -v) != unlimited ]; do :; done; exec dd if=/dev/null bs=5G count=1", "exhausted",
		  "so is its memory");
	pthread_create(&thread, NULL, cancel_soon, &cancel);
	is_int(child_filter(sleeper, &(struct child_input){ "", 0 }, &(struct child_bounds){ 100 * CLOCK_S, 0, &cancel }, &out, &e),
	       -ERR_CANCELLED, "a program is cancelled with its caller");
	pthread_join(thread, NULL);
	e = (struct err)ERR_INIT;
	sigaction(SIGALRM, &act, &was);
	setitimer(ITIMER_REAL, &often, NULL);
	is_answer("sleep 0.3; echo whole", "whole", "signals to the caller do not end the program early");
	is_int(child_filter(sleeper, &(struct child_input){ "", 0 }, &(struct child_bounds){ 200 * CLOCK_MS, 0, NULL }, &out, &e),
	       -ERR_TIMEOUT, "a program that takes too long is ended");
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &was, NULL);
	buf_fini(&out);
}

/* Makes CAP_PERFMON inheritable and ambient, as systemd's AmbientCapabilities= does. */
static int hold_perfmon(void)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };
	struct {
		uint32_t effective, permitted, inheritable;
	} sets[2];
	if (syscall(SYS_capget, &header, sets) != 0)
		return 0;
	sets[1].inheritable |= 1u << (38 - 32);
	return syscall(SYS_capset, &header, sets) == 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 38, 0, 0) == 0;
}

static void capabilities(void)
{
	static const char ambient[] = "grep CapAmb /proc/self/status";
	if (!hold_perfmon()) {
		SKIP(4, "this process may not hold CAP_PERFMON");
		return;
	}
	is_answer(ambient, "0000004000000000", "a child would inherit the capability");
	child_drop_capabilities();
	is_answer(ambient, "0000000000000000", "once dropped, it does not");
	child_lend_perfmon(true);
	is_answer(ambient, "0000004000000000", "a worker that it is lent to does");
	child_lend_perfmon(false);
	is_answer(ambient, "0000000000000000", "and the next one does not");
}

int main(void)
{
	filter();
	bounds();
	capabilities();
	static const char *const all[] = {
		"PATH=/bin",
		"OPENAI_API_KEY=k",
		"hf_token=t",
		"AWS_SECRET_ACCESS=s",
		"CREDENTIALS_DIRECTORY=/run/c",
		"PGPASSWORD=p",
		"LD_LIBRARY_PATH=/x",
		"PEAKD_MODEL=openai:http://h/v1?model=m&key_env=HIDDEN&retries=1",
		"HIDDEN=h",
		"HIDDEN2=kept",
		"NOTE=a KEY in a value",
		"CUDA_HOME=/c",
		NULL,
	};
	static const char *const want[] = { "PATH=/bin", "LD_LIBRARY_PATH=/x", "HIDDEN2=kept", "NOTE=a KEY in a value",
					    "CUDA_HOME=/c" };
	char **got = list(all);
	size_t n = 0;
	while (got[n])
		n++;
	is_int((int)n, (int)MEM_COUNT(want), "as many as expected");
	for (size_t i = 0; i < n && i < MEM_COUNT(want); i++)
		is_str(got[i], want[i], "in their order: %s", want[i]);
	free(got);
	static const char *const last[] = { "HIDDEN=h", "PEAKD_MODEL=openai:http://h/v1?model=m&key_env=HIDDEN", NULL };
	got = list(last);
	ok(got[0] == NULL, "an option at the end, and after the variable");
	free(got);
	static const char *const none[] = { NULL };
	got = list(none);
	ok(got[0] == NULL, "an empty environment");
	free(got);
	return tap_done();
}
