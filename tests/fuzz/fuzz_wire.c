/* A message between the daemon and a worker, from a hostile end: the first byte says which, the rest is its body. What is
 * decoded is encoded again, and that is decoded to the same bytes. */
#include "backends/wire/wire.h"
#include "fuzz/fuzz.h"

typedef int again_fn(struct wire_in *in, struct buf *out);

#define AGAIN(name)                                                                                                    \
	static int again_##name(struct wire_in *in, struct buf *out)                                                   \
	{                                                                                                              \
		struct wire_##name m;                                                                                  \
		struct err e = ERR_INIT;                                                                               \
		int rc = wire_##name##_decode(in, &m, &e);                                                             \
		if (rc < 0)                                                                                            \
			return rc;                                                                                     \
		wire_##name##_encode(&m, out);                                                                         \
		wire_##name##_fini(&m);                                                                                \
		return 0;                                                                                              \
	}
AGAIN(hello)
AGAIN(compile)
AGAIN(compiled)
AGAIN(prepare)
AGAIN(prepared)
AGAIN(execute)
AGAIN(executed)
AGAIN(output)
AGAIN(compare)
AGAIN(compared)
AGAIN(measure)
AGAIN(measured)
AGAIN(pair)
AGAIN(paired)
AGAIN(energised)
AGAIN(ceilings)

static int again_plan(struct wire_in *in, struct buf *out)
{
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	int rc = plan_decode(in, &plan, &e);
	if (rc < 0)
		return rc;
	assert(plan_check(plan, &e) == 0);
	plan_encode(plan, out);
	plan_free(plan);
	return wire_end(in, "plan", &e);
}

static int again_facts(struct wire_in *in, struct buf *out)
{
	struct facts f;
	struct err e = ERR_INIT;
	wire_facts_decode(in, &f);
	int rc = wire_end(in, "facts", &e);
	if (rc == 0)
		wire_facts_encode(&f, out);
	return rc;
}

static int again_failed(struct wire_in *in, struct buf *out)
{
	struct err e = ERR_INIT;
	int rc = wire_failed_decode(in, &e);
	assert(rc < 0 && rc == -(int)e.code);
	wire_failed_encode(&e, out);
	return 0;
}

static again_fn *const again[] = {
	again_hello,	again_compile, again_compiled, again_prepare, again_prepared, again_execute, again_executed, again_output,
	again_compare, again_compared, again_measure, again_measured, again_plan, again_facts, again_failed,
	again_pair, again_paired, again_energised, again_ceilings,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || data[0] >= MEM_COUNT(again))
		return -1;
	uint8_t *body = fuzz_bytes(data + 1, size - 1);
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct wire_in in = { .at = body, .end = body + size - 1 };
	if (again[data[0]](&in, &first) == 0) {
		in = (struct wire_in){ .at = (uint8_t *)first.data, .end = (uint8_t *)first.data + first.len };
		assert(again[data[0]](&in, &second) == 0);
		assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	}
	buf_fini(&first);
	buf_fini(&second);
	free(body);
	return 0;
}
