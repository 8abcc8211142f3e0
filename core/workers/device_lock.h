/* device_lock: one process at a time uses a device, on the whole machine: two daemons that time kernels on one GPU would disturb
 * each other unnoticed. pool.c takes the lock with each lease.
 *
 * The lock is the name of an abstract Unix socket, which Linux lets one process bind. Such a name has no file. So neither a user, a
 * umask, a TMPDIR nor a private /tmp or /dev/shm (systemd, Slurm) hides it or forbids it. The kernel gives it up when its holder
 * dies, however that happens. It belongs to the network name space: a container shares it with --network=host. */
#ifndef PEAKD_CORE_WORKERS_DEVICE_LOCK_H
#define PEAKD_CORE_WORKERS_DEVICE_LOCK_H

#include "backends/wire/facts.h"
#include "base/err.h"

enum { DEVICE_LOCK_NAME = 108 };

/* Whoever waits for a lock. */
struct device_lock_waiter {
	int (*check)(void *arg, struct err *e); /* negative: the wait is over, with this error */
	void (*waiting)(void *arg,
			const char *who); /* told once: "process 4711", or "another process" in another process name space */
	void *arg;
};

/* The name that is bound, without the leading NUL: "peakd-device-" and the physical device, the same through CUDA and Vulkan.
 * space: of the tests, which need not wait for each other; NULL or "" the machine's. -ERR_INPUT when it is too long. */
int device_lock_name(const struct facts *device, const char *space, char ret_name[DEVICE_LOCK_NAME], struct err *e);
/* Waits until the name is this process's. *ret_fd holds the lock until it is closed. Negative: what check said, or -ERR_IO. */
int device_lock_take(const char *name, const struct device_lock_waiter *waiter, int *ret_fd, struct err *e);

#endif
