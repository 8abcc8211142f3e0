/* feed: what clients subscribed to (2026-07-28: subscriptions/listen; before: resources/subscribe), compared with the database
 * whenever an event was committed: tasks and job resources when their job has news, checkpoint resources when any job ended, since only
 * jobs add measurements and validations. Of the notification thread (daemon/notify.c). */
#ifndef PEAKD_DAEMON_SUBSCRIPTIONS_H
#define PEAKD_DAEMON_SUBSCRIPTIONS_H

#include <stdbool.h>

struct db;
struct mcp_server;
struct subscriptions;

struct subscriptions *subscriptions_new(void);
void subscriptions_free(struct subscriptions *feed); /* NULL is allowed */
/* Looks at everything that is watched, and tells what is new; when there is a newcomer among those who listen, tells all of it as it
 * is, since what he waits for may have happened. */
void subscriptions_look(struct subscriptions *feed, struct mcp_server *server, struct db *db, bool newcomer);

#endif
