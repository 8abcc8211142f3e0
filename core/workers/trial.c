/* trial: the device requests of the wire as functions; see trial.h. */
#include "core/workers/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

static int call(struct trial *t, enum wire_type type, struct buf *take_body, const struct wire_tail *tail, int64_t timeout_ns,
                uint8_t **ret_body, size_t *ret_len, struct err *e)
{
	int rc = 0;
	if (t->generation != pool_generation(t->worker) || !pool_is_alive(t->worker))
		rc = err_set(e, ERR_CRASH, "the worker that held this configuration is gone");
	else
		rc = pool_call_tail(t->worker, type, take_body, tail, timeout_ns, ret_body, ret_len, e);
	buf_fini(take_body);
	return rc;
}

int trial_call(struct trial *t, enum wire_type type, struct buf *take_body, int64_t timeout_ns, uint8_t **ret_body,
               size_t *ret_len, struct err *e)
{
	return call(t, type, take_body, NULL, timeout_ns, ret_body, ret_len, e);
}

int trial_begin(struct trial *t, struct pool_worker *worker, const struct variant *variant, struct err *e)
{
	struct wire_prepare request = { .binary = variant->compiled.binary, .binary_len = variant->compiled.binary_len,
	                                .plan = variant->plan };
	struct wire_prepared prepared;
	struct buf body = BUF_INIT;
	uint8_t *answer;
	size_t len;
	*t = (struct trial){ .worker = worker, .variant = variant };
	wire_prepare_encode(&request, &body);
	int rc = pool_call(worker, WIRE_PREPARE, &body, EVAL_PREPARE_NS, &answer, &len, e);
	buf_fini(&body);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	rc = wire_prepared_decode(&in, &prepared, e);
	free(answer);
	t->run = prepared.run;
	t->generation = pool_generation(worker);
	return rc;
}

void trial_end(struct trial *t)
{
	struct buf body = BUF_INIT;
	struct err ignored = ERR_INIT;
	uint8_t *answer = NULL;
	size_t len;
	/* Where the process has gone, so has the run: none is started to be told. */
	if (t->worker == NULL || t->generation != pool_generation(t->worker) || !pool_is_alive(t->worker))
		return;
	wire_put_u32(&body, t->run);
	trial_call(t, WIRE_RELEASE, &body, EVAL_PREPARE_NS, &answer, &len, &ignored);
	free(answer);
	t->worker = NULL;
}

static const char *buffer_name(const struct trial *t, uint32_t number)
{
	return number <= t->variant->plan->buffer_count ? t->variant->plan->buffers[number - 1].name : "?";
}

int trial_execute(struct trial *t, const struct trial_input *input, int64_t timeout_ns, uint64_t *ret_device_ns, struct err *e)
{
	struct wire_execute request = { .run = t->run, .seed = input->seed, .poison = input->poison, .values = input->values,
	                                .keep = input->keep };
	struct wire_executed executed;
	struct buf body = BUF_INIT;
	uint8_t *answer;
	size_t len;
	wire_execute_encode(&request, &body);
	int rc = trial_call(t, WIRE_EXECUTE, &body, timeout_ns, &answer, &len, e);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	rc = wire_executed_decode(&in, &executed, e);
	free(answer);
	if (rc < 0)
		return rc;
	if (executed.changed_input)
		rc = err_set(e, ERR_WRONG, "the kernel wrote to its input %s", buffer_name(t, executed.changed_input));
	else if (executed.broken_zone)
		rc = err_set(e, ERR_WRONG, "the kernel wrote outside %s (before its first or behind its last element)",
		             buffer_name(t, executed.broken_zone));
	if (ret_device_ns)
		*ret_device_ns = executed.device_ns;
	return rc;
}

int trial_races(struct trial *t, uint64_t seed, char **ret_finding, struct err *e)
{
	struct buf body = BUF_INIT;
	uint8_t *answer;
	size_t len;
	wire_put_u32(&body, t->run);
	wire_put_u64(&body, seed);
	int rc = trial_call(t, WIRE_RACES, &body, EVAL_COMPARE_NS, &answer, &len, e);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	char *text = wire_get_text(&in);
	rc = wire_end(&in, "races", e);
	if (rc == 0 && *text)
		*ret_finding = mem_str(text);
	free(text);
	free(answer);
	return rc;
}

int trial_product(struct trial *t, const struct plan_gemm *gemm, double tolerance, uint64_t secret, char **ret_finding, struct err *e)
{
	const uint32_t words[] = { t->run, gemm->a, gemm->b, gemm->c, (gemm->a_transposed ? 1 : 0) | (gemm->b_transposed ? 2 : 0) };
	struct buf body = BUF_INIT;
	uint8_t *answer;
	size_t len;
	for (size_t i = 0; i < MEM_COUNT(words); i++)
		wire_put_u32(&body, words[i]);
	wire_put_f64(&body, tolerance);
	wire_put_u64(&body, secret);
	int rc = trial_call(t, WIRE_PRODUCT, &body, EVAL_COMPARE_NS, &answer, &len, e);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	uint64_t rows = wire_get_u64(&in), row = wire_get_u64(&in);
	double off = wire_get_f64(&in), allowed = wire_get_f64(&in);
	rc = wire_end(&in, "product", e);
	if (rc == 0 && rows) {
		const struct plan_buffer *b = t->variant->plan->buffers;
		*ret_finding = mem_fmt("%s is not %s·%s in %llu rows, the first %llu: %s·x differs from %s·(%s·x) by %.3g, allowed %.3g",
		                       b[gemm->c].name, b[gemm->a].name, b[gemm->b].name, (unsigned long long)rows, (unsigned long long)row,
		                       b[gemm->c].name, b[gemm->a].name, b[gemm->b].name, off, allowed);
	}
	free(answer);
	return rc;
}

int trial_output(struct trial *t, uint32_t k, uint8_t **ret_answer, const uint8_t **ret_bytes, size_t *ret_len, struct err *e)
{
	struct buf body = BUF_INIT;
	struct wire_output request = { .run = t->run, .output = k };
	wire_output_encode(&request, &body);
	uint8_t *answer;
	size_t len, n;
	int rc = trial_call(t, WIRE_OUTPUT, &body, EVAL_COMPARE_NS, &answer, &len, e);
	if (rc < 0)
		return rc;
	struct wire_in in = { .at = answer, .end = answer + len };
	const void *bytes = wire_get_bytes(&in, &n);
	rc = wire_end(&in, "output", e);
	if (rc < 0) {
		free(answer);
		return rc;
	}
	*ret_answer = answer;
	*ret_bytes = bytes;
	*ret_len = n;
	return 0;
}

int trial_compare(struct trial *t, uint32_t k, const char *hash, const uint8_t *bytes, size_t len, double tolerance,
                  uint32_t poison, struct wire_compared *ret_compared, struct err *e)
{
	struct wire_compare request = { .run = t->run, .output = k, .tolerance = tolerance, .poison = poison };
	snprintf(request.reference_hash, sizeof request.reference_hash, "%s", hash);
	for (int with_bytes = 0; with_bytes < 2; with_bytes++) {
		struct buf body = BUF_INIT;
		uint8_t *answer;
		size_t answer_len;
		struct wire_tail tail = { .bytes = bytes, .len = with_bytes ? len : 0 };
		if (with_bytes) {
			request.reference = bytes;
			request.reference_len = len;
		}
		wire_compare_begin(&request, &body);
		int rc = call(t, WIRE_COMPARE, &body, &tail, EVAL_COMPARE_NS, &answer, &answer_len, e);
		if (rc < 0)
			return rc;
		struct wire_in in = { .at = answer, .end = answer + answer_len };
		rc = wire_compared_decode(&in, ret_compared, e);
		free(answer);
		if (rc < 0 || !ret_compared->need_reference)
			return rc;
	}
	return err_set(e, ERR_NETWORK, "the worker asks for a reference that it was just given");
}
