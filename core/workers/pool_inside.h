/* pool_inside: what the files of pool share and nobody else sees: who exists and who is leased. See pool.h. */
#ifndef PEAKD_CORE_WORKERS_POOL_INSIDE_H
#define PEAKD_CORE_WORKERS_POOL_INSIDE_H

#include "base/lock.h"
#include "core/workers/pool.h"
#include "core/workers/process.h"
#include "core/workers/starter.h"

enum role { ROLE_COMPILE, ROLE_DEVICE, ROLE_REFERENCE };

struct device;

/* Somebody in line for a device; lives on the stack of the thread that waits. */
struct waiter { struct waiter *next; };

struct pool_worker {
	struct pool *pool;
	enum role role;
	struct process process;
	struct device *device;         /* ROLE_DEVICE and ROLE_REFERENCE */
	struct cancel *cancel;         /* of the lease's holder; NULL */
	bool leased;
	bool busy;                     /* in a call now */
	bool interrupted;              /* in the last call: its wire is shut, whatever that call was answered */
	int interrupt_fd;              /* a second descriptor of the wire, for pool_interrupt; -1 without process */
	unsigned generation;
	const char *const *launcher;   /* of the lease, in front of its processes; NULL: the pool's own */
};

/* One device that was ever leased: its lock and its two processes. */
struct device {
	struct facts facts;
	int lock_fd;                   /* flock while leased; -1 */
	bool leased;
	int64_t since;                 /* when the lease began */
	_Atomic int64_t *leased_ns;    /* of the lease's holder; NULL */
	struct waiter *waiters;        /* leases are granted in the order of asking: first in line first */
	struct pool_worker candidate, reference;
	struct device *next;
};

struct pool {
	struct lock lock;              /* guards who holds what; never held while a worker works */
	struct lock_bell bell;         /* anything changed */
	char *lock_folder;
	struct pool_worker *compilers;
	unsigned width;
	struct device *devices;
	struct facts *known;           /* answer of pool_devices, kept */
	size_t known_count;
	char *known_notes;             /* NULL: not asked yet */
	unsigned compiling;            /* compile calls under way */
	unsigned quiet;                /* timings of devices that share the CPU: under way or waiting to begin */
	bool warned;                   /* that the workers' sandbox lacks something */
	struct starter *starter;
};

/* How often those who wait look at their cancel. */
#define POOL_LOOK_NS (200 * CLOCK_MS)

/* A worker without a process. */
void pool_worker_init(struct pool_worker *w, struct pool *pool, enum role role, struct device *device);
/* Ends its process; harmless without one. */
void pool_worker_stop(struct pool_worker *w);
/* The same for an idle one, which may end by itself first. */
void pool_worker_retire(struct pool_worker *w);
/* Starts the worker's process, and opens its device, unless both are there. */
int pool_ensure_started(struct pool_worker *w, struct err *e);

#endif
