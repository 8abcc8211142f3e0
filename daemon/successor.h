/* successor: a new version of peakd takes the place of this daemon in the same process: execve(2) of the binary, with the same
 * arguments. What must not be interrupted goes along as from a service manager (sd_listen_fds(3)): the sockets, where clients wait
 * meanwhile, and the locks of the database, which no other daemon may get. Called by serve.c for SIGUSR2. */
#ifndef PEAKD_DAEMON_SUCCESSOR_H
#define PEAKD_DAEMON_SUCCESSOR_H

#include "base/err.h"
#include "daemon/service.h"

/* The binary that would take over, if it runs at all: the one of the command line, as it is on the disk now. free(). */
int successor_find(char **ret_binary, struct err *e);
/* Becomes it. Returns only on an error; the descriptors are open as before then. */
int successor_become(const char *binary, const struct service_sockets *given, struct err *e);

#endif
