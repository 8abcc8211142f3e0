/* process: one worker process: started, spoken to in frames, killed and reaped. Used by pool.c alone. */
#ifndef PEAKD_CORE_WORKERS_PROCESS_H
#define PEAKD_CORE_WORKERS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/clock.h"

struct process {
	pid_t pid;         /* 0: none */
	int wire;          /* our end of the socket pair; -1 */
	int complaints;    /* read end of its stderr; -1 */
	uint32_t last_id;  /* of the last request */
	char lacks[WIRE_LACKS]; /* of its hello: what its sandbox does without; "" nothing */
	bool patient;      /* a tool around it has something to write down: it is let end by itself after a fault */
	struct buf said;   /* the last part of what it wrote to stderr, for the error message when it dies */
};

#define PROCESS_RETIRE_NS (10 * CLOCK_S) /* what a tool around a worker may take to write down what it found */

#define PROCESS_INIT { .pid = 0, .wire = -1, .complaints = -1, .last_id = 0, .lacks = "", .said = BUF_INIT }

/* Starts `launcher… binary worker` in a process group of its own. On failure nothing is left behind. */
int process_start(struct process *p, const char *binary, const char *const *launcher, struct err *e);
/* Waits for its hello, the first thing after process_start; a failure ends the process. */
int process_greet(struct process *p, struct err *e);
/* One request, one answer, before the monotonic deadline. Any failure but the worker's own WIRE_FAILED ends the process. */
int process_call(struct process *p, enum wire_type type, const struct buf *body, const struct wire_tail *tail, int64_t deadline,
                 uint8_t **ret_body, size_t *ret_len, struct err *e);
/* Lets an idle one end by itself (it does when its wire is closed), so that a tool around it can write down what it found; killed at
 * the deadline. Harmless on a process that is not there. */
void process_retire(struct process *p, int64_t deadline);
/* Kills the whole group, reaps, closes. Harmless on a process that is not there. */
void process_end(struct process *p);

#endif
