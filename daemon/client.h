/* client: how verbs talk to the database's daemon: MCP over its Unix socket. A missing daemon is started; it ends by itself some
 * seconds after its last client. */
#ifndef PEAKD_DAEMON_CLIENT_H
#define PEAKD_DAEMON_CLIENT_H

#include <jansson.h>

#include "base/err.h"

struct client;

/* Connects to the database's daemon, or starts one in the background (log beside the database) and waits a minute at most until it
 * answers. From then on the client handles SIGINT and SIGTERM, unless they are ignored: the first cancels the current call's job,
 * the second ends the process. */
int client_open(const char *db, struct client **ret_client, struct err *e);
void client_close(struct client *client);

/* Who is told of the progress of a running call; message is one line. NULL: nobody. */
struct client_watch {
	void (*progress)(void *arg, const char *message);
	void *arg;
};

/* Calls a tool and waits for its end, also when the daemon first answers with a job's id. *ret_structured (may be NULL) is the
 * structured content, an empty object without one. *ret_text (may be NULL; free()) is the text for people. Errors: ERR_INPUT is a
 * refusal, in the tool's words. ERR_WRONG is a failed job, ERR_CANCELLED a cancelled or interrupted one. A signal is ERR_CANCELLED
 * and cancels the job, except one that the tool `job` looks at. The answer of a failed job is in *ret_structured as well, and of a
 * cancelled one that `job` looks at. ERR_NETWORK: the daemon is gone. */
int client_call(struct client *client, const char *tool, json_t *take_arguments, const struct client_watch *watch,
		json_t **ret_structured, char **ret_text, struct err *e);
/* A resource's text; free(). */
int client_read(struct client *client, const char *uri, char **ret_text, struct err *e);
/* Starts a tool's job without waiting for it. *ret_id: free(). Errors as in client_call. */
int client_start(struct client *client, const char *tool, json_t *take_arguments, char **ret_id, struct err *e);
/* Waits until a job ends in any way. *ret_structured (may be NULL) is the job tool's answer: state, error, result. A signal cancels
 * the job: ERR_CANCELLED. */
int client_wait(struct client *client, const char *id, const struct client_watch *watch, json_t **ret_structured, struct err *e);
/* The signal received; 0 without one, or when client is NULL. */
int client_interrupted(const struct client *client);

#endif
