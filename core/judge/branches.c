/* branches: see branches.h. A word depends on what arrays hold if it is indexed, or points to an array, or is assigned from such a
 * word. The text is read as tokens; types and scopes are not known, so that a few branches too many are followed. */
#include "core/judge/branches.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lex.h"
#include "base/mem.h"

enum { CONDITION_MOST = 60, ROUNDS = 8 };

struct token {
	const char *s;
	size_t n;
	enum lex_kind kind;
	long line;
	long pair; /* of a bracket: the other one; -1: none */
};

struct word {
	const char *s;
	size_t n;
};

struct code {
	struct token *at; /* without comments, white space and lines of the preprocessor */
	size_t count;
	struct word *held; /* words that depend on what arrays hold */
	size_t held_count;
};

static bool is(const struct token *t, const char *word)
{
	return lex_is(t->s, t->n, word);
}

static bool is_char(const struct token *t, char c)
{
	return t->kind == LEX_OTHER && *t->s == c;
}

/* The end of a line of the preprocessor that begins at s. */
static const char *directive_end(const char *s)
{
	while (*s && !(*s == '\n' && s[-1] != '\\'))
		s++;
	return s;
}

static void find_pairs(struct code *c)
{
	size_t *open = MEM_NEW_N(size_t, c->count + 1), depth = 0;
	for (size_t i = 0; i < c->count; i++) {
		struct token *t = &c->at[i];
		if (is_char(t, '(') || is_char(t, '[') || is_char(t, '{')) {
			open[depth++] = i;
		} else if ((is_char(t, ')') || is_char(t, ']') || is_char(t, '}')) && depth) {
			t->pair = (long)open[--depth];
			c->at[t->pair].pair = (long)i;
		}
	}
	free(open);
}

static void read_code(const char *text, struct code *c)
{
	long line = 1;
	bool begins = true; /* of a line */
	for (const char *s = text; *s;) {
		enum lex_kind kind;
		size_t n = begins && *s == '#' ? (size_t)(directive_end(s) - s) : lex_c(s, &kind);
		bool left_out = (begins && *s == '#') || kind == LEX_COMMENT || strchr(" \t\r\n", *s);
		/* A member's name is none of a variable. */
		bool member = !left_out && kind == LEX_WORD && c->count && *c->at[c->count - 1].s == '.';
		if (!left_out)
			*MEM_PUSH(c->at, c->count) = (struct token){ s, n, member ? LEX_OTHER : kind, line, -1 };
		for (size_t i = 0; i < n; i++)
			line += s[i] == '\n';
		begins = *s == '\n' || (begins && strchr(" \t\r", *s));
		s += n;
	}
	find_pairs(c);
}

/* --- what depends on arrays --------------------------------------------------------------------------------------------------- */

static bool is_held(const struct code *c, const struct token *t)
{
	for (size_t i = 0; t->kind == LEX_WORD && i < c->held_count; i++)
		if (c->held[i].n == t->n && memcmp(c->held[i].s, t->s, t->n) == 0)
			return true;
	return false;
}

static void hold(struct code *c, const struct token *t)
{
	if (t->kind == LEX_WORD && !is_held(c, t))
		*MEM_PUSH(c->held, c->held_count) = (struct word){ t->s, t->n };
}

static bool holds(const struct code *c, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (is_held(c, &c->at[i]))
			return true;
	return false;
}

/* An `=` that assigns, alone or behind an operator. */
static bool assigns(const struct code *c, size_t i)
{
	const struct token *t = &c->at[i];
	if (!is_char(t, '=') || i == 0 || i + 1 == c->count || (is_char(&c->at[i + 1], '=') && c->at[i + 1].s == t->s + 1))
		return false;
	const struct token *before = &c->at[i - 1];
	bool joined = before->kind == LEX_OTHER && before->s + 1 == t->s;
	if (joined && (*before->s == '<' || *before->s == '>')) /* <<= and >>= assign */
		return i > 1 && *c->at[i - 2].s == *before->s && c->at[i - 2].s + 1 == before->s;
	return !(joined && strchr("=!", *before->s));
}

/* The word that an assignment changes, whose `=` is token i; NULL: none is known. */
static const struct token *assigned(const struct code *c, size_t i)
{
	while (i-- > 0) {
		const struct token *t = &c->at[i];
		if (is_char(t, ']') && t->pair >= 0)
			i = (size_t)t->pair;
		else if (t->kind == LEX_WORD)
			return t;
		else if (t->kind == LEX_OTHER && strchr(";{}(,", *t->s))
			return NULL;
	}
	return NULL;
}

static size_t statement_end(const struct code *c, size_t i)
{
	for (; i < c->count; i++) {
		const struct token *t = &c->at[i];
		if (is_char(t, ';') || is_char(t, '}') || (is_char(t, '{') && t->pair < 0))
			return i;
		if ((is_char(t, ')') && t->pair < (long)i && t->pair >= 0) || is_char(t, ','))
			return i;
		if ((is_char(t, '(') || is_char(t, '[') || is_char(t, '{')) && t->pair > (long)i)
			i = (size_t)t->pair;
	}
	return i;
}

/* A function of the code begins with a name and an open bracket, and goes on with a body. Returns the body's place; 0: none. */
static size_t body_of(const struct code *c, size_t name)
{
	static const char *const other[] = { "if", "for", "while", "switch", "return", "__launch_bounds__" };
	size_t i = name + 1;
	if (c->at[name].kind != LEX_WORD || i >= c->count || !is_char(&c->at[i], '(') || c->at[i].pair < 0)
		return 0;
	for (size_t k = 0; k < MEM_COUNT(other); k++)
		if (is(&c->at[name], other[k]))
			return 0;
	i = (size_t)c->at[i].pair + 1;
	return i < c->count && is_char(&c->at[i], '{') && c->at[i].pair >= 0 ? i : 0;
}

static bool is_kernel(const struct code *c, size_t name)
{
	for (size_t i = name; i-- > 0 && !is_char(&c->at[i], ';') && !is_char(&c->at[i], '}');)
		if (is(&c->at[i], "__global__") || is(&c->at[i], "numthreads"))
			return true;
	return false;
}

/* Values that a call of this function is given, and what it returns. */
static void follow_calls(struct code *c, size_t name, size_t body)
{
	size_t open = name + 1, close = (size_t)c->at[open].pair;
	bool given = false;
	for (size_t i = 0; i + 1 < c->count; i++)
		if (i != name && c->at[i].kind == LEX_WORD && c->at[i].n == c->at[name].n &&
		    memcmp(c->at[i].s, c->at[name].s, c->at[i].n) == 0 && is_char(&c->at[i + 1], '(') && c->at[i + 1].pair >= 0)
			given |= holds(c, i + 2, (size_t)c->at[i + 1].pair);
	for (size_t i = open + 1; i <= close && given; i++)
		if (is_char(&c->at[i], ',') || i == close)
			hold(c, &c->at[i - 1]);
	if (holds(c, body, (size_t)c->at[body].pair))
		hold(c, &c->at[name]);
}

/* Pointers of a kernel's parameters. */
static void hold_parameters(struct code *c, size_t name)
{
	size_t open = name + 1, close = (size_t)c->at[open].pair;
	bool points = false;
	for (size_t i = open + 1; i <= close; i++) {
		points |= is_char(&c->at[i], '*');
		if (!is_char(&c->at[i], ',') && i < close)
			continue;
		if (points)
			hold(c, &c->at[i - 1]);
		points = false;
	}
}

/* Whether an argument that begins with this word is a variable alone, an element or a member. */
static bool is_alone(const struct code *c, size_t i)
{
	for (i++; is_char(&c->at[i], '[') || is_char(&c->at[i], '.'); i++)
		i = is_char(&c->at[i], '[') && c->at[i].pair > (long)i ? (size_t)c->at[i].pair : i + 1;
	return is_char(&c->at[i], ',') || is_char(&c->at[i], ')');
}

/* Atomic operations, and calls that fill what they are given. */
static void follow_changes(struct code *c, size_t i)
{
	size_t close = (size_t)c->at[i + 1].pair;
	bool atomic = c->at[i].n > 11 && memcmp(c->at[i].s, "Interlocked", 11) == 0;
	if (!holds(c, i + 2, close))
		return;
	for (size_t k = i + 2; k < close; k++) {
		const struct token *before = &c->at[k - 1];
		if (c->at[k].kind == LEX_WORD && is_alone(c, k) &&
		    (is_char(before, '&') || (atomic && (is_char(before, '(') || is_char(before, ',')))))
			hold(c, &c->at[k]);
	}
}

/* What is assigned where a condition holds, or in a loop that one ends. */
static void follow_condition(struct code *c, size_t i)
{
	size_t close = (size_t)c->at[i + 1].pair, first = close + 1, end;
	if (first >= c->count || !holds(c, i + 2, close))
		return;
	do {
		end = is_char(&c->at[first], '{') && c->at[first].pair >= 0 ? (size_t)c->at[first].pair : statement_end(c, first);
		for (size_t k = first; k < end; k++) {
			const struct token *to = assigns(c, k) ? assigned(c, k) : NULL;
			if (to && to > c->at && to[-1].kind != LEX_WORD) /* what is declared there is only used there */
				hold(c, to);
		}
		first = end + 2;
	} while (first < c->count && is(&c->at[first - 1], "else"));
}

static void find_held(struct code *c, const struct spec *spec)
{
	for (size_t i = 0; i < spec->array_count; i++)
		*MEM_PUSH(c->held, c->held_count) = (struct word){ spec->arrays[i].name, strlen(spec->arrays[i].name) };
	for (size_t i = 0; i + 1 < c->count; i++) {
		if (c->at[i].kind == LEX_WORD && is_char(&c->at[i + 1], '[') && !is(&c->at[i], "numthreads"))
			hold(c, &c->at[i]);
		if (body_of(c, i) && is_kernel(c, i))
			hold_parameters(c, i);
	}
	for (size_t before = 0, round = 0; before != c->held_count && round < ROUNDS; round++) {
		before = c->held_count;
		for (size_t i = 0; i + 1 < c->count; i++) {
			const struct token *to = assigns(c, i) ? assigned(c, i) : NULL;
			size_t body = body_of(c, i);
			if (to && holds(c, i + 1, statement_end(c, i + 1)))
				hold(c, to);
			bool decides = is(&c->at[i], "if") || is(&c->at[i], "while") || is(&c->at[i], "for");
			if (body && !is_kernel(c, i))
				follow_calls(c, i, body);
			else if (decides && is_char(&c->at[i + 1], '(') && c->at[i + 1].pair >= 0)
				follow_condition(c, i);
			else if (!body && c->at[i].kind == LEX_WORD && is_char(&c->at[i + 1], '(') && c->at[i + 1].pair >= 0)
				follow_changes(c, i);
		}
	}
}

/* --- the other text ------------------------------------------------------------------------------------------------------ */

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

static void follow(struct branches *b, struct insertions *all, const struct code *c, size_t first, size_t end)
{
	if (first >= end || b->count == BRANCHES_MOST || !holds(c, first, end))
		return;
	const char *s = c->at[first].s, *last = c->at[end - 1].s + c->at[end - 1].n;
	struct buf text = BUF_INIT;
	for (const char *p = s; p < last && text.len < CONDITION_MOST; p++)
		if (!strchr(" \t\r\n", *p) || (text.len && text.data[text.len - 1] != ' '))
			buf_addf(&text, "%c", strchr(" \t\r\n", *p) ? ' ' : *p);
	if (text.len == CONDITION_MOST)
		buf_addf(&text, " ...");
	insert(all, s, mem_fmt("peakd_branch(%zu, (", b->count));
	insert(all, c->at[end].s, mem_str("))"));
	b->at[b->count++] = (struct branch){ buf_steal(&text), c->at[first].line };
}

/* The first token of the condition of the `?` that is token i. */
static size_t condition_of(const struct code *c, size_t i)
{
	size_t first = i;
	while (first-- > 0) {
		const struct token *t = &c->at[first];
		if ((is_char(t, ')') || is_char(t, ']')) && t->pair >= 0)
			first = (size_t)t->pair;
		else if ((t->kind == LEX_OTHER && strchr(",;{}([?:", *t->s)) || is(t, "return") || assigns(c, first))
			return first + 1;
	}
	return i;
}

static void follow_all(struct branches *b, struct insertions *all, const struct code *c, bool selects)
{
	for (size_t i = 0; i + 1 < c->count; i++) {
		const struct token *t = &c->at[i], *next = &c->at[i + 1];
		if (is(t, "if") && is_char(next, '(') && next->pair >= 0) {
			size_t end = (size_t)next->pair;
			bool declares = false;
			for (size_t k = i + 2; k < end; k++)
				declares |= is_char(&c->at[k], ';') || assigns(c, k);
			if (!declares)
				follow(b, all, c, i + 2, end);
		} else if (selects && is_char(t, '?')) {
			follow(b, all, c, condition_of(c, i), i);
		}
	}
}

/* CUDA and HIP: each kernel gets the array as a last parameter, and keeps it where functions find it. */
static void add_parameters(struct insertions *all, const struct code *c)
{
	for (size_t i = 0; i + 1 < c->count; i++) {
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
	qsort(all->at, all->count, sizeof all->at[0], by_place);
	for (size_t i = 0; i < all->count; i++) {
		buf_addf(&out, "%.*s%s", (int)(all->at[i].before - s), s, all->at[i].text);
		s = all->at[i].before;
	}
	buf_addf(&out, "%s", s);
	return buf_steal(&out);
}

#define HLSL_HEAD                                                              \
	"bool peakd_branch(uint peakd_k, bool peakd_is)\n"                     \
	"{\n"                                                                  \
	"\t" BRANCHES_ARRAY "[2 * peakd_k + (peakd_is ? 1 : 0)] = 1;\n"        \
	"\treturn peakd_is;\n"                                                 \
	"}\n"
#define C_HEAD                                                                              \
	"static __shared__ unsigned *peakd_branches;\n"                                     \
	"static __device__ inline bool peakd_branch(unsigned peakd_k, bool peakd_is)\n"     \
	"{\n"                                                                               \
	"\tpeakd_branches[2 * peakd_k + (peakd_is ? 1 : 0)] = 1;\n"                         \
	"\treturn peakd_is;\n"                                                              \
	"}\n"

/* Every launch passes the array, too. */
#define HOST_HEAD                                                                           \
	"local peakd_launch = launch\n"                                                     \
	"local function launch(name, grid, block, args, ...)\n"                             \
	"  local all = {}\n"                                                                \
	"  for i = 1, #args do all[i] = args[i] end\n"                                      \
	"  all[#all + 1] = " BRANCHES_ARRAY "\n"                                            \
	"  return peakd_launch(name, grid, block, all, ...)\n"                              \
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
	find_held(&c, context_spec(ctx));
	follow_all(ret_branches, &all, &c, selects);
	int rc = 0;
	if (ret_branches->count) {
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
	free(c.held);
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
