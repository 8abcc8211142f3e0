/* bind: see hlsl.h. */
#include "backends/hlsl/hlsl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu.h"
#include "base/lex.h"
#include "base/mem.h"

/* A name that launches use, over all launches of the plan. */
struct name {
	const char *is;
	bool scalar;
	bool written; /* some buffer under this name may be written */
	enum dtype type;
};

struct names {
	struct name *list;
	size_t count;
};

static const struct {
	const char *suffix, *type;
	bool half;
} views[] = {
	{ "_float", "float", false },   { "_float2", "float2", false },   { "_float4", "float4", false },
	{ "_int", "int", false },       { "_int2", "int2", false },       { "_int4", "int4", false },
	{ "_uint", "uint", false },     { "_uint2", "uint2", false },     { "_uint4", "uint4", false },
	{ "_half", "half", true },      { "_half2", "half2", true },      { "_half4", "half4", true },
	{ "_double", "double", false }, { "_double2", "double2", false }, { "_double4", "double4", false },
	{ "_bytes", NULL, false },
};

static const char *arg_name(const struct plan *plan, const struct plan_arg *arg)
{
	if (arg->name && arg->name[0])
		return arg->name;
	return arg->kind == PLAN_ARG_BUFFER ? plan->buffers[arg->index].name : "";
}

static const struct plan_arg *find_exact(const struct plan *plan, const struct plan_launch *launch, const char *name, size_t n)
{
	for (size_t i = 0; i < launch->arg_count; i++) {
		const char *is = arg_name(plan, &launch->args[i]);
		if (strlen(is) == n && memcmp(is, name, n) == 0)
			return &launch->args[i];
	}
	return NULL;
}

const struct plan_arg *hlsl_bind_find(const struct plan *plan, const struct plan_launch *launch, const char *name)
{
	size_t n = strlen(name);
	const struct plan_arg *found = find_exact(plan, launch, name, n);
	for (size_t i = 0; i < MEM_COUNT(views) && found == NULL; i++) {
		size_t tail = strlen(views[i].suffix);
		if (n > tail && strcmp(name + n - tail, views[i].suffix) == 0)
			found = find_exact(plan, launch, name, n - tail);
	}
	return found;
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

int hlsl_bind_check(const struct plan *plan, const struct plan_launch *l, const struct spirv *s, struct err *e)
{
	if (memcmp(l->block, s->block, sizeof s->block) != 0)
		return err_set(e, ERR_INPUT,
			       "launch of %s: host code asks for blocks of %u×%u×%u, the kernel has [numthreads(%u, %u, %u)]; make "
			       "them the same",
			       l->kernel, l->block[0], l->block[1], l->block[2], s->block[0], s->block[1], s->block[2]);
	if (l->cluster[0] != 1 || l->cluster[1] != 1 || l->cluster[2] != 1 || l->cooperative)
		return err_set(e, ERR_INPUT, "launch of %s: HLSL has no cluster and no cooperative launches; leave them out",
			       l->kernel);
	if (l->shared)
		return err_set(e, ERR_INPUT,
			       "launch of %s: HLSL has no dynamic shared memory (%u bytes asked for); declare groupshared arrays",
			       l->kernel, l->shared);
	for (size_t i = 0; i < s->binding_count; i++) {
		const struct spirv_binding *b = &s->bindings[i];
		const struct plan_arg *a = hlsl_bind_find(plan, l, b->name);
		if (!b->storage || b->set != 0)
			return err_set(e, ERR_INPUT,
				       "kernel %s has a resource %s that is not a buffer of the plan; only buffers and scalars "
				       "that the launch passes exist",
				       l->kernel, b->name);
		if (a == NULL || a->kind != PLAN_ARG_BUFFER)
			return err_set(
				e, ERR_INPUT,
				"kernel %s uses the buffer %s, which its launch does not pass; add it to the launch's arguments",
				l->kernel, b->name);
	}
	for (size_t i = 0; i < s->member_count; i++) {
		const struct spirv_member *m = &s->members[i];
		const struct plan_arg *a = hlsl_bind_find(plan, l, m->name);
		if (m->used && (a == NULL || a->kind != PLAN_ARG_SCALAR || m->bits < 32))
			return err_set(
				e, ERR_INPUT,
				"kernel %s uses the scalar %s, which its launch does not pass; add it to the launch's arguments",
				l->kernel, m->name);
	}
	return 0;
}

void hlsl_bind_store(const struct spirv_member *m, const struct plan_arg *a, uint8_t *to)
{
	bool given_float = dtype_is_float(a->type);
	double f = given_float ? a->f : (double)a->i;
	float single = (float)f;
	int64_t i = given_float ? (int64_t)a->f : a->i;
	if (!m->floating)
		memcpy(to, &i, m->bits / 8);
	else if (m->bits == 64)
		memcpy(to, &f, sizeof f);
	else
		memcpy(to, &single, sizeof single);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int add_name(struct names *names, struct name n, struct err *e)
{
	if (!lex_is_name(n.is))
		return err_set(e, ERR_INPUT,
			       "HLSL binds arguments by name, and \"%s\" is not a name: pass variables with names of letters, "
			       "digits and _, not expressions",
			       n.is);
	for (size_t i = 0; i < names->count; i++) {
		struct name *old = &names->list[i];
		if (strcmp(old->is, n.is) != 0)
			continue;
		if (old->scalar != n.scalar || old->type != n.type)
			return err_set(e, ERR_INPUT, "argument %s is %s%s in one launch and %s%s in another; use two names", n.is,
				       old->scalar ? "a scalar " : "a buffer of ", dtype_name(old->type),
				       n.scalar ? "a scalar " : "a buffer of ", dtype_name(n.type));
		old->written |= n.written;
		return 0;
	}
	*MEM_PUSH(names->list, names->count) = n;
	return 0;
}

static int add_launch(const struct plan *plan, const struct plan_launch *l, struct names *names, struct err *e)
{
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		const struct plan_buffer *b = a->kind == PLAN_ARG_BUFFER ? &plan->buffers[a->index] : NULL;
		if (a->kind == PLAN_ARG_MAP)
			return err_set(e, ERR_INPUT, "launch of %s: HLSL has no tensor maps; pass the buffer", l->kernel);
		struct name n = { .is = arg_name(plan, a),
				  .scalar = b == NULL,
				  .type = b ? b->type : a->type,
				  .written = b && b->role != PLAN_IN && b->role != PLAN_TABLE };
		if (add_name(names, n, e) < 0)
			return err_wrap(e, "launch of %s, argument %zu", l->kernel, i + 1);
	}
	return 0;
}

/* --- declarations ------------------------------------------------------------------------------------------------- */

/* ## can paste a name together from parts, so with one of those every name is taken as used. */
static bool occurs(const struct wire_compile *request, const char *word)
{
	for (size_t i = 0; i < request->define_count; i++)
		if (lex_has(request->defines[i].value, word))
			return true;
	return lex_has(request->macros, word) || lex_has(request->device, word) || strstr(request->macros, "##") ||
	       strstr(request->device, "##");
}

static void declare(struct buf *out, const struct name *n, const char *suffix, const char *type, unsigned *binding)
{
	buf_adds(out, n->written ? "RW" : "");
	if (type)
		buf_addf(out, "StructuredBuffer<%s>", type);
	else
		buf_adds(out, "ByteAddressBuffer");
	buf_addf(out, " %s%s : register(%c%u);\n", n->is, suffix, n->written ? 'u' : 't', (*binding)++);
}

static bool is_name(const struct names *names, const char *text)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->list[i].is, text) == 0)
			return true;
	return false;
}

static void declare_buffer(const struct wire_compile *request, const struct names *names, const struct name *n, struct buf *out,
			   unsigned *binding, bool *half)
{
	if (occurs(request, n->is)) {
		declare(out, n, "", dtype_hlsl_element(n->type), binding);
		*half |= n->type == DTYPE_F16;
	}
	for (size_t i = 0; i < MEM_COUNT(views); i++) {
		char *identifier = mem_fmt("%s%s", n->is, views[i].suffix);
		/* Half views switch the whole source to 16-bit types, so ## does not count for them. */
		bool wanted = views[i].half ? lex_has(request->device, identifier) || lex_has(request->macros, identifier)
					    : occurs(request, identifier);
		if (wanted && !is_name(names, identifier)) {
			declare(out, n, views[i].suffix, views[i].type, binding);
			*half |= views[i].half;
		}
		free(identifier);
	}
}

/* Whether peakd declares the n characters at `word`, alone or as a view. */
static bool is_declared(const struct names *names, const char *word, size_t n)
{
	for (size_t i = 0; i < names->count; i++) {
		size_t head = strlen(names->list[i].is);
		if (n < head || memcmp(word, names->list[i].is, head) != 0)
			continue;
		if (n == head)
			return true;
		for (size_t k = 0; k < MEM_COUNT(views) && !names->list[i].scalar; k++)
			if (lex_is(word + head, n - head, views[k].suffix))
				return true;
	}
	return false;
}

/* Refuses globals that have an argument's name: glslang crashes on some, and takes others in place of the argument. */
static int refuse_doubles(const struct wire_compile *request, const char *file, const char *code, const struct names *names,
			  struct err *e)
{
	const char *start = code;
	enum lex_kind kind;
	bool initial = false;
	int depth = 0;
	for (size_t len; *code; code += len) {
		if (*code == '#') {
			len = lex_directive(code);
			continue;
		}
		len = lex_c(code, &kind);
		if (kind == LEX_OTHER) {
			depth += (strchr("([{", *code) != NULL) - (strchr(")]}", *code) != NULL);
			initial = depth == 0 && *code != ';' && (initial || *code == '=');
		}
		const char *next = code + len + strspn(code + len, " \t\n");
		if (kind != LEX_WORD || depth || initial || !*next || !strchr(";[=,:", *next) || !is_declared(names, code, len))
			continue;
		unsigned line = 1;
		for (const char *at = start; at < code; at++)
			line += *at == '\n';
		char *shown = gpu_diagnostic_source(request, file, line);
		err_set(e, ERR_COMPILE,
			"%s:%u: %.*s is declared for you, because a launch passes it: leave this declaration out, or rename it\n  "
			"%s",
			file, line, (int)len, code, shown ? shown : "");
		free(shown);
		return -ERR_COMPILE;
	}
	return 0;
}

int hlsl_bind_declare(const struct wire_compile *request, struct buf *out, bool *ret_half, struct err *e)
{
	const struct plan *plan = request->plan;
	struct names names = { .list = NULL };
	unsigned binding = 0;
	bool half = false, any = false;
	int rc = 0;
	for (size_t i = 0; i < plan->op_count && rc == 0; i++)
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			rc = add_launch(plan, &plan->ops[i].launch, &names, e);
	if (rc == 0)
		rc = refuse_doubles(request, "macros", request->macros, &names, e);
	if (rc == 0)
		rc = refuse_doubles(request, "device", request->device, &names, e);
	for (size_t i = 0; i < names.count && rc == 0; i++)
		if (!names.list[i].scalar)
			declare_buffer(request, &names, &names.list[i], out, &binding, &half);
	for (size_t i = 0; i < names.count && rc == 0; i++) {
		const struct name *n = &names.list[i];
		if (!n->scalar || !occurs(request, n->is))
			continue;
		buf_addf(out, "%s%s %s;\n", any ? "" : "[[vk::push_constant]] cbuffer peakd_scalars {\n",
			 dtype_hlsl_scalar(n->type), n->is);
		any = true;
	}
	buf_adds(out, any ? "};\n" : "");
	if (rc == 0)
		*ret_half = half;
	free(names.list);
	return rc;
}
