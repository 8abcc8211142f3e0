/* fits: see fits.h. What a kernel does is read off its text, without comments and strings: that is enough to choose what to
 * offer. */
#include "core/transform/fits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/spec.h"
#include "core/transform/transformation.h"

enum word {
	ARRAYS,
	OUTPUTS,
	RANK,
	KERNELS,
	TUNED,
	F16,
	BF16,
	F32,
	F64,
	FP8,
	INTEGERS,
	TENSOR,
	LOOP,
	REDUCTION,
	SHARED,
	BARRIER,
	ATOMICS,
	SHARES_CPU,
	WORDS
};

const struct fits_word fits_words[] = {
	[ARRAYS] = { "arrays", "how many arrays there are" },
	[OUTPUTS] = { "outputs", "how many of them are written" },
	[RANK] = { "rank", "the most extents that an array has" },
	[KERNELS] = { "kernels", "how many kernels host code launches" },
	[TUNED] = { "tuned", "how many tuning parameters there are" },
	[F16] = { "f16", "an array holds f16" },
	[BF16] = { "bf16", "an array holds bf16" },
	[F32] = { "f32", "an array holds f32" },
	[F64] = { "f64", "an array holds f64" },
	[FP8] = { "fp8", "an array holds e4m3 or e5m2" },
	[INTEGERS] = { "integers", "an array holds integers" },
	[TENSOR] = { "tensor", "precision: permits tensor cores" },
	[LOOP] = { "loop", "device code has a loop" },
	[REDUCTION] = { "reduction", "a variable is computed from itself behind the beginning of a loop: a sum, a maximum" },
	[SHARED] = { "shared", "device code declares shared memory" },
	[BARRIER] = { "barrier", "device code has a barrier" },
	[ATOMICS] = { "atomics", "device code has atomic operations" },
	[SHARES_CPU] = { "device.shares_cpu", "the device is the CPU" },
};

struct fits {
	const struct context *ctx;
	struct facts facts;
	bool has_facts;
	char **kernels; /* names that host code launches */
	size_t kernel_count;
	struct value values[WORDS + SPEC_DEVICE_NAMES];
};

/* --- what the text shows -------------------------------------------------------------------------------------------- */

/* Device code and macros without comments and string literals. */
static char *plain_code(const struct context *ctx)
{
	struct buf out = BUF_INIT;
	char *all = mem_fmt("%s\n%s", context_region(ctx, REGION_MACROS), context_region(ctx, REGION_DEVICE));
	for (const char *c = all; *c;) {
		enum lex_kind kind;
		size_t n = lex_c(c, &kind);
		if (kind != LEX_COMMENT && kind != LEX_TEXT)
			buf_add(&out, c, n);
		c += n;
	}
	free(all);
	return buf_steal(&out);
}

/* The next place where one of the words stands, whole or as a beginning; NULL: none does. */
static const char *find_word(const char *code, const char *const *words, bool whole)
{
	for (; *words; words++) {
		size_t n = strlen(*words);
		for (const char *at = code; (at = strstr(at, *words)); at++)
			if (whole ? lex_is_whole(code, at, n) : at == code || !lex_in_word(at[-1]))
				return at;
	}
	return NULL;
}

/* Behind the closing parenthesis that belongs to the first opening one. */
static const char *skip_parentheses(const char *at)
{
	int depth = 0;
	for (at += strcspn(at, "("); *at; at++) {
		depth += (*at == '(') - (*at == ')');
		if (depth == 0)
			return at + 1;
	}
	return at;
}

/* Whether text[0…n) names the variable [name, name + len). */
static bool mentions(const char *text, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i + len <= n; i++)
		if (strncmp(text + i, name, len) == 0 && lex_is_whole(text, text + i, len))
			return true;
	return false;
}

/* `x += …`, `x = max(x, …)`: the target of an assignment is read by it. [at, at + n) is one statement without a loop's header. */
static bool accumulates(const struct spec *spec, const char *at, size_t n)
{
	size_t eq = 0;
	while (eq < n && !(at[eq] == '=' && at[eq + 1] != '=' && (eq == 0 || !strchr("=!<>", at[eq - 1]))))
		eq++;
	if (eq == 0 || eq >= n)
		return false;
	bool combined = strchr("+-*|&^", at[eq - 1]) != NULL;
	size_t end = eq - combined, start;
	while (end && isspace((unsigned char)at[end - 1]))
		end--;
	for (start = end; start && (lex_in_word(at[start - 1]) || strchr(".[]", at[start - 1]));)
		start--;
	size_t len = 0;
	while (start + len < end && lex_in_word(at[start + len]))
		len++;
	for (size_t k = 0; k < spec->array_count; k++) /* an element in memory is no running value */
		if (strlen(spec->arrays[k].name) == len && strncmp(spec->arrays[k].name, at + start, len) == 0)
			return false;
	return len && (combined || mentions(at + eq + 1, n - eq - 1, at + start, len));
}

/* A statement behind a loop's beginning that accumulates. `loop` is where the first loop begins. */
static bool reduces(const struct spec *spec, const char *loop)
{
	static const char *const headers[] = { "for", "while", "if", NULL };
	for (const char *at = loop; *at;) {
		at += strspn(at, " \t\r\n;{}");
		while (find_word(at, headers, true) == at) {
			at = skip_parentheses(at);
			at += strspn(at, " \t\r\n");
		}
		size_t n = strcspn(at, ";{}");
		if (accumulates(spec, at, n))
			return true;
		at += n;
	}
	return false;
}

static void read_code(struct fits *f)
{
	static const char *const loops[] = { "for", "while", NULL }, *const shared[] = { "__shared__", "groupshared", NULL },
				 *const barriers[] = { "__syncthreads", "GroupMemoryBarrierWithGroupSync", NULL },
				 *const atomics[] = { "atomic", "Interlocked", NULL };
	char *code = plain_code(f->ctx);
	const char *loop = find_word(code, loops, true);
	f->values[LOOP] = value_of_bool(loop);
	f->values[REDUCTION] = value_of_bool(loop && reduces(context_spec(f->ctx), loop));
	f->values[SHARED] = value_of_bool(find_word(code, shared, true));
	f->values[BARRIER] = value_of_bool(find_word(code, barriers, true));
	f->values[ATOMICS] = value_of_bool(find_word(code, atomics, false));
	free(code);
}

char *fits_next_launch(const char **io_host)
{
	for (const char *at = *io_host; (at = strstr(at, "launch"));) {
		at += strlen("launch");
		const char *s = at + strspn(at, " \t\r\n(");
		*io_host = at;
		if (*s == '"' || *s == '\'')
			return mem_strn(s + 1, strcspn(s + 1, "\"'\n"));
	}
	return NULL;
}

/* The kernels that host code launches, each once. */
static void read_host(struct fits *f)
{
	const char *host = context_region(f->ctx, REGION_HOST);
	for (char *name; (name = fits_next_launch(&host)) != NULL;) {
		bool known = false;
		for (size_t i = 0; i < f->kernel_count; i++)
			known |= strcmp(f->kernels[i], name) == 0;
		if (known)
			free(name);
		else
			*MEM_PUSH(f->kernels, f->kernel_count) = name;
	}
	f->values[KERNELS] = value_of_int((int64_t)f->kernel_count);
}

static enum word word_of_type(enum dtype type)
{
	switch (type) {
	case DTYPE_F16: return F16;
	case DTYPE_BF16: return BF16;
	case DTYPE_F32: return F32;
	case DTYPE_F64: return F64;
	case DTYPE_E4M3:
	case DTYPE_E5M2: return FP8;
	case DTYPE_I8:
	case DTYPE_I16:
	case DTYPE_I32:
	case DTYPE_I64:
	case DTYPE_U8:
	case DTYPE_U16:
	case DTYPE_U32:
	case DTYPE_U64:
	case DTYPE_COUNT: break;
	}
	return INTEGERS;
}

static void read_contract(struct fits *f)
{
	const struct spec *s = context_spec(f->ctx);
	int64_t outputs = 0, rank = 0;
	for (enum word w = F16; w <= INTEGERS; w++)
		f->values[w] = value_of_bool(false);
	for (size_t i = 0; i < s->array_count; i++) {
		outputs += s->arrays[i].role != PLAN_IN;
		rank = s->arrays[i].rank > rank ? s->arrays[i].rank : rank;
		f->values[word_of_type(s->arrays[i].type)] = value_of_bool(true);
	}
	f->values[ARRAYS] = value_of_int((int64_t)s->array_count);
	f->values[OUTPUTS] = value_of_int(outputs);
	f->values[RANK] = value_of_int(rank);
	f->values[TUNED] = value_of_int((int64_t)(s->var_count - s->input_count));
	f->values[TENSOR] = value_of_bool(s->precision == SPEC_TENSOR);
}

struct fits *fits_new(const struct context *ctx, const struct facts *facts)
{
	struct fits *f = MEM_NEW(struct fits);
	f->ctx = ctx;
	f->has_facts = facts != NULL;
	if (facts) {
		f->facts = *facts;
		f->values[SHARES_CPU] = value_of_bool(facts->shares_cpu);
		for (size_t k = 0; k < SPEC_DEVICE_NAMES; k++)
			f->values[WORDS + k] = value_of_int(spec_device_value(facts, k));
	}
	read_contract(f);
	read_host(f);
	read_code(f);
	return f;
}

void fits_free(struct fits *f)
{
	if (!f)
		return;
	mem_free_texts(f->kernels, f->kernel_count);
	free(f);
}

/* --- conditions ------------------------------------------------------------------------------------------------------ */

static int parse_condition(const char *text, struct expr **ret_x, struct err *e)
{
	struct expr_scope *scope = expr_scope_new();
	for (size_t i = 0; i < WORDS; i++)
		expr_scope_add(scope, fits_words[i].name);
	for (size_t k = 0; k < SPEC_DEVICE_NAMES; k++) {
		char *name = mem_fmt("device.%s", spec_device_name(k));
		expr_scope_add(scope, name);
		free(name);
	}
	int rc = expr_parse(scope, text, strlen(text), ret_x, e);
	expr_scope_free(scope);
	return rc;
}

/* The names behind `has`; NULL for an expression. */
static const char *names_of(const char *condition)
{
	return strncmp(condition, "has ", 4) == 0 ? condition + 4 : NULL;
}

int fits_condition_check(const char *condition, struct err *e)
{
	struct expr *x = NULL;
	if (names_of(condition))
		return 0;
	int rc = parse_condition(condition, &x, e);
	expr_free(x);
	return rc;
}

static bool has_name(const struct fits *f, const char *name)
{
	const struct spec *s = context_spec(f->ctx);
	bool found = spec_find(s, name) >= 0 || spec_array(s, name);
	for (size_t i = 0; i < s->constant_count; i++)
		found |= strcmp(s->constants[i].name, name) == 0;
	for (size_t i = 0; i < f->kernel_count; i++)
		found |= strcmp(f->kernels[i], name) == 0;
	return found;
}

static int check_names(const struct fits *f, const struct transformation *t, const char *names, struct err *e)
{
	int rc = 0;
	while (*(names += strspn(names, ", \t")) && rc == 0) {
		size_t n = strcspn(names, ", \t");
		char *name = mem_strn(names, n);
		if (!has_name(f, name))
			rc = err_set(e, ERR_INPUT,
				     "transformation %s is for contexts that have an input, parameter or kernel called %s", t->name,
				     name);
		free(name);
		names += n;
	}
	return rc;
}

/* The words of a condition with their values: " (device.sm is 80, rank is 2)". */
static void add_values(const struct fits *f, const struct expr *x, struct buf *out)
{
	size_t count;
	const uint16_t *slots = expr_slots(x, &count);
	for (size_t i = 0; i < count; i++) {
		struct value v = f->values[slots[i]];
		const char *name = slots[i] < WORDS ? fits_words[slots[i]].name : spec_device_name(slots[i] - WORDS);
		buf_addf(out, "%s%s%s is ", i ? ", " : " (", slots[i] < WORDS ? "" : "device.", name);
		if (v.kind == VALUE_BOOL)
			buf_adds(out, v.b ? "true" : "false");
		else
			buf_addf(out, "%lld", (long long)v.i);
	}
	buf_adds(out, count ? ")" : "");
	for (size_t i = 0; i < count; i++)
		if (slots[i] < WORDS)
			buf_addf(out, "; %s: %s", fits_words[slots[i]].name, fits_words[slots[i]].about);
}

/* What cannot be said without a device holds. */
static int check_condition(const struct fits *f, const struct transformation *t, const char *condition, struct err *e)
{
	const char *names = names_of(condition);
	struct expr *x = NULL;
	struct value v;
	struct err ignored = ERR_INIT;
	int rc = 0;
	if (names)
		return check_names(f, t, names, e);
	if (parse_condition(condition, &x, &ignored) == 0 && expr_eval(x, f->values, &v) == VALUE_OK && !value_true(v)) {
		struct buf values = BUF_INIT;
		add_values(f, x, &values);
		rc = err_set(
			e, ERR_INPUT,
			"transformation %s is for contexts and devices where %s%s; transformations with `at` lists those that fit",
			t->name, condition, buf_text(&values));
		buf_fini(&values);
	}
	expr_free(x);
	return rc;
}

/* Whether everything that the transformation adds and drops can be added and dropped, all at once. */
static int check_edits(const struct fits *f, const struct transformation *t, struct err *e)
{
	struct context_edit *edits = NULL;
	size_t count = 0;
	struct context *ctx = NULL;
	for (size_t i = 0; i < t->drop_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_DROP, t->drops[i], NULL };
	for (size_t i = 0; i < t->param_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_TUNE_SET, t->params[i].name, t->params[i].values };
	for (size_t i = 0; i < t->where_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_WHERE_ADD, NULL, t->where[i] };
	for (size_t i = 0; i < t->requires_count; i++)
		*MEM_PUSH(edits, count) = (struct context_edit){ CONTEXT_REQUIRES_ADD, NULL, t->requires[i] };
	int rc = count ? context_with_tuning(f->ctx, edits, count, &ctx, e) : 0;
	if (rc < 0)
		err_wrap(e, "transformation %s does not fit this context", t->name);
	context_free(ctx);
	free(edits);
	return rc;
}

int fits_check(const struct fits *f, const struct transformation *t, const char *const *applied, size_t applied_count,
	       struct err *e)
{
	int rc = transformation_check(t, context_backend(f->ctx), applied, applied_count, e);
	for (size_t i = 0; i < t->fits_count && rc == 0; i++)
		rc = check_condition(f, t, t->fits[i], e);
	for (size_t i = 0; i < t->requires_count && rc == 0; i++)
		rc = check_condition(f, t, t->requires[i], e); /* what asks about sizes is not among the words, and holds */
	return rc < 0 ? rc : check_edits(f, t, e);
}
