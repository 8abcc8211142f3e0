/* bell: wakes threads and poll loops of this process when something new was committed. It carries no data: who wakes
 * reads the database. Rung by store_end; waited on through event.h. */
#ifndef PEAKD_CORE_RECORD_BELL_H
#define PEAKD_CORE_RECORD_BELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lock.h"

struct bell {
	struct lock lock;      /* LOCK_LEAF; guards what follows */
	struct lock_bell cond; /* waiting threads */
	uint64_t rung;         /* how often it rang */
	bool closed;           /* nobody waits any more */
	int *fds;              /* eventfds of the watchers, owned by them */
	size_t fd_count;
};

void bell_init(struct bell *b);
void bell_fini(struct bell *b);
void bell_ring(struct bell *b);
/* How often it rang so far: read it before looking at the database, then hand it to bell_wait, and no ring is lost. */
uint64_t bell_count(struct bell *b);
/* Waits until it has rung more often than `seen`: 1; 0 when the monotonic deadline passed first or it is closed. */
int bell_wait(struct bell *b, uint64_t seen, int64_t deadline);
/* Wakes everybody for good: later waits do not wait. */
void bell_close(struct bell *b);
/* A new non-blocking eventfd that becomes readable with every ring (read 8 bytes to reset it), or negative. */
int bell_watch(struct bell *b, struct err *e);
/* Stops watching and closes the descriptor. */
void bell_unwatch(struct bell *b, int take_fd);

#endif
