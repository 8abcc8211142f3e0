/* listen: subscriptions/listen of 2026-07-28: who wants to hear what. */
#ifndef PEAKD_MCP_LISTEN_H
#define PEAKD_MCP_LISTEN_H

#include "mcp/methods.h"

/* Acknowledges and stays open: the call is over when the client or the server ends it. */
mcp_method_run mcp_listen_start;

/* Ends every subscription with its result, e.g. before a transport stops. */
void mcp_listen_end_all(struct mcp_server *server);

/* Ends those of one stdio connection, whose client cannot be told any more of it. */
void mcp_listen_end_session(struct mcp_server *server, const struct mcp_session *session);

/* Sends a notification to those whose filter has the key: true for value NULL, else a list with the value in it. */
void mcp_listen_tell(struct mcp_server *server, const char *key, const char *value, const char *method,
		     const json_t *params);

/* Appends what the filters of all listeners have under that key, an array of strings. */
void mcp_listen_collect(struct mcp_server *server, const char *key, json_t *array);

#endif
