/* service: what a service manager (systemd) gives the daemon, and what it wants to hear. Called by serve.c. Without a service
 * manager there are no sockets, and what is said goes nowhere. */
#ifndef PEAKD_DAEMON_SERVICE_H
#define PEAKD_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Names of the descriptors that a daemon leaves to its successor: sockets that it opened itself, and the locks of its database. */
#define SERVICE_OWN "peakd-own"
#define SERVICE_NOTE "peakd-note"
#define SERVICE_DATABASE "peakd-database"

/* Sockets that listen already (socket activation, systemd/peakd.socket, or successor.h); 0: none. They stay open while the daemon
 * restarts. */
struct service_sockets {
	int local, inet;
	int note, database; /* of struct store_claim; 0: none */
	bool own;           /* the sockets are this daemon's own, to be removed at its end */
};
/* Takes the descriptors over from the environment, so that no child gets them. -ERR_INPUT for one that the daemon cannot use. */
int service_sockets(struct service_sockets *ret_sockets, struct err *e);

/* A thread for the time of the start, which may take minutes (a migration). As long as this process computes or uses its disk it
 * asks for more time (EXTEND_TIMEOUT_USEC), since a daemon that hangs should be ended; it looks every `look_ms`. SIGTERM and
 * SIGINT, which all threads block, end the process at once, as SIGKILL would: nobody was promised anything, and the database takes
 * it. */
struct service_patience;
struct service_patience *service_patience_new(int look_ms);
/* Ends the thread. NULL is fine. */
void service_patience_free(struct service_patience *take_patience);

/* How often service_alive wants to be called (WatchdogSec=), in nanoseconds; 0: never. */
int64_t service_watchdog_ns(void);
void service_alive(void);
/* What the daemon does now, for `systemctl status`. */
void service_ready(const char *status);
void service_reloading(void);
void service_stopping(void);

#endif
