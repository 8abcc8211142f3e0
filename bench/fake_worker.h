/* fake_worker: a worker without compiler and device, for measuring what is peakd's own: it answers every request at once, or after the
 * times that $PEAKD_BENCH_FAKE names ("COMPILE_US DEVICE_US DEVICES"). Its device is of the hlsl backend, its kernels write the same few numbers. */
#ifndef PEAKD_BENCH_FAKE_WORKER_H
#define PEAKD_BENCH_FAKE_WORKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/facts.h"
#include "backends/wire.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { FAKE_N = 64, FAKE_SAMPLES = 3 }; /* elements of the one output */

static int64_t fake_compile_ns, fake_device_ns;
static unsigned fake_devices;
static float fake_values[FAKE_N];

static void fake_facts(unsigned index, struct buf *out)
{
	struct facts f = { .backend = "hlsl", .name = "fake", .arch = "spirv1.3", .driver = "fake 1", .runs = true, .index = index, .warp_size = 32,
	                   .max_threads = 1024, .max_block = { 1024, 1024, 64 }, .max_grid = { 65535, 65535, 65535 }, .shared_static = 32768,
	                   .shared_optin = 32768, .max_cluster = 1, .memory_bytes = 1 << 30 };
	snprintf(f.id, sizeof f.id, "hlsl:%u", index);
	snprintf(f.uuid, sizeof f.uuid, "fake-%d-%u", (int)getppid(), index);
	wire_facts_encode(&f, out);
}

static void fake_compiled(struct buf *out)
{
	struct wire_kernel kernel = { .name = (char *)"k", .registers = 16, .shared = 0, .spill = 0, .max_threads = 1024 };
	struct wire_compiled c = { .binary = (uint8_t *)fake_values, .binary_len = 64, .log = (char *)"", .kernels = &kernel, .kernel_count = 1,
	                           .compile_ns = 1 };
	clock_sleep(fake_compile_ns);
	wire_compiled_encode(&c, out);
}

static void fake_executed(struct buf *out)
{
	char hash[1][65];
	struct wire_executed x = { .device_ns = 1000, .output_count = 1, .output_hash = hash };
	memcpy(hash[0], hash_bytes(fake_values, sizeof fake_values).hex, sizeof hash[0]);
	wire_executed_encode(&x, out);
}

static void fake_measured(uint32_t number, struct buf *out)
{
	uint64_t samples[FAKE_SAMPLES];
	struct wire_condition conditions[FAKE_SAMPLES] = { { 0 } };
	struct wire_measured m = { .samples = samples, .conditions = conditions, .sample_count = FAKE_SAMPLES, .launches = 1, .note = (char *)"" };
	for (int i = 0; i < FAKE_SAMPLES; i++)
		samples[i] = 1000000 + number * 7919 % 1000003;
	clock_sleep(fake_device_ns);
	wire_measured_encode(&m, out);
}

/* False for a request that this worker refuses. */
static bool fake_answer(const struct wire_frame *f, uint32_t number, struct buf *out)
{
	struct wire_prepared prepared = { .run = 1, .prepare_ns = 1 };
	struct wire_compared compared = { .ref_norm = 8, .elements = FAKE_N };
	struct wire_in in = { .at = f->body, .end = f->body + f->len };
	switch (f->type) {
	case WIRE_DEVICES: {
		char *id = wire_get_text(&in);
		bool ours = strcmp(id, "hlsl") == 0;
		free(id);
		wire_put_u64(out, fake_devices);
		for (unsigned i = 0; ours && i < fake_devices; i++)
			fake_facts(i, out);
		return ours;
	}
	case WIRE_OPEN: fake_facts(0, out); break;
	case WIRE_COMPILE: fake_compiled(out); break;
	case WIRE_PREPARE: wire_prepared_encode(&prepared, out); break;
	case WIRE_EXECUTE: fake_executed(out); break;
	case WIRE_OUTPUT: wire_put_bytes(out, fake_values, sizeof fake_values); break;
	case WIRE_COMPARE: wire_compared_encode(&compared, out); break;
	case WIRE_MEASURE: fake_measured(number, out); break;
	case WIRE_PING:
	case WIRE_RELEASE: break;
	default: return false;
	}
	return true;
}

static int fake_worker_main(void)
{
	struct wire_hello hello = { .version = WIRE_VERSION, .pid = (uint32_t)getpid() };
	struct buf out = BUF_INIT;
	struct wire_frame f;
	uint32_t number = 0;
	long long compile_us = 0, device_us = 0;
	sscanf(getenv("PEAKD_BENCH_FAKE"), "%lld %lld %u", &compile_us, &device_us, &fake_devices);
	fake_compile_ns = compile_us * 1000;
	fake_device_ns = device_us * 1000;
	for (int i = 0; i < FAKE_N; i++)
		fake_values[i] = (float)(i * i % 17) - 5;
	wire_hello_encode(&hello, &out);
	wire_send(1, WIRE_HELLO, 0, out.data, out.len, CLOCK_NEVER, NULL);
	while (wire_receive(0, &f, CLOCK_NEVER, -1, NULL, NULL) == 0) {
		struct err refused = ERR_INIT;
		buf_clear(&out);
		bool good = fake_answer(&f, number++, &out);
		if (!good) {
			buf_clear(&out);
			err_set(&refused, ERR_UNSUPPORTED, "not here");
			wire_failed_encode(&refused, &out);
		}
		wire_send(1, good ? f.type : WIRE_FAILED, f.id, buf_text(&out), out.len, CLOCK_NEVER, NULL);
		free(f.body);
	}
	buf_fini(&out);
	return 0;
}

#endif
