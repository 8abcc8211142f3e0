/* socket: the Unix socket of a database's daemon: where it is, and (in the daemon) one thread per client on it. */
#ifndef PEAKD_DAEMON_SOCKET_H
#define PEAKD_DAEMON_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "mcp/server.h"

/* The socket's path for a database: a hash of the database's real path, in $XDG_RUNTIME_DIR/peakd or /tmp/peakd-UID. The folder
 * is made when missing, and refused unless it is this user's alone (mode 0700). free(). */
int socket_path(const char *db, char **ret_path, struct err *e);
/* Connects. -ERR_NOT_FOUND when nobody listens there. */
int socket_connect(const char *path, int *ret_fd, struct err *e);

/* --- the daemon's side ------------------------------------------------------------------------------------------------- */

struct sockets;

/* Listens (a stale socket is replaced: the caller holds the database's lock) and serves MCP lines to everybody who connects.
 * The server is borrowed until sockets_stop. */
int sockets_start(struct mcp_server *server, const char *path, struct sockets **ret_sockets, struct err *e);
/* Clients that are connected now; *ret_last_ns: the monotonic time since when there is none (now, when there are). */
unsigned sockets_clients(struct sockets *s, int64_t *ret_last_ns);
/* For a daemon that wants to end because nobody needs it: takes the name away if no client is connected or about to be. False:
 * somebody is there after all, and nothing was changed. */
bool sockets_retire(struct sockets *s);
/* Disconnects everybody, waits for their threads, removes the socket. NULL is fine. */
void sockets_stop(struct sockets *s);

#endif
