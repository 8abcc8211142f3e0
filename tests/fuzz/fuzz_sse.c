/* Server-sent events of a provider: the same bytes give the same events, however they are split. */
#include "base/buf.h"
#include "core/transform/llm_wire.h"
#include "fuzz/fuzz.h"

static int note(void *arg, const char *data)
{
	buf_addf(arg, "[%s]", data);
	return strcmp(data, "stop") == 0 ? -2 : 0;
}

/* Feeds pieces of `piece` bytes and appends the events to out. */
static void feed(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
	struct llm_wire_events s = LLM_WIRE_EVENTS_INIT;
	int rc = 0;
	for (size_t at = 0; at < size && rc == 0; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		uint8_t *bytes = fuzz_bytes(data + at, n);
		rc = llm_wire_feed(&s, (const char *)bytes, n, note, out);
		free(bytes);
	}
	buf_addf(out, "%d", rc);
	llm_wire_events_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT;
	feed(data, size, size ? size : 1, &whole);
	for (size_t piece = 1; piece <= 7; piece += 6) {
		struct buf pieces = BUF_INIT;
		feed(data, size, piece, &pieces);
		assert(strcmp(buf_text(&whole), buf_text(&pieces)) == 0);
		buf_fini(&pieces);
	}
	buf_fini(&whole);
	return 0;
}
