/* draft_launches: the file's launches in the words of a context. See drafting.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/input.h"
#include "core/problems/drafting.h"

size_t draft_launches_parts(const struct source *s, struct source_range range, const struct tokens **ret_tokens,
			    struct source_range parts[3])
{
	const struct tokens *t = &s->tokens;
	if (range.to == range.from + 1 && t->at[range.from].kind == TOKEN_NAME) {
		char *name = draft_token_text(&t->at[range.from]);
		const struct source_variable *v = draft_source_variable(s, name);
		free(name);
		if (v && v->dim3) {
			range = v->value;
			t = draft_source_tokens(s, v);
		}
	} else if (range.to > range.from + 2 && draft_token_is(&t->at[range.from], "dim3")) {
		range = (struct source_range){ range.from + 2, range.to - 1 };
	}
	size_t n = 0;
	for (size_t from = range.from; from < range.to && n < 3;) {
		size_t to = draft_tokens_find(t, from, range.to, ",");
		parts[n++] = (struct source_range){ from, to };
		from = to + 1;
	}
	*ret_tokens = t;
	return n;
}

/* --- arguments become inputs ------------------------------------------------------------------------------------------------ */

/* A free name: two kernels may give different things the same name. "in" is a keyword of host code and becomes "in_". */
static char *free_name(struct drafting *d, const char *wanted)
{
	wanted += strspn(wanted, "_");
	char *name = *wanted == '\0' || isdigit((unsigned char)*wanted)
			     ? mem_fmt("x%s", wanted)
			     : mem_fmt("%s%s", wanted, input_is_taken(wanted) ? "_" : "");
	for (int i = 2; draft_entry(d, name) || draft_tune(d, name); i++) {
		free(name);
		name = mem_fmt("%s%d", wanted, i);
	}
	return name;
}

/* Parameter `p` gets the argument `arg`; *ret_text is its name in the launch's list. */
static void take_argument(struct drafting *d, const struct source_param *p, struct source_range arg, char **ret_text)
{
	const struct tokens *t = &d->source.tokens;
	bool single = arg.to == arg.from + 1 && t->at[arg.from].kind == TOKEN_NAME;
	char *host = single ? draft_token_text(&t->at[arg.from]) : mem_str("");
	const char *known = single ? draft_expression_named(&d->names, host) : NULL;
	struct drafting_entry *x = known ? draft_entry(d, known) : NULL;
	if (x == NULL) {
		char *name = free_name(d, p->name);
		if (single)
			draft_expression_name(&d->names, host, name);
		*MEM_PUSH(d->entries, d->entry_count) = (struct drafting_entry){ .name = name,
										 .host = mem_str(host),
										 .array = p->pointer,
										 .type = p->type,
										 .type_text = mem_str(p->type_text),
										 .value = arg,
										 .read = p->read,
										 .written = p->written,
										 .unsure = p->handed_on && !p->constant };
		x = &d->entries[d->entry_count - 1];
	} else {
		/* Written by one kernel and read by a later one: an intermediate result, unless the host fetches it. */
		x->scratch |= x->written && !x->read && p->read && !p->written;
		x->written |= p->written;
		x->unsure |= p->handed_on && !p->constant;
	}
	*ret_text = mem_str(x->name);
	free(host);
}

/* The list of a launch's arguments; free(). */
static char *take_arguments(struct drafting *d, const struct source_launch *launch)
{
	const struct source_kernel *k = &d->source.kernels[launch->kernel];
	struct buf args = BUF_INIT;
	size_t n = 0;
	for (size_t from = launch->args.from; from < launch->args.to && n < k->param_count; n++) {
		size_t to = draft_tokens_find(&d->source.tokens, from, launch->args.to, ",");
		char *text;
		take_argument(d, &k->params[n], (struct source_range){ from, to }, &text);
		buf_addf(&args, "%s%s", n ? ", " : "", text);
		free(text);
		from = to + 1;
	}
	if (n != k->param_count)
		draft_question(d, "the launch of %s has %zu arguments, and the kernel takes %zu", k->name, n, k->param_count);
	return buf_steal(&args);
}

/* --- grids and blocks ------------------------------------------------------------------------------------------------------- */

/* "KERNEL_grid", "KERNEL_grid2", …: host code's name for a part of a launch that the file does not explain. */
static char *local_name(const struct drafting *d, const struct source_launch *launch, const char *part)
{
	const char *kernel = d->source.kernels[launch->kernel].name;
	size_t before = 0;
	for (const struct source_launch *l = d->source.launches; l < launch; l++)
		before += l->kernel == launch->kernel;
	return before ? mem_fmt("%s_%s%zu", kernel, part, before + 1) : mem_fmt("%s_%s", kernel, part);
}

/* Takes a part of a launch that is declared as a whole, "local KERNEL_grid = …". True when it is; `out` then has its name. */
static bool take_local(struct drafting *d, const char *name, struct buf *out)
{
	const char *line = draft_declared_take(&d->declared, DECLARED_LOCAL, name);
	if (line == NULL)
		return false;
	buf_addf(&d->locals, "%s\n", line);
	buf_adds(out, name);
	return true;
}

/* `block.x` in a grid means the block's own size. */
static void name_member(struct drafting *d, struct source_range block, size_t axis, const char *name)
{
	const struct token *t = &d->source.tokens.at[block.from];
	if (block.to != block.from + 1)
		return;
	char *member = mem_fmt("%.*s.%c", (int)t->len, t->at, "xyz"[axis]);
	draft_expression_name(&d->names, member, name);
	free(member);
}

/* The tuning parameter for a size of a block. One with the same value, or with the same name in the host's code, is used again. */
static const char *tune_name(struct drafting *d, const char *wanted, const char *host, bool known, int64_t value)
{
	const char *named = *host ? draft_expression_named(&d->names, host) : NULL;
	struct drafting_tune *same = draft_tune(d, named ? named : wanted);
	if (same && (named || (known && same->known && same->value == value)))
		return same->name;
	char *name = free_name(d, wanted);
	const char *line = draft_declared_take(&d->declared, DECLARED_ENTRY, name);
	*MEM_PUSH(d->tune, d->tune_count) = (struct drafting_tune){ .name = name, .known = known, .value = value };
	struct drafting_tune *x = &d->tune[d->tune_count - 1];
	x->line = line ? mem_fmt("  %s\n", line) : known ? mem_fmt("  %s: {%lld}\n", name, (long long)value) : NULL;
	return x->name;
}

/* One dimension of a block. A #define keeps its name; everything else becomes BX, BY or BZ. */
static void block_part(struct drafting *d, const struct source_launch *launch, const struct tokens *t, struct source_range part,
		       size_t axis, struct buf *out)
{
	static const char *const names[] = { "BX", "BY", "BZ" };
	struct value value;
	int64_t whole = 0;
	bool single = part.to == part.from + 1 && t->at[part.from].kind == TOKEN_NAME;
	char *host = single ? draft_token_text(&t->at[part.from]) : mem_str("");
	const struct source_variable *v = single ? draft_source_variable(&d->source, host) : NULL;
	bool macro = v && draft_source_tokens(&d->source, v) == &d->source.defines;
	bool known = draft_expression_value(&d->source, t, part, NULL, &value) && value_int(value, &whole);
	if (known && whole == 1 && !macro) {
		buf_adds(out, "1");
		name_member(d, launch->block, axis, "1");
		free(host);
		return;
	}
	const char *name = tune_name(d, macro ? host : names[axis], host, known, whole);
	struct drafting_tune *x = draft_tune(d, name);
	if (x->line == NULL)
		draft_question(d,
			       "the size of a block of %s is not a constant: declare \"%s: {128, 256}\" with its values, or all of "
			       "the block with \"local %s_block = {…}\"",
			       d->source.kernels[launch->kernel].name, name, d->source.kernels[launch->kernel].name);
	if (single)
		draft_expression_name(&d->names, host, name);
	if (macro)
		*MEM_PUSH(d->dropped, d->dropped_count) = mem_str(host);
	name_member(d, launch->block, axis, name);
	buf_adds(out, name);
	free(host);
}

/* A grid that cannot be read is asked for as a whole: an unexplained word may stand for all three dimensions. */
static void write_grid(struct drafting *d, const struct source_launch *launch)
{
	const struct tokens *t;
	struct source_range parts[3];
	struct buf out = BUF_INIT;
	char *local = local_name(d, launch, "grid"), *unknown = NULL;
	size_t n = draft_launches_parts(&d->source, launch->grid, &t, parts);
	bool good = n > 0;
	buf_adds(&out, "{");
	for (size_t i = 0; i < n && good; i++) {
		buf_adds(&out, i ? ", " : "");
		good = draft_expression_lua(&d->source, t, parts[i], &d->names, &out, &unknown);
	}
	buf_adds(&out, "}");
	if (good) {
		buf_adds(&d->host, buf_text(&out));
	} else if (!take_local(d, local, &d->host)) {
		const char *kernel = d->source.kernels[launch->kernel].name;
		if (unknown && strpbrk(unknown, "(.->") == NULL)
			draft_question(d,
				       "the grid of %s mentions '%s', which the file does not explain: declare \"%s: int = {…}\" "
				       "if it is a size, or all of the grid with \"local %s = {…}\"",
				       kernel, unknown, unknown, local);
		else
			draft_question(d,
				       "the grid of %s mentions '%s', which the file does not explain: declare all of the grid "
				       "with \"local %s = {…}\"",
				       kernel, unknown ? unknown : "?", local);
		buf_adds(&d->host, local);
	}
	free(unknown);
	free(local);
	buf_fini(&out);
}

static void write_shared(struct drafting *d, const struct source_launch *launch)
{
	const struct tokens *t = &d->source.tokens;
	struct value shared;
	struct buf out = BUF_INIT;
	if (launch->shared.to <= launch->shared.from ||
	    (draft_expression_value(&d->source, t, launch->shared, NULL, &shared) && value_double(shared) == 0))
		return;
	char *local = local_name(d, launch, "shared"), *unknown = NULL;
	buf_adds(&d->host, ", {shared = ");
	if (draft_expression_lua(&d->source, t, launch->shared, &d->names, &out, &unknown)) {
		buf_adds(&d->host, buf_text(&out));
	} else if (!take_local(d, local, &d->host)) {
		draft_question(d,
			       "the shared memory of %s mentions '%s', which the file does not explain: declare \"local %s = …\" "
			       "with its bytes",
			       d->source.kernels[launch->kernel].name, unknown ? unknown : "?", local);
		buf_adds(&d->host, local);
	}
	buf_adds(&d->host, "}");
	free(unknown);
	free(local);
	buf_fini(&out);
}

static void write_launch(struct drafting *d, const struct source_launch *launch, const char *args)
{
	struct buf block = BUF_INIT;
	const struct tokens *t;
	struct source_range parts[3];
	char *local = local_name(d, launch, "block");
	if (!take_local(d, local, &block)) {
		size_t n = draft_launches_parts(&d->source, launch->block, &t, parts);
		buf_adds(&block, "{");
		for (size_t i = 0; i < n; i++) {
			buf_adds(&block, i ? ", " : "");
			block_part(d, launch, t, parts[i], i, &block);
		}
		buf_adds(&block, "}");
	}
	free(local);
	buf_addf(&d->host, "launch(\"%s\", ", d->source.kernels[launch->kernel].name);
	write_grid(d, launch);
	buf_addf(&d->host, ", %s, {%s}", buf_text(&block), args);
	write_shared(d, launch);
	buf_adds(&d->host, ")\n");
	buf_fini(&block);
}

/* --- the whole -------------------------------------------------------------------------------------------------------------- */

/* A file without a launch: the kernel's parameters are inputs, and launches and tuning parameters are declared. */
static void write_unlaunched(struct drafting *d)
{
	const struct source_kernel *k = &d->source.kernels[0];
	bool launched = false;
	for (size_t i = 0; i < k->param_count; i++) {
		const struct source_param *p = &k->params[i];
		char *name = free_name(d, p->name);
		*MEM_PUSH(d->entries, d->entry_count) = (struct drafting_entry){ .name = name,
										 .host = mem_str(p->name),
										 .array = p->pointer,
										 .type = p->type,
										 .type_text = mem_str(p->type_text),
										 .read = p->read,
										 .written = p->written,
										 .unsure = p->handed_on && !p->constant };
		draft_expression_name(&d->names, p->name, name);
	}
	for (size_t i = 0; i < d->declared.count; i++) {
		struct declared_line *x = &d->declared.at[i];
		bool tunes = x->kind == DECLARED_ENTRY && draft_entry(d, x->name) == NULL;
		launched |= x->kind == DECLARED_LAUNCH;
		x->used |= tunes || x->kind == DECLARED_LAUNCH;
		if (tunes)
			*MEM_PUSH(d->tune, d->tune_count) =
				(struct drafting_tune){ .name = mem_str(x->name), .line = mem_fmt("  %s\n", x->line) };
		else if (x->kind == DECLARED_LAUNCH)
			buf_addf(&d->host, "%s\n", x->line);
	}
	if (!launched)
		draft_question(d,
			       "the file does not launch %s: add its launch, %s<<<grid, block>>>(…), to the file, or declare "
			       "\"launch(\"%s\", {GRID}, {BX}, {ARGUMENTS})\" and \"BX: {128, 256}\"",
			       k->name, k->name, k->name);
}

void draft_launches_write(struct drafting *d)
{
	char **args = MEM_NEW_N(char *, d->source.launch_count + 1);
	if (d->source.launch_count == 0)
		write_unlaunched(d);
	/* All arguments first: a grid may mention an argument of a later launch. */
	for (size_t i = 0; i < d->source.launch_count; i++)
		args[i] = take_arguments(d, &d->source.launches[i]);
	for (size_t i = 0; i < d->source.launch_count; i++) {
		write_launch(d, &d->source.launches[i], args[i]);
		free(args[i]);
	}
	free(args);
}
