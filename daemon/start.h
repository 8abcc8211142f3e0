/* start: finds the daemon of a database, or starts one in the background. Called by client.c and relay.c. */
#ifndef PEAKD_DAEMON_START_H
#define PEAKD_DAEMON_START_H

#include "base/err.h"

/* A connected descriptor of the database's daemon. Where none runs, `peakd serve --listen none --idle-exit 20` is started in a
 * session of its own, with its log in DB.log. A minute at most, and after ten seconds a warning that tells for whom: -ERR_TIMEOUT, or
 * -ERR_IO with what the log says last. */
int start_connect(const char *db, int *ret_fd, struct err *e);

#endif
