/* fake_worker: a worker without compiler and device, to measure peakd's own time: it answers every request at once, or after the
 * times in $PEAKD_BENCH_FAKE ("COMPILE_US DEVICE_US DEVICES [CLOCK_AHEAD_S CPU]"). Its devices belong to the hlsl backend, and all
 * its kernels write the same numbers. Tests of tunes set fake_time, which gives each configuration its own time. */
#ifndef PEAKD_BENCH_FAKE_WORKER_H
#define PEAKD_BENCH_FAKE_WORKER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/wire/facts.h"
#include "backends/wire/wire.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

enum { FAKE_N = 64 /* elements of the one output */, FAKE_SAMPLES = 3, FAKE_QUOTED = 10, FAKE_RUNS = 64 };

static int64_t fake_compile_ns, fake_device_ns;
static unsigned fake_devices;
static char fake_cpu[40];
static const char *fake_backend = "hlsl"; /* whose its devices are */
static float fake_values[FAKE_N];
enum fake_timing { FAKE_SEARCHED, FAKE_ALONE, FAKE_PAIRED };
/* Nanoseconds of a configuration, by its defines and the first extent of its first buffer ("X=1 Y=2 at 64"), and by how
 * it is timed. */
static uint64_t (*fake_time)(const char *defines, enum fake_timing how);
/* True when the compiler refuses it. NULL: never. */
static bool (*fake_refuses)(const char *defines);
/* True when the device is lost at the count-th request of this type: the worker dies, and no other one can open the
 * device. NULL: never. The count of an execution is that of the comparisons before it: a process that makes references has
 * none. */
static bool (*fake_gone)(unsigned device, enum wire_type type, unsigned count);
static unsigned fake_device, fake_prepares, fake_compares;
/* True when its outputs are wrong from its first pair on. */
static bool (*fake_spoilt)(const char *defines);
static bool fake_was_paired[FAKE_RUNS];
/* Watts of a configuration while it is weighed for the count-th time. NULL: one kilowatt; 0: the counter does not move. */
static double (*fake_watts)(const char *defines, unsigned count);
/* True when an energy request kills the worker, once it was timed alone. NULL: never. */
static bool (*fake_breaks)(const char *defines);
static bool fake_was_alone[FAKE_RUNS];
/* True when all pairs are disturbed by heat. NULL: never. */
static bool (*fake_hot)(void);
static unsigned fake_pairs;        /* pair requests, this one included */
static char *fake_runs[FAKE_RUNS]; /* the defines of each prepared run, from 1 on */

static struct facts fake_facts(unsigned index)
{
	struct facts f = { .name = "fake",
			   .arch = "spirv1.3",
			   .driver = "fake 1",
			   .runs = true,
			   .index = index,
			   .warp_size = 32,
			   .max_threads = 1024,
			   .max_block = { 1024, 1024, 64 },
			   .max_grid = { 65535, 65535, 65535 },
			   .shared_static = 32768,
			   .shared_optin = 32768,
			   .max_cluster = 1,
			   .memory_bytes = 1 << 30 };
	snprintf(f.backend, sizeof f.backend, "%s", fake_backend);
	snprintf(f.id, sizeof f.id, "%s:%u", fake_backend, index);
	snprintf(f.uuid, sizeof f.uuid, "fake-%d-%u", (int)getppid(), index);
	snprintf(f.host, sizeof f.host, "fake%s%s", *fake_cpu ? ", " : "", fake_cpu);
	f.shares_cpu = *fake_cpu;
	return f;
}

static bool fake_compiled(struct wire_in *in, struct buf *out)
{
	struct wire_kernel kernel = { .name = (char *)"k", .registers = 16, .shared = 0, .spill = 0, .max_threads = 1024 };
	struct wire_compiled c = { .binary = (uint8_t *)fake_values,
				   .binary_len = 64,
				   .log = (char *)"",
				   .kernels = &kernel,
				   .kernel_count = 1,
				   .compile_ns = 1 };
	struct wire_compile request = { .backend = NULL };
	struct buf defines = BUF_INIT;
	bool good;
	if (fake_time && wire_compile_decode(in, &request, NULL) == 0) {
		for (size_t i = 0; i < request.define_count; i++)
			buf_addf(&defines, "%s=%s ", request.defines[i].name, request.defines[i].value);
		c.binary = (uint8_t *)buf_text(&defines);
		c.binary_len = defines.len + 1;
		wire_compile_fini(&request);
	}
	clock_sleep(fake_compile_ns);
	good = fake_refuses == NULL || !fake_refuses(buf_text(&defines));
	if (good)
		wire_compiled_encode(&c, out);
	buf_fini(&defines);
	return good;
}

static void fake_prepared(struct wire_in *in, struct buf *out)
{
	struct wire_prepared prepared = { .run = 1, .prepare_ns = 1 };
	if (fake_gone && fake_gone(fake_device, WIRE_PREPARE, ++fake_prepares))
		_exit(1);
	struct wire_prepare request = { .binary = NULL };
	if (fake_time && wire_prepare_decode(in, &request, NULL) == 0) {
		while (prepared.run + 1 < FAKE_RUNS && fake_runs[prepared.run])
			prepared.run++;
		free(fake_runs[prepared.run]);
		fake_was_paired[prepared.run] = fake_was_alone[prepared.run] = false;
		fake_runs[prepared.run] = mem_fmt("%.*sat %lld", (int)request.binary_len, (const char *)request.binary,
						  request.plan->buffer_count ? (long long)request.plan->buffers[0].dims[0] : 0);
		wire_prepare_fini(&request);
	}
	wire_prepared_encode(&prepared, out);
}

static void fake_released(struct wire_in *in)
{
	uint32_t run = wire_get_u32(in) % FAKE_RUNS;
	free(fake_runs[run]);
	fake_runs[run] = NULL;
}

static uint64_t fake_time_of(uint32_t run, enum fake_timing how)
{
	const char *defines = run < FAKE_RUNS ? fake_runs[run] : NULL;
	return fake_time ? fake_time(defines ? defines : "", how) : 1000;
}

static void fake_paired(struct wire_in *in, struct buf *out)
{
	struct wire_pair request;
	uint64_t a[FAKE_QUOTED], b[FAKE_QUOTED];
	struct wire_condition conditions[FAKE_QUOTED] = { { 0 } };
	struct wire_paired p = { .a_ns = a,
				 .b_ns = b,
				 .conditions = conditions,
				 .pair_count = FAKE_QUOTED,
				 .margin = 0.01,
				 .launches_a = 1,
				 .launches_b = 1,
				 .note = (char *)"" };
	if (wire_pair_decode(in, &request, NULL) < 0)
		return;
	fake_pairs += !request.unreset;
	if (!request.unreset)
		fake_was_paired[request.a % FAKE_RUNS] = fake_was_paired[request.b % FAKE_RUNS] = true;
	for (int i = 0; i < FAKE_QUOTED; i++) {
		a[i] = fake_time_of(request.a, FAKE_PAIRED);
		b[i] = fake_time_of(request.b, FAKE_PAIRED);
	}
	p.ratio = p.low = p.high = (double)b[0] / (double)a[0];
	p.disturbed = fake_hot && fake_hot();
	for (int i = 0; p.disturbed && i < FAKE_QUOTED; i++)
		conditions[i] = (struct wire_condition){
			.core_mhz = 1200, .celsius = 88, .throttle = WIRE_THROTTLE_HARDWARE_HEAT, .disturbed = 1
		};
	p.verdict = p.disturbed ? WIRE_UNCLEAR : p.ratio < 1 ? WIRE_FASTER : p.ratio > 1 ? WIRE_SLOWER : WIRE_SAME;
	wire_paired_encode(&p, out);
	wire_pair_fini(&request);
}

static void fake_compared(struct wire_in *in, struct buf *out)
{
	struct wire_compared compared = { .ref_norm = 8, .elements = FAKE_N };
	uint32_t run = wire_get_u32(in) % FAKE_RUNS;
	fake_compares++;
	if (fake_spoilt && fake_was_paired[run] && fake_runs[run] && fake_spoilt(fake_runs[run]))
		compared.mismatched = FAKE_N;
	wire_compared_encode(&compared, out);
}

static void fake_executed(struct buf *out)
{
	struct wire_executed x = { .device_ns = 1000 };
	if (fake_gone && fake_gone(fake_device, WIRE_EXECUTE, fake_compares))
		_exit(1);
	wire_executed_encode(&x, out);
}

static void fake_measured(struct wire_in *in, uint32_t number, struct buf *out)
{
	uint64_t samples[FAKE_QUOTED], ns = 1000000 + number * 7919 % 1000003;
	struct wire_condition conditions[FAKE_QUOTED] = { { 0 } };
	struct wire_measured m = {
		.samples = samples, .conditions = conditions, .sample_count = FAKE_SAMPLES, .launches = 1, .note = (char *)""
	};
	struct wire_measure request;
	if (fake_time && wire_measure_decode(in, &request, NULL) == 0) {
		ns = fake_time_of(request.run, request.cache == WIRE_FLUSHED ? FAKE_SEARCHED : FAKE_ALONE);
		fake_was_alone[request.run % FAKE_RUNS] = request.cache != WIRE_FLUSHED;
		m.hopeless = request.hopeless_ns > 0 && ns > request.hopeless_ns;
		m.sample_count = m.hopeless ? FAKE_SAMPLES : FAKE_QUOTED;
		wire_measure_fini(&request);
	}
	for (size_t i = 0; i < m.sample_count; i++)
		samples[i] = ns;
	clock_sleep(fake_device_ns);
	wire_measured_encode(&m, out);
}

static void fake_weighed(struct wire_in *in, struct buf *out)
{
	struct wire_energised x = { .executions = 1, .note = (char *)"" };
	struct wire_energy request;
	if (wire_energy_decode(in, &request, NULL) < 0)
		return;
	uint32_t run = request.run % FAKE_RUNS;
	if (fake_breaks && fake_was_alone[run] && fake_runs[run] && fake_breaks(fake_runs[run]))
		_exit(1);
	static unsigned counts[FAKE_RUNS];
	uint64_t ns = fake_time_of(run, FAKE_ALONE);
	x.executions = request.min_ns / ns + 1;
	x.seconds = (double)(x.executions * ns) / 1e9;
	x.joules = x.seconds * (fake_watts && fake_runs[run] ? fake_watts(fake_runs[run], ++counts[run]) : 1000);
	x.note = (char *)(x.joules > 0 ? "" : "the device's energy counter does not move, or too seldom");
	wire_energised_encode(&x, out);
}

/* False: the request is refused. */
static bool fake_answer(const struct wire_frame *f, uint32_t number, struct buf *out)
{
	struct wire_in in = { .at = f->body, .end = f->body + f->len };
	switch (f->type) {
	case WIRE_DEVICES: {
		struct wire_name name = { .id = NULL };
		struct wire_devices list = { .count = 0 };
		bool ours = wire_name_decode(&in, &name, NULL) == 0 && strcmp(name.id, fake_backend) == 0;
		for (unsigned i = 0; ours && i < fake_devices; i++)
			*MEM_PUSH(list.at, list.count) = fake_facts(i);
		wire_devices_encode(&list, out);
		wire_devices_fini(&list);
		wire_name_fini(&name);
		return ours;
	}
	case WIRE_OPEN: {
		struct wire_name name = { .id = NULL };
		if (wire_name_decode(&in, &name, NULL) == 0)
			fake_device = (unsigned)atoi(name.id + strcspn(name.id, ":") + 1);
		struct facts facts = fake_facts(fake_device);
		wire_facts_encode(&facts, out);
		wire_name_fini(&name);
		return fake_gone == NULL || !fake_gone(fake_device, WIRE_OPEN, 1);
	}
	case WIRE_COMPILE: return fake_compiled(&in, out);
	case WIRE_PREPARE: fake_prepared(&in, out); break;
	case WIRE_EXECUTE: fake_executed(out); break;
	case WIRE_OUTPUT:
		wire_content_encode(&(struct wire_content){ .bytes = (const uint8_t *)fake_values, .len = sizeof fake_values },
				    out);
		break;
	case WIRE_COMPARE: fake_compared(&in, out); break;
	case WIRE_MEASURE: fake_measured(&in, number, out); break;
	case WIRE_PAIR: fake_paired(&in, out); break;
	case WIRE_ENERGY: fake_weighed(&in, out); break;
	case WIRE_PRODUCT: /* no row is wrong */ wire_product_found_encode(&(struct wire_product_found){ .rows = 0 }, out); break;
	case WIRE_RELEASE: fake_released(&in); break;
	case WIRE_PING: break;
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
	long long compile_us = 0, device_us = 0, ahead_s = 0;
	sscanf(getenv("PEAKD_BENCH_FAKE"), "%lld %lld %u %lld %39[^\n]", &compile_us, &device_us, &fake_devices, &ahead_s,
	       fake_cpu);
	hello.wall_ms = (uint64_t)(clock_wall_ms() + ahead_s * 1000);
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
			err_set(&refused,
				f.type == WIRE_COMPILE ? ERR_COMPILE
				: f.type == WIRE_OPEN  ? ERR_CRASH
						       : ERR_UNSUPPORTED,
				"not here");
			wire_failed_encode(&refused, &out);
		}
		wire_send(1, good ? f.type : WIRE_FAILED, f.id, buf_text(&out), out.len, CLOCK_NEVER, NULL);
		free(f.body);
	}
	buf_fini(&out);
	return 0;
}

#endif
