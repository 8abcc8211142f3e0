/* Memory that the host cannot see is reached through a staging buffer. lavapipe shows all of its memory, so the test
 * hides a buffer's address. */
#include "backends/hlsl/device.h"

#include "base/mem.h"
#include "tap.h"

int main(void)
{
	struct backend_device *d;
	struct device_buffer *b;
	struct err e = ERR_INIT;
	enum { BYTES = (40 << 20) + 12 };
	setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); /* tests leave nothing behind */
	if (hlsl_device_open(0, &d, &e) < 0) {
		SKIP(1, "no Vulkan device: %s", e.text);
		return tap_done();
	}
	uint8_t *bytes = mem_new(BYTES, 1), *back = mem_new(BYTES, 1);
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 11);
	is_int(hlsl_device_buffer_new(d, BYTES, true, &b, &e), 0, "a buffer of 40 MiB: %s", e.text);
	uint8_t *host = b->host;
	ok(host != NULL, "the host sees the buffer");
	memset(host, 0, BYTES);
	b->host = NULL;
	is_int(hlsl_device_write(d, b, 4, bytes, BYTES - 8, &e), 0, "write through staging: %s", e.text);
	ok(memcmp(host + 4, bytes, BYTES - 8) == 0, "the bytes arrive");
	ok(host[0] == 0 && host[BYTES - 1] == 0, "nothing else is written");
	is_int(hlsl_device_read(d, b, 4, back, BYTES - 8, &e), 0, "read through staging: %s", e.text);
	ok(memcmp(back, bytes, BYTES - 8) == 0, "the bytes come back");
	hlsl_device_buffer_free(d, b);
	struct device_buffer *flush, *again;
	is_int(hlsl_device_flush_buffer(d, &flush, &e), 0, "get the buffer that empties the caches");
	ok(hlsl_device_flush_buffer(d, &again, &e) == 0 && flush == again, "there is one such buffer");
	hlsl_device_close(d);
	is_int(hlsl_device_open(1000, &d, &e), -ERR_UNSUPPORTED, "a missing device is refused");
	hlsl_device_close(NULL);
	free(bytes);
	free(back);
	return tap_done();
}
