/* variant: context + parameters → plan + binary; see variant.h. Called by reference, validate and tune. */
#include "core/workers/variant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/workers/binaries.h"
#include "core/workers/span.h"

/* A kernel that cannot be launched with this block is pruned before any device sees it. */
static int check_threads(const struct variant *v, struct err *e)
{
	for (size_t i = 0; i < v->plan->op_count; i++) {
		const struct plan_op *op = &v->plan->ops[i];
		if (op->kind != PLAN_OP_LAUNCH)
			continue;
		const struct plan_launch *l = &op->launch;
		uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
		for (size_t k = 0; k < v->compiled.kernel_count; k++) {
			const struct wire_kernel *kernel = &v->compiled.kernels[k];
			if (strcmp(kernel->name, l->kernel) == 0 && kernel->max_threads && kernel->max_threads != UINT32_MAX &&
			    threads > kernel->max_threads)
				return err_set(e, ERR_PRUNED, "%s is launched with %llu threads per block; its limit is %u",
					       l->kernel, (unsigned long long)threads, kernel->max_threads);
		}
	}
	return 0;
}

/* --- compiling, or remembering ----------------------------------------------------------------------------------------------- */

/* Kept: a compiler's answer or its refusal. */
enum { KEPT_COMPILED = 1, KEPT_FAILED = 2 };

/* The request has everything but the compiler's name. Compilers are a part of this program, so each build and installation of it
 * has answers of its own. */
static struct hash key_of(const struct buf *request, const struct facts *facts)
{
	struct hash_state *s = hash_new();
	struct stat self = { .st_size = 0 };
	stat("/proc/self/exe", &self);
	char *who = mem_fmt("peakd %s of %lld.%09ld, %lld bytes; %s\n", PEAKD_VERSION, (long long)self.st_ctim.tv_sec,
			    self.st_ctim.tv_nsec, (long long)self.st_size, facts->driver);
	hash_add(s, who, strlen(who));
	hash_add(s, request->data, request->len);
	free(who);
	return hash_end(s);
}

static int take_kept(const struct buf *kept, struct wire_compiled *ret_compiled, struct err *e)
{
	struct wire_in in = { .at = (const uint8_t *)kept->data, .end = (const uint8_t *)kept->data + kept->len };
	uint32_t kind = wire_get_u32(&in);
	if (kind == KEPT_COMPILED)
		return wire_compiled_decode(&in, ret_compiled, e);
	return wire_failed_decode(&in, e);
}

static void keep(struct binaries *binaries, const struct hash *key, uint32_t kind, const void *bytes, size_t n)
{
	struct buf out = BUF_INIT;
	wire_put_u32(&out, kind);
	buf_add(&out, bytes, n);
	binaries_put(binaries, key, out.data, out.len);
	buf_fini(&out);
}

static int compile_now(const struct eval *ev, const struct buf *body, const struct hash *key, struct wire_compiled *ret_compiled,
		       struct err *e)
{
	struct pool_worker *worker;
	uint8_t *answer = NULL;
	size_t len = 0;
	unsigned tries = 0;
	int rc = pool_take_compile(ev->pool, ev->cancel, &worker, e);
	if (rc < 0)
		return rc;
	do
		rc = pool_call(worker, WIRE_COMPILE, body, EVAL_COMPILE_NS, &answer, &len, e);
	while (rc < 0 && eval_retries(ev, e->code, e->text, &tries));
	pool_give(worker);
	if (rc == 0) {
		struct wire_in in = { .at = answer, .end = answer + len };
		rc = wire_compiled_decode(&in, ret_compiled, e);
	}
	if (rc == 0)
		keep(ev->binaries, key, KEPT_COMPILED, answer, len);
	else if (e->code == ERR_COMPILE || e->code == ERR_PRUNED) {
		struct buf out = BUF_INIT;
		wire_failed_encode(e, &out);
		keep(ev->binaries, key, KEPT_FAILED, out.data, out.len);
		buf_fini(&out);
	}
	free(answer);
	return rc;
}

int variant_compile(const struct eval *ev, const struct wire_compile *request, const struct facts *facts,
		    struct wire_compiled *ret_compiled, struct err *e)
{
	struct buf body = BUF_INIT, kept = BUF_INIT;
	wire_compile_encode(request, &body);
	struct hash key = key_of(&body, facts);
	int rc = binaries_claim(ev->binaries, &key, ev->cancel, &kept, e);
	if (rc > 0) {
		rc = take_kept(&kept, ret_compiled, e);
	} else if (rc == 0) {
		rc = compile_now(ev, &body, &key, ret_compiled, e);
		binaries_leave(ev->binaries, &key);
	}
	buf_fini(&kept);
	buf_fini(&body);
	return rc;
}

/* Device code that fixes its clusters itself (CUDA's __cluster_dims__) is checked against the grid. */
static bool may_fix_clusters(const struct context *ctx)
{
	return strstr(context_region(ctx, REGION_DEVICE), "cluster_dims") ||
	       strstr(context_region(ctx, REGION_MACROS), "cluster_dims");
}

/* The compiler sees only the part of the plan that it needs, so other input sizes of these parameters have the same answer. The
 * whole plan is checked against the binary when it is prepared. */
static int compile(const struct eval *ev, const struct context *ctx, const struct facts *facts, struct variant *v, struct err *e)
{
	struct plan *form = plan_form(v->plan, may_fix_clusters(ctx));
	const struct spec *spec = context_spec(ctx);
	bool lines = ev->line_info && strcmp(context_backend(ctx), "cuda") == 0;
	char **options = MEM_NEW_N(char *, spec->option_count + 1);
	if (spec->option_count)
		memcpy(options, spec->options, spec->option_count * sizeof *options);
	options[spec->option_count] = (char *)"--generate-line-info";
	struct wire_compile request = {
		.backend = (char *)context_backend(ctx),
		.arch = (char *)facts->arch,
		.macros = (char *)context_region(ctx, REGION_MACROS),
		.device = (char *)context_region(ctx, REGION_DEVICE),
		.options = options,
		.option_count = spec->option_count + lines,
		.plan = form,
		.probe = ev->probe,
		.disturbed = ev->disturbed,
	};
	request.defines = context_defines(ctx, v->params, &request.define_count);
	int rc = variant_compile(ev, &request, facts, &v->compiled, e);
	plan_free(form);
	free(options);
	context_defines_free(request.defines, request.define_count);
	return rc;
}

int variant_build(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts,
		  struct variant *ret_variant, struct err *e)
{
	struct variant v = { .params = params_copy(params) };
	int rc;
	if (strcmp(context_backend(ctx), facts->backend) != 0)
		rc = err_set(e, ERR_INPUT, "%s is a %s context and %s is a %s device: name a device of that backend",
			     context_kernel(ctx), context_backend(ctx), facts->id, facts->backend);
	else
		rc = host_run(ctx, params, facts, &v.plan, e);
	if (rc == 0) {
		struct span span;
		char *text = params_text(v.params);
		span_begin(&span, cancel_span(ev->cancel), "compile");
		span_note(&span, "peakd.context", context_kernel(ctx));
		span_note(&span, "peakd.parameters", text);
		rc = compile(ev, ctx, facts, &v, e);
		span_end(&span, rc);
		free(text);
	}
	if (rc == 0)
		rc = check_threads(&v, e);
	if (rc < 0)
		variant_fini(&v);
	else
		*ret_variant = v;
	return rc;
}

void variant_fini(struct variant *v)
{
	params_free(v->params);
	plan_free(v->plan);
	wire_compiled_fini(&v->compiled);
	*v = (struct variant){ 0 };
}

static void raise(int64_t *io_max, uint32_t value)
{
	if (value != UINT32_MAX && (int64_t)value > *io_max)
		*io_max = value;
}

/* Per block, static and dynamic; UINT32_MAX: not known. */
static uint32_t shared_memory(const struct variant *v, const struct wire_kernel *k)
{
	uint32_t dynamic = 0;
	for (size_t i = 0; i < v->plan->op_count; i++) {
		const struct plan_op *op = &v->plan->ops[i];
		if (op->kind == PLAN_OP_LAUNCH && strcmp(op->launch.kernel, k->name) == 0 && op->launch.shared > dynamic)
			dynamic = op->launch.shared;
	}
	return k->shared == UINT32_MAX ? UINT32_MAX : k->shared + dynamic;
}

void variant_resources(const struct variant *v, int64_t *ret_registers, int64_t *ret_shared, int64_t *ret_spill)
{
	*ret_registers = *ret_shared = *ret_spill = -1;
	for (size_t i = 0; i < v->compiled.kernel_count; i++) {
		raise(ret_registers, v->compiled.kernels[i].registers);
		raise(ret_shared, shared_memory(v, &v->compiled.kernels[i]));
		raise(ret_spill, v->compiled.kernels[i].spill);
	}
}

static void add_unit(struct buf *out, uint32_t value, const char *unit)
{
	if (value != UINT32_MAX)
		buf_addf(out, ", %u %s", value, unit);
}

char *variant_describe(const struct variant *v)
{
	struct buf out = BUF_INIT;
	char *params = params_text(v->params);
	const char *log = v->compiled.log ? v->compiled.log : "";
	buf_adds(&out, params);
	for (size_t i = 0; i < v->compiled.kernel_count; i++) {
		const struct wire_kernel *k = &v->compiled.kernels[i];
		size_t n = strlen(k->name);
		if (strncmp(log, k->name, n) == 0 && log[n] == ':')
			break; /* the backend's log says more */
		buf_addf(&out, "\n%s: %u threads a block at most", k->name, k->max_threads);
		add_unit(&out, k->registers, "registers a thread");
		add_unit(&out, shared_memory(v, k), "bytes of shared memory");
		add_unit(&out, k->spill, "bytes spilled a thread");
	}
	for (size_t n; *log; log += n + (log[n] == '\n')) {
		n = strcspn(log, "\n");
		buf_addf(&out, "\n%.*s", (int)n, log);
	}
	free(params);
	return buf_steal(&out);
}

size_t variant_output_count(const struct variant *v)
{
	size_t n = 0;
	for (size_t i = 0; i < v->plan->buffer_count; i++)
		n += plan_is_output(&v->plan->buffers[i]);
	return n;
}

const struct plan_buffer *variant_output(const struct variant *v, size_t k)
{
	for (size_t i = 0; i < v->plan->buffer_count; i++)
		if (plan_is_output(&v->plan->buffers[i]) && k-- == 0)
			return &v->plan->buffers[i];
	return NULL;
}
