/* pool: the daemon's worker processes: which exist, who leases them, how they die and come back. validate, tune and the devices
 * tool lease workers here, which starts all of them.
 *
 * A worker is one child (`peakd worker`, behind an optional launcher prefix) with a private wire on its descriptors 0 and 1.
 * Whatever goes wrong with a call (death, hang past its deadline, garbage) is an ordinary error of that call: the worker is killed
 * and reaped, and the next call on the same lease starts a fresh one. Leases are exclusive. While a device is leased, no other
 * peakd on this machine may use it (device_lock.h); leases are granted in the order of asking. */
#ifndef PEAKD_CORE_WORKERS_POOL_H
#define PEAKD_CORE_WORKERS_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/wire/wire.h"
#include "core/workers/cancel.h"

struct remotes;

struct pool_config {
	const char *binary;          /* path of the peakd binary; NULL: this process's own (/proc/self/exe) */
	const char *const *launcher; /* NULL-terminated words put before it ("srun", "-n1"); NULL or empty: none */
	unsigned compile_workers;    /* at most this many at once; 0: one per CPU that may be used */
	struct remotes *remotes;     /* devices of other machines (remote.h); borrowed; NULL: none */
	const char *lock_space;      /* of device locks, for tests: NULL: $PEAKD_LOCK_SPACE, and without it the machine's */
};

struct pool;
struct pool_worker; /* a lease */

struct pool *pool_new(const struct pool_config *config);
/* Kills and reaps all workers. No lease may be outstanding. */
void pool_free(struct pool *pool);
unsigned pool_compile_width(const struct pool *pool);

struct pool_figures {
	unsigned alive;              /* processes */
	unsigned long started, lost; /* since pool_new; lost: during a call, whatever ended them */
};
/* For /metrics and /healthz. each(arg, …), which may be NULL, is told every device that was ever leased, under the pool's lock. */
void pool_figures(struct pool *pool, struct pool_figures *ret_figures,
		  void (*each)(void *arg, const char *device, bool leased, unsigned waiting), void *arg);

/* --- devices -------------------------------------------------------------------------------------------------------------- */

/* Facts of every device of every backend of this machine, asked of a compile worker and kept until pool_forget_devices; a backend
 * without one is asked again after five minutes, or after some seconds where the worker ended without an answer. ret_facts: free().
 * A backend that is not there is one line in *ret_notes ("cuda: libcuda.so.1 …"), free(). */
int pool_devices(struct pool *pool, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e);
/* Every backend's name, whether anything here runs its code or not. */
enum { POOL_BACKENDS = 3 };
extern const char *const pool_backends[POOL_BACKENDS];
/* Whether a device's name belongs to this backend: "cuda", "cuda:0", "cuda:all", "cuda:sm_90a" and "ssh:HOST/cuda:0" are cuda's.
 * The device need not exist. */
bool pool_is_of_backend(const char *device, const char *backend);
/* -ERR_INPUT: the device does not run the context's code. */
int pool_wrong_backend(const char *device, const char *backend, struct err *e);
/* The same of the i-th of the remotes that the operator named: -ERR_NOT_FOUND behind the last. Contacts that machine unless its
 * devices are known, for at most a minute; -ERR_IO when it cannot be reached. */
int pool_remote_devices(struct pool *pool, size_t i, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e);
/* The next question about devices looks again, on all machines. */
void pool_forget_devices(struct pool *pool);
/* Facts by device id: "hlsl:0", "cuda:0", "cuda:sm_90a" (compile only). "hlsl" alone means its device 0. Errors list what there is.
 */
int pool_device(struct pool *pool, const char *id, struct facts *ret_facts, struct err *e);
/* One device or several of one kind: also "cuda:all", "cuda:0,1", "ssh:A/cuda:0+ssh:B/cuda:0", and "slurm:partition=p/cuda:0*4" for
 * at most four allocations at once. ret_facts: free(). -ERR_INPUT when they differ. */
int pool_device_set(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e);

/* Between pool.c and pool_devices.c: what is kept of the devices, and what the sandbox of a lease's process cannot do ("" nothing).
 */
struct pool_known;
struct pool_known *pool_known_new(void);
void pool_known_free(struct pool_known *take_known);
struct pool_known *pool_known(const struct pool *pool);
const char *pool_lacks(const struct pool_worker *worker);
struct starter;
/* Whether an opened device is the one that was meant; any_host: on whichever machine. -ERR_UNSUPPORTED says how it differs. */
int pool_is_same_kind(const struct facts *want, const struct facts *found, bool any_host, struct err *e);
/* Completes "it did not answer within 10 s, while …". */
const char *pool_doing(enum wire_type type);
struct remotes *pool_remotes(const struct pool *pool);
struct starter *pool_starter(const struct pool *pool);

/* --- leases --------------------------------------------------------------------------------------------------------------- */

/* Waits for a free compile worker. */
int pool_take_compile(struct pool *pool, struct cancel *cancel, struct pool_worker **ret_worker, struct err *e);

/* Options of a device lease; zeroed: none. */
struct pool_wish {
	struct cancel *cancel;     /* ends the waiting and the work; NULL */
	const struct cancel *over; /* ends the waiting alone: once asked, the answer is -ERR_CANCELLED; NULL */
	/* Told once, when the device is not free at once: "waiting for cuda:0: process 4711 uses it", or "another process" where
	 * the kernel cannot tell which. NULL: nobody. */
	void (*waiting)(void *arg, const char *line);
	void *arg;
	const char *const *launcher; /* words between the pool's launcher and the device's worker, such as a sanitizer; outlive the
					lease. NULL: none */
	_Atomic int64_t
		*leased_ns; /* the lease's end adds how long it lasted, without the waiting before it; outlives the lease. NULL */
};

/* Waits until the device is free, here and on this machine; the worker has the device open. */
int pool_take_device(struct pool *pool, const struct facts *device, const struct pool_wish *wish, struct pool_worker **ret_worker,
		     struct err *e);
/* The process beside a device worker that computes references: candidates and references never share one. Part of the same lease
 * (do not give it), started on first use. */
struct pool_worker *pool_reference(struct pool_worker *worker);
/* What the lease's work is a part of, or NULL. */
const struct span *pool_span(const struct pool_worker *worker);
/* Ends the lease. NULL is fine. */
void pool_give(struct pool_worker *take_worker);

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

/* One request. timeout_ns counts from the call. */
struct pool_request {
	enum wire_type type;
	const struct buf *body;       /* NULL: empty */
	const struct wire_tail *tail; /* megabytes behind the body that are not copied (wire.h); NULL: none */
	int64_t timeout_ns;
};

/* The answer has the request's type; WIRE_FAILED becomes the worker's own error. ret_body: free(). After any other failure the
 * worker is gone, with everything prepared in it: -ERR_CRASH and -ERR_TIMEOUT are its own doing, -ERR_IO is this machine's: it was
 * killed from outside, or no worker could be started. */
int pool_request(struct pool_worker *worker, const struct pool_request *request, uint8_t **ret_body, size_t *ret_len,
		 struct err *e);
/* The same without a tail. */
int pool_call(struct pool_worker *worker, enum wire_type type, const struct buf *body, int64_t timeout_ns, uint8_t **ret_body,
	      size_t *ret_len, struct err *e);
struct pool_question {
	enum wire_type type;
	const void *request;
	int64_t timeout_ns;
};
/* A request and its answer as the structs of their messages (wire_calls): encodes, calls, decodes. ret_answer: wire_…_fini; NULL
 * when the answer does not matter. The answer must not point into the frame. */
int pool_ask(struct pool_worker *worker, enum wire_type type, const void *request, int64_t timeout_ns, void *ret_answer,
	     struct err *e);
/* The same of any compile worker, leased for that alone. */
int pool_ask_compiler(struct pool *pool, struct cancel *cancel, const struct pool_question *question, void *ret_answer,
		      struct err *e);
/* The lease has a process; without one the next call starts one. */
bool pool_is_alive(const struct pool_worker *worker);
/* Counts the processes that this lease has gone through: changes when prepared runs are lost. */
unsigned pool_generation(const struct pool_worker *worker);

/* "" unless the wall clock of its machine is more than two seconds from this one's. Until the next call. */
const char *pool_clock(const struct pool_worker *worker);

/* For a device that shares the CPU: no compile worker is busy between begin and end. Nothing happens for others. begin waits for
 * busy compilers; -ERR_CANCELLED when the lease's holder is cancelled meanwhile, and then no end is due. */
int pool_quiet_begin(struct pool_worker *worker, struct err *e);
void pool_quiet_end(struct pool_worker *worker);

/* Kills the workers that are busy for this cancel. Called after cancel_ask. */
void pool_interrupt(struct pool *pool, const struct cancel *cancel);

/* The process of a leased worker, 0 before its first call: for tests and benchmarks that kill it. */
pid_t pool_worker_pid(const struct pool_worker *worker);

#endif
