/* start: finds the daemon of a database, or starts one in the background. Called by client.c and relay.c. */
#ifndef PEAKD_DAEMON_START_H
#define PEAKD_DAEMON_START_H

#include <stdbool.h>

#include "base/err.h"

/* Connects to the database's daemon, or to the daemon behind `db` where that is a Unix socket. Where none runs, it starts `peakd
 * serve --listen none --idle-exit 20` in a session of its own, with its log in DB.log. It starts none when the database belongs to
 * another user. It waits for a minute at most, and says so after ten seconds. -ERR_TIMEOUT, -ERR_NOT_FOUND for a socket without a
 * daemon, or -ERR_IO with the log's last line. */
int start_connect(const char *db, int *ret_fd, struct err *e);
/* Warns on stderr about PEAKD_… variables of this process that the daemon at the other end was started without, or with another
 * value. */
void start_warn_environment(int fd);
/* Whether the daemon at the other end is known to have been started with this process's value of the variable. */
bool start_shares(int fd, const char *name);

#endif
