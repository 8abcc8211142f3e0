/* bell: a counter, a condition and a list of eventfds; see bell.h. */
#include "core/record/bell.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

void bell_init(struct bell *b)
{
	*b = (struct bell){ .rung = 0 };
	lock_init(&b->lock, LOCK_LEAF);
	lock_bell_init(&b->cond);
}

void bell_fini(struct bell *b)
{
	assert(b->fd_count == 0);
	lock_bell_fini(&b->cond);
	lock_fini(&b->lock);
	free(b->fds);
}

static void ring_locked(struct bell *b)
{
	b->rung++;
	for (size_t i = 0; i < b->fd_count; i++) {
		/* Cannot block; a full counter is readable already. */
		ssize_t n = write(b->fds[i], &(uint64_t){ 1 }, sizeof(uint64_t));
		(void)n;
	}
	lock_bell_ring(&b->cond);
}

void bell_ring(struct bell *b)
{
	lock_take(&b->lock);
	ring_locked(b);
	lock_release(&b->lock);
}

void bell_close(struct bell *b)
{
	lock_take(&b->lock);
	b->closed = true;
	ring_locked(b);
	lock_release(&b->lock);
}

uint64_t bell_count(struct bell *b)
{
	lock_take(&b->lock);
	uint64_t rung = b->rung;
	lock_release(&b->lock);
	return rung;
}

int bell_wait(struct bell *b, uint64_t seen, int64_t deadline)
{
	lock_take(&b->lock);
	while (b->rung == seen && !b->closed && lock_bell_wait(&b->cond, &b->lock, deadline) == 0)
		;
	int rung = b->rung != seen && !b->closed;
	lock_release(&b->lock);
	return rung;
}

int bell_watch(struct bell *b, struct err *e)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return err_sys(e, errno, "a descriptor for watching events cannot be made");
	lock_take(&b->lock);
	*MEM_PUSH(b->fds, b->fd_count) = fd;
	lock_release(&b->lock);
	return fd;
}

void bell_unwatch(struct bell *b, int take_fd)
{
	lock_take(&b->lock);
	size_t i = 0;
	while (i < b->fd_count && b->fds[i] != take_fd)
		i++;
	assert(i < b->fd_count);
	b->fds[i] = b->fds[--b->fd_count];
	lock_release(&b->lock);
	close(take_fd);
}
