/* export_hlsl: the declarations that stand before exported HLSL: the same that peakd's compiler puts before a context's code (docs
 * say which names there are), written again because a file must not need peakd. See export_source.h. */
#include <stdlib.h>
#include <string.h>

#include "base/lex.h"
#include "base/mem.h"
#include "core/problems/export_source.h"

struct name {
	const char *is;
	bool scalar, written;
	enum dtype type;
};

struct names {
	struct name *at;
	size_t count;
};

/* A view of a buffer with other elements: NAME_float4 and so on. */
static const struct {
	const char *suffix, *type;
	bool half;
} views[] = {
	{ "", NULL, false },          { "_float", "float", false }, { "_float2", "float2", false }, { "_float4", "float4", false },
	{ "_int", "int", false },     { "_int2", "int2", false },   { "_int4", "int4", false },     { "_uint", "uint", false },
	{ "_uint2", "uint2", false }, { "_uint4", "uint4", false }, { "_half", "half", true },      { "_half2", "half2", true },
	{ "_half4", "half4", true },  { "_bytes", NULL, false },
};

static bool occurs(const struct context *ctx, const char *word)
{
	return lex_has(context_region(ctx, REGION_MACROS), word) || lex_has(context_region(ctx, REGION_DEVICE), word);
}

static void declare_buffer(const struct context *ctx, const struct name *n, unsigned *binding, struct buf *out, bool *half)
{
	bool pastes = strstr(context_region(ctx, REGION_MACROS), "##") || strstr(context_region(ctx, REGION_DEVICE), "##");
	for (size_t i = 0; i < MEM_COUNT(views); i++) {
		char *identifier = mem_fmt("%s%s", n->is, views[i].suffix);
		const char *type = i == 0 ? dtype_hlsl_element(n->type) : views[i].type;
		/* A ## could make any of the names out of parts. */
		if (occurs(ctx, identifier) || (pastes && !views[i].half)) {
			buf_addf(out, "%s%s%s%s %s : register(%c%u);\n", n->written ? "RW" : "",
				 type ? "StructuredBuffer<" : "ByteAddressBuffer", type ? type : "", type ? ">" : "", identifier,
				 n->written ? 'u' : 't', (*binding)++);
			*half |= views[i].half || (i == 0 && n->type == DTYPE_F16);
		}
		free(identifier);
	}
}

int export_hlsl_declare(const struct context *ctx, const struct plan *plan, struct buf *out, bool *ret_half, struct err *e)
{
	struct names names = { 0 };
	unsigned binding = 0;
	bool scalars = false;
	int rc = 0;
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = plan->ops[i].kind == PLAN_OP_LAUNCH ? &plan->ops[i].launch : NULL;
		for (size_t k = 0; l && k < l->arg_count; k++) {
			const struct plan_arg *a = &l->args[k];
			const struct plan_buffer *b = a->kind == PLAN_ARG_BUFFER ? &plan->buffers[a->index] : NULL;
			const char *is = a->name && *a->name ? a->name : b ? b->name : "";
			struct name *n = NULL;
			for (size_t j = 0; j < names.count && n == NULL; j++)
				n = strcmp(names.at[j].is, is) == 0 ? &names.at[j] : NULL;
			if (n == NULL) {
				n = MEM_PUSH(names.at, names.count);
				*n = (struct name){ .is = is, .scalar = b == NULL, .type = b ? b->type : a->type };
			}
			n->written |= b && b->role != PLAN_IN && b->role != PLAN_TABLE;
		}
	}
	for (size_t i = 0; i < names.count && rc == 0; i++) {
		if (*names.at[i].is == '\0')
			rc = err_set(e, ERR_UNSUPPORTED,
				     "an argument has no name, and HLSL binds by name: pass variables, not expressions");
		else if (!names.at[i].scalar)
			declare_buffer(ctx, &names.at[i], &binding, out, ret_half);
	}
	for (size_t i = 0; i < names.count && rc == 0; i++)
		if (names.at[i].scalar && occurs(ctx, names.at[i].is)) {
			buf_addf(out, "%s\t%s %s;\n", scalars ? "" : "[[vk::push_constant]] cbuffer peakd_scalars {\n",
				 dtype_hlsl_scalar(names.at[i].type), names.at[i].is);
			scalars = true;
		}
	buf_adds(out, scalars ? "};\n" : "");
	free(names.at);
	return rc;
}
