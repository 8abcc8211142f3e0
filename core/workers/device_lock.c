/* device_lock: see device_lock.h. */
#include "core/workers/device_lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#define RETRY_NS (50 * CLOCK_MS)

enum {
	HOLDER_LOOKS = 10 /* how often a waiter asks who the holder is before it says "another process" */
};

/* Software devices of one driver share their UUID, so there the text counts. */
static void name_device(const struct facts *f, char name[FACTS_TEXT])
{
	if (!facts_uuid_digits(f->uuid, name) || f->shares_cpu)
		snprintf(name, FACTS_TEXT, "%s", f->uuid[0] ? f->uuid : f->id);
}

int device_lock_name(const struct facts *device, const char *space, char ret_name[DEVICE_LOCK_NAME], struct err *e)
{
	char name[FACTS_TEXT];
	bool shared = space == NULL || *space == '\0';
	name_device(device, name);
	int n = snprintf(ret_name, DEVICE_LOCK_NAME, "peakd-device-%s%s%s", name, shared ? "" : "@", shared ? "" : space);
	/* sun_path has one byte for the leading NUL, and ".next" must fit behind the name. */
	if (n + (int)sizeof ".next" >= DEVICE_LOCK_NAME)
		return err_set(e, ERR_INPUT, "cannot lock %s: the name of its lock, %s…, is longer than %d bytes", device->id,
			       ret_name, DEVICE_LOCK_NAME - (int)sizeof ".next");
	return 0;
}

static socklen_t make_address(const char *name, struct sockaddr_un *ret_address)
{
	size_t n = strlen(name);
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret_address->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/* The socket that holds the name; -1 with errno, EADDRINUSE when another process has it. */
static int try_name(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = make_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* It listens so that a waiter may connect and learn from the kernel who it is. */
	if (fd < 0 || (bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, SOMAXCONN) == 0))
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* The process that listens under the name; 0 when that cannot be told. */
static pid_t find_holder(const char *name)
{
	struct sockaddr_un address;
	socklen_t len = make_address(name, &address), size = sizeof(struct ucred);
	struct ucred holder = { .pid = 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (struct sockaddr *)&address, len) != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &size) != 0)
		holder.pid = 0;
	close(fd);
	return holder.pid;
}

static int wait_for(const char *name, const char *holder_of, const struct device_lock_waiter *w, unsigned *io_looks, int *ret_fd,
		    struct err *e)
{
	int rc = 0;
	while (rc == 0 && (*ret_fd = try_name(name)) < 0) {
		if (errno != EADDRINUSE && errno != EINTR)
			return err_sys(e, errno, "cannot lock a device (abstract socket %s)", name);
		rc = w->check(w->arg, e);
		if (rc == 0 && *io_looks < HOLDER_LOOKS) {
			char who[64] = "another process";
			pid_t pid = find_holder(holder_of);
			*io_looks = pid > 0 ? HOLDER_LOOKS : *io_looks + 1;
			if (pid > 0)
				snprintf(who, sizeof who, "process %ld", (long)pid);
			if (*io_looks == HOLDER_LOOKS)
				w->waiting(w->arg, who);
		}
		if (rc == 0)
			clock_sleep(RETRY_NS);
	}
	return rc;
}

/* A waiter takes the `next` name first and keeps it until the device is its own. So a holder that gives the device back and asks
 * again at once stands behind those who waited; without it, a waiter that looks only every RETRY_NS would lose again and again. */
int device_lock_take(const char *name, const struct device_lock_waiter *waiter, int *ret_fd, struct err *e)
{
	char next[DEVICE_LOCK_NAME + sizeof ".next"];
	unsigned looks = 0;
	int next_fd = -1;
	snprintf(next, sizeof next, "%s.next", name);
	int rc = wait_for(next, name, waiter, &looks, &next_fd, e);
	if (rc == 0)
		rc = wait_for(name, name, waiter, &looks, ret_fd, e);
	if (next_fd >= 0)
		close(next_fd);
	return rc;
}
