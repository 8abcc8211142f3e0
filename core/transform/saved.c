/* saved: see saved.h. The text is a row of named pieces, each `name length` on a line and then its bytes, so that
 * people can still read it. Conversations are kept turn by turn: a repair continues where it stood. */
#include "core/transform/saved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/pending.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

struct piece {
	char *name, *text;
};

struct pieces {
	struct piece *at;
	size_t count;
};

static void put(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, "%s %zu\n%s\n", name, strlen(text), text);
}

static void put_number(struct buf *out, const char *name, unsigned value)
{
	char text[16];
	snprintf(text, sizeof text, "%u", value);
	put(out, name, text);
}

static void pieces_fini(struct pieces *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->at[i].name);
		free(p->at[i].text);
	}
	free(p->at);
}

static int read_pieces(const char *text, struct pieces *ret_pieces, struct err *e)
{
	struct pieces p = { 0 };
	for (const char *at = text, *end = text + strlen(text); at < end;) {
		const char *blank = strchr(at, ' '), *line = strchr(at, '\n');
		char *stop = NULL;
		unsigned long long n = blank && line && blank < line ? strtoull(blank + 1, &stop, 10) : 0;
		if (stop == NULL || stop != line || n >= (unsigned long long)(end - line) - 1 || line[1 + n] != '\n') {
			pieces_fini(&p);
			return err_set(e, ERR_INPUT, "the saved transformation is damaged at byte %zu: begin it again",
				       (size_t)(at - text));
		}
		*MEM_PUSH(p.at, p.count) = (struct piece){ mem_strn(at, (size_t)(blank - at)), mem_strn(line + 1, (size_t)n) };
		at = line + 2 + n;
	}
	*ret_pieces = p;
	return 0;
}

/* The first of that name, or "". */
static const char *text_of(const struct pieces *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->at[i].name, name) == 0)
			return p->at[i].text;
	}
	return "";
}

static unsigned number_of(const struct pieces *p, const char *name)
{
	return (unsigned)strtoul(text_of(p, name), NULL, 10);
}

/* --- the machine as pieces ---------------------------------------------------------------------------------------- */

/* Calls MACRO(name, lvalue) for every number that is kept. */
#define NUMBERS(MACRO)                                                                                                             \
	MACRO("pass", x->pass)                                                                                                     \
	MACRO("step", x->step)                                                                                                     \
	MACRO("sample", x->sample)                                                                                                 \
	MACRO("asked", x->asked)                                                                                                   \
	MACRO("repairs", x->repairs)                                                                                               \
	MACRO("repairing", x->repairing)                                                                                           \
	MACRO("compile-repairs", x->compile_repairs)                                                                               \
	MACRO("wrong-repairs", x->wrong_repairs)                                                                                   \
	MACRO("malformed", x->malformed)                                                                                           \
	MACRO("limit-compile", x->limits.compile_repairs)                                                                          \
	MACRO("limit-wrong", x->limits.wrong_repairs)                                                                              \
	MACRO("limit-malformed", x->limits.malformed)                                                                              \
	MACRO("limit-samples", x->limits.samples)                                                                                  \
	MACRO("attempts-1", x->attempts[0])                                                                                        \
	MACRO("attempts-2", x->attempts[1])                                                                                        \
	MACRO("attempts-3", x->attempts[2])
#define PUT_NUMBER(name, value) put_number(out, name, value);
#define GET_NUMBER(name, value) value = number_of(&p, name);

void saved_write(const struct transform *x, struct buf *out)
{
	const struct {
		const char *name;
		const struct context *ctx;
	} contexts[] = { { "parent", x->parent }, { "context", x->ctx }, { "start", x->start } };
	put(out, "peakd-transform", "1");
	NUMBERS(PUT_NUMBER)
	put(out, "transformation", x->t->source);
	put(out, "file", context_file(x->parent));
	for (size_t i = 0; i < MEM_COUNT(contexts); i++)
		put(out, contexts[i].name, context_render(contexts[i].ctx));
	put(out, "last", x->last);
	if (x->profile)
		put(out, "profile", x->profile);
	for (unsigned s = 0; s < REGION_COUNT; s++) {
		for (size_t i = 0; i < x->talks[s].count; i++) {
			put_number(out, "talk", s);
			put(out, prompt_role_name(x->talks[s].turns[i].role), x->talks[s].turns[i].text);
		}
	}
}

static void get_talks(struct transform *x, const struct pieces *p)
{
	unsigned talk = 0;
	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->at[i].name;
		if (strcmp(name, "talk") == 0)
			talk = (unsigned)strtoul(p->at[i].text, NULL, 10) % REGION_COUNT;
		for (int role = PROMPT_SYSTEM; role <= PROMPT_ASSISTANT; role++) {
			if (strcmp(name, prompt_role_name((enum prompt_role)role)) == 0)
				prompt_add(&x->talks[talk], (enum prompt_role)role, p->at[i].text);
		}
	}
}

int saved_read(const char *text, enum transform_state state, struct transform **ret_x, struct err *e)
{
	struct pieces p = { 0 };
	int rc = read_pieces(text, &p, e);
	if (rc < 0)
		return rc;
	struct transform *x = MEM_NEW(struct transform);
	x->state = state;
	if (number_of(&p, "peakd-transform") != 1)
		rc = err_set(e, ERR_INPUT, "the saved transformation is of another version of peakd: begin it again");
	if (rc == 0)
		rc = transformation_parse(text_of(&p, "transformation"), "saved transformation", &x->t, e);
	if (rc < 0)
		goto out;
	NUMBERS(GET_NUMBER)
	if (x->pass >= x->t->pass_count || x->step >= x->t->passes[x->pass].step_count)
		rc = err_set(e, ERR_INPUT, "the saved transformation contradicts itself: begin it again");
	struct {
		const char *name;
		struct context **to;
	} contexts[] = { { "parent", &x->parent }, { "context", &x->ctx }, { "start", &x->start } };
	for (size_t i = 0; i < MEM_COUNT(contexts) && rc == 0; i++)
		rc = context_parse(text_of(&p, "file"), text_of(&p, contexts[i].name), contexts[i].to, e);
	if (rc < 0)
		goto out;
	x->last = mem_str(text_of(&p, "last"));
	x->profile = *text_of(&p, "profile") ? mem_str(text_of(&p, "profile")) : NULL;
	get_talks(x, &p);
	*ret_x = x;
	x = NULL;
out:
	transform_free(x);
	pieces_fini(&p);
	return rc;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static bool is_final(enum transform_state state)
{
	return state == TRANSFORM_DONE || state == TRANSFORM_DISCARDED;
}

int saved_keep(struct db *db, struct transform *x, const char *job, struct err *e)
{
	struct buf data = BUF_INIT;
	char *id = NULL;
	if (!is_final(x->state))
		saved_write(x, &data);
	struct pending row = {
		.id = x->id,
		.parent = x->parent_id,
		.workflow = x->workflow && *x->workflow ? x->workflow : NULL,
		.transformation = x->t->name,
		.text = x->t->source,
		.pass = (int)x->pass + 1,
		.step = (int)x->step + 1,
		.attempt = (int)transform_key(x).attempt,
		.context = context_render(x->ctx),
		.state = transform_state_name(x->state),
		.verdict = x->last,
		.data = is_final(x->state) ? NULL : buf_text(&data), /* nobody continues it */
		.job = job,
		.checkpoint = x->checkpoint,
	};
	int rc = x->id ? pending_save(db, &row, e) : pending_add(db, &row, &id, e);
	if (rc == 0 && id)
		x->id = id;
	buf_fini(&data);
	return rc;
}

int saved_take(struct db *db, const char *id, const char *job, struct transform **ret_x, struct err *e)
{
	struct pending row;
	struct transform *x = NULL;
	unsigned state = 0;
	int taken = pending_take(db, id, job, &row, e), rc = 0;
	if (taken < 0)
		return taken;
	while (state < TRANSFORM_STATES && strcmp(transform_state_name(state), row.state) != 0)
		state++;
	if (state == TRANSFORM_DONE)
		rc = err_set(e, ERR_CONFLICT, "transformation %s is accepted: it became checkpoint %lld", id,
			     (long long)row.checkpoint);
	else if (state == TRANSFORM_DISCARDED)
		rc = err_set(e, ERR_CONFLICT, "transformation %s was discarded: begin a new one", id);
	else if (!taken)
		rc = err_set(e, ERR_CONFLICT, "job %s works on transformation %s: wait for it (job with action wait), or cancel it",
			     row.job, id);
	else
		rc = saved_read(row.data ? row.data : "", state, &x, e);
	if (rc == 0) {
		x->id = mem_str(id);
		x->parent_id = row.parent;
		x->workflow = mem_str(row.workflow);
		*ret_x = x;
	}
	pending_fini(&row);
	return rc;
}
