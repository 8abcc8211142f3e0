/* backends/wire: every message written and read back, also truncated and mutated; tables that forget no member; frames with
 * deadlines, garbage and dead peers. */
#include "backends/wire/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "backends/sample_plan.h"
#include "pace.h"
#include "tap.h"

static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void put_hello(struct buf *out)
{
	wire_hello_encode(&(struct wire_hello){ .version = WIRE_VERSION, .pid = 7 }, out);
}

static void put_compile(struct buf *out)
{
	struct wire_define d[] = { { "BX", "16" }, { "BY", "8" } };
	char *options[] = { "-O3" };
	struct wire_compile m = { .backend = "hlsl", .arch = "spirv1.3", .macros = "#define X 1\n", .device = "void f() {}",
	                          .defines = d, .define_count = 2, .options = options, .option_count = 1,
	                          .plan = sample_everything() };
	wire_compile_encode(&m, out);
	plan_free(m.plan);
}

static void put_compiled(struct buf *out)
{
	struct wire_kernel k[] = { { .name = "f", .registers = 32, .block = { 16, 8, 1 } }, { .name = "g", .spill = 4 } };
	wire_compiled_encode(&(struct wire_compiled){ .binary = (uint8_t *)"binary", .binary_len = 6, .log = "warning",
		.kernels = k, .kernel_count = 2, .compile_ns = 5,
		.immediates = { .floats = (double[]){ -9999, 0.5 }, .float_count = 2,
				.others = (double[]){ 777 }, .other_count = 1 } }, out);
}

static void put_prepare(struct buf *out)
{
	struct wire_prepare m = { .binary = (const uint8_t *)"binary", .binary_len = 6, .plan = sample_matmul(32, 8, 8) };
	wire_prepare_encode(&m, out);
	plan_free(m.plan);
}

static void put_prepared(struct buf *out)
{
	wire_prepared_encode(&(struct wire_prepared){ .run = 1, .prepare_ns = 9 }, out);
}

static void put_execute(struct buf *out)
{
	wire_execute_encode(&(struct wire_execute){ .run = 1, .seed = 42, .poison = 0xFF, .values = PLAN_WIDE,
						    .keep = WIRE_KEEP_SCRATCH, .perturbation = 2, .amplitude = 0.25,
						    .still = 5, .share = 0.5,
						    .immediates = { .count = 2, .at = { -9999, 0.5 } } }, out);
}

static void put_executed(struct buf *out)
{
	wire_executed_encode(&(struct wire_executed){ .device_ns = 3, .changed_input = 2, .broken_zone = 1 }, out);
}

static void put_output(struct buf *out)
{
	wire_output_encode(&(struct wire_output){ .run = 1, .output = 0 }, out);
}

static void put_compare(struct buf *out)
{
	struct wire_compare m = { .run = 1, .reference = (const uint8_t *)"12345678", .reference_len = 8, .want_type = DTYPE_F32,
	                          .poison = 0xFF };
	memcpy(m.reference_hash, hash, 65);
	wire_compare_encode(&m, out);
}

static void put_compared(struct buf *out)
{
	wire_compared_encode(&(struct wire_compared){ .error = 0.25, .elements = 9, .mismatched = 1, .mismatch_count = 1,
		.mismatch = { { .index = 3, .got = 1, .want = 2 } }, .map = { { 0.5f } } }, out);
}

static void put_measure(struct buf *out)
{
	uint64_t seeds[] = { 1, UINT64_MAX, 3 };
	wire_measure_encode(&(struct wire_measure){ .run = 1, .min_samples = 10, .max_samples = 50, .rse = 0.01,
		.cap_ns = 1000, .cache = WIRE_FLUSHED, .rests = 1, .seeds = seeds, .seed_count = 3 }, out);
}

static void put_measured(struct buf *out)
{
	uint64_t samples[] = { 5, 6, 7 };
	struct wire_condition conditions[3] = { { .core_mhz = 1980, .throttle = WIRE_THROTTLE_POWER_CAP }, { .disturbed = 1 } };
	wire_measured_encode(&(struct wire_measured){ .samples = samples, .conditions = conditions, .sample_count = 3,
						      .launches = 2, .discarded = 1, .note = "half blind", .reset = "all of it",
						      .left = samples, .left_count = 2 }, out);
}

static void put_pair(struct buf *out)
{
	uint64_t seeds[] = { 7 };
	wire_pair_encode(&(struct wire_pair){ .a = 1, .b = 2, .min_pairs = 10, .max_pairs = 100, .margin = 0.01, .floor_ns = 200,
					      .confidence = 0.95, .width = 0.01, .cap_ns = 1000, .warm_up_ns = 5, .cold = 1,
					      .unreset = 1, .seeds = seeds, .seed_count = 1 }, out);
}

static void put_paired(struct buf *out)
{
	uint64_t a[] = { 5, 6 }, b[] = { 7, 8 };
	struct wire_condition conditions[2] = { { .milliwatts = 400000, .foreign = WIRE_UNKNOWN } };
	wire_paired_encode(&(struct wire_paired){ .a_ns = a, .b_ns = b, .conditions = conditions, .pair_count = 2, .launches_a = 3,
						  .margin = 0.02, .launches_b = 4, .verdict = WIRE_UNCLEAR, .ratio = 1.1, .low = 1,
						  .high = 1.2, .note = "", .reset = "", .left_a = a, .left_a_count = 2 }, out);
}

static void put_energy(struct buf *out)
{
	wire_energy_encode(&(struct wire_energy){ .run = 3, .min_ns = 1000000000 }, out);
}

static void put_energised(struct buf *out)
{
	wire_energised_encode(&(struct wire_energised){ .executions = 1000, .seconds = 1.5, .joules = 600, .note = "x" }, out);
}

static void put_target(struct buf *out)
{
	wire_target_encode(&(struct wire_target){ .backend = "hlsl", .arch = "spirv1.3", .units = 7, .shares_cpu = true }, out);
}

static void put_ceilings(struct buf *out)
{
	struct plan *plan = plan_new();
	struct wire_ceiling c = { .name = "f32", .unit = "flop", .work = 1e9, .device = "void k() {}", .plan = plan };
	*MEM_PUSH(plan->buffers, plan->buffer_count) = (struct plan_buffer){
		.name = mem_str("C"), .type = DTYPE_F32, .role = PLAN_OUT, .rank = 2, .dims = { 4, 4 }, .ld = 4, .bytes = 64
	};
	*MEM_PUSH(plan->buffers, plan->buffer_count) = (struct plan_buffer){
		.name = mem_str("A"), .type = DTYPE_F16, .role = PLAN_IN, .rank = 2, .dims = { 2, 4 }, .ld = 4, .bytes = 16
	};
	*MEM_PUSH(plan->ops, plan->op_count) = (struct plan_op){ .kind = PLAN_OP_GEMM,
		.gemm = { .a = 1, .b = 1, .c = 0, .a_transposed = true, .tf32 = true } };
	wire_ceilings_encode(&(struct wire_ceilings){ .at = &c, .count = 1 }, out);
	plan_free(plan);
}

static void put_name(struct buf *out)
{
	wire_name_encode(&(struct wire_name){ .id = "hlsl:0" }, out);
}

static void put_devices(struct buf *out)
{
	struct facts list[2] = { { .id = "hlsl:0", .runs = true, .max_grid = { 1, 2, 3 } }, { .id = "hlsl:1", .peak_bytes = 2.5 } };
	wire_devices_encode(&(struct wire_devices){ .at = list, .count = 2 }, out);
}

static void put_product(struct buf *out)
{
	wire_product_encode(&(struct wire_product){ .run = 1, .gemm = { .a = 1, .b = 2, .c = 3, .b_transposed = true },
						    .tolerance = 1e-3, .secret = UINT64_MAX }, out);
}

static const struct { const struct wire_table *table; void (*put)(struct buf *); } messages[] = {
	{ &wire_hello_table, put_hello }, { &wire_compile_table, put_compile }, { &wire_compiled_table, put_compiled },
	{ &wire_prepare_table, put_prepare }, { &wire_prepared_table, put_prepared }, { &wire_execute_table, put_execute },
	{ &wire_executed_table, put_executed }, { &wire_output_table, put_output }, { &wire_compare_table, put_compare },
	{ &wire_compared_table, put_compared }, { &wire_measure_table, put_measure }, { &wire_measured_table, put_measured },
	{ &wire_pair_table, put_pair }, { &wire_paired_table, put_paired }, { &wire_energy_table, put_energy },
	{ &wire_energised_table, put_energised }, { &wire_ceilings_table, put_ceilings }, { &wire_name_table, put_name },
	{ &wire_devices_table, put_devices }, { &wire_product_table, put_product }, { &wire_target_table, put_target },
};

/* Reads exactly n bytes from fresh memory, so that ASan sees one read too many, and writes the message again. */
static int decode(const struct wire_table *t, const void *bytes, size_t n, struct buf *out, struct err *e)
{
	uint8_t *copy = malloc(n ? n : 1);
	void *m = mem_new(1, t->size);
	memcpy(copy, bytes, n);
	struct wire_in in = { .at = copy, .end = copy + n };
	int r = wire_decode(t, &in, m, e);
	if (r == 0) {
		wire_encode(t, m, out);
		wire_fini(t, m);
	}
	free(m);
	free(copy);
	return r;
}

static void test_message(size_t which)
{
	const struct wire_table *t = messages[which].table;
	struct buf bytes = BUF_INIT, back = BUF_INIT;
	struct err e = ERR_INIT;
	messages[which].put(&bytes);
	is_int(decode(t, bytes.data, bytes.len, &back, &e), 0, "%s: a message is read back", t->name);
	ok(bytes.len == back.len && memcmp(bytes.data, back.data, bytes.len) == 0, "%s: a message survives the wire unchanged",
	   t->name);
	int refused = 0;
	for (size_t n = 0; n < bytes.len; n++) {
		buf_clear(&back);
		refused += decode(t, bytes.data, n, &back, &e) == -ERR_NETWORK;
	}
	is_int(refused, bytes.len, "%s: a message cut short anywhere is refused", t->name);
	buf_addc(&bytes, 0);
	is_int(decode(t, bytes.data, bytes.len, &back, &e), -ERR_NETWORK, "%s: a message with a byte too many is refused",
	       t->name);
	bytes.len--;
	static const uint8_t masks[] = { 0x01, 0x80, 0xFF, 0x7F };
	int outcomes = 0;
	for (size_t i = 0; i < bytes.len; i++)
		for (size_t k = 0; k < sizeof masks; k++) {
			bytes.data[i] = (char)(bytes.data[i] ^ masks[k]);
			buf_clear(&back);
			int r = decode(t, bytes.data, bytes.len, &back, &e);
			outcomes += r == 0 || r == -ERR_NETWORK || r == -ERR_INPUT;
			bytes.data[i] = (char)(bytes.data[i] ^ masks[k]);
		}
	is_int(outcomes, bytes.len * sizeof masks, "%s: a message with any byte changed is read or refused", t->name);
	buf_fini(&bytes);
	buf_fini(&back);
}

static void test_facts(void)
{
	struct facts f = { .id = "hlsl:0", .backend = "hlsl", .runs = true, .index = 3, .max_grid = { 1, 2, 3 },
	                   .l2_bytes = 1, .peak_bytes = 2.5 }, g;
	struct buf b = BUF_INIT;
	wire_facts_encode(&f, &b);
	struct wire_in in = { .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.len };
	is_int(wire_facts_decode(&in, &g, NULL), 0, "facts are read back");
	ok(g.runs && g.index == 3 && g.max_grid[2] == 3 && g.peak_bytes == 2.5 && strcmp(g.id, "hlsl:0") == 0,
	   "facts keep their values");
	for (size_t n = 0; n < b.len; n++) {
		in = (struct wire_in){ .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + n };
		if (wire_facts_decode(&in, &g, NULL) != -ERR_NETWORK)
			ok(0, "facts cut at %zu are refused", n);
	}
	buf_fini(&b);
}

static void test_reader(void)
{
	struct buf b = BUF_INIT;
	wire_put_bytes(&b, "a\0b", 3);
	wire_put_u32(&b, 9);
	struct wire_in in = { .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.len };
	char *text = wire_get_text(&in);
	ok(in.bad && text[0] == '\0', "a text with a NUL inside poisons the reader");
	is_int(wire_get_u32(&in), 0, "all later reads give zeros");
	free(text);
	buf_fini(&b);
	buf_clear(&b);
	wire_put_u64(&b, UINT64_MAX);
	in = (struct wire_in){ .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.len };
	is_int(wire_get_count(&in, 1), 0, "a count beyond what is left is refused");
	buf_clear(&b);
	wire_put_u64(&b, 3);
	wire_put_u64(&b, 0);
	wire_put_u64(&b, 0);
	in = (struct wire_in){ .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.len };
	is_int(wire_get_count(&in, 8), 0, "a count whose elements do not fit is refused");
	in = (struct wire_in){ .at = (uint8_t *)b.data, .end = (uint8_t *)b.data + b.len };
	is_int(wire_get_count(&in, 5), 3, "a count whose elements fit is accepted");
	buf_fini(&b);
}

static void pair(int fd[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		abort();
}

static void test_frames(void)
{
	int fd[2];
	struct err e = ERR_INIT;
	struct wire_frame f;
	pair(fd);
	is_int(wire_send(fd[0], WIRE_PING, 77, "abc", 3, clock_now() + 60 * CLOCK_S, &e), 0, "a frame is sent");
	is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), 0, "a frame is received");
	ok(f.type == WIRE_PING && f.id == 77 && f.len == 3 && memcmp(f.body, "abc", 3) == 0, "a frame arrives as it was sent");
	free(f.body);
	is_int(wire_receive(fd[1], &f, clock_now() + 20 * CLOCK_MS, -1, NULL, &e), -ERR_TIMEOUT,
	       "silence ends at the deadline");
	static char big[4 << 20];
	struct pace pace = pace_begin();
	is_int(wire_send(fd[0], WIRE_PING, 1, big, sizeof big, clock_now() + 50 * CLOCK_MS, &e), -ERR_TIMEOUT,
	       "a peer that does not read ends at the deadline, on a blocking descriptor");
	ok(pace_within(&pace, CLOCK_S), "the deadline holds within a second (%s)", pace_text(&pace));
	close(fd[0]);
	is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), -ERR_CRASH,
	       "half a frame and end of file is a dead peer");
	is_int(wire_send(fd[1], WIRE_PING, 1, "", 0, clock_now() + 60 * CLOCK_S, &e), -ERR_CRASH,
	       "a peer that cannot be written to is dead");
	close(fd[1]);
}

static void test_garbage(void)
{
	int fd[2];
	struct err e = ERR_INIT;
	struct wire_frame f;
	pair(fd);
	if (write(fd[0], "Hello, this is a shell on some login node", 40) != 40)
		abort();
	is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), -ERR_NETWORK, "garbage is refused");
	has_str(e.text, "launcher", "the message about garbage says what to check");
	close(fd[0]);
	close(fd[1]);
	uint8_t header[WIRE_HEADER] = { 'P', 'E', 'A', 'K', WIRE_PING, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	pair(fd);
	if (write(fd[0], header, sizeof header) != sizeof header)
		abort();
	is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), -ERR_NETWORK, "a body of 4 GiB is refused");
	header[20] = 0;
	header[19] = 0x40;
	if (write(fd[0], header, sizeof header) != sizeof header)
		abort();
	close(fd[0]);
	is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), -ERR_CRASH,
	       "a length alone allocates nothing");
	close(fd[1]);
}

/* A sender in a child process, over a non-blocking pipe; the parent also reads the child's "stderr". */
static void test_large(void)
{
	int fd[2], side[2];
	struct err e = ERR_INIT;
	enum { LEN = 8 << 20 };
	uint8_t *body = mem_new(LEN, 1);
	for (size_t i = 0; i < LEN; i++)
		body[i] = (uint8_t)(i * 2654435761u >> 13);
	if (pipe2(fd, O_NONBLOCK) < 0 || pipe(side) < 0)
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3000; i++)
			if (write(side[1], "complaint\n", 10) < 0)
				_exit(2);
		_exit(wire_send(fd[1], WIRE_OUTPUT, 5, body, LEN, clock_now() + 60 * CLOCK_S, NULL) < 0);
	}
	close(fd[1]);
	close(side[1]);
	struct wire_frame f = { 0 };
	struct buf also = BUF_INIT;
	is_int(wire_receive(fd[0], &f, clock_now() + 60 * CLOCK_S, side[0], &also, &e), 0, "8 MiB pass through a pipe");
	ok(f.len == LEN && memcmp(f.body, body, LEN) == 0, "8 MiB arrive complete");
	free(f.body);
	is_int(wire_receive(fd[0], &f, clock_now() + 60 * CLOCK_S, side[0], &also, &e), -ERR_CRASH,
	       "the end of the sender is noticed");
	is_int(also.len, 8192, "the last 8 KiB of stderr are kept");
	is_str(buf_text(&also) + also.len - 10, "complaint\n", "the last line of stderr is kept");
	buf_fini(&also);
	free(body);
	close(fd[0]);
	close(side[0]);
}

/* Body and tail arrive as one, however the system cuts them; also where there is nothing before the tail, or nothing in it. */
static void test_tail(void)
{
	static const struct { size_t body, tail; } lens[] = { { 12, 3 << 20 }, { 0, 5 }, { 7, 0 }, { 300000, 300000 }, { 0, 0 } };
	uint8_t *bytes = mem_new(4 << 20, 1);
	for (size_t i = 0; i < 4 << 20; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t k = 0; k < MEM_COUNT(lens); k++)
		for (int careful = 0; careful < 2; careful++) {
			int fd[2];
			struct err e = ERR_INIT;
			struct wire_frame f = { 0 };
			struct wire_tail tail = { .bytes = bytes + lens[k].body, .len = lens[k].tail };
			struct buf body = { .data = (char *)bytes, .len = lens[k].body };
			pair(fd);
			pid_t pid = fork();
			if (pid == 0)
				_exit(wire_send_tail(fd[0], WIRE_OUTPUT, 5, &body, &tail,
				                     careful ? clock_now() + 60 * CLOCK_S : CLOCK_NEVER, NULL) < 0);
			is_int(wire_receive(fd[1], &f, clock_now() + 60 * CLOCK_S, -1, NULL, &e), 0,
			       "a body of %zu and a tail of %zu bytes are received", lens[k].body, lens[k].tail);
			ok(f.len == lens[k].body + lens[k].tail && memcmp(f.body, bytes, f.len) == 0,
			   "body and tail arrive as one message");
			free(f.body);
			waitpid(pid, NULL, 0);
			close(fd[0]);
			close(fd[1]);
		}
	struct err e = ERR_INIT;
	struct wire_tail beyond = { .bytes = bytes, .len = WIRE_BODY_MAX };
	is_int(wire_send_tail(-1, WIRE_OUTPUT, 5, &(struct buf){ .data = (char *)bytes, .len = 1 }, &beyond, CLOCK_NEVER, &e),
	       -ERR_INPUT, "a body and a tail that are too large together are refused");
	struct wire_compare m = { .run = 3, .reference = bytes, .reference_len = 9, .poison = 7 };
	struct buf whole = BUF_INIT, begun = BUF_INIT;
	struct wire_tail rest;
	memcpy(m.reference_hash, hash, 65);
	wire_compare_encode(&m, &whole);
	wire_encode_split(&wire_compare_table, &m, &begun, &rest);
	ok(rest.bytes == bytes && rest.len == 9, "a split message leaves its last bytes where they are");
	buf_add(&begun, rest.bytes, rest.len);
	ok(whole.len == begun.len && memcmp(whole.data, begun.data, whole.len) == 0, "both parts make the whole message");
	wire_encode_split(&wire_execute_table, &(struct wire_execute){ .run = 1 }, &begun, &rest);
	ok(rest.len == 0, "a message of numbers has no tail");
	buf_fini(&whole);
	buf_fini(&begun);
	free(bytes);
}

static void test_names(void)
{
	int odd = 0;
	for (int t = WIRE_HELLO; t <= WIRE_LAST; t++) {
		const char *name = wire_type_name((enum wire_type)t);
		odd += name == NULL || strcmp(name, "?") == 0;
		for (int u = WIRE_HELLO; u < t && name; u++)
			odd += strcmp(name, wire_type_name((enum wire_type)u)) == 0;
	}
	is_int(odd, 0, "every type has its own name");
	is_str(wire_type_name((enum wire_type)(WIRE_LAST + 1)), "?", "an unknown type has no name");
}

/* --- every member has a row --------------------------------------------------------------------------------------------- */

struct span { size_t from, to, align; };

static size_t word_of(const struct wire_field *f)
{
	static const size_t bytes[] = { [WIRE_U8] = 1, [WIRE_BOOL] = sizeof(bool), [WIRE_U32] = 4, [WIRE_U64] = 8, [WIRE_I64] = 8,
					[WIRE_F32] = 4, [WIRE_F64] = 8 };
	return f->kind == WIRE_IS_NUMBER ? bytes[f->number] : f->kind == WIRE_IS_CHARS ? 1 : 8;
}

/* The alignment of a struct that has this table. */
static size_t alignment(const struct wire_table *t)
{
	size_t most = 1;
	for (const struct wire_field *f = t->fields; f < t->fields + t->field_count; f++) {
		size_t one = f->kind == WIRE_IS_STRUCT ? alignment(f->of) : word_of(f);
		most = one > most ? one : most;
	}
	return most;
}

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* The bytes of the struct that no row accounts for; the compiler's padding does not count. */
static size_t forgotten(const struct wire_table *t)
{
	struct span spans[128];
	size_t n = 0, at = 0, lost = 0;
	for (const struct wire_field *f = t->fields; f < t->fields + t->field_count; f++) {
		size_t bytes = f->kind == WIRE_IS_STRUCT                               ? f->count * f->of->size
			       : f->kind == WIRE_IS_NUMBER || f->kind == WIRE_IS_CHARS ? f->count * word_of(f)
										       : 8;
		for (size_t i = 0; f->kind == WIRE_IS_CHOICE && i < f->count; i++)
			bytes = f->of[i].size > bytes ? f->of[i].size : bytes;
		spans[n++] =
			(struct span){ f->offset, f->offset + bytes, f->kind == WIRE_IS_STRUCT ? alignment(f->of) : word_of(f) };
		if (f->kind == WIRE_IS_LIST || f->kind == WIRE_IS_BYTES || f->kind == WIRE_IS_LENT)
			spans[n++] = (struct span){ f->length, f->length + 8, 8 };
	}
	qsort(spans, n, sizeof *spans, by_place);
	spans[n++] = (struct span){ t->size, t->size, alignment(t) };
	for (size_t i = 0; i < n; i++) {
		size_t next = (at + spans[i].align - 1) / spans[i].align * spans[i].align;
		lost += spans[i].from > next ? spans[i].from - next : 0;
		at = spans[i].to > at ? spans[i].to : at;
	}
	return lost;
}

static void is_whole(const struct wire_table *t)
{
	is_int(forgotten(t), 0, "%s: every member of the struct has a row", t->name);
	for (const struct wire_field *f = t->fields; f < t->fields + t->field_count; f++)
		for (size_t i = 0; f->of && i < (f->kind == WIRE_IS_CHOICE ? f->count : 1); i++)
			is_whole(&f->of[i]);
}

struct sample { uint32_t run; double newer; char *note; };
static const struct wire_table old = WIRE_TABLE("old", sample, NULL, WIRE_ANY(sample, run), WIRE_STRING(sample, note));
static const struct wire_table new = WIRE_TABLE("new", sample, NULL, WIRE_ANY(sample, run), WIRE_UP_TO(sample, newer, 1),
                                                WIRE_STRING(sample, note));

/* The struct and the row are all that a new member needs: it is written, read, checked and freed. */
static void test_new_member(void)
{
	struct sample m = { .run = 7, .newer = 0.25, .note = "x" }, back = { 0 };
	struct buf bytes = BUF_INIT;
	struct err e = ERR_INIT;
	is_int(forgotten(&old), sizeof m.newer, "a member without a row is found");
	is_int(forgotten(&new), 0, "one row is enough");
	wire_encode(&new, &m, &bytes);
	struct wire_in in = { .at = (uint8_t *)bytes.data, .end = (uint8_t *)bytes.data + bytes.len };
	is_int(wire_decode(&new, &in, &back, &e), 0, "the new member is read back");
	ok(back.run == 7 && back.newer == 0.25 && strcmp(back.note, "x") == 0, "the new member keeps its value");
	wire_fini(&new, &back);
	m.newer = 1.5;
	buf_clear(&bytes);
	wire_encode(&new, &m, &bytes);
	in = (struct wire_in){ .at = (uint8_t *)bytes.data, .end = (uint8_t *)bytes.data + bytes.len };
	is_int(wire_decode(&new, &in, &back, &e), -ERR_NETWORK, "a value outside the row's range is refused");
	buf_fini(&bytes);
}

static void test_members(void)
{
	is_whole(&wire_hello_table);
	is_whole(&wire_failed_table);
	for (int t = WIRE_HELLO; t <= WIRE_LAST; t++)
		if (wire_calls[t].request) {
			is_whole(wire_calls[t].request);
			is_whole(wire_calls[t].answer);
		}
}

int main(void)
{
	test_members();
	test_new_member();
	test_tail();
	test_names();
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < MEM_COUNT(messages); i++)
		test_message(i);
	test_facts();
	test_reader();
	test_frames();
	test_garbage();
	test_large();
	return tap_done();
}
