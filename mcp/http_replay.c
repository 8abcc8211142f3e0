/* http_replay: what a legacy session's streams sent, kept until it is known to have arrived; see http_inner.h.
 *
 * A channel is one logical stream: number 0 is the session's own (GET), each request has another. It writes to the exchange that
 * carries it at present, if any. It numbers what it sends "CHANNEL-EVENT", so that Last-Event-ID says where a client stopped. The
 * session holds its channels; one whose answer has arrived is dropped. Calls send from any thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/http_inner.h"

enum { CHANNELS_MAX = 64, EVENTS_MAX = 1000, KEPT_MAX = 4 * 1024 * 1024, RETRY_MS = 1000, ID_MAX = 48 };

struct event {
	long number;
	char *text;
	size_t n;
	int final;
};

struct http_channel {
	struct mcp_stream stream;    /* first: streams are cast to this */
	struct mcp_session *session; /* held */
	long number;
	int primes; /* the client's revision has empty events that only carry an id */
	/* ---- under session->kept_lock ---- */
	struct http_exchange *carrier; /* held; NULL while no connection carries it */
	struct event *events;          /* the last ones, oldest first */
	size_t count, bytes;
	long last; /* number of the last event; 0: none */
	int begun; /* the carrier's response is a stream of events */
	int done;  /* the answer was sent, or never will be */
};

/* --- sending ---------------------------------------------------------------------------------------------------- */

/* An event without data: an id to come back with, and after how long. */
static void send_id_locked(struct http_channel *c, int retry_ms, int final)
{
	char text[128];
	int n = snprintf(text, sizeof text, "id: %ld-%ld\nretry: %d\ndata: \n\n", c->number, c->last, retry_ms);
	http_exchange_add_events(c->carrier, text, (size_t)n, final);
}

static void carry_locked(struct http_channel *c, const struct mcp_outgoing *m, long number)
{
	char id[ID_MAX];
	struct mcp_outgoing numbered = *m;
	snprintf(id, sizeof id, "%ld-%ld", c->number, number);
	numbered.event_id = c->primes || c->number == 0 ? id : NULL;
	http_exchange_send(c->carrier, &numbered);
}

static void keep_locked(struct http_channel *c, const struct mcp_outgoing *m)
{
	while (c->count > 0 && (c->count >= EVENTS_MAX || c->bytes + m->n > KEPT_MAX)) {
		c->bytes -= c->events[0].n;
		free(c->events[0].text);
		memmove(c->events, c->events + 1, --c->count * sizeof *c->events);
	}
	struct event *e = MEM_PUSH(c->events, c->count);
	*e = (struct event){ .number = ++c->last, .text = mem_strn(m->text, m->n), .n = m->n, .final = m->final };
	c->bytes += m->n;
}

static void channel_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct http_channel *c = (struct http_channel *)stream;
	lock_take(&c->session->kept_lock);
	c->done |= m->final;
	if (c->carrier && !m->final && !c->begun) { /* a stream begins with an id to come back with */
		c->begun = 1;
		if (c->primes)
			send_id_locked(c, RETRY_MS, 0);
	}
	if (m->n > 0)
		keep_locked(c, m);
	if (c->carrier)
		carry_locked(c, m, c->last);
	lock_release(&c->session->kept_lock);
}

/* Lets the connection go: the client comes back with Last-Event-ID after retry_ms, or never (negative). */
static void channel_close(struct mcp_stream *stream, int retry_ms)
{
	struct http_channel *c = (struct http_channel *)stream;
	struct http_exchange *x = NULL;
	lock_take(&c->session->kept_lock);
	if (c->carrier && (retry_ms < 0 || c->primes)) {
		if (retry_ms < 0)
			http_exchange_add_events(c->carrier, "", 0, 1);
		else
			send_id_locked(c, retry_ms, 1);
		c->begun = 1;
		x = c->carrier;
		c->carrier = NULL;
	}
	lock_release(&c->session->kept_lock);
	if (x)
		mcp_stream_unref(&x->stream);
}

static void channel_free(struct mcp_stream *stream)
{
	struct http_channel *c = (struct http_channel *)stream;
	for (size_t i = 0; i < c->count; i++)
		free(c->events[i].text);
	free(c->events);
	mcp_session_unref(c->session);
	free(c);
}

static const struct mcp_stream_ops CHANNEL = { .send = channel_send, .close = channel_close, .free = channel_free };

/* --- channels --------------------------------------------------------------------------------------------------- */

/* Takes a channel out of the session's list and drops the list's reference; which NULL: the oldest that nobody waits for
 * any more, if there are too many. Channel 0 stays. */
static void drop(struct mcp_session *s, const struct http_channel *which)
{
	struct http_channel *found = NULL;
	lock_take(&s->kept_lock);
	for (size_t i = 0; i < s->kept_count && !found; i++) {
		struct http_channel *c = (struct http_channel *)s->kept[i];
		if (c->number != 0 && (which ? c == which : s->kept_count > CHANNELS_MAX && c->done)) {
			found = c;
			memmove(&s->kept[i], &s->kept[i + 1], (--s->kept_count - i) * sizeof *s->kept);
		}
	}
	lock_release(&s->kept_lock);
	if (found)
		mcp_stream_unref(&found->stream);
}

/* The channel of that number; a negative one makes a new channel. Held by the caller; NULL when there is none. */
static struct http_channel *find_or_make(struct mcp_session *s, long number)
{
	struct http_channel *c = NULL;
	const char *revision = mcp_session_revision(s);
	lock_take(&s->kept_lock);
	for (size_t i = 0; i < s->kept_count && !c; i++)
		if (((struct http_channel *)s->kept[i])->number == number)
			c = (struct http_channel *)s->kept[i];
	if (c) {
		mcp_stream_ref(&c->stream);
	} else if (number <= 0) {
		c = MEM_NEW(struct http_channel);
		mcp_stream_init(&c->stream, &CHANNEL);
		c->session = mcp_session_ref(s);
		c->number = number < 0 ? ++s->last_kept : 0;
		c->primes = revision && strcmp(revision, "2025-11-25") >= 0;
		*MEM_PUSH(s->kept, s->kept_count) = mcp_stream_ref(&c->stream);
	}
	lock_release(&s->kept_lock);
	drop(s, NULL);
	return c;
}

struct mcp_stream *http_replay_begin(struct mcp_session *session, struct http_exchange *x)
{
	struct http_channel *c = find_or_make(session, -1);
	mcp_stream_ref(&x->stream);
	x->channel = c;
	lock_take(&session->kept_lock);
	c->carrier = x;
	lock_release(&session->kept_lock);
	return mcp_stream_ref(&c->stream);
}

int http_replay_attach(struct mcp_session *session, struct http_exchange *x, const char *last_event_id)
{
	long number = 0, seen = 0;
	if (last_event_id && (sscanf(last_event_id, "%ld-%ld", &number, &seen) != 2 || number < 0))
		return -1;
	struct http_channel *c = find_or_make(session, number);
	if (c == NULL)
		return -1;
	if (number == 0)
		mcp_session_set_stream(session, &c->stream);
	x->channel = c;
	mcp_stream_ref(&x->stream);
	lock_take(&session->kept_lock);
	struct http_exchange *before = c->carrier;
	c->carrier = x;
	c->begun = 1;
	http_exchange_add_events(x, ": welcome\n\n", 11, 0);
	if (last_event_id == NULL) /* a client that does not say where it was begins with what comes now */
		seen = c->last;
	for (size_t i = 0; i < c->count; i++) {
		const struct event *e = &c->events[i];
		struct mcp_outgoing m = { .text = e->text, .n = e->n, .final = e->final };
		if (e->number > seen)
			carry_locked(c, &m, e->number);
	}
	if (c->done)
		http_exchange_add_events(x, "", 0, 1);
	lock_release(&session->kept_lock);
	if (before) {
		http_exchange_add_events(before, "", 0, 1);
		mcp_stream_unref(&before->stream);
	}
	return 0;
}

void http_replay_forget(struct http_channel *c)
{
	drop(c->session, c);
}

void http_replay_detach(struct http_channel *c, struct http_exchange *x, int delivered)
{
	lock_take(&c->session->kept_lock);
	int ours = c->carrier == x;
	if (ours)
		c->carrier = NULL;
	int finished = ours && c->done && delivered; /* one that was let go before delivered something else */
	lock_release(&c->session->kept_lock);
	if (ours)
		mcp_stream_unref(&x->stream);
	if (finished)
		drop(c->session, c);
	mcp_stream_unref(&c->stream);
}
