/* socket: the Unix socket of a database's daemon: its path, the client's side and the daemon's side. */
#ifndef PEAKD_DAEMON_SOCKET_H
#define PEAKD_DAEMON_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "mcp/server.h"

/* The socket's path: a hash of the database's real path, in $RUNTIME_DIRECTORY (a service's own folder), $XDG_RUNTIME_DIR/peakd or
 * /tmp/peakd-UID. A missing folder is made; a folder that others can enter is refused. free(). */
int socket_path(const char *db, char **ret_path, struct err *e);
/* Connects. -ERR_NOT_FOUND when nobody listens there. */
int socket_connect(const char *path, int *ret_fd, struct err *e);

/* --- the daemon's side ------------------------------------------------------------------------------------------------- */

struct sockets;

/* Listens and serves MCP lines to every client. Replaces a stale socket, because the caller holds the database's lock. `listener`,
 * if not 0, is a socket at this path that listens already; lent: its name is not removed. The server is borrowed until
 * sockets_stop. */
int sockets_start(struct mcp_server *server, const char *path, int listener, bool lent, struct sockets **ret_sockets,
		  struct err *e);
/* The path of a socket that listens already. free(). */
int socket_path_of(int listener, char **ret_path, struct err *e);
/* The number of connected clients; *ret_last_ns: the monotonic time since which there has been none, or now. */
unsigned sockets_clients(struct sockets *s, int64_t *ret_last_ns);
/* For an idle daemon that wants to end: takes the socket's name away if no client is connected or connecting. False: there is a
 * client, and nothing was changed. */
bool sockets_retire(struct sockets *s);
/* Disconnects all clients, waits for their threads, removes the socket. NULL is allowed. */
void sockets_stop(struct sockets *s);
/* The same, but returns the socket, which goes on listening under its name: clients wait there for another sockets_start. */
int sockets_pause(struct sockets *s);

#endif
