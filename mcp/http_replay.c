/* http_replay: what a legacy session's streams sent, kept until it is known to have arrived; see http_inner.h.
 *
 * A channel is one logical stream: number 0 is the session's own (GET), each request has another. It writes to the
 * exchange that carries it at present, if any, and numbers what it sends "CHANNEL-EVENT", so that Last-Event-ID says where
 * a client stopped. Channels whose answer has arrived are dropped. Calls send from any thread. */
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

struct replay;

struct http_channel {
	struct mcp_stream stream; /* first: streams are cast to this */
	struct replay *replay;    /* held */
	long number;
	int primes; /* the client's revision has empty events that only carry an id */
	/* ---- under replay.lock ---- */
	struct http_exchange *carrier; /* held; NULL while no connection carries it */
	struct event *events;          /* the last ones, oldest first */
	size_t count, bytes;
	long last; /* number of the last event; 0: none */
	int begun; /* the carrier's response is a stream of events */
	int done;  /* the answer was sent, or never will be */
};

/* All channels of one session. */
struct replay {
	atomic_int refs;                /* the session's, and one for each channel */
	struct lock lock;               /* LOCK_OUTPUT */
	struct http_channel **channels; /* held; number 0 first */
	size_t count;
	long last; /* number of the last channel */
};

static void replay_unref(void *arg)
{
	struct replay *r = arg;
	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	free(r->channels);
	lock_fini(&r->lock);
	free(r);
}

/* The session has ended: its channels go as soon as nobody sends on them. */
static void replay_end(void *arg)
{
	struct replay *r = arg;
	struct http_channel **channels;
	size_t count;
	lock_take(&r->lock);
	channels = r->channels;
	count = r->count;
	r->channels = NULL;
	r->count = 0;
	lock_release(&r->lock);
	for (size_t i = 0; i < count; i++) {
		lock_take(&r->lock);
		struct http_exchange *x = channels[i]->carrier;
		channels[i]->carrier = NULL;
		lock_release(&r->lock);
		if (x) {
			http_exchange_add_events(x, "", 0, 1);
			mcp_stream_unref(&x->stream);
		}
		mcp_stream_unref(&channels[i]->stream);
	}
	free(channels);
	replay_unref(r);
}

static void channel_free(struct mcp_stream *stream)
{
	struct http_channel *c = (struct http_channel *)stream;
	for (size_t i = 0; i < c->count; i++)
		free(c->events[i].text);
	free(c->events);
	replay_unref(c->replay);
	free(c);
}

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

static void channel_send(struct mcp_stream *stream, const struct mcp_outgoing *m)
{
	struct http_channel *c = (struct http_channel *)stream;
	lock_take(&c->replay->lock);
	if (c->carrier && !m->final && !c->begun) { /* a stream begins with an id to come back with */
		c->begun = 1;
		if (c->primes)
			send_id_locked(c, RETRY_MS, 0);
	}
	c->done |= m->final;
	if (m->n == 0) {
		if (c->carrier)
			http_exchange_send(c->carrier, m);
		lock_release(&c->replay->lock);
		return;
	}
	while (c->count > 0 && (c->count >= EVENTS_MAX || c->bytes + m->n > KEPT_MAX)) {
		c->bytes -= c->events[0].n;
		free(c->events[0].text);
		memmove(c->events, c->events + 1, --c->count * sizeof *c->events);
	}
	struct event *e = MEM_PUSH(c->events, c->count);
	*e = (struct event){ .number = ++c->last, .text = mem_strn(m->text, m->n), .n = m->n, .final = m->final };
	c->bytes += m->n;
	if (c->carrier)
		carry_locked(c, m, c->last);
	lock_release(&c->replay->lock);
}

/* Lets the connection go; the client comes back with Last-Event-ID. */
static void channel_close(struct mcp_stream *stream, int retry_ms)
{
	struct http_channel *c = (struct http_channel *)stream;
	lock_take(&c->replay->lock);
	struct http_exchange *x = c->primes ? c->carrier : NULL;
	if (x) {
		send_id_locked(c, retry_ms, 1);
		c->begun = 1;
		c->carrier = NULL;
	}
	lock_release(&c->replay->lock);
	if (x)
		mcp_stream_unref(&x->stream);
}

static const struct mcp_stream_ops CHANNEL = { .send = channel_send, .close = channel_close, .free = channel_free };

/* --- channels --------------------------------------------------------------------------------------------------- */

/* The session's replay, made when first needed; held by the caller. */
static struct replay *replay_of(struct mcp_session *session)
{
	lock_take(&session->lock);
	struct replay *r = session->transport;
	if (r == NULL) {
		r = MEM_NEW(struct replay);
		atomic_init(&r->refs, 1);
		lock_init(&r->lock, LOCK_OUTPUT);
		session->transport = r;
		session->transport_end = replay_end;
	}
	atomic_fetch_add(&r->refs, 1);
	lock_release(&session->lock);
	return r;
}

/* Takes a channel out of the list and drops the list's reference; which NULL: the oldest that nobody waits for any more,
 * if there are too many. Channel 0 stays. */
static void drop(struct replay *r, const struct http_channel *which)
{
	struct http_channel *found = NULL;
	lock_take(&r->lock);
	for (size_t i = 0; i < r->count && !found; i++) {
		struct http_channel *c = r->channels[i];
		if (c->number != 0 && (which ? c == which : r->count > CHANNELS_MAX && c->done)) {
			found = c;
			memmove(&r->channels[i], &r->channels[i + 1], (--r->count - i) * sizeof *r->channels);
		}
	}
	lock_release(&r->lock);
	if (found)
		mcp_stream_unref(&found->stream);
}

/* A new channel in the list; x may be NULL. One reference for the caller. */
static struct http_channel *channel_new(struct mcp_session *session, long number, struct http_exchange *x)
{
	struct replay *r = replay_of(session);
	struct http_channel *c = MEM_NEW(struct http_channel);
	const char *revision = mcp_session_revision(session);
	mcp_stream_init(&c->stream, &CHANNEL);
	c->replay = r; /* takes the reference over */
	c->primes = revision && strcmp(revision, "2025-11-25") >= 0;
	if (x) {
		c->carrier = x;
		mcp_stream_ref(&x->stream);
		x->channel = c;
		mcp_stream_ref(&c->stream);
	}
	lock_take(&r->lock);
	c->number = number >= 0 ? number : ++r->last;
	*MEM_PUSH(r->channels, r->count) = c;
	mcp_stream_ref(&c->stream);
	lock_release(&r->lock);
	drop(r, NULL);
	return c;
}

struct mcp_stream *http_replay_begin(struct mcp_session *session, struct http_exchange *x)
{
	return &channel_new(session, -1, x)->stream;
}

/* The channel of that number, held; NULL when there is none. */
static struct http_channel *find(struct replay *r, long number)
{
	struct http_channel *found = NULL;
	lock_take(&r->lock);
	for (size_t i = 0; i < r->count && !found; i++)
		if (r->channels[i]->number == number)
			found = r->channels[i];
	if (found)
		mcp_stream_ref(&found->stream);
	lock_release(&r->lock);
	return found;
}

/* Puts x in the place of the channel's carrier and sends what came after event `seen`. */
static void take_over(struct http_channel *c, struct http_exchange *x, long seen)
{
	mcp_stream_ref(&x->stream);
	x->channel = c;
	mcp_stream_ref(&c->stream);
	lock_take(&c->replay->lock);
	struct http_exchange *old = c->carrier;
	c->carrier = x;
	c->begun = 1;
	http_exchange_add_events(x, ": welcome\n\n", 11, 0);
	for (size_t i = 0; i < c->count; i++) {
		const struct event *e = &c->events[i];
		struct mcp_outgoing m = { .text = e->text, .n = e->n, .final = e->final };
		if (e->number > seen)
			carry_locked(c, &m, e->number);
	}
	if (c->done)
		http_exchange_add_events(x, "", 0, 1);
	lock_release(&c->replay->lock);
	if (old) {
		http_exchange_add_events(old, "", 0, 1);
		mcp_stream_unref(&old->stream);
	}
}

int http_replay_attach(struct mcp_session *session, struct http_exchange *x, const char *last_event_id)
{
	long number = 0, seen = 0;
	struct replay *r = replay_of(session);
	struct http_channel *c = NULL;
	if (last_event_id == NULL || sscanf(last_event_id, "%ld-%ld", &number, &seen) == 2)
		c = find(r, number);
	else
		number = -1;
	if (c == NULL && number == 0) {
		c = channel_new(session, 0, NULL);
		mcp_session_set_stream(session, &c->stream);
	}
	if (c && last_event_id == NULL) {
		lock_take(&r->lock);
		seen = c->last; /* a client that does not say where it was begins with what comes now */
		lock_release(&r->lock);
	}
	replay_unref(r);
	if (c == NULL)
		return -1;
	take_over(c, x, seen);
	mcp_stream_unref(&c->stream);
	return 0;
}

void http_replay_forget(struct http_channel *c)
{
	drop(c->replay, c);
}

void http_replay_detach(struct http_channel *c, struct http_exchange *x, int delivered)
{
	lock_take(&c->replay->lock);
	int ours = c->carrier == x;
	if (ours)
		c->carrier = NULL;
	int finished =
		ours && c->done && delivered; /* one that was let go before the answer delivered something else */
	lock_release(&c->replay->lock);
	if (ours)
		mcp_stream_unref(&x->stream);
	if (finished)
		drop(c->replay, c);
	mcp_stream_unref(&c->stream);
}
