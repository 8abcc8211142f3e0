/* stream: reference counting and dispatch; see stream.h. */
#include "mcp/stream.h"

#include <assert.h>

void mcp_stream_init(struct mcp_stream *s, const struct mcp_stream_ops *ops)
{
	s->ops = ops;
	atomic_init(&s->refs, 1);
}

struct mcp_stream *mcp_stream_ref(struct mcp_stream *s)
{
	int before = atomic_fetch_add(&s->refs, 1);
	assert(before > 0);
	(void)before;
	return s;
}

void mcp_stream_unref(struct mcp_stream *s)
{
	if (s && atomic_fetch_sub(&s->refs, 1) == 1)
		s->ops->free(s);
}

void mcp_stream_send(struct mcp_stream *s, const struct mcp_outgoing *m)
{
	s->ops->send(s, m);
}
