/* session: what is remembered between messages: one legacy HTTP session, or one stdio connection of either era. It keeps
 * what `initialize` said, which resources are watched, and which questions to the client are open. */
#ifndef PEAKD_MCP_SESSION_H
#define PEAKD_MCP_SESSION_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/lock.h"
#include "mcp/inner.h"

/* A request to the client whose answer is awaited. */
struct mcp_session_ask {
	long number;           /* its JSON-RPC id */
	struct mcp_call *call; /* held */
	char *key;             /* of the handler's requests */
};

struct mcp_session {
	atomic_int refs;
	struct mcp_server *server;
	char id[MCP_SESSION_ID + 1]; /* of Mcp-Session-Id; "" on stdio */
	_Atomic int64_t used;        /* monotonic time of the last message */
	atomic_int streams;          /* HTTP responses that are open for it: while there are any, it is busy */
	struct lock lock;            /* LOCK_SESSION, of all below */
	const char *revision;        /* static storage; NULL before `initialize` */
	json_t *capabilities;        /* the client's, an object */
	int log_level;
	json_t *watched;           /* URIs of resources/subscribe: keys of an object */
	struct mcp_stream *stream; /* for notifications that belong to no request; held; NULL when there is none */
	struct mcp_session_ask *asks;
	size_t ask_count;
	long last_number;
	int ended;
	struct lock kept_lock;    /* LOCK_OUTPUT, of the rest */
	struct mcp_stream **kept; /* HTTP: streams that a client may resume (mcp/http_replay.c), held */
	size_t kept_count;
	long last_kept; /* number of the newest */
};

/* stream is borrowed and may be NULL; with_id: for HTTP. One reference, the caller's. NULL when there are too many HTTP
 * sessions and all of them are busy. */
struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_stream *stream, int with_id);
struct mcp_session *mcp_session_ref(struct mcp_session *s);
void mcp_session_unref(struct mcp_session *s); /* NULL is allowed */
/* Nothing is sent to its client any more. Called by the server, which has cancelled its calls. */
void mcp_session_end(struct mcp_session *s);
/* What the client said in `initialize`; revision has static storage. */
void mcp_session_open(struct mcp_session *s, const char *revision, const json_t *capabilities);
/* NULL before `initialize`. */
const char *mcp_session_revision(struct mcp_session *s);
/* Gives a new call what the session knows of the client. */
void mcp_session_describe(struct mcp_session *s, struct mcp_call *call);
/* mcp_call_ask: sends requests to the client on the call's stream; the handler runs again when all answers are there. */
const struct mcp_done *mcp_session_ask(struct mcp_call *call, json_t *take_requests, json_t *take_state);
/* An answer of the client; unknown ids are ignored. */
void mcp_session_answer(struct mcp_session *s, const struct mcp_jsonrpc *m);
/* Drops the open questions of a call. */
void mcp_session_forget(struct mcp_session *s, const struct mcp_call *call);
/* Cancels the calls that wait for an answer of the client, who is gone. */
void mcp_session_cancel_asks(struct mcp_session *s);
void mcp_session_watch(struct mcp_session *s, const char *uri, int on);
/* Appends the URIs that it watches. */
void mcp_session_add_watched(struct mcp_session *s, json_t *array);
/* Sends a notification if the session was opened; uri not NULL: only when it is watched. */
void mcp_session_notify(struct mcp_session *s, const char *uri, const char *text);
void mcp_session_set_stream(struct mcp_session *s, struct mcp_stream *stream);
void mcp_session_set_level(struct mcp_session *s, int level);

#endif
