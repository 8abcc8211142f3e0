/* branches: see branches.h. A word depends on what arrays hold if it is indexed, or points to an array, or is assigned from such a
 * word. The text is read as tokens; types and scopes are not known, so that a few branches too many are told. */
#include "core/judge/branches.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lex.h"
#include "base/mem.h"
#include "base/utf8.h"

enum {
	CONDITION_MOST = 60, /* bytes of a condition in messages */
	ROUNDS = 32,         /* through the code, until nothing changes */
	SPAN_MOST = 4096,    /* tokens of a statement */
	WORK_MOST = 1 << 25  /* tokens that are looked at in all: code may be made to cost more */
};

struct token {
	const char *s;
	size_t n;
	enum lex_kind kind;
	long line;
	long pair;   /* of a bracket: the other one; -1: none */
	size_t name; /* of a word: the first token of the same name */
	int depth;   /* in braces, but for those of namespaces and `extern "C"` */
};

struct code {
	struct token *at; /* without comments, white space and lines of the preprocessor; behind the last one an empty one */
	size_t count;
	bool *dependent; /* by the first token of a name: it depends on what arrays hold */
	size_t *before;  /* how many dependent words stood in front of each token when this was last counted */
	size_t changes, work;
};

static bool is(const struct token *t, const char *word)
{
	return lex_is(t->s, t->n, word);
}

static bool is_char(const struct token *t, char c)
{
	return t->n && t->kind == LEX_OTHER && *t->s == c;
}

static bool is_one_of(const struct token *t, const char *characters)
{
	return t->n && t->kind == LEX_OTHER && strchr(characters, *t->s);
}

/* A bracket whose other one follows. */
static bool opens(const struct token *t, char bracket, size_t at)
{
	return is_char(t, bracket) && t->pair > (long)at;
}

static bool is_outer(const struct code *c, size_t brace)
{
	return brace > 0 && (c->at[brace - 1].kind == LEX_TEXT || is(&c->at[brace - 1], "namespace") ||
			     (brace > 1 && is(&c->at[brace - 2], "namespace")));
}

static void find_pairs(struct code *c)
{
	size_t *open = MEM_NEW_N(size_t, c->count + 1), depth = 0;
	int braces = 0;
	for (size_t i = 0; i < c->count; i++) {
		struct token *t = &c->at[i];
		if (is_one_of(t, ")]}") && depth) {
			t->pair = (long)open[--depth];
			c->at[t->pair].pair = (long)i;
			braces -= is_char(&c->at[t->pair], '{') && !is_outer(c, (size_t)t->pair);
		}
		t->depth = braces;
		if (is_one_of(t, "([{")) {
			open[depth++] = i;
			braces += is_char(t, '{') && !is_outer(c, i);
		}
	}
	free(open);
}

static int by_name(const void *a, const void *b, void *code)
{
	const struct code *c = code;
	const struct token *x = &c->at[*(const size_t *)a], *y = &c->at[*(const size_t *)b];
	int order = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
	return order ? order : x->n != y->n ? (x->n > y->n) - (x->n < y->n) : (x > y) - (x < y);
}

static void find_names(struct code *c)
{
	size_t *words = MEM_NEW_N(size_t, c->count + 1), n = 0;
	for (size_t i = 0; i < c->count; i++)
		if (c->at[i].kind == LEX_WORD)
			words[n++] = i;
	qsort_r(words, n, sizeof *words, by_name, c);
	for (size_t i = 0; i < n; i++) {
		const struct token *last = i ? &c->at[words[i - 1]] : NULL, *t = &c->at[words[i]];
		bool same = last && last->n == t->n && memcmp(last->s, t->s, t->n) == 0;
		c->at[words[i]].name = same ? last->name : words[i];
	}
	free(words);
}

static void read_code(const char *text, struct code *c)
{
	long line = 1;
	bool begins = true; /* of a line */
	for (const char *s = text; *s;) {
		enum lex_kind kind = LEX_OTHER;
		bool directive = begins && *s == '#';
		size_t n = directive ? lex_directive(s) : lex_c(s, &kind);
		bool left_out = directive || kind == LEX_COMMENT || strchr(" \t\r\n", *s);
		/* A member's name is none of a variable. */
		bool member = !left_out && kind == LEX_WORD && c->count && *c->at[c->count - 1].s == '.';
		if (!left_out)
			*MEM_PUSH(c->at, c->count) = (struct token){ s, n, member ? LEX_NUMBER : kind, line, -1, 0, 0 };
		for (size_t i = 0; i < n; i++)
			line += s[i] == '\n';
		begins = *s == '\n' || (begins && strchr(" \t\r", *s));
		s += n;
	}
	*MEM_PUSH(c->at, c->count) = (struct token){ text + strlen(text), 0, LEX_OTHER, line, -1, 0, 0 };
	c->count--;
	find_pairs(c);
	find_names(c);
	c->dependent = MEM_NEW_N(bool, c->count + 1);
	c->before = MEM_NEW_N(size_t, c->count + 2);
}

/* --- what depends on arrays --------------------------------------------------------------------------------------------------- */

static void mark(struct code *c, size_t i)
{
	if (c->at[i].kind != LEX_WORD || c->dependent[c->at[i].name])
		return;
	c->dependent[c->at[i].name] = true;
	c->changes++;
}

static void count_dependent(struct code *c)
{
	for (size_t i = 0; i < c->count; i++)
		c->before[i + 1] = c->before[i] + (c->at[i].kind == LEX_WORD && c->dependent[c->at[i].name]);
	c->work += c->count;
	c->changes = 0;
}

/* Whether one of these tokens depends on what arrays hold, as it was counted. */
static bool depends(const struct code *c, size_t first, size_t end)
{
	return first < end && end <= c->count && c->before[end] > c->before[first];
}

/* An `=` that assigns, alone or behind an operator. */
static bool assigns(const struct code *c, size_t i)
{
	const struct token *t = &c->at[i];
	if (!is_char(t, '=') || i == 0 || (is_char(&c->at[i + 1], '=') && c->at[i + 1].s == t->s + 1))
		return false;
	const struct token *before = &c->at[i - 1];
	bool joined = before->kind == LEX_OTHER && before->s + 1 == t->s;
	if (joined && (*before->s == '<' || *before->s == '>')) /* <<= and >>= assign */
		return i > 1 && *c->at[i - 2].s == *before->s && c->at[i - 2].s + 1 == before->s;
	return !(joined && strchr("=!", *before->s));
}

/* The word that an assignment changes, whose `=` is token i; the end of the code: none is known. */
static size_t assigned(struct code *c, size_t i)
{
	for (size_t steps = 0; i-- > 0 && steps < SPAN_MOST; steps++) {
		const struct token *t = &c->at[i];
		c->work++;
		if (is_char(t, ']') && t->pair >= 0)
			i = (size_t)t->pair;
		else if (t->kind == LEX_WORD)
			return i;
		else if (is_one_of(t, ";{}(,"))
			break;
	}
	return c->count;
}

static size_t statement_end(struct code *c, size_t i)
{
	for (size_t steps = 0; i < c->count && steps < SPAN_MOST; i++, steps++) {
		const struct token *t = &c->at[i];
		c->work++;
		if (is_one_of(t, ";,})]") || (is_one_of(t, "([{") && t->pair < 0))
			break;
		if (t->pair > (long)i)
			i = (size_t)t->pair;
	}
	return i < c->count ? i : c->count;
}

/* A function of the code begins with a name and an open bracket, and goes on with a body. Returns the body's place; 0: none. */
static size_t body_of(const struct code *c, size_t name)
{
	const struct token *t = &c->at[name];
	if (t->kind != LEX_WORD || t->depth || is(t, "__launch_bounds__") || !opens(&c->at[name + 1], '(', name + 1))
		return 0;
	size_t body = (size_t)c->at[name + 1].pair + 1;
	return opens(&c->at[body], '{', body) ? body : 0;
}

static bool is_kernel(struct code *c, size_t name)
{
	for (size_t i = name, steps = 0; i-- > 0 && steps < SPAN_MOST && !is_one_of(&c->at[i], ";{}"); steps++) {
		c->work++;
		if (is(&c->at[i], "__global__") || is(&c->at[i], "numthreads"))
			return true;
	}
	return false;
}

/* A kernel's parameters that are pointers, or all parameters of a function. */
static void mark_parameters(struct code *c, size_t name, bool all)
{
	size_t close = (size_t)c->at[name + 1].pair;
	bool points = false;
	for (size_t i = name + 2; i <= close; i++) {
		points |= is_char(&c->at[i], '*');
		if (!is_char(&c->at[i], ',') && i < close)
			continue;
		if (points || all)
			mark(c, i - 1);
		points = false;
	}
}

/* What a function is given by a call. functions: their places, by name. */
static void follow_call(struct code *c, const size_t *functions, size_t i)
{
	size_t function = functions[c->at[i].name];
	if (function && function != i && depends(c, i + 2, (size_t)c->at[i + 1].pair))
		mark_parameters(c, function, true);
}

/* Whether an argument that begins with this word is a variable alone, an element or a member. */
static bool is_alone(const struct code *c, size_t i, size_t close)
{
	for (i++; i < close; i++) {
		if (opens(&c->at[i], '[', i) && c->at[i].pair < (long)close)
			i = (size_t)c->at[i].pair;
		else if (!is_char(&c->at[i], '.') && c->at[i].kind != LEX_NUMBER)
			break;
	}
	return i == close || is_char(&c->at[i], ',');
}

/* Atomic operations, and calls that fill what they are given. */
static void follow_changes(struct code *c, size_t i)
{
	size_t close = (size_t)c->at[i + 1].pair;
	bool atomic = c->at[i].n > 11 && memcmp(c->at[i].s, "Interlocked", 11) == 0;
	if (!depends(c, i + 2, close))
		return;
	for (size_t k = i + 2; k < close && k < i + SPAN_MOST; k++, c->work++) {
		const struct token *before = &c->at[k - 1];
		if (c->at[k].kind == LEX_WORD && (is_char(before, '&') || (atomic && is_one_of(before, "(,"))) &&
		    is_alone(c, k, close))
			mark(c, k);
	}
}

/* What is assigned where a condition holds, or in a loop that one ends. What is declared there is only used there. */
static void follow_condition(struct code *c, size_t i)
{
	size_t close = (size_t)c->at[i + 1].pair, first = close + 1, end;
	if (!depends(c, i + 2, close))
		return;
	do {
		end = opens(&c->at[first], '{', first) ? (size_t)c->at[first].pair : statement_end(c, first);
		for (size_t k = first; k < end; k++, c->work++) {
			size_t to = assigns(c, k) ? assigned(c, k) : c->count;
			if (to < c->count && !(to > 0 && c->at[to - 1].kind == LEX_WORD))
				mark(c, to);
		}
		first = end + 2;
	} while (end + 1 < c->count && is(&c->at[end + 1], "else") && first < c->count && c->work < WORK_MOST);
}

static void mark_first(struct code *c, const struct spec *spec, size_t *ret_functions)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct token *t = &c->at[i];
		bool array = is_char(&c->at[i + 1], '[');
		for (size_t k = 0; t->kind == LEX_WORD && t->name == i && k < spec->array_count; k++)
			array |= is(t, spec->arrays[k].name);
		if (array)
			mark(c, i);
		if (body_of(c, i) && is_kernel(c, i))
			mark_parameters(c, i, false);
		else if (body_of(c, i))
			ret_functions[t->name] = i;
	}
}

static int find_dependent(struct code *c, const struct spec *spec, struct err *e)
{
	size_t *functions = MEM_NEW_N(size_t, c->count + 1);
	mark_first(c, spec, functions);
	for (size_t round = 0; c->changes && round < ROUNDS && c->work < WORK_MOST; round++) {
		count_dependent(c);
		for (size_t i = 0; i < c->count && c->work < WORK_MOST; i++) {
			const struct token *t = &c->at[i];
			size_t body = t->kind == LEX_WORD && functions[t->name] == i ? body_of(c, i) : 0;
			bool calls = t->kind == LEX_WORD && opens(&c->at[i + 1], '(', i + 1);
			c->work++;
			if (assigns(c, i) && depends(c, i + 1, statement_end(c, i + 1)) && assigned(c, i) < c->count)
				mark(c, assigned(c, i));
			if (body && depends(c, body, (size_t)c->at[body].pair))
				mark(c, i);
			else if (calls && (is(t, "if") || is(t, "while") || is(t, "for")))
				follow_condition(c, i);
			else if (calls && !body) {
				follow_call(c, functions, i);
				follow_changes(c, i);
			}
		}
	}
	count_dependent(c);
	free(functions);
	return c->work < WORK_MOST ? 0 : err_set(e, ERR_UNSUPPORTED, "the code is too long to follow");
}

/* --- the other text ---------------------------------------------------------------------------------------------------------- */

/* Text that goes in front of a token. */
struct insertion {
	const char *before;
	size_t order;
	char *text;
};

struct insertions {
	struct insertion *at;
	size_t count;
};

static void insert(struct insertions *all, const char *before, char *take_text)
{
	*MEM_PUSH(all->at, all->count) = (struct insertion){ before, all->count, take_text };
}

/* The condition in one line, for people. free() */
static char *condition_text(const struct code *c, size_t first, size_t end)
{
	struct buf text = BUF_INIT;
	for (size_t i = first; i < end && text.len <= CONDITION_MOST; i++) {
		bool apart = i > first && c->at[i].s != c->at[i - 1].s + c->at[i - 1].n;
		buf_addf(&text, "%s%.*s", apart ? " " : "", (int)c->at[i].n, c->at[i].s);
	}
	char *told = buf_steal(&text);
	utf8_cut(told, CONDITION_MOST);
	return told;
}

static void instrument(struct branches *b, struct insertions *all, const struct code *c, size_t first, size_t end)
{
	if (!depends(c, first, end))
		return;
	if (b->count == BRANCHES_MOST) {
		b->left_out++;
		return;
	}
	insert(all, c->at[first].s, mem_fmt("peakd_branch(%zu, (", b->count));
	insert(all, c->at[end].s, mem_str("))"));
	b->at[b->count++] = (struct branch){ condition_text(c, first, end), c->at[first].line };
}

/* The first token of the condition of the `?` that is token i. */
static size_t condition_of(struct code *c, size_t i)
{
	size_t first = i;
	for (size_t steps = 0; first-- > 0 && steps < SPAN_MOST; steps++) {
		const struct token *t = &c->at[first];
		c->work++;
		if (is_one_of(t, ")]") && t->pair >= 0)
			first = (size_t)t->pair;
		else if (is_one_of(t, ",;{}([?:") || is(t, "return") || assigns(c, first))
			return first + 1;
	}
	return i;
}

static void instrument_all(struct branches *b, struct insertions *all, struct code *c, bool selects)
{
	for (size_t i = 0; i < c->count && c->work < 2 * (size_t)WORK_MOST; i++) {
		const struct token *t = &c->at[i];
		if (is(t, "if") && opens(&c->at[i + 1], '(', i + 1)) {
			size_t end = (size_t)c->at[i + 1].pair;
			bool declares = end - i > SPAN_MOST;
			for (size_t k = i + 2; k < end && !declares; k++, c->work++)
				declares = is_char(&c->at[k], ';') || assigns(c, k);
			if (!declares)
				instrument(b, all, c, i + 2, end);
		} else if (selects && is_char(t, '?')) {
			instrument(b, all, c, condition_of(c, i), i);
		}
	}
}

/* CUDA and HIP: each kernel gets the array as a last parameter, and keeps it where functions find it. */
static void add_parameters(struct insertions *all, struct code *c)
{
	for (size_t i = 0; i < c->count; i++) {
		size_t body = body_of(c, i);
		if (!body || !is_kernel(c, i))
			continue;
		size_t close = (size_t)c->at[i + 1].pair;
		insert(all, c->at[close].s, mem_fmt("%sunsigned *" BRANCHES_ARRAY, close == i + 2 ? "" : ", "));
		insert(all, c->at[body].s + 1, mem_str(" peakd_branches = " BRANCHES_ARRAY ";"));
	}
}

static int by_place(const void *a, const void *b)
{
	const struct insertion *x = a, *y = b;
	return x->before != y->before ? (x->before > y->before) - (x->before < y->before)
				      : (x->order > y->order) - (x->order < y->order);
}

static char *with_insertions(const char *text, const struct insertions *all)
{
	struct buf out = BUF_INIT;
	const char *s = text;
	if (all->count)
		qsort(all->at, all->count, sizeof all->at[0], by_place);
	for (size_t i = 0; i < all->count; i++) {
		buf_addf(&out, "%.*s%s", (int)(all->at[i].before - s), s, all->at[i].text);
		s = all->at[i].before;
	}
	buf_addf(&out, "%s", s);
	return buf_steal(&out);
}

#define HLSL_HEAD                                                                                                                  \
	"bool peakd_branch(uint peakd_k, bool peakd_is)\n"                                                                         \
	"{\n"                                                                                                                      \
	"\t" BRANCHES_ARRAY "[2 * peakd_k + (peakd_is ? 1 : 0)] = 1;\n"                                                            \
	"\treturn peakd_is;\n"                                                                                                     \
	"}\n"
#define C_HEAD                                                                                                                     \
	"static __shared__ unsigned *peakd_branches;\n"                                                                            \
	"static __device__ inline bool peakd_branch(unsigned peakd_k, bool peakd_is)\n"                                            \
	"{\n"                                                                                                                      \
	"\tpeakd_branches[2 * peakd_k + (peakd_is ? 1 : 0)] = 1;\n"                                                                \
	"\treturn peakd_is;\n"                                                                                                     \
	"}\n"

/* Every launch passes the array, too. */
#define HOST_HEAD                                                                                                                  \
	"local peakd_launch = launch\n"                                                                                            \
	"local function launch(name, grid, block, args, ...)\n"                                                                    \
	"  local all = {}\n"                                                                                                       \
	"  for i = 1, #args do all[i] = args[i] end\n"                                                                             \
	"  all[#all + 1] = " BRANCHES_ARRAY "\n"                                                                                   \
	"  return peakd_launch(name, grid, block, all, ...)\n"                                                                     \
	"end\n"

static int put_together(const struct context *ctx, const char *device, struct context **ret_ctx, struct err *e)
{
	bool hlsl = strcmp(context_backend(ctx), "hlsl") == 0;
	struct context *with_device = NULL, *with_host = NULL;
	char *code = mem_fmt("%s%s", hlsl ? HLSL_HEAD : C_HEAD, device), *host, *text = NULL;
	host = mem_fmt("%s%s", HOST_HEAD, context_region(ctx, REGION_HOST));
	int rc = context_with_region(ctx, REGION_DEVICE, code, &with_device, e);
	if (rc == 0)
		rc = context_with_region(with_device, REGION_HOST, host, &with_host, e);
	if (rc == 0) {
		const char *all = context_render(with_host), *inputs = strstr(all, "\ninputs:");
		size_t head = inputs ? (size_t)(inputs + 1 - all) + strcspn(inputs + 1, "\n") + 1 : 0;
		text = mem_fmt("%.*s  " BRANCHES_ARRAY ": out u32[%d]\n%s", (int)head, all, 2 * BRANCHES_MOST, all + head);
		rc = inputs ? context_parse(context_file(ctx), text, ret_ctx, e) : err_set(e, ERR_UNSUPPORTED, "no inputs");
	}
	context_free(with_device);
	context_free(with_host);
	free(code);
	free(host);
	free(text);
	return rc;
}

int branches_make(const struct context *ctx, bool selects, struct branches *ret_branches, struct err *e)
{
	struct code c = { 0 };
	struct insertions all = { 0 };
	const char *device = context_region(ctx, REGION_DEVICE);
	*ret_branches = (struct branches){ .ctx = NULL };
	read_code(device, &c);
	int rc = find_dependent(&c, context_spec(ctx), e);
	if (rc == 0)
		instrument_all(ret_branches, &all, &c, selects);
	if (rc == 0 && ret_branches->count) {
		if (strcmp(context_backend(ctx), "hlsl") != 0)
			add_parameters(&all, &c);
		char *changed = with_insertions(device, &all);
		rc = put_together(ctx, changed, &ret_branches->ctx, e);
		free(changed);
	}
	for (size_t i = 0; i < all.count; i++)
		free(all.at[i].text);
	free(all.at);
	free(c.at);
	free(c.dependent);
	free(c.before);
	if (rc < 0)
		branches_fini(ret_branches);
	return rc;
}

void branches_fini(struct branches *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->at[i].condition);
	context_free(b->ctx);
	*b = (struct branches){ .ctx = NULL };
}
