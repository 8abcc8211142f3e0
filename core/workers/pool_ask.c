/* pool: requests as the structs of their messages; see pool.h. */
#include "core/workers/pool.h"

#include <stdlib.h>

#include "base/buf.h"

int pool_call(struct pool_worker *w, enum wire_type type, const struct buf *body, int64_t timeout_ns, uint8_t **ret_body,
	      size_t *ret_len, struct err *e)
{
	return pool_request(w, &(struct pool_request){ .type = type, .body = body, .timeout_ns = timeout_ns }, ret_body, ret_len,
			    e);
}

int pool_ask(struct pool_worker *w, enum wire_type type, const void *request, int64_t timeout_ns, void *ret_answer, struct err *e)
{
	struct buf body = BUF_INIT;
	uint8_t *answer = NULL;
	size_t len = 0;
	wire_encode(wire_calls[type].request, request, &body);
	int rc = pool_call(w, type, &body, timeout_ns, &answer, &len, e);
	buf_fini(&body);
	if (rc == 0 && ret_answer) {
		struct wire_in in = { .at = answer, .end = answer + len };
		rc = wire_decode(wire_calls[type].answer, &in, ret_answer, e);
	}
	free(answer);
	return rc;
}

int pool_ask_compiler(struct pool *pool, struct cancel *cancel, const struct pool_question *q, void *ret_answer, struct err *e)
{
	struct pool_worker *worker;
	int rc = pool_take_compile(pool, cancel, &worker, e);
	if (rc < 0)
		return rc;
	rc = pool_ask(worker, q->type, q->request, q->timeout_ns, ret_answer, e);
	pool_give(worker);
	return rc;
}

const char *pool_doing(enum wire_type type)
{
	static const char *const words[WIRE_LAST + 1] = {
		[WIRE_DEVICES] = "the driver looked for devices",
		[WIRE_COMPILE] = "the compiler worked",
		[WIRE_OPEN] = "the driver opened the device",
		[WIRE_PREPARE] = "the driver loaded and compiled the kernel",
		[WIRE_EXECUTE] = "the kernel ran",
		[WIRE_COMPARE] = "outputs were compared",
		[WIRE_MEASURE] = "the kernel was timed",
		[WIRE_PAIR] = "two kernels were timed in pairs",
		[WIRE_ENERGY] = "the kernel's energy was measured",
		[WIRE_RACES] = "the kernel was interpreted to find races",
		[WIRE_COUNT] = "the kernel was interpreted to count what it does",
		[WIRE_SPLIT] = "the kernels of the plan were timed",
		[WIRE_COUNTERS] = "hardware counters were read",
	};
	return words[type] ? words[type] : "a worker was asked";
}
