/* resident: see resident.h. */
#include "core/workers/resident.h"

#include <string.h>

#include "core/workers/variant.h"

#define WORTH_BYTES (UINT64_C(16) << 20) /* of inputs and outputs; with 24 MiB three tries took 41 s in place of 70 */

bool resident_suits(const struct facts *facts, const struct plan *plan)
{
	uint64_t bytes = 0;
	if (strcmp(facts->backend, "cuda") != 0 || facts->emulated)
		return false;
	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		bool output = plan_is_output(b);
		/* What integers owe to rounding is judged on the host. */
		if (output && !dtype_is_float(b->type))
			return false;
		bytes += output || b->role == PLAN_IN ? b->bytes : 0;
	}
	return bytes >= WORTH_BYTES;
}

/* Asks for the source, and has it compiled. */
static int compile(const struct eval *ev, const struct facts *facts, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_name source = { .id = NULL }, backend = { .id = (char *)facts->backend };
	struct pool_question question = { .type = WIRE_SOURCE, .request = &backend, .timeout_ns = EVAL_PREPARE_NS };
	struct plan_buffer buffer = { .name = (char *)"found",
				      .type = DTYPE_U8,
				      .role = PLAN_OUT,
				      .rank = 1,
				      .dims = { 1 },
				      .ld = 1,
				      .bytes = 1,
				      .rounded = DTYPE_U8 };
	struct plan_op launch = {
		.kind = PLAN_OP_LAUNCH,
		.launch = { .kernel = (char *)"judge", .grid = { 1, 1, 1 }, .block = { 256, 1, 1 }, .cluster = { 1, 1, 1 } }
	};
	struct plan plan = { .buffers = &buffer, .buffer_count = 1, .ops = &launch, .op_count = 1 };
	char *options[] = { (char *)"-fmad=false", (char *)"-default-device" };
	int rc = pool_ask_compiler(ev->pool, ev->cancel, &question, &source, e);
	if (rc == 0 && *source.id == 0)
		rc = err_set(e, ERR_UNSUPPORTED, "%s has no kernels that compare outputs", facts->backend);
	struct wire_compile request = { .backend = (char *)facts->backend,
					.arch = (char *)facts->arch,
					.macros = (char *)"",
					.device = source.id,
					.options = options,
					.option_count = 2,
					.plan = &plan };
	if (rc == 0)
		rc = variant_compile(ev, &request, facts, ret_compiled, e);
	wire_name_fini(&source);
	return rc < 0 ? err_wrap(e, "the judge's kernels") : 0;
}

int resident_prepare(const struct eval *ev, const struct facts *facts, struct pool_worker *process, struct err *e)
{
	struct wire_compiled compiled = { 0 };
	struct err missing = ERR_INIT;
	int rc = pool_ask(process, WIRE_KERNELS, &(struct wire_kernels){ 0 }, EVAL_PREPARE_NS, NULL, &missing);
	if (rc == 0 || missing.code != ERR_NOT_FOUND) {
		*e = missing;
		return rc;
	}
	rc = compile(ev, facts, &compiled, e);
	if (rc == 0)
		rc = pool_ask(process, WIRE_KERNELS,
			      &(struct wire_kernels){ .binary = compiled.binary, .binary_len = compiled.binary_len },
			      EVAL_PREPARE_NS, NULL, e);
	wire_compiled_fini(&compiled);
	return rc;
}

int resident_truth(struct pool_worker *process, const struct wire_truth *step, struct wire_truth_found *ret_found, struct err *e)
{
	return pool_ask(process, WIRE_TRUTH, step, EVAL_COMPARE_NS, ret_found, e);
}
