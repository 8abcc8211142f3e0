/* relay: `peakd stdio`, which IDEs start. It copies bytes between standard input and output and the daemon's socket, so that all
 * windows share one daemon. */
#ifndef PEAKD_DAEMON_RELAY_H
#define PEAKD_DAEMON_RELAY_H

#include "daemon/verbs/verb.h"

extern const struct verb relay_verb;

/* Copies until both directions have ended, or until the peer is gone: -ERR_NETWORK unless the input had ended before. */
int relay_run(int in_fd, int out_fd, int peer_fd, struct err *e);

#endif
