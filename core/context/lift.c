/* lift: rewrites device code and plans in double; see lift.h. Types and functions are replaced by macros in front of the macros
 * region (lift.hlsl, lift.cu). What macros cannot reach is rewritten word by word: literals, and in HLSL the names of views. */
#include "core/context/lift.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"

/* How the code looks at a buffer, or'ed. */
enum { AS_FLOATS = 1, AS_HALVES = 2, AS_BITS = 4, AS_ELEMENTS = 8 };

struct name {
	char *is;
	unsigned as;
};

struct lift {
	bool hlsl;       /* arguments go by name, and views say how they are read; else every f32 buffer is widened */
	bool halves;     /* CUDA, HIP: so are those of f16 and bf16, */
	bool e4m3, e5m2; /* and of these */
	struct name *names;
	size_t count;
};

void lift_free(struct lift *lift)
{
	if (lift == NULL)
		return;
	for (size_t i = 0; i < lift->count; i++)
		free(lift->names[i].is);
	free(lift->names);
	free(lift);
}

static unsigned views_of(const struct lift *lift, const char *name)
{
	for (size_t i = 0; i < lift->count; i++)
		if (strcmp(lift->names[i].is, name) == 0)
			return lift->names[i].as;
	return 0;
}

static void add_view(struct lift *lift, const char *name, size_t n, unsigned as)
{
	for (size_t i = 0; i < lift->count; i++)
		if (strlen(lift->names[i].is) == n && memcmp(lift->names[i].is, name, n) == 0) {
			lift->names[i].as |= as;
			return;
		}
	*MEM_PUSH(lift->names, lift->count) = (struct name){ mem_strn(name, n), as };
}

/* --- views of buffers (backends/hlsl/bind.c) ---------------------------------------------------------------------- */

static const struct view {
	const char *suffix, *wide; /* what it is called in the lifted code */
	unsigned as;
} views[] = {
	{ "_float", "_double", AS_FLOATS }, { "_float2", "_double2", AS_FLOATS }, { "_float4", "_double4", AS_FLOATS },
	{ "_half", "_double", AS_HALVES },  { "_half2", "_double2", AS_HALVES },  { "_half4", "_double4", AS_HALVES },
	{ "_double", NULL, AS_BITS },       { "_double2", NULL, AS_BITS },        { "_double4", NULL, AS_BITS },
	{ "_int", NULL, AS_BITS },          { "_int2", NULL, AS_BITS },           { "_int4", NULL, AS_BITS },
	{ "_uint", NULL, AS_BITS },         { "_uint2", NULL, AS_BITS },          { "_uint4", NULL, AS_BITS },
	{ "_bytes", NULL, AS_BITS },
};

static const struct view *view_of(const char *word, size_t n)
{
	for (size_t i = 0; i < MEM_COUNT(views); i++) {
		size_t tail = strlen(views[i].suffix);
		if (n > tail && memcmp(word + n - tail, views[i].suffix, tail) == 0)
			return &views[i];
	}
	return NULL;
}

static void find_views(struct lift *lift, const char *text)
{
	enum lex_kind kind;
	for (size_t n; *text; text += n) {
		n = lex_c(text, &kind);
		const struct view *v = kind == LEX_WORD ? view_of(text, n) : NULL;
		if (v)
			add_view(lift, text, n - strlen(v->suffix), v->as);
		else if (kind == LEX_WORD)
			add_view(lift, text, n, AS_ELEMENTS);
	}
}

/* The type whose values an array of `type` holds when it is widened; -1: it keeps its type. Raw scratch has the type u8. */
static int widened_from(const struct lift *lift, const char *name, enum dtype type)
{
	unsigned as = views_of(lift, name);
	bool narrow = (lift->halves && (type == DTYPE_F16 || type == DTYPE_BF16)) || (lift->e4m3 && type == DTYPE_E4M3) ||
		      (lift->e5m2 && type == DTYPE_E5M2);
	if (!lift->hlsl && type == DTYPE_U8)
		return lift->halves ? DTYPE_F16 : DTYPE_F32;
	if (!lift->hlsl)
		return type == DTYPE_F32 || narrow ? (int)type : -1;
	if (as & AS_BITS || (as & AS_FLOATS && as & AS_HALVES))
		return -1;
	if (type == DTYPE_F32)
		return as & AS_HALVES ? -1 : DTYPE_F32;
	if (type == DTYPE_F16)
		return as & AS_FLOATS ? -1 : DTYPE_F16;
	if (type != DTYPE_U8 || as & AS_ELEMENTS)
		return -1;
	return as & AS_FLOATS ? DTYPE_F32 : as & AS_HALVES ? DTYPE_F16 : -1;
}

/* Whether the view NAME_float becomes NAME_double. Of names that are not arrays of the context, only host code knows whether they
 * are buffers: lift_plan refuses those that should not have been renamed. */
static bool renames(const struct lift *lift, const struct spec *spec, const char *name)
{
	unsigned as = views_of(lift, name);
	const struct spec_array *a = spec_array(spec, name);
	return a ? widened_from(lift, name, a->type) >= 0 : !(as & AS_BITS) && !(as & AS_FLOATS && as & AS_HALVES);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Whether a decimal literal has more digits than a float holds, as pi has: kernels may hold such a number more exactly. */
static bool is_long(const char *text, double v)
{
	size_t digits = 0;
	for (const char *at = text + strspn(text, "0."); isdigit((unsigned char)*at) || *at == '.'; at++)
		digits += *at != '.';
	return digits > FLT_DIG + 2 && fabs(v) > 1e-30 && fabs(v) < 1e30; /* others are limits of the type */
}

/* The literal's value in double, as the declared code has it, or as it is written where that has many digits. Integers and doubles
 * stay as they are written. */
static void add_number(const char *s, size_t n, bool hlsl, struct buf *out)
{
	char *text = mem_strn(s, n), *end;
	bool hex = n > 1 && (s[1] == 'x' || s[1] == 'X'), point = strpbrk(text, hex ? "pP" : ".eE") != NULL;
	char last = (char)tolower((unsigned char)s[n - 1]);
	bool narrow = !hex || point ? last == 'f' || last == 'h' || (hlsl && point && last != 'l') : false;
	double v = narrow ? (double)strtof(text, &end) : 0;
	if (narrow && !hex && is_long(text, v))
		v = strtod(text, NULL);
	if (!narrow || end == text)
		buf_add(out, s, n);
	else if (hlsl)
		buf_addf(out, "%.17eL", v);
	else
		buf_addf(out, "%.17e", v);
	free(text);
}

/* Without the blanks before it. */
static const char *before(const char *start, const char *at)
{
	while (at > start && isspace((unsigned char)at[-1]))
		at--;
	return at;
}

/* Whether the text up to a literal makes a double of it, as "double(", "(double)" and "double x = " do: HLSL then keeps what is
 * written. */
static bool is_made_double(const char *start, const char *at)
{
	size_t len = strlen("double");
	bool cast;
	at = before(start, at);
	if (at > start && (at[-1] == '-' || at[-1] == '+'))
		at = before(start, at - 1);
	if (at == start || !strchr("=()", at[-1]))
		return false;
	cast = at[-1] == ')';
	if (at[-1] == '=') {
		at = before(start, at - 1);
		while (at > start && lex_in_word(at[-1]))
			at--;
		at = before(start, at);
	} else {
		at = before(start, at - 1);
	}
	if ((size_t)(at - start) < len || !lex_is(at - len, len, "double") || !lex_is_whole(start, at - len, len))
		return false;
	at = before(start, at - len);
	return !cast || (at > start && at[-1] == '(');
}

static void rewrite(const struct lift *lift, const struct spec *spec, const char *text, struct buf *out)
{
	const char *start = text;
	enum lex_kind kind;
	for (size_t n; *text; text += n) {
		n = lex_c(text, &kind);
		bool whole = !memchr(text, '.', n) && !memchr(text, 'e', n), hex = memchr(text, 'x', n) != NULL;
		bool bare = kind == LEX_NUMBER && !whole && !hex && isdigit((unsigned char)text[n - 1]);
		if (bare && lift->hlsl && is_made_double(start, text))
			buf_addf(out, "%.*sL", (int)n, text);
		else if (kind == LEX_NUMBER)
			add_number(text, n, lift->hlsl, out);
		else if (kind == LEX_WORD) {
			const struct view *v = lift->hlsl ? view_of(text, n) : NULL;
			char *base = v ? mem_strn(text, n - strlen(v->suffix)) : NULL;
			if (base && v->wide && renames(lift, spec, base))
				buf_addf(out, "%s%s", base, v->wide);
			else
				buf_add(out, text, n);
			free(base);
		} else
			buf_add(out, text, n);
	}
}

/* --- the text in front -------------------------------------------------------------------------------------------- */

/* The context's own names are macros (tuning parameters, constants) or, where a macro would hide them, arguments. */
static bool is_taken(const struct spec *spec, const char *s, size_t n, bool as_macro)
{
	for (size_t i = 0; i < spec->var_count; i++)
		if ((as_macro || spec->vars[i].tuning) && lex_is(s, n, spec->vars[i].name))
			return true;
	for (size_t i = 0; i < spec->constant_count; i++)
		if (lex_is(s, n, spec->constants[i].name))
			return true;
	for (size_t i = 0; as_macro && i < spec->array_count; i++)
		if (lex_is(s, n, spec->arrays[i].name))
			return true;
	return false;
}

/* Whether the text defines a function or macro of this name, as `float sqr(float x)` does for sqr. */
static bool defines(const char *text, const char *name, size_t len)
{
	static const char *const before_calls[] = { "return", "else", "case", "do", "in" };
	enum lex_kind kind;
	bool after_word = false, after_define = false, call = false;
	for (size_t n; *text; text += n) {
		n = lex_c(text, &kind);
		if (isspace((unsigned char)*text))
			continue;
		if (kind == LEX_WORD && n == len && memcmp(text, name, n) == 0 &&
		    (after_define || (after_word && !call && text[n + strspn(text + n, " \t")] == '(')))
			return true;
		after_word = kind == LEX_WORD;
		after_define = lex_is(text, n, "define");
		call = false;
		for (size_t i = 0; i < MEM_COUNT(before_calls); i++)
			call = call || lex_is(text, n, before_calls[i]);
	}
	return false;
}

static void add_section(const struct context *ctx, const char *s, const char *end, struct buf *out)
{
	const struct spec *spec = context_spec(ctx);
	enum lex_kind kind;
	bool after_define = false, after_point = false;
	for (size_t n; s < end; s += n) {
		n = lex_c(s, &kind);
		buf_add(out, s, n);
		if (kind == LEX_WORD && !after_point &&
		    (is_taken(spec, s, n, after_define) || (after_define && (defines(context_region(ctx, REGION_DEVICE), s, n) ||
									     defines(context_region(ctx, REGION_MACROS), s, n)))))
			buf_adds(out, "_peakd");
		after_define = lex_is(s, n, "define") || (after_define && *s == ' ');
		after_point = *s == '.';
	}
}

/* Whether one of the words on the section's first line occurs in the context. */
static bool wanted(const char *words, const char *device, const char *macros)
{
	size_t n = strcspn(words, "\n"), len;
	if (strspn(words, " ") == n)
		return true;
	for (const char *w = words + strspn(words, " "); w < words + n; w += len + strspn(w + len, " ")) {
		len = strcspn(w, " \n");
		if (lex_c_has(device, w, len) || lex_c_has(macros, w, len))
			return true;
	}
	return false;
}

static void add_sections(const char *file, const struct context *ctx, bool halves, struct buf *out)
{
	const char *device = context_region(ctx, REGION_DEVICE), *macros = context_region(ctx, REGION_MACROS);
	for (const char *at = strstr(embedded_file(file), "\n//@"), *next; at; at = next) {
		const char *words = at + strlen("\n//@");
		next = strstr(words, "\n//@");
		if (*words == (halves ? '!' : '@'))
			continue;
		words += *words == '!' || *words == '@';
		if (wanted(words, device, macros))
			add_section(ctx, words + strcspn(words, "\n"), next ? next : words + strlen(words), out);
	}
}

/* Headers must be read before their words become macros; a second reading of them is empty. */
static void add_includes(const char *text, struct buf *out)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line + strspn(line, " \t");
		if (*at != '#')
			continue;
		at += 1 + strspn(at + 1, " \t");
		if (strncmp(at, "include", strlen("include")) == 0) {
			buf_add(out, line, strcspn(line, "\n"));
			buf_addc(out, '\n');
		}
	}
}

/* --- contexts ----------------------------------------------------------------------------------------------------- */

static int check_text(bool hlsl, const char *text, struct err *e)
{
	static const char *const machine[] = { "asm", "__asm__", "__asm", "wmma" };
	for (size_t i = 0; !hlsl && i < MEM_COUNT(machine); i++)
		if (lex_c_has(text, machine[i], strlen(machine[i])))
			return err_set(e, ERR_UNSUPPORTED, "its code has %s, which fixes the types of its operands", machine[i]);
	for (size_t i = 0; hlsl && strstr(text, "##") && i < MEM_COUNT(views); i++)
		if (lex_c_has(text, views[i].suffix, strlen(views[i].suffix)))
			return err_set(e, ERR_UNSUPPORTED, "its code pastes names with %s together", views[i].suffix);
	return 0;
}

/* Whether the code has one of these words. */
static bool mentions(const struct context *ctx, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lex_c_has(context_region(ctx, REGION_DEVICE), words[i], strlen(words[i])) ||
		    lex_c_has(context_region(ctx, REGION_MACROS), words[i], strlen(words[i])))
			return true;
	return false;
}

static bool has_floats(const struct context *ctx)
{
	static const char *const words[] = { "float", "half", "min16float" };
	const struct spec *spec = context_spec(ctx);
	for (size_t i = 0; i < spec->array_count; i++)
		if (dtype_is_float(spec->arrays[i].type) && spec->arrays[i].type != DTYPE_F64)
			return true;
	return mentions(ctx, words, MEM_COUNT(words));
}

int lift_context(const struct context *ctx, bool narrow, struct context **ret_lifted, struct err *e)
{
	static const char *const headers[] = { "cuda_fp16", "cuda_bf16",    "cuda_fp8", "hip_fp16",
					       "hip_bf16",  "hip_bfloat16", "_Float16" };
	static const char *const e4m3[] = { "__nv_fp8_e4m3" }, *const e5m2[] = { "__nv_fp8_e5m2" };
	const char *device = context_region(ctx, REGION_DEVICE), *macros = context_region(ctx, REGION_MACROS);
	bool hlsl = strcmp(context_backend(ctx), "hlsl") == 0;
	struct buf new_device = BUF_INIT, new_macros = BUF_INIT;
	if (!has_floats(ctx))
		return err_set(e, ERR_UNSUPPORTED, "it has no values narrower than double");
	if (narrow && (hlsl || !mentions(ctx, headers, MEM_COUNT(headers))))
		return err_set(e, ERR_UNSUPPORTED, "it has no types narrower than float");
	if (check_text(hlsl, device, e) < 0 || check_text(hlsl, macros, e) < 0)
		return -(int)e->code;
	struct lift *lift = MEM_NEW(struct lift);
	*lift = (struct lift){
		.hlsl = hlsl, .halves = narrow, .e4m3 = narrow && mentions(ctx, e4m3, 1), .e5m2 = narrow && mentions(ctx, e5m2, 1)
	};
	if (hlsl) {
		find_views(lift, device);
		find_views(lift, macros);
	} else {
		add_includes(macros, &new_macros);
		add_includes(device, &new_macros);
	}
	add_sections(hlsl ? "core/context/lift.hlsl" : "core/context/lift.cu", ctx, narrow, &new_macros);
	buf_adds(&new_macros, "\n#line 1 \"macros\"\n");
	rewrite(lift, context_spec(ctx), macros, &new_macros);
	rewrite(lift, context_spec(ctx), device, &new_device);
	int rc = context_with_lift(ctx, buf_text(&new_device), buf_text(&new_macros), lift, ret_lifted, e);
	buf_fini(&new_device);
	buf_fini(&new_macros);
	return rc;
}

double lift_constant(const struct lift *lift, double value)
{
	return lift->hlsl ? (double)(float)value : value;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static double rounded(enum dtype type, double v)
{
	uint64_t element;
	dtype_store(type, &element, v);
	return dtype_load(type, &element);
}

static void widen_table(struct plan_buffer *b, enum dtype from)
{
	size_t n = b->bytes / dtype_size(from);
	double *wide = MEM_NEW_N(double, n);
	dtype_load_all(from, b->table, wide, n);
	free(b->table);
	b->table = wide;
}

/* How many times larger the buffer becomes: 1 where it keeps its type. */
static int widen_buffer(const struct lift *lift, struct plan_buffer *b, uint64_t *ret_factor, struct err *e)
{
	unsigned as = views_of(lift, b->name);
	bool own = b->role == PLAN_SCRATCH || b->role == PLAN_TABLE;
	int from = widened_from(lift, b->name, b->type);
	*ret_factor = 1;
	if (from < 0 && lift->hlsl && own && as & (AS_FLOATS | AS_HALVES) && !(as & AS_BITS) && !(as & AS_FLOATS && as & AS_HALVES))
		return err_set(e, ERR_UNSUPPORTED, "its scratch %s is read as floats and as %s", b->name, dtype_name(b->type));
	if (from < 0 || (b->type == DTYPE_U8 && !own))
		return 0;
	*ret_factor = dtype_size(DTYPE_F64) / dtype_size((enum dtype)from);
	if (b->role == PLAN_TABLE)
		widen_table(b, (enum dtype)from);
	b->bytes *= *ret_factor;
	if (b->type == DTYPE_U8) {
		b->dims[0] = b->ld = (int64_t)b->bytes;
		if (lift->hlsl) {
			b->dims[0] = b->ld = (int64_t)(b->bytes / 8 ? b->bytes / 8 : 1);
			b->bytes = b->bytes < 8 ? 8 : b->bytes;
			b->type = DTYPE_F64;
		}
		return 0;
	}
	b->rounded = (enum dtype)from;
	b->type = DTYPE_F64;
	return 0;
}

static int widen_op(const struct lift *lift, struct plan_op *op, const uint64_t *factors, struct err *e)
{
	struct plan_launch *l = &op->launch;
	switch (op->kind) {
	case PLAN_OP_LAUNCH:
		l->shared *= lift->halves ? 4 : 2;
		for (size_t i = 0; i < l->arg_count; i++) {
			struct plan_arg *a = &l->args[i];
			if (a->kind != PLAN_ARG_SCALAR || !dtype_is_float(a->type))
				continue;
			a->f = rounded(a->type, a->f);
			a->type = DTYPE_F64;
		}
		return 0;
	case PLAN_OP_MEMSET:
		if (factors[op->memset.buffer] > 1 && op->memset.value != 0 && op->memset.value != 0xFF)
			return err_set(e, ERR_UNSUPPORTED, "it sets floats to bytes of %u", op->memset.value);
		op->memset.bytes *= factors[op->memset.buffer];
		op->memset.offset *= factors[op->memset.buffer];
		return 0;
	case PLAN_OP_COPY:
		if (factors[op->copy.dst] != factors[op->copy.src])
			return err_set(e, ERR_UNSUPPORTED, "it copies floats to something else");
		op->copy.bytes *= factors[op->copy.dst];
		op->copy.dst_offset *= factors[op->copy.dst];
		op->copy.src_offset *= factors[op->copy.src];
		return 0;
	case PLAN_OP_GEMM: return err_set(e, ERR_UNSUPPORTED, "a library's product has fixed types");
	}
	return 0;
}

int lift_plan(const struct lift *lift, struct plan *plan, struct err *e)
{
	uint64_t *factors = MEM_NEW_N(uint64_t, plan->buffer_count + 1);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < plan->buffer_count; i++)
		rc = widen_buffer(lift, &plan->buffers[i], &factors[i], e);
	for (size_t i = 0; rc == 0 && i < plan->map_count; i++)
		if (factors[plan->maps[i].buffer] > 1)
			rc = err_set(e, ERR_UNSUPPORTED, "it has a tensor map of floats");
	for (size_t i = 0; rc == 0 && i < plan->op_count; i++)
		rc = widen_op(lift, &plan->ops[i], factors, e);
	free(factors);
	return rc;
}
