/* disturb: see cuda.h. The functions that rewritten code calls are in disturb.ptx and disturb_copies.ptx. PTX ISA 9.0: chapter 4
 * for the form of statements, 9.7.9.25 for asynchronous copies, 10 for special registers. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"

enum {
	LOCAL_MAX = 1 << 14,
	OPERANDS_MAX = 8,
	BARRIER_WEIGHT = 16,
	PAUSES_ALL = 2000, /* of a module; of further ones each */
	PAUSES_EACH = 8
};

/* One statement without comments, whose parts are cut out of `text`. */
struct statement {
	char *text;  /* free() */
	char *guard; /* "%p1" or "!%p1" of "@%p1 …"; NULL; free() */
	char *op;
	char *operands[OPERANDS_MAX];
	size_t count;
};

/* Of ".shared .align 4 .b8 part[128];", ".local .align 8 .b8 __local_depot0[64];", ".shared .align 4 .f32 sum;" and
 * ".extern .shared .align 16 .b8 all[];". */
struct array {
	const char *name;
	size_t len;
	unsigned bytes; /* 0: as many as the launch says */
};

struct rewriting {
	struct buf *out;
	const struct plan *plan;
	bool reduced;        /* only starts are late, and unwritten memory filled */
	bool waits, copies;  /* the code waits for memory to change; it has asynchronous copies */
	bool bulk;           /* it has accesses of the asynchronous proxy */
	bool calls, several; /* it has functions that are called; several kernels */
	bool entry;          /* this function is a kernel */
	size_t pauses;
	bool begins, filled;  /* a kernel's declarations are read; some of its shared memory was filled */
	struct array *shared; /* of the module */
	size_t shared_count;
	unsigned depth, labels;
	char last[64]; /* the operation before this one */
};

/* Behind blanks and comments. */
static const char *skip(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n");
		const char *end = strncmp(at, "//", 2) == 0   ? at + strcspn(at, "\n")
				  : strncmp(at, "/*", 2) == 0 ? strstr(at, "*/")
							      : NULL;
		if (end == NULL)
			return at;
		at = *end == '*' ? end + 2 : end;
	}
}

/* Of the statement that begins at `at`: up to its `;`, a label's `:`, the end of a directive's line, a bracket of a block, or,
 * outside of functions, the bracket that opens one. */
static size_t length_of(const char *at, bool in_body)
{
	unsigned depth = 0;
	bool value = false;
	if (cuda_ptx_ends_with_line(at, strcspn(at, " \t\r\n")))
		return strcspn(at, "\n");
	if (in_body && (*at == '{' || *at == '}'))
		return 1;
	for (const char *p = at; *p;) {
		const char *behind = skip(p);
		if (behind != p) {
			p = behind;
			continue;
		}
		if (*p == '"') {
			p += lex_quoted(p);
			continue;
		}
		value |= *p == '=';
		if (!in_body && *p == '{' && !value)
			return (size_t)(p - at);
		depth += *p == '{';
		depth -= *p == '}' && depth > 0;
		if (*p == ':' && p[1] == ':')
			p++;
		else if (depth == 0 && (*p == ';' || *p == ':'))
			return (size_t)(p + 1 - at);
		p++;
	}
	return strlen(at);
}

static struct statement statement_of(const char *at, size_t n)
{
	struct buf text = BUF_INIT;
	for (const char *p = at; p < at + n;) {
		const char *behind = skip(p);
		if (behind == p)
			buf_add(&text, p++, 1);
		else if (p = behind, p < at + n)
			buf_adds(&text, " ");
	}
	struct statement s = { .text = buf_steal(&text) };
	char *p = s.text;
	p[strcspn(p, ";")] = '\0';
	if (*p == '@') {
		p += 1 + strspn(p + 1, " ");
		bool negated = *p == '!';
		p += negated + strspn(p + negated, " ");
		size_t n = strcspn(p, " ");
		s.guard = mem_fmt("%s%.*s", negated ? "!" : "", (int)n, p);
		p += n + strspn(p + n, " ");
	}
	s.op = p;
	p += strcspn(p, " ");
	*p ? *p++ = '\0' : 0;
	while (*p && s.count < OPERANDS_MAX) {
		size_t len = lex_until(p, ",");
		s.operands[s.count++] = p;
		p += len;
		*p ? *p++ = '\0' : 0;
		p += strspn(p, " ");
	}
	for (size_t i = 0; i < s.count; i++)
		for (char *end = s.operands[i] + strlen(s.operands[i]); end > s.operands[i] && end[-1] == ' ';)
			*--end = '\0';
	return s;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Where other threads may see a difference: accesses to memory that they share, and what they wait for. */
static bool meets_others(const char *op)
{
	static const char *const names[] = { "ld.",      "st.",       "atom.",          "red.",      "cp.",       "bar.",
					     "barrier.", "mbarrier.", "fence.",         "membar.",   "ldmatrix",  "stmatrix",
					     "tcgen05.", "multimem.", "griddepcontrol", "wmma.load", "wmma.store" };
	if (strstr(op, ".param") || strstr(op, ".const") || strstr(op, ".local"))
		return false;
	for (size_t i = 0; i < MEM_COUNT(names); i++)
		if (begins(op, names[i]))
			return true;
	return false;
}

/* What follows is left out where the guard does not hold; skip_end. */
static void skip_begin(struct rewriting *r, const char *guard)
{
	if (guard)
		buf_addf(r->out, "@%s%s bra $peakd_%u;\n", *guard == '!' ? "" : "!", guard + (*guard == '!'), r->labels);
}

static void skip_end(struct rewriting *r, const char *guard)
{
	if (guard)
		buf_addf(r->out, "$peakd_%u:\n", r->labels++);
}

/* Barriers are few beside accesses, so each counts for many. */
static bool is_barrier(const char *op)
{
	return begins(op, "bar") || begins(op, "mbarrier.") || begins(op, "fence.") || begins(op, "membar.");
}

static void put_pause(struct rewriting *r, bool barrier)
{
	if (r->pauses++ >= PAUSES_ALL && r->pauses % PAUSES_EACH)
		return;
	buf_addf(r->out,
		 "add.s32 %%peakd_n, %%peakd_n, -%d;\nsetp.gt.s32 %%peakd_p, %%peakd_n, 0;\n@%%peakd_p bra $peakd_%u;\n"
		 "{\n.param .b32 peakd_w;\n.param .b32 peakd_to;\nmov.u32 %%peakd_a, %d;\nst.param.b32 [peakd_w], %%peakd_a;\n"
		 "call (peakd_to), peakd_pause, (peakd_w);\nld.param.b32 %%peakd_n, [peakd_to];\n}\n$peakd_%u:\n",
		 barrier ? BARRIER_WEIGHT : 1, r->labels, r->waits, r->labels);
	r->labels++;
}

/* "[%r4+16]" is put into the register. false: the address is of another form, or of another width than its name tells. */
static bool put_address(struct buf *out, const char *operand, const char *to, bool wide)
{
	size_t n = strlen(operand);
	bool is_wide = begins(operand, "[%rd");
	if (n < 5 || !begins(operand, "[%r") || operand[n - 1] != ']' || (wide && !is_wide))
		return false;
	size_t name = strcspn(operand + 1, "+]");
	const char *offset = operand[1 + name] == '+' ? operand + 2 + name : "0]";
	if (strspn(offset, "-0123456789") + 1 != strlen(offset))
		return false;
	if (wide)
		buf_addf(out, "add.s64 %s, %.*s, %.*s;\n", to, (int)name, operand + 1, (int)strlen(offset) - 1, offset);
	else
		buf_addf(out, "cvt.u32.u%d %s, %.*s;\nadd.s32 %s, %s, %.*s;\n", is_wide ? 64 : 32, to, (int)name, operand + 1, to,
			 to, (int)strlen(offset) - 1, offset);
	return true;
}

/* A copy is put on the list; what is of no known form stays an asynchronous copy. */
static bool put_copy(struct rewriting *r, const struct statement *s)
{
	struct buf text = BUF_INIT;
	size_t count = s->count - (strstr(s->op, "cache_hint") != NULL);
	const char *read = count == 4 ? s->operands[3] : s->operands[2];
	bool known = (count == 3 || count == 4) &&
		     (*read == '%' ? begins(read, "%r") : strspn(read, "0123456789") == strlen(read)) && !begins(read, "%rd") &&
		     put_address(&text, s->operands[0], "%peakd_a", false) && put_address(&text, s->operands[1], "%peakd_d", true);
	if (known) {
		skip_begin(r, s->guard);
		buf_addf(r->out,
			 "%s{\n.param .b64 peakd_l;\n.param .b32 peakd_to;\n.param .b64 peakd_from;\n.param .b32 peakd_size;\n"
			 ".param .b32 peakd_read;\nmov.u64 %%peakd_e, peakd_list;\nst.param.b64 [peakd_l], %%peakd_e;\n"
			 "st.param.b32 [peakd_to], %%peakd_a;\nst.param.b64 [peakd_from], %%peakd_d;\nmov.u32 %%peakd_a, %s;\n"
			 "st.param.b32 [peakd_size], %%peakd_a;\nmov.u32 %%peakd_a, %s;\nst.param.b32 [peakd_read], %%peakd_a;\n"
			 "call peakd_copy_put, (peakd_l, peakd_to, peakd_from, peakd_size, peakd_read);\n}\n",
			 buf_text(&text), s->operands[2], read);
		skip_end(r, s->guard);
	}
	buf_fini(&text);
	return known;
}

/* function: "commit", or "wait" with how many groups may be pending. */
static void put_copies_done(struct rewriting *r, const struct statement *s, const char *function, const char *pending)
{
	skip_begin(r, s->guard);
	buf_addf(r->out, "{\n.param .b64 peakd_l;\n.param .b32 peakd_x;\nmov.u64 %%peakd_e, peakd_list;\nst.param.b64 [peakd_l], "
			 "%%peakd_e;\n");
	if (pending)
		buf_addf(r->out, "mov.u32 %%peakd_a, %s;\nst.param.b32 [peakd_x], %%peakd_a;\n", pending);
	buf_addf(r->out, "call peakd_copy_%s, (peakd_l%s);\n}\n", function, pending ? ", peakd_x" : "");
	skip_end(r, s->guard);
}

/* Of the operations that read such a register: mov and cvt, whose last operand it is. */
static const char *special_of(const struct statement *s)
{
	static const char *const names[] = { "%clock", "%globaltimer", "%smid", "%warpid", "%gridid" };
	for (size_t i = 0; i < MEM_COUNT(names) && s->count >= 2; i++)
		if (begins(s->operands[s->count - 1], names[i]))
			return s->operands[s->count - 1];
	return NULL;
}

/* In place of the special register stands one of our own: the thread may have stood still since it read a clock last, or be
 * elsewhere now. In functions that are called clocks go on as they are. */
static void put_special(struct rewriting *r, const struct statement *s, const char *from)
{
	bool timer = begins(from, "%globaltimer"), clock = begins(from, "%clock") || timer;
	bool wide = strcmp(from, "%clock64") == 0 || strcmp(from, "%globaltimer") == 0 || begins(from, "%gridid");
	bool narrowed = wide && strstr(s->op, "32") && !strstr(s->op, "64");
	const char *own = wide ? "%peakd_e" : "%peakd_b";
	buf_addf(r->out, "mov.u%d %s, %s;\n", wide ? 64 : 32, own, from);
	if (clock && r->entry)
		buf_addf(r->out,
			 "{\n.param .b64 peakd_to;\ncall (peakd_to), peakd_jump;\nld.param.b64 %%peakd_d, [peakd_to];\n}\n"
			 "%sadd.u64 %%peakd_c, %%peakd_c, %%peakd_d;\n%sadd.u%d %s, %s, %s;\n",
			 timer ? "shl.b64 %peakd_d, %peakd_d, 20;\n" : "", wide ? "" : "cvt.u32.u64 %peakd_a, %peakd_c;\n",
			 wide ? 64 : 32, own, own, wide ? "%peakd_c" : "%peakd_a");
	else if (wide && !clock)
		buf_adds(r->out, "{\n.param .b64 peakd_own;\n.param .b64 peakd_to;\nst.param.b64 [peakd_own], %peakd_e;\n"
				 "call (peakd_to), peakd_launch, (peakd_own);\nld.param.b64 %peakd_e, [peakd_to];\n}\n");
	else if (!clock)
		buf_addf(r->out,
			 "{\n.param .b32 peakd_own;\n.param .b32 peakd_of;\n.param .b32 peakd_to;\nst.param.b32 [peakd_own], "
			 "%%peakd_b;\n"
			 "mov.u32 %%peakd_a, %s;\nst.param.b32 [peakd_of], %%peakd_a;\ncall (peakd_to), peakd_place, (peakd_own, "
			 "peakd_of);\nld.param.b32 %%peakd_b, [peakd_to];\n}\n",
			 begins(from, "%smid") ? "%nsmid" : "%nwarpid");
	if (narrowed)
		buf_adds(r->out, "cvt.u32.u64 %peakd_b, %peakd_e;\n");
	buf_addf(r->out, "%s%s%s%s", s->guard ? "@" : "", s->guard ? s->guard : "", s->guard ? " " : "", s->op);
	for (size_t i = 0; i + 1 < s->count; i++)
		buf_addf(r->out, " %s,", s->operands[i]);
	buf_addf(r->out, " %s;", narrowed ? "%peakd_b" : own);
}

/* What is declared there; false: nothing of a known size. The type is the last word with a point. */
static bool array_of(const char *at, size_t n, struct array *ret_array)
{
	const char *end = at + n, *type = NULL, *name;
	unsigned count = 1;
	for (const char *p = at; p < end; p++)
		if (*p == '.' && strchr("bsuf", p[1]) && p[2] >= '1' && p[2] <= '9')
			type = p;
	if (type == NULL)
		return false;
	name = type + strcspn(type, " \t");
	name += strspn(name, " \t");
	*ret_array = (struct array){ .name = name, .len = strcspn(name, "[; \t\n") };
	if (name[ret_array->len] == '[' && sscanf(name + ret_array->len, "[%u]", &count) != 1)
		return true;
	ret_array->bytes = count * ((unsigned)strtoul(type + 2, NULL, 10) / 8);
	return ret_array->bytes > 0;
}

/* space: "shared" or "local". */
static void put_filled(struct rewriting *r, const struct array *a, const char *space)
{
	unsigned width = *space == 's' ? 32 : 64;
	buf_addf(r->out, "\n{\n.param .b%u peakd_a1;\n.param .b32 peakd_a2;\nmov.u%u %s, %.*s;\nst.param.b%u [peakd_a1], %s;\n",
		 width, width, width == 32 ? "%peakd_a" : "%peakd_d", (int)a->len, a->name, width,
		 width == 32 ? "%peakd_a" : "%peakd_d");
	if (a->bytes)
		buf_addf(r->out, "mov.u32 %%peakd_a, %u;\n", a->bytes);
	else
		buf_adds(r->out, "mov.u32 %peakd_a, %dynamic_smem_size;\n");
	buf_addf(r->out, "st.param.b32 [peakd_a2], %%peakd_a;\ncall.uni peakd_fill_%s, (peakd_a1, peakd_a2);\n}\n", space);
}

/* Behind the bracket that closes the body that begins at `at`. */
static const char *body_end(const char *at)
{
	unsigned depth = 1;
	while (*at && depth > 0) {
		at = skip(at);
		size_t n = *at ? length_of(at, true) : 0;
		depth += n == 1 && *at == '{';
		depth -= n == 1 && *at == '}';
		at += n;
	}
	return at;
}

/* The code up to `end` has the name, not as a part of a longer one. */
static bool uses(const char *at, const char *end, const struct array *a)
{
	for (; (at = memmem(at, (size_t)(end - at), a->name, a->len)); at++)
		if (!strchr("%$", at[-1]) && at[a->len] != '$' && lex_is_whole(at - 1, at, a->len))
			return true;
	return false;
}

/* Before the first instruction of a kernel, behind its declarations. */
static void put_begin(struct rewriting *r, const char *body)
{
	/* What functions use that are called is the only kernel's, if there is but one. */
	bool all = r->calls && !r->several;
	const char *end = body_end(body);
	for (size_t i = 0; i < r->shared_count; i++)
		if (all || uses(body, end, &r->shared[i])) {
			put_filled(r, &r->shared[i], "shared");
			r->filled = true;
		}
	if (r->filled && r->bulk)
		buf_adds(r->out, "fence.proxy.async;\n"); /* tensors may be written there next */
	if (r->filled)
		buf_adds(r->out, "bar.sync 0;\n");
	buf_addf(r->out,
		 "{\n.param .b32 peakd_w;\n.param .b32 peakd_to;\nmov.u32 %%peakd_a, %d;\nst.param.b32 [peakd_w], %%peakd_a;\n"
		 "call.uni (peakd_to), peakd_begin, (peakd_w);\nld.param.b32 %%peakd_n, [peakd_to];\n}\n",
		 r->waits);
	r->begins = false;
}

/* The copies of this statement, or those that it waits for. true: it is replaced. */
static bool put_copies(struct rewriting *r, const struct statement *s)
{
	if (begins(s->op, "cp.async.ca.") || begins(s->op, "cp.async.cg."))
		return put_copy(r, s);
	if (begins(s->op, "cp.async.commit_group"))
		put_copies_done(r, s, "commit", NULL);
	else if (begins(s->op, "cp.async.wait_group") && s->count == 1)
		put_copies_done(r, s, "wait", s->operands[0]);
	else if (begins(s->op, "cp.async.wait_all") || begins(s->op, "cp.async.mbarrier"))
		put_copies_done(r, s, "wait", "4294967295");
	return false;
}

static void put_statement(struct rewriting *r, const char *at, size_t n)
{
	struct statement s = statement_of(at, n);
	struct array array;
	bool replaced = begins(s.op, "nanosleep") && !r->reduced; /* it may take no time: chapter 9.7.13 */
	if (r->begins && s.op[0] != '.')
		put_begin(r, at);
	if (!r->reduced && meets_others(s.op) && strcmp(s.op, r->last) != 0)
		put_pause(r, is_barrier(s.op));
	if (r->copies)
		replaced |= put_copies(r, &s);
	const char *special = r->reduced ? NULL : special_of(&s);
	if (special)
		put_special(r, &s, special);
	else if (!replaced)
		buf_add(r->out, at, n);
	if (r->depth == 1 && begins(s.op, ".local") && array_of(at, n, &array) && array.bytes && array.bytes <= LOCAL_MAX)
		put_filled(r, &array, "local");
	if (r->depth == 1 && r->begins && begins(s.op, ".shared") && array_of(at, n, &array) && array.bytes) {
		put_filled(r, &array, "shared");
		r->filled = true;
	}
	snprintf(r->last, sizeof r->last, "%s", s.op);
	free(s.guard);
	free(s.text);
}

static unsigned threads_of(const struct plan *plan, const char *kernel, size_t n)
{
	unsigned most = 0;
	for (size_t i = 0; plan && i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		bool same = plan->ops[i].kind == PLAN_OP_LAUNCH && strlen(l->kernel) == n && memcmp(l->kernel, kernel, n) == 0;
		unsigned threads = same ? (unsigned)(l->block[0] * l->block[1] * l->block[2]) : 0;
		most = threads > most ? threads : most;
	}
	return most;
}

/* The head of a function, and what it begins with. More registers than a block has room for would keep a kernel from running. */
static void put_function(struct rewriting *r, const char *at, size_t n)
{
	char *head = mem_strn(at, n);
	const char *entry = strstr(head, ".entry");
	buf_adds(r->out, head);
	if (entry && !strstr(head, ".maxntid") && !strstr(head, ".reqntid") && !strstr(head, ".maxnreg")) {
		const char *name = skip(entry + 6);
		unsigned threads = threads_of(r->plan, name, strcspn(name, " \t\r\n("));
		if (threads)
			buf_addf(r->out, "\n.maxntid %u, 1, 1\n", threads);
	}
	buf_adds(r->out,
		 "{\n.reg .pred %peakd_p;\n.reg .b32 %peakd_n, %peakd_a, %peakd_b;\n.reg .b64 %peakd_c, %peakd_d, %peakd_e;\n");
	if (r->copies)
		buf_adds(r->out,
			 ".local .align 8 .b8 peakd_list[1688];\nmov.u32 %peakd_a, 0;\nst.local.b32 [peakd_list], %peakd_a;\n"
			 "st.local.b32 [peakd_list+4], %peakd_a;\nst.local.b32 [peakd_list+8], %peakd_a;\n");
	buf_adds(r->out, "mov.u64 %peakd_c, 0;\n");
	r->begins = r->entry = entry != NULL;
	r->filled = false;
	if (!entry)
		buf_adds(r->out, "mov.u32 %peakd_n, %clock;\nand.b32 %peakd_n, %peakd_n, 31;\nadd.u32 %peakd_n, %peakd_n, 1;\n");
	free(head);
}

/* A copy may then be waited for in another function than that which makes it. */
static bool calls_own(const char *ptx)
{
	static const char declared[] = ".extern ";
	for (const char *at = ptx; (at = strstr(at, ".func")); at++)
		if (at < ptx + strlen(declared) || strncmp(at - strlen(declared), declared, strlen(declared)) != 0)
			return true;
	return false;
}

static bool has_one(const char *ptx, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(ptx, words[i]))
			return true;
	return false;
}

/* What is outside of functions, at most up to their opening bracket. Returns its length. */
static size_t put_outside(struct rewriting *r, const char *at, size_t n)
{
	struct array array;
	bool function = memmem(at, n, ".entry", 6) || memmem(at, n, ".func", 5);
	if (at[n] == '{' && function) {
		put_function(r, at, n);
		r->depth = 1;
		return n + 1;
	}
	if (at[n] == '{') /* a section of debug information */
		n += strcspn(at + n, "}") + 1;
	buf_add(r->out, at, n);
	if (memmem(at, n, ".shared", 7) && array_of(at, n, &array))
		*MEM_PUSH(r->shared, r->shared_count) = array;
	if (begins(at, ".address_size"))
		buf_addf(r->out, "\n%s%s", embedded_file("backends/cuda/disturb.ptx"),
			 r->copies ? embedded_file("backends/cuda/disturb_copies.ptx") : "");
	return n;
}

static void put_inside(struct rewriting *r, const char *at, size_t n)
{
	if (n > 1 && at[n - 1] == ';') {
		put_statement(r, at, n);
		return;
	}
	if (r->begins && *at != '}' && *at != '.') /* a label, to which code may come back */
		put_begin(r, at);
	buf_add(r->out, at, n);
	r->last[0] = '\0';
	r->depth += n == 1 && *at == '{';
	r->depth -= n == 1 && *at == '}';
}

void cuda_disturb(const char *ptx, const struct plan *plan, bool reduced, struct buf *out)
{
	static const char *const waits[] = { "ld.volatile",  "ld.acquire", "ld.relaxed", "ld.global.cg",
					     "ld.global.cv", "ld.mmio",    "mbarrier.t", "atom." };
	static const char *const bulk[] = { "cp.async.bulk", "wgmma.", "tcgen05." };
	static const char *const copies[] = { "cp.async.ca.", "cp.async.cg." };
	struct rewriting r = { .out = out, .plan = plan, .reduced = reduced, .calls = calls_own(ptx) };
	const char *entry = strstr(ptx, ".entry");
	r.several = entry && strstr(entry + 1, ".entry");
	r.copies = !reduced && !r.calls && has_one(ptx, copies, MEM_COUNT(copies));
	r.waits = !reduced && has_one(ptx, waits, MEM_COUNT(waits));
	r.bulk = has_one(ptx, bulk, MEM_COUNT(bulk));
	for (const char *at = ptx; *at;) {
		const char *behind = skip(at);
		buf_add(out, at, (size_t)(behind - at));
		at = behind;
		size_t n = *at ? length_of(at, r.depth > 0) : 0;
		if (r.depth > 0)
			put_inside(&r, at, n);
		else
			n = put_outside(&r, at, n);
		at += n;
	}
	free(r.shared);
}
