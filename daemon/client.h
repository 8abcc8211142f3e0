/* client: how verbs speak to the database's daemon: MCP over its Unix socket. A daemon that is not there is started and ends by
 * itself some seconds after the last client. */
#ifndef PEAKD_DAEMON_CLIENT_H
#define PEAKD_DAEMON_CLIENT_H

#include <jansson.h>

#include "base/err.h"

struct client;

/* Connects to the daemon of the database, or starts one in the background (log beside the database) and waits until it answers,
 * a minute at most. From then on SIGINT and SIGTERM are the client's, unless they are ignored: a call that one of them comes into has its
 * job cancelled. A second one ends the process. */
int client_open(const char *db, struct client **ret_client, struct err *e);
void client_close(struct client *client);

/* Somebody to tell what a running call says of itself; message is one line. */
typedef void client_progress(void *arg, const char *message);

/* One tool, waited for until it ends, also when the daemon answers with a job's id meanwhile. *ret_structured (may be NULL) is
 * the structured content (an empty object when there is none), *ret_text (may be NULL; free()) the text for people.
 * A refusal is an error: ERR_INPUT with the tool's own words. A job that did not end well: ERR_WRONG (failed) or ERR_CANCELLED
 * (cancelled, interrupted). A signal: ERR_CANCELLED, with words on what became of the job; one that the tool `job` only looked at goes on.
 * The daemon gone: ERR_NETWORK. */
int client_call(struct client *client, const char *tool, json_t *take_arguments, client_progress *progress, void *arg,
                json_t **ret_structured, char **ret_text, struct err *e);
/* A resource's text; free(). */
int client_read(struct client *client, const char *uri, char **ret_text, struct err *e);
/* Starts the job behind a tool and does not wait for it; *ret_id is the caller's. Refusals as in client_call. */
int client_start(struct client *client, const char *tool, json_t *take_arguments, char **ret_id, struct err *e);
/* Waits until a job ends, however it ends: *ret_structured is what the job tool says of it ("state", "error", "result"); may be NULL.
 * A signal cancels the job: ERR_CANCELLED. */
int client_wait(struct client *client, const char *id, client_progress *progress, void *arg, json_t **ret_structured,
                struct err *e);
/* The signal that came, 0 when none did (or client is NULL). */
int client_interrupted(const struct client *client);


#endif
