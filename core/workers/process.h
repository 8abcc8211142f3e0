/* process: one worker process: started, spoken to in frames, killed and reaped. Used by pool.c alone. */
#ifndef PEAKD_CORE_WORKERS_PROCESS_H
#define PEAKD_CORE_WORKERS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/clock.h"

struct remote_hold;

enum { PROCESS_CLOCK = 96 };

struct process {
	pid_t pid;                 /* 0: none */
	int wire;                  /* our end of the socket pair; -1 */
	int complaints;            /* read end of its stderr; -1 */
	uint32_t last_id;          /* of the last request */
	char lacks[WIRE_LACKS];    /* from its hello: what its sandbox cannot do; "" nothing */
	char clock[PROCESS_CLOCK]; /* from its hello: how far its machine's wall clock is from this one's; "": within two seconds */
	bool remote;               /* on another machine: how it ended is told by the exit status of its guard (remote.h) */
	struct remote_hold *hold;  /* borrowed: beside it, and asked during long calls whether that machine lives; NULL */
	bool patient;              /* a tool around it writes its findings at exit: after a fault it may end by itself */
	uint64_t oom_kills;        /* of the whole machine when it was started */
	struct buf said;           /* the end of what it wrote to stderr, for the error message when it dies */
};

#define PROCESS_RETIRE_NS (10 * CLOCK_S) /* how long a tool around a worker may take to write down what it found */

#define PROCESS_INIT                                                                                                               \
	{                                                                                                                          \
		.pid = 0, .wire = -1, .complaints = -1, .last_id = 0, .lacks = "", .said = BUF_INIT                                \
	}

/* One request: its body with perhaps megabytes behind it that are not copied (wire.h), and a monotonic deadline. */
struct process_request {
	enum wire_type type;
	const struct buf *body;       /* NULL: empty */
	const struct wire_tail *tail; /* NULL: none */
	int64_t deadline;
	const atomic_bool *interrupted; /* once true the process is given up without asking how it ended; NULL: never */
};

/* The thread that starts processes. A worker asks the kernel to kill it when the thread that started it dies, so that a hanging
 * worker does not outlive the daemon. Job threads come and go; this one stays. */
struct starter;

/* In front of a worker that reads hardware counters. It alone inherits CAP_PERFMON, where the daemon holds that. */
extern const char *const process_counters[];

/* binary: NULL is this process's own. launcher: NULL-terminated words in front of it, or NULL. Both are copied. */
struct starter *process_starter_new(const char *binary, const char *const *launcher);
/* Ends the thread; the processes that it started die with it. NULL is fine. */
void process_starter_free(struct starter *starter);

/* Starts `launcher… binary worker` in a process group of its own. launcher: NULL-terminated words behind the starter's; NULL: none.
 * instead: the whole command line in place of all that; NULL. On failure nothing is left behind. Takes a millisecond; call
 * process_greet next. */
int process_start(struct process *p, struct starter *starter, const char *const *launcher, char *const *instead, struct err *e);
/* Waits for its hello, which may take seconds behind a launcher. A failure ends the process. interrupted: as in a request. */
int process_greet(struct process *p, const atomic_bool *interrupted, struct err *e);
/* One request, one answer. Any failure but the worker's own WIRE_FAILED ends the process. -ERR_CRASH when the worker died of a
 * fault of its own. -ERR_IO when it was killed from outside (by an administrator, or by the kernel for lack of memory) or died
 * under a memory limit. */
int process_call(struct process *p, const struct process_request *request, uint8_t **ret_body, size_t *ret_len, struct err *e);
/* Lets an idle process end by itself (it does when its wire closes), so that a tool around it can write its findings; kills it
 * after PROCESS_RETIRE_NS. Harmless without a process. */
void process_retire(struct process *p);
/* Kills the whole group, reaps, closes. Harmless without a process. */
void process_end(struct process *p);

#endif
