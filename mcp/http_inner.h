/* http_inner: what the files of the HTTP transport share. http.c listens and routes, http_guard.c decides who may come in,
 * http_exchange.c answers, http_connections.c limits and watches connections, http_replay.c keeps legacy streams.
 *
 * libmicrohttpd accepts, reads and writes on one thread of its own, the network thread, which runs everything here that
 * is not said to run elsewhere. It polls: in epoll mode, version 0.9.75 waits for another event before it serves what it
 * has when exactly 128 connections become ready at once. */
#ifndef PEAKD_MCP_HTTP_INNER_H
#define PEAKD_MCP_HTTP_INNER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/lock.h"
#include "mcp/http.h"
#include "mcp/inner.h"

/* Locks, outermost first: http.lock (LOCK_SESSION), a replay's (LOCK_OUTPUT), an exchange's (LOCK_LEAF).
 * libmicrohttpd's own are taken inside of these, and it holds none when it calls us. */

struct http_channel;

/* Where an exchange is; it moves only downwards. */
enum http_phase {
	HTTP_READING, /* the body arrives */
	HTTP_WAITING, /* nothing was sent yet */
	HTTP_WHOLE,   /* the answer is one piece with its length */
	HTTP_EVENTS,  /* the answer is a stream of events */
	HTTP_CLOSED,  /* the connection is done with this request */
};

/* The headers of a request that matter, but for Mcp-Param-…. */
enum http_header {
	HTTP_HOST,
	HTTP_ORIGIN,
	HTTP_ACCEPT,
	HTTP_CONTENT_TYPE,
	HTTP_CONTENT_LENGTH,
	HTTP_AUTHORIZATION,
	HTTP_MCP_PROTOCOL_VERSION,
	HTTP_MCP_METHOD,
	HTTP_MCP_NAME,
	HTTP_MCP_SESSION_ID,
	HTTP_LAST_EVENT_ID,
	HTTP_HEADERS
};

/* One connection, from its beginning to its end. It is idle until a whole request has arrived, then busy until that is
 * answered. All of it under http.lock. */
struct http_connection {
	struct http_connection *prev, *next; /* in http->all */
	int fd;
	int is_idle, is_doomed;        /* doomed: told to end, which takes until libmicrohttpd notices */
	int is_surplus;                /* beyond the limit: every request gets 503 */
	int has_asked;                 /* the header of some request has been read */
	int64_t since;                 /* monotonic time of becoming idle */
	struct http_exchange *watched; /* whose client is looked after; NULL: none waits */
};

/* One HTTP request and its response; as a stream it is what a call answers to. More than 20 fields: libmicrohttpd gives
 * each request one pointer, and everything that is known of a request hangs on it. */
struct http_exchange {
	struct mcp_stream stream; /* first: streams are cast to this */
	struct mcp_http *http;
	struct MHD_Connection *mhd; /* valid until HTTP_CLOSED */
	struct http_connection *connection;
	const char *headers[HTTP_HEADERS]; /* or NULL; libmicrohttpd's */
	const char *twice;                 /* name of a header that came twice, or NULL */
	struct buf body;                   /* of the request */
	size_t received, held_body;        /* bytes of it so far; those that count in http->bodies */
	int verdict;                       /* http_guard.c's: whether the sender may come in */
	int is_served;                     /* it was complete, and somebody answers */
	int is_too_large, no_room;         /* why its body was not kept */
	int is_counted;                    /* in http->streams */
	int takes_events;                  /* the client accepts text/event-stream */
	struct mcp_session *opened;        /* held: the new session, whose id the answer's header tells, or NULL */
	struct mcp_session *session;       /* held: of a legacy request; busy while this is open, or NULL */
	struct mcp_call *call;             /* held: told when the client goes away; or NULL */
	struct http_channel *channel;      /* held: the legacy stream that this carries, or NULL */
	struct lock lock;                  /* of all below */
	enum http_phase phase;
	int status;      /* of a whole answer */
	struct buf out;  /* what is to be sent */
	size_t held_out; /* bytes of it that count in http->answers */
	int final;       /* nothing comes after what is in `out` */
	int suspended;   /* libmicrohttpd waits for MHD_resume_connection */
	int gone;        /* the client went away */
	int64_t written; /* monotonic time of the last output */
};

struct mcp_http {
	struct mcp_server *server;
	struct mcp_http_config config; /* with the defaults filled in */
	struct MHD_Daemon *daemon;
	int port;
	char address[48];      /* of a socket that the caller opened */
	size_t bodies;         /* bytes of request bodies; of the network thread */
	int streams;           /* open GET and listen streams; of the network thread */
	atomic_size_t answers; /* bytes of answers that nobody has read yet */
	atomic_size_t open;    /* exchanges that are not closed */
	atomic_uint turns;     /* of the network thread: connections that it accepted, requests that it read or answered */
	unsigned seen_turns;   /* by mcp_http_alive */
	atomic_int stopping;   /* 1: what runs may finish; 2: the watching thread ends */
	pthread_t watcher;
	int epoll_fd, wake_fd; /* of the watching thread */
	struct lock lock;      /* LOCK_SESSION, of all below */
	struct http_connection *all;
	int connections, doomed; /* all but the surplus, and those of them that were told to end */
};

/* --- http_guard.c --- */
/* Checks that the configuration is safe. */
int http_guard_check(const struct mcp_http_config *config, struct err *e);
/* Notes the headers, and whether the request may come in: Host, Origin, token (open: needs none). */
void http_guard_judge(struct http_exchange *x, int open);
/* What strangers send is not kept. */
int http_guard_welcome(const struct http_exchange *x);
/* False after queueing the refusal; *ret_result is libmicrohttpd's then. */
int http_guard_admit(struct http_exchange *x, enum MHD_Result *ret_result);
/* Lets a page of an allowed origin read the answer (CORS). */
void http_guard_add_cors(const struct http_exchange *x, struct MHD_Response *r);
/* OPTIONS: what a browser asks before it sends a page's request. */
enum MHD_Result http_guard_preflight(struct http_exchange *x);
/* Whether a path is that of RFC 9728's metadata, which only a server with a token has; and the metadata. */
int http_guard_is_metadata(const struct mcp_http *http, const char *path);
enum MHD_Result http_guard_metadata(struct http_exchange *x);

/* --- http_exchange.c --- */
/* In its first life an exchange has one reference, libmicrohttpd's. */
struct http_exchange *http_exchange_new(struct mcp_http *http, struct MHD_Connection *mhd);
/* Gives libmicrohttpd the response, or suspends the connection until there is one. */
enum MHD_Result http_exchange_respond(struct http_exchange *x);
/* Queues any response and frees it. */
enum MHD_Result http_exchange_queue(struct http_exchange *x, int status, struct MHD_Response *take_response);
/* Queues text of that type; header and value may be NULL. */
enum MHD_Result http_exchange_text(struct http_exchange *x, int status, const char *type, char *take_text, size_t n,
				   const char *header, const char *value);
/* The answer to a request that is refused before it is a message: a JSON-RPC error without an id. */
enum MHD_Result http_exchange_refuse(struct http_exchange *x, int status, const char *header, const char *value, const char *fmt,
				     ...) __attribute__((format(printf, 5, 6)));
/* An answer without a body. */
enum MHD_Result http_exchange_empty(struct http_exchange *x, int status);
/* Takes a piece of the request's body; MHD_NO when the sender is to be cut off. */
enum MHD_Result http_exchange_take_body(struct http_exchange *x, const char *data, size_t n);
void http_exchange_drop_body(struct http_exchange *x);
/* Counts it as a stream; false when there are too many. */
int http_exchange_count_stream(struct http_exchange *x);
/* From any thread. Begins a stream of events with this text (a comment or events) if nothing was sent yet, or adds to
 * it. Does nothing when the exchange is over. */
void http_exchange_add_events(struct http_exchange *x, const char *text, size_t n, int final);
/* From any thread. Sends a message of a stream, if the exchange is not over. */
void http_exchange_send(struct http_exchange *x, const struct mcp_outgoing *m);
/* The connection is done with it; libmicrohttpd's reference is dropped. */
void http_exchange_closed(struct http_exchange *x, int delivered);
/* From any thread: the client went away; and a comment when nothing was sent for too long. */
void http_exchange_hang_up(struct http_exchange *x);
void http_exchange_keep_alive(struct http_exchange *x, int64_t now);

/* --- http_connections.c --- */
int http_connections_start(struct mcp_http *http, struct err *e);
void http_connections_stop(struct mcp_http *http);
/* libmicrohttpd's notice of connections that begin and end. */
void http_connections_notify(void *http, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code);
/* Its connection is idle (again), since now: its request has begun, or was answered; or it is busy with a whole one. */
void http_connections_set_idle(struct http_exchange *x, int idle);
/* Looks after the client of an exchange, or not any more. */
void http_connections_watch(struct http_exchange *x, int on);
/* How many connections have not sent anything yet. */
size_t http_connections_silent(struct mcp_http *http);
/* Ends every watched stream; returns how many exchanges are still open. */
size_t http_connections_end_streams(struct mcp_http *http);

/* --- http_replay.c --- */
/* A legacy request's stream: what is sent goes to the exchange, and is kept for a client that comes back. The caller holds
 * it. */
struct mcp_stream *http_replay_begin(struct mcp_session *session, struct http_exchange *x);
/* GET: the session's own stream, or the rest of the one that Last-Event-ID names (NULL: none). -1: there is no such. */
int http_replay_attach(struct mcp_session *session, struct http_exchange *x, const char *last_event_id);
/* Nothing will be sent on it after all. */
void http_replay_forget(struct http_channel *channel);
/* The exchange is closed; delivered: all of it was written. */
void http_replay_detach(struct http_channel *channel, struct http_exchange *x, int delivered);

#endif
