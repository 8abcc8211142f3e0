/* Memory that the host cannot see is reached through a staging buffer. lavapipe shows all of its memory, so the test
 * hides a buffer's address. */
#include "backends/hlsl/device.h"

#include "backends/hlsl/glslang.h"
#include "base/mem.h"
#include "tap.h"

static void pipelines(struct backend_device *d)
{
	static const struct spirv_binding binding = { .binding = 0 };
	struct device_pipeline p[2] = { { .handle = VK_NULL_HANDLE } }, other = { .handle = VK_NULL_HANDLE };
	struct glslang_output o[2];
	struct hlsl_kernel code[2];
	struct err e = ERR_INIT;
	for (int i = 0; i < 2; i++) {
		hlsl_glslang(i ? "RWStructuredBuffer<int> A : register(u0); [numthreads(8, 1, 1)] void k() { A[0] = 2; }"
			       : "RWStructuredBuffer<int> A : register(u0); [numthreads(8, 1, 1)] void k() { A[0] = 1; }",
			     "k", false, &o[i]);
		code[i] = (struct hlsl_kernel){ .name = "k", .words = o[i].words, .bytes = o[i].word_count * sizeof(uint32_t) };
	}
	is_int(hlsl_device_pipeline_init(d, &p[0], &code[0], &binding, 1, 0, &e), 0, "make a pipeline: %s", e.text);
	is_int(hlsl_device_pipeline_init(d, &p[1], &code[0], &binding, 1, 0, &e), 0, "and another of the same code");
	ok(p[0].handle != p[1].handle, "two that are in use at once are two");
	VkPipeline first = p[0].handle;
	hlsl_device_pipeline_fini(d, &p[0]);
	is_int(hlsl_device_pipeline_init(d, &other, &code[1], &binding, 1, 0, &e), 0, "make one of other code");
	ok(other.handle != first, "a spare of other code is not taken");
	is_int(hlsl_device_pipeline_init(d, &p[0], &code[0], &binding, 1, 0, &e), 0, "make the first one again");
	ok(p[0].handle == first, "it is the spare, so the driver does not compile again");
	for (int i = 0; i <= DEVICE_SPARE; i++) {
		struct glslang_output many;
		char *text = mem_fmt("RWStructuredBuffer<int> A : register(u0); [numthreads(8, 1, 1)] void k() { A[1] = %d; }", i);
		hlsl_glslang(text, "k", false, &many);
		struct hlsl_kernel one = { .name = "k", .words = many.words, .bytes = many.word_count * sizeof(uint32_t) };
		struct device_pipeline q = { .handle = VK_NULL_HANDLE };
		hlsl_device_pipeline_init(d, &q, &one, &binding, 1, 0, &e);
		hlsl_device_pipeline_fini(d, &q);
		free(text);
		free(many.words);
		free(many.log);
	}
	is_int((long)d->spare_count, DEVICE_SPARE, "the oldest spares are given up");
	for (int i = 0; i < 2; i++) {
		hlsl_device_pipeline_fini(d, &p[i]);
		free(o[i].words);
		free(o[i].log);
	}
	hlsl_device_pipeline_fini(d, &other);
}

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
	is_int(hlsl_device_transfer(d, b, 4, bytes, BYTES - 8, true, &e), 0, "write through staging: %s", e.text);
	ok(memcmp(host + 4, bytes, BYTES - 8) == 0, "the bytes arrive");
	ok(host[0] == 0 && host[BYTES - 1] == 0, "nothing else is written");
	is_int(hlsl_device_transfer(d, b, 4, back, BYTES - 8, false, &e), 0, "read through staging: %s", e.text);
	ok(memcmp(back, bytes, BYTES - 8) == 0, "the bytes come back");
	hlsl_device_buffer_free(d, b);
	is_int(hlsl_device_need_flush(d, &e), 0, "get the buffer that empties the caches");
	struct device_buffer *flush = d->flush;
	ok(hlsl_device_need_flush(d, &e) == 0 && flush == d->flush, "there is one such buffer");
	pipelines(d);
	hlsl_device_close(d);
	is_int(hlsl_device_open(1000, &d, &e), -ERR_UNSUPPORTED, "a missing device is refused");
	hlsl_device_close(NULL);
	free(bytes);
	free(back);
	return tap_done();
}
