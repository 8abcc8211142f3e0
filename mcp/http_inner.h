/* http_inner: what the files of the HTTP transport share. mcp/http.c routes, http_loop.c is the network thread,
 * http_peers.c counts connections, http_exchange.c answers, http_watch.c looks after quiet connections, http_guard.c
 * decides who may come in, http_replay.c keeps legacy streams. */
#ifndef PEAKD_MCP_HTTP_INNER_H
#define PEAKD_MCP_HTTP_INNER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/lock.h"
#include "mcp/http.h"
#include "mcp/server_inner.h"
#include "mcp/session.h"
#include "mcp/stream.h"

/* Locks, outermost first: http.lock (LOCK_SESSION), a replay's (LOCK_OUTPUT), an exchange's (LOCK_LEAF).
 * libmicrohttpd's own are taken inside of an exchange's, and it holds none when it calls us. */

struct http_channel;
struct http_client;
struct http_peer;

/* Where an exchange is; moves only downwards. */
enum http_phase {
	HTTP_READING, /* the body arrives */
	HTTP_WAITING, /* nothing was sent yet */
	HTTP_WHOLE,   /* the answer is one piece with its length */
	HTTP_EVENTS,  /* the answer is a stream of events */
	HTTP_CLOSED,  /* the connection is done with this request */
};

/* The headers of a request that are looked at, but for Mcp-Param-…. */
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

/* One HTTP request and its response. As a stream it is what a call answers to. */
struct http_exchange {
	struct mcp_stream stream; /* first: streams are cast to this */
	struct mcp_http *http;
	struct MHD_Connection *conn;       /* valid until HTTP_CLOSED */
	struct http_peer *peer;            /* the connection's; the same */
	const char *headers[HTTP_HEADERS]; /* the first of each name, or NULL; libmicrohttpd's */
	struct buf body;                   /* of the request */
	size_t received;                   /* bytes of it so far */
	int verdict;                       /* http_guard.c's: whether the sender may come in */
	int served;                        /* it was complete, and somebody answers */
	int too_large;
	int no_room;                         /* others hold too much memory for this one's body */
	size_t held_body;                    /* bytes of it that count in http->bodies */
	int counted;                         /* as one of its client's streams */
	int takes_events;                    /* the client accepts text/event-stream */
	const char *type;                    /* of a whole answer; static storage */
	char session_id[MCP_SESSION_ID + 1]; /* for the header Mcp-Session-Id of the answer, or "" */
	struct mcp_call *call;               /* held: to be told when the client goes away; or NULL */
	struct http_channel *channel;        /* held: the legacy stream that this carries, or NULL */
	struct http_exchange *prev, *next;   /* those that are watched, under http.lock */
	int watched;
	struct lock lock; /* of all below */
	enum http_phase phase;
	int status;                /* of a whole answer */
	struct buf out;            /* what is to be sent */
	size_t held_out;           /* bytes of it that count in http->answers */
	int final;                 /* nothing comes after what is in `out` */
	int suspended;             /* libmicrohttpd waits for MHD_resume_connection */
	int gone;                  /* the client went away */
	int64_t written;           /* monotonic time of the last output */
	struct mcp_call *answered; /* held: whose answer is in `out` */
};

struct mcp_http {
	struct mcp_server *server;
	struct mcp_http_config config;
	struct MHD_Daemon *daemon;
	int listen_fd, port;
	/* ---- of the network thread ---- */
	pthread_t loop;
	int mhd_fd, loop_fd;                      /* libmicrohttpd's epoll descriptor; wakes the thread */
	int64_t now;                              /* monotonic time when this turn of the thread began */
	int64_t paused_until;                     /* nothing is accepted before: there were no descriptors */
	struct http_client *clients;              /* addresses with connections */
	struct http_peer *idle_first, *idle_last; /* connections without a whole request, longest idle first */
	struct http_peer *arriving;               /* the one that libmicrohttpd is given just now */
	int connections, doomed;                  /* all that are served, and those of them that were told to end */
	int refusing;                             /* connections beyond the limit that will hear so */
	int served;                               /* requests that were complete in this turn */
	/* ---- of any thread ---- */
	atomic_int deaf, ended; /* nothing more is accepted; the thread ends */
	atomic_size_t bodies;   /* bytes of request bodies */
	atomic_size_t answers;  /* bytes of answers that nobody read so far */
	pthread_t watcher;
	int epoll_fd, wake_fd;
	atomic_size_t open;  /* exchanges that are not closed */
	atomic_int stopping; /* 1: what runs may finish; 2: the watcher ends */
	struct lock lock;    /* LOCK_SESSION, of all below */
	struct http_exchange *watched;
	int watcher_sleeps; /* it waits without a time limit */
};

/* --- http_listen.c --- */
/* A descriptor that listens, non-blocking; and its port, 0 for a Unix socket. */
int http_listen_open(const struct mcp_http_config *config, struct err *e);
int http_listen_port(int fd);

/* --- http_loop.c --- */
int http_loop_start(struct mcp_http *http, struct err *e);
void http_loop_stop(struct mcp_http *http);
/* Has libmicrohttpd look again; from any thread, needed after MHD_resume_connection. */
void http_loop_wake(struct mcp_http *http);

/* --- http_peers.c; all on the network thread --- */
/* Serves a new connection, or turns it away. */
void http_peers_add(struct mcp_http *http, int take_fd, const struct sockaddr_storage *a, socklen_t n);
/* libmicrohttpd's notice of connections that begin and end. */
void http_peers_notify(void *http, struct MHD_Connection *conn, void **context,
		       enum MHD_ConnectionNotificationCode code);
/* Ends the longest idle connection; false when all are busy. */
int http_peers_evict(struct mcp_http *http);
/* When the next idle connection has to end (CLOCK_NEVER: there is none), and ending those whose time has come. */
int64_t http_peers_next(const struct mcp_http *http);
void http_peers_expire(struct mcp_http *http);
void http_peers_fini(struct mcp_http *http);
/* The status that a connection beyond the limit gets for its request, and why; 0: it is served. */
int http_peers_refused(struct http_exchange *x, const char **ret_why);
/* A request's headers are there, all of it is there, it is answered. */
void http_peers_begin(struct http_exchange *x);
void http_peers_busy(struct http_exchange *x);
void http_peers_done(struct http_exchange *x);
/* What its connection's messages have in common. */
struct mcp_parse_memory *http_peers_memory(struct http_exchange *x);
/* Its answer is a stream; false when its client has too many and it may be refused. */
int http_peers_stream(struct http_exchange *x, int may_refuse);

/* --- http_exchange.c --- */
/* In its first life an exchange has one reference, libmicrohttpd's. */
struct http_exchange *http_exchange_new(struct mcp_http *http, struct MHD_Connection *conn);
enum http_phase http_exchange_phase(struct http_exchange *x);
/* Gives libmicrohttpd the response, or suspends the connection until there is one. Only on its thread. */
enum MHD_Result http_exchange_respond(struct http_exchange *x);
/* The answer to a request that is refused before it is a message: {"error": …} in JSON, or plain text. */
enum MHD_Result http_exchange_refuse(struct http_exchange *x, int status, const char *header, const char *value,
				     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* An answer without a body. */
enum MHD_Result http_exchange_empty(struct http_exchange *x, int status);
/* Begins a stream of events with this text (a comment or events) if nothing was sent yet, or adds to it. Returns -1
 * when the exchange is over. */
int http_exchange_add_events(struct http_exchange *x, const char *text, size_t n, int final);
/* Sends a message of a stream; -1 when the exchange is over, then nobody is told. Takes no lock but the exchange's. */
int http_exchange_send(struct http_exchange *x, const struct mcp_outgoing *m);
/* Counts the body, as it is now, in http->bodies; false when all of them together are too much. */
int http_exchange_hold_body(struct http_exchange *x);
/* The connection is done with it; libmicrohttpd's reference is dropped. */
void http_exchange_closed(struct http_exchange *x, int delivered);
/* Called by the watcher: the client went away, or nothing was sent for too long. */
void http_exchange_hang_up(struct http_exchange *x);
void http_exchange_keep_alive(struct http_exchange *x, int64_t now);

/* --- http_watch.c --- */
int http_watch_start(struct mcp_http *http, struct err *e);
void http_watch_stop(struct mcp_http *http);
/* From now on its connection is looked after until http_watch_remove. */
void http_watch_add(struct http_exchange *x);
void http_watch_remove(struct http_exchange *x);

/* --- http_guard.c --- */
/* Checks that the configuration is safe. */
int http_guard_check(const struct mcp_http_config *config, struct err *e);
/* Whether the request may come in, as its headers say: Host, Origin, token (open: needs none). */
void http_guard_judge(struct http_exchange *x, int open);
/* What strangers send is not kept. */
int http_guard_welcome(const struct http_exchange *x);
/* False after queueing the refusal; *ret_result is libmicrohttpd's then. */
int http_guard_admit(struct http_exchange *x, enum MHD_Result *ret_result);
/* Notes x->headers, so that each is found without going through libmicrohttpd. */
void http_guard_note_headers(struct http_exchange *x);

/* --- http_metadata.c --- */
/* Whether a path is that of the metadata, which only a server with a token has. */
int http_metadata_is(const struct mcp_http *http, const char *path);
/* The metadata, as JSON; served without the token. */
enum MHD_Result http_metadata_get(struct http_exchange *x);
/* The value of WWW-Authenticate (RFC 6750); wrong: a token came and is not the right one. free(). */
char *http_metadata_challenge(struct http_exchange *x, int wrong);

/* --- http_replay.c --- */
/* A legacy request's stream: what is sent goes to the exchange, and is kept for a client that comes back. Held by the
 * caller. */
struct mcp_stream *http_replay_begin(struct mcp_session *session, struct http_exchange *x);
/* GET: the session's own stream, or the rest of the one that Last-Event-ID names (NULL: none). -1: there is no such. */
int http_replay_attach(struct mcp_session *session, struct http_exchange *x, const char *last_event_id);
/* Nothing will be sent on it after all. */
void http_replay_forget(struct http_channel *channel);
/* The exchange is closed; delivered: all of it was written. */
void http_replay_detach(struct http_channel *channel, struct http_exchange *x, int delivered);

#endif
