/* remote: devices of other machines, reached through a program that is there anyway (ssh, srun, kubectl). pool.c leases them,
 * pool_devices.c lists them. docs/remote.md says how this is used, and what is trusted.
 *
 * A remote is what the operator names: `ssh:HOST`, `slurm:partition=h200,gres=gpu:1`, `kubectl:POD`, each perhaps with a name of
 * its own in front (`lab=ssh:HOST`). Its devices are called REMOTE/DEVICE, as in `ssh:HOST/cuda:0`. While one is leased, a hold
 * exists there: a process behind the launcher that has brought peakd along. It keeps the lock of the device, is the allocation
 * where the launcher makes one, and answers whether the machine still lives. Workers start behind the same launcher, beside the
 * hold. */
#ifndef PEAKD_CORE_WORKERS_REMOTE_H
#define PEAKD_CORE_WORKERS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/hash.h"
#include "core/workers/process.h"

struct remotes; /* all that may be named */
struct remote;  /* one of them; lives as long as the remotes */

/* --- names ------------------------------------------------------------------------------------------------------------------ */

/* entries: NULL-terminated "[NAME=]LAUNCHER:…", or "any": every well-formed one may be named. NULL: none. -ERR_INPUT names the
 * entry and what is wrong with it. */
int remotes_new(const char *const *entries, struct remotes **ret_remotes, struct err *e);
void remotes_free(struct remotes *take_remotes);
/* The i-th that the operator named; NULL behind the last. */
struct remote *remotes_at(struct remotes *remotes, size_t i);
/* Whose device this id is: *ret_remote is NULL for one of this machine. -ERR_INPUT: misspelt, or not named by the operator. */
int remotes_find(struct remotes *remotes, const char *id, struct remote **ret_remote, struct err *e);
/* What its own machine calls the device: "cuda:0" of "ssh:HOST/cuda:0*2" and of "cuda:0", "" of "ssh:HOST". Borrowed from id but
 * for the end ("*2"), which is left out: at most FACTS_TEXT - 1 bytes are written to `text`. Returns text. */
char *remote_local(const char *id, char text[FACTS_TEXT]);
const char *remote_name(const struct remote *remote);
/* The launcher gives each lease a machine of its own, as a batch system does. */
bool remote_allocates(const struct remote *remote);

/* --- use -------------------------------------------------------------------------------------------------------------------- */

/* Whoever waits for a hold. */
struct remote_wait {
	int (*check)(void *arg, struct err *e);       /* negative: the wait is over, with this error; NULL */
	void (*waiting)(void *arg, const char *said); /* told what launcher or hold said last, when that changes; NULL */
	void *arg;
	int64_t deadline; /* CLOCK_NEVER: a batch system may take days */
};

enum { REMOTE_JOB = 32 };
struct remote_hold {
	struct process process;
	const struct remote *remote;
	struct hash bundle;   /* of the peakd there */
	char job[REMOTE_JOB]; /* the batch system's number of the allocation; "" without */
	int64_t lost;         /* when a worker in an allocation was last killed from outside; 0: never */
};

/* *hold: empty, or released. Reaches the machine, copies peakd there if it lacks this build, and takes the device's lock
 * (device_lock_name; "": none). -ERR_IO when the machine cannot be reached; what wait->check said. */
int remote_hold(struct remote_hold *hold, const struct remote *remote, struct starter *starter, const char *lock,
		const struct remote_wait *wait, struct err *e);
/* Asks the hold. False when the machine does not answer within ten seconds: then a deadline that passed says nothing of a kernel.
 * Where a worker in the allocation was just killed, it asks two seconds later: a job that is cancelled ends step by step. */
bool remote_answers(struct remote_hold *hold);
/* Nobody uses the allocation for now: it ends after a minute unless remote_answers is called. */
void remote_rest(struct remote_hold *hold);
/* Gives device and allocation back. Harmless without a hold. */
void remote_release(struct remote_hold *hold);
/* What makes a batch system end a job whose hold has not ended by itself; NULL: the launcher makes none. */
const char *remote_cancel(const struct remote *remote);
/* The command line of a worker beside the hold; `tool`: NULL-terminated words in front of it there, or NULL. remote_words_free. */
char **remote_worker_words(const struct remote *remote, const struct remote_hold *hold, const char *const *tool);
/* The command line that runs a command there: for a hold where job is NULL, else beside it. NULL-terminated; remote_words_free. */
char **remote_words(const struct remote *remote, const char *job, const char *const *command);
void remote_words_free(char **take_words);
/* Facts of the devices there, as that machine names them, and a line for each backend that is missing. Both free(). */
int remote_ask_devices(const struct remote *remote, struct starter *starter, const struct remote_wait *wait,
		       struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e);

/* --- the other end ---------------------------------------------------------------------------------------------------------- */

/* `peakd worker --hold NAME`: takes the lock, then answers when it is asked, until its input ends. Returns the exit status. */
int remote_end_hold(const char *lock);
/* `peakd worker --guarded`: a worker, and beside it a process that kills it when the connection is gone, for a hanging kernel would
 * never notice. Exits with 128 + N when signal N ended the worker, REMOTE_ENDED when it ended otherwise. */
int remote_end_guard(int (*worker)(void));
enum { REMOTE_ENDED = 100, REMOTE_ASK = '?', REMOTE_REST = '.' };

#endif
