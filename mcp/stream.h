/* stream: where the messages of one exchange go: a line on stdio, the response of one POST, a legacy session's stream.
 * Transports implement it; calls and subscriptions hold a reference and send. */
#ifndef PEAKD_MCP_STREAM_H
#define PEAKD_MCP_STREAM_H

#include <stdatomic.h>
#include <stddef.h>

struct buf;
struct mcp_call;

/* One message on its way out. */
struct mcp_outgoing {
	const char *text;      /* JSON without newlines; borrowed */
	size_t n;              /* bytes of it */
	struct buf *own;       /* what holds the text, to be taken instead of copied by whoever likes; or NULL */
	int final;             /* the answer: nothing follows on this stream (stdio: for this request) */
	int status;            /* HTTP status, if this is final and nothing went before */
	const char *event_id;  /* SSE id, or NULL */
	int retry_ms;          /* SSE retry field; 0: none */
	struct mcp_call *call; /* final: whose end is to be told when it is delivered (mcp_call_ended), or NULL */
};

struct mcp_stream;

struct mcp_stream_ops {
	/* Takes a copy of the message; does not block on the peer. Messages after the peer has gone are dropped; the
	 * call of a final one is told. */
	void (*send)(struct mcp_stream *s, const struct mcp_outgoing *m);
	/* Ends the stream without an answer: the rest is for a client that comes back (legacy HTTP). May be NULL. */
	void (*close)(struct mcp_stream *s, int retry_ms);
	/* The last reference is gone. */
	void (*free)(struct mcp_stream *s);
};

struct mcp_stream {
	const struct mcp_stream_ops *ops;
	atomic_int refs;
};

/* One reference, the caller's. */
void mcp_stream_init(struct mcp_stream *s, const struct mcp_stream_ops *ops);
struct mcp_stream *mcp_stream_ref(struct mcp_stream *s);
void mcp_stream_unref(struct mcp_stream *s); /* NULL is allowed */
void mcp_stream_send(struct mcp_stream *s, const struct mcp_outgoing *m);

#endif
