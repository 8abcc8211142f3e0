/* pool: the daemon's worker processes: who exists, who is leased, how they die and come back. validate, tune and the
 * devices tool lease workers here; nobody else starts a process.
 *
 * A worker is one child (`peakd worker`, behind an optional launcher prefix) with a private wire on its descriptors 0 and 1.
 * Whatever goes wrong with a call (death, hang past its deadline, garbage) is an ordinary error of that call: the worker is
 * killed and reaped, and the next call on the same lease starts a fresh one. Leases are exclusive: a compile worker serves one
 * caller at a time, a device worker too, and while a device worker is leased no other peakd on this machine may use
 * that device (flock on a file named after its UUID; whoever waits for it is next, see pool_lease.c). */
#ifndef PEAKD_CORE_WORKERS_POOL_H
#define PEAKD_CORE_WORKERS_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/wire.h"
#include "core/workers/cancel.h"

struct pool_config {
	const char *binary;          /* path of the peakd binary; NULL: this process's own (/proc/self/exe) */
	const char *const *launcher; /* NULL-terminated words put before it ("srun", "-n1"); NULL or empty: none */
	unsigned compile_workers;    /* at most this many at once; 0: one per CPU that may be used */
	const char *lock_folder;     /* for the device locks; NULL: the system's folder for temporary files */
};

struct pool;
struct pool_worker; /* a lease */

struct pool *pool_new(const struct pool_config *config);
/* Kills and reaps all workers. No lease may be outstanding. */
void pool_free(struct pool *pool);
unsigned pool_compile_width(const struct pool *pool);

/* Facts of every device of every backend (or of one: backend may be NULL for all), asked of a compile worker and kept until
 * pool_forget_devices. ret_facts: free(). A backend that is not there is one line in *ret_notes ("cuda: libcuda.so.1 …"), free(). */
int pool_devices(struct pool *pool, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e);
/* Every backend's name, whether anything here runs its code or not. */
enum { POOL_BACKENDS = 3 };
extern const char *const pool_backends[POOL_BACKENDS];
/* Whether what is asked for as a device is this backend's: "cuda", "cuda:0", "cuda:all" and "cuda:sm_90a" are cuda's. It need not be there. */
bool pool_is_of_backend(const char *device, const char *backend);
/* The next pool_devices looks again. */
void pool_forget_devices(struct pool *pool);
/* Facts by device id: "hlsl:0", "cuda:0", "cuda:sm_90a" (compile only). "hlsl" alone means its device 0. Errors name what there is. */
int pool_device(struct pool *pool, const char *id, struct facts *ret_facts, struct err *e);

/* One device or several of one kind: also "cuda:all" and "cuda:0,1". ret_facts: free(). -ERR_INPUT when they differ. */
int pool_device_set(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e);

/* Waits for a free compile worker. */
int pool_take_compile(struct pool *pool, struct cancel *cancel, struct pool_worker **ret_worker, struct err *e);

/* What a lease of a device may want beyond the usual; zeroed: nothing. */
struct pool_wish {
	struct cancel *cancel;         /* of who waits and works; NULL */
	const struct cancel *over;     /* of the waiting alone: once asked, the device is not wanted any more, and the answer is -ERR_CANCELLED; NULL */
	/* Told once, when the device is not free at once: "waiting for cuda:0: process 4711 uses it", or "another process" where nobody can
	 * tell which. NULL: nobody. */
	void (*waiting)(void *arg, const char *line);
	void *arg;
	const char *const *launcher;   /* words in front of the device's worker, as a sanitizer is; outlive the lease. NULL: the pool's */
	_Atomic int64_t *leased_ns;    /* the lease's end adds how long it lasted, the waiting before it left out; outlives the lease. NULL: nobody asks */
};

/* Waits until the device is free, here and on this machine; the worker has the device open. */
int pool_take_device(struct pool *pool, const struct facts *device, const struct pool_wish *wish,
                     struct pool_worker **ret_worker, struct err *e);
/* The process beside a device worker in which references are computed: candidates and references never share one. Part of
 * the same lease (do not give it), started on first use. */
struct pool_worker *pool_reference(struct pool_worker *worker);
/* Ends the lease. NULL is fine. */
void pool_give(struct pool_worker *take_worker);

/* One request and its answer. timeout_ns counts from now. The answer has type `type`; WIRE_FAILED becomes the worker's own
 * error. ret_body: free(). After any failure other than the worker's own answer the worker is gone, with everything prepared in it. */
int pool_call(struct pool_worker *worker, enum wire_type type, const struct buf *body, int64_t timeout_ns,
              uint8_t **ret_body, size_t *ret_len, struct err *e);
/* The same with the last megabytes of the body where they are (wire.h). */
int pool_call_tail(struct pool_worker *worker, enum wire_type type, const struct buf *body, const struct wire_tail *tail,
                   int64_t timeout_ns, uint8_t **ret_body, size_t *ret_len, struct err *e);
/* The lease has a process; without one the next call starts one. */
bool pool_is_alive(const struct pool_worker *worker);
/* Counts the processes that this lease has gone through: changes when prepared runs are lost. */
unsigned pool_generation(const struct pool_worker *worker);

/* For a device that shares the CPU: between begin and end no compile worker is busy. Others: nothing happens. begin waits for the
 * compilers that are; -ERR_CANCELLED when the lease's holder is cancelled meanwhile, and then no end is due. */
int pool_quiet_begin(struct pool_worker *worker, struct err *e);
void pool_quiet_end(struct pool_worker *worker);

/* Kills the workers that are now busy for this cancel. Called after cancel_ask. */
void pool_interrupt(struct pool *pool, const struct cancel *cancel);

#endif
