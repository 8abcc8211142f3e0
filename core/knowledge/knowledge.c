/* knowledge: search and standing; see knowledge.h. */
#include "core/knowledge/knowledge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "core/record/application.h"
#include "core/record/fact.h"

#define PRIOR 2.0 /* a note's own gain weighs as much as this many applications */
enum { APPLICATIONS_MAX = 500 };

/* The applications on one class of devices, and what profiles said of their parents, read when first asked for. */
struct history {
	struct db *db;
	struct application_list all;
	struct figures *parents; /* by application; values NULL: not read yet */
};

int knowledge_remember(struct db *db, const struct facts *facts, struct err *e)
{
	char class[NOTE_CLASS], *known = NULL;
	struct err ignored = ERR_INIT;
	bool same = fact_get(db, facts->uuid, APPLICATION_CLASS, &known, &ignored) == 0 &&
		    strcmp(known, note_device_class(facts, class)) == 0;
	free(known);
	return same ? 0 : fact_set(db, facts->uuid, APPLICATION_CLASS, note_device_class(facts, class), e);
}

/* --- standing -------------------------------------------------------------------------------------------------------- */

static int history_init(struct history *h, struct db *db, const struct facts *facts, struct err *e)
{
	char class[NOTE_CLASS];
	*h = (struct history){ .db = db };
	int rc = application_list(db, facts ? note_device_class(facts, class) : NULL, facts ? facts->uuid : NULL, APPLICATIONS_MAX,
				  &h->all, e);
	if (rc == 0)
		h->parents = MEM_NEW_N(struct figures, h->all.count + 1);
	return rc;
}

static void history_fini(struct history *h)
{
	for (size_t i = 0; h->parents && i < h->all.count; i++)
		if (h->parents[i].values)
			figures_fini(&h->parents[i]);
	free(h->parents);
	application_list_fini(&h->all);
}

/* Whether the parent's profile says that the condition did not hold. */
static int was_absent(struct history *h, size_t i, const struct expr *condition, bool *ret_absent, struct err *e)
{
	struct figures *f = &h->parents[i];
	char *params = NULL;
	*ret_absent = false;
	if (condition == NULL)
		return 0;
	int rc = f->values ? 0 : figures_recall(h->db, h->all.at[i].parent, h->all.at[i].device, f, &params, e);
	free(params);
	if (rc < 0 || figures_missing(condition, f))
		return rc;
	struct value v = figures_evaluate(condition, f);
	*ret_absent = v.kind == VALUE_BOOL && !v.b;
	return 0;
}

static bool suggests(const struct note_texts *try, const char *note, const char *by)
{
	size_t n = strlen(NOTE_PREFIX);
	if (note && strncmp(by, NOTE_PREFIX, n) == 0 && strcmp(by + n, note) == 0)
		return true;
	return mem_has_text((const char *const *)try->at, try->count, by);
}

/* `note`: the name that its own technique is applied by; NULL: none. */
static int standing_of(struct history *h, const struct note_texts *try, const char *note, const struct expr *condition, double gain,
		       struct standing *s, struct err *e)
{
	*s = (struct standing){ .helped = 0 };
	for (size_t i = 0; i < h->all.count; i++) {
		const struct application *a = &h->all.at[i];
		bool absent;
		if (!suggests(try, note, a->by))
			continue;
		if (was_absent(h, i, condition, &absent, e) < 0)
			return -(int)e->code;
		if (absent)
			continue;
		s->helped += a->outcome == APPLICATION_FASTER;
		s->refuted += a->outcome == APPLICATION_NOT_FASTER;
		s->unclear += a->outcome == APPLICATION_UNCLEAR;
		s->log_sum += a->outcome == APPLICATION_UNCLEAR ? 0 : a->log_speedup;
	}
	s->expected = exp((PRIOR * log(gain) + s->log_sum) / (PRIOR + s->helped + s->refuted));
	s->withdrawn = s->refuted >= KNOWLEDGE_REFUTED && s->log_sum <= 0;
	return 0;
}

void knowledge_say(const struct standing *s, struct buf *out)
{
	unsigned tries = s->helped + s->refuted;
	if (tries == 0)
		buf_adds(out, s->unclear ? "tried here, unclear" : "not tried here yet");
	else
		buf_addf(out, "%u of %u tr%s faster, %.2fx on average%s", s->helped, tries, tries == 1 ? "y" : "ies",
			 exp(s->log_sum / tries), s->withdrawn ? "; no longer offered" : "");
}

/* --- search ---------------------------------------------------------------------------------------------------------- */

/* What is known of the kernel that notes are searched for. */
struct kernel {
	struct figures figures;
	enum advice_class class;
	const char *device, *host; /* regions; NULL */
	const char *applying;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* As a whole word where it begins or ends like one, in capitals or not. */
static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++) {
		bool before = at > text && is_word(at[-1]) && is_word(word[0]);
		if (!before && !(is_word(word[n - 1]) && is_word(at[n])))
			return true;
	}
	return false;
}

static bool has_any_word(const struct kernel *k, const struct note *n)
{
	for (size_t i = 0; i < n->words.count; i++)
		if ((k->device && has_word(k->device, n->words.at[i])) || (k->host && has_word(k->host, n->words.at[i])))
			return true;
	return false;
}

/* How well a note fits: 0 not at all. What is unknown speaks neither for nor against. */
static double fit_of(const struct note *n, const struct kernel *k)
{
	bool applying = k->applying && suggests(&n->try, n->name, k->applying);
	bool words = has_any_word(k, n), known = n->condition && figures_missing(n->condition, &k->figures) == NULL;
	struct value v = known ? figures_evaluate(n->condition, &k->figures) : value_of_int(0);
	bool holds = known && v.kind == VALUE_BOOL && v.b;
	bool class = k->class < ADVICE_CLASSES && (n->classes >> k->class & 1);
	bool special = class && n->classes != (1u << ADVICE_CLASSES) - 1;
	if ((known && !holds) || (k->class < ADVICE_CLASSES && !class))
		return 0;
	if (!holds && !words && !applying && !(special && n->condition == NULL && n->words.count == 0))
		return 0;
	return 1 + 2 * holds + special + words + 3 * applying;
}

static int by_worth(const void *a, const void *b)
{
	const struct knowledge_hit *x = a, *y = b;
	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	return strcmp(x->note->name, y->note->name);
}

static int kernel_init(struct kernel *k, struct db *db, const struct knowledge_query *q, struct err *e)
{
	char *params = NULL, *why = NULL;
	*k = (struct kernel){ .applying = q->applying };
	int rc = figures_recall(db, q->checkpoint, q->facts->uuid, &k->figures, &params, e);
	if (rc < 0)
		return rc;
	k->class = params ? advice_classify(&k->figures, &why) : ADVICE_CLASSES;
	k->device = q->ctx ? context_region(q->ctx, REGION_DEVICE) : NULL;
	k->host = q->ctx ? context_region(q->ctx, REGION_HOST) : NULL;
	free(params);
	free(why);
	return 0;
}

int knowledge_search(struct db *db, const struct knowledge_query *q, struct knowledge *ret_knowledge, struct err *e)
{
	struct knowledge found = { .count = 0 };
	struct history h;
	struct kernel k;
	int rc = kernel_init(&k, db, q, e);
	if (rc < 0)
		return rc;
	rc = history_init(&h, db, q->facts, e);
	for (size_t i = 0; rc == 0 && i < q->notes->count; i++) {
		const struct note *n = &q->notes->at[i];
		double fit = note_fits_device(n, q->facts) ? fit_of(n, &k) : 0;
		struct knowledge_hit hit = { .note = n };
		if (fit > 0)
			rc = standing_of(&h, &n->try, n->name, n->condition, n->gain, &hit.standing, e);
		hit.worth = fit * log(hit.standing.expected);
		if (rc == 0 && fit > 0 && !hit.standing.withdrawn)
			*MEM_PUSH(found.at, found.count) = hit;
	}
	history_fini(&h);
	figures_fini(&k.figures);
	if (found.count)
		qsort(found.at, found.count, sizeof *found.at, by_worth);
	if (rc < 0)
		knowledge_fini(&found);
	else
		*ret_knowledge = found;
	return rc;
}

int knowledge_list(struct db *db, const struct notes *notes, const struct facts *facts, struct knowledge *ret_knowledge,
		   struct err *e)
{
	struct knowledge found = { .count = 0 };
	struct history h;
	int rc = history_init(&h, db, facts, e);
	for (size_t i = 0; rc == 0 && i < notes->count; i++) {
		const struct note *n = &notes->at[i];
		struct knowledge_hit hit = { .note = n };
		if (facts && !note_fits_device(n, facts))
			continue;
		rc = standing_of(&h, &n->try, n->name, n->condition, n->gain, &hit.standing, e);
		hit.worth = log(hit.standing.expected);
		*MEM_PUSH(found.at, found.count) = hit;
	}
	history_fini(&h);
	if (rc < 0)
		knowledge_fini(&found);
	else
		*ret_knowledge = found;
	return rc;
}

void knowledge_fini(struct knowledge *k)
{
	free(k->at);
	*k = (struct knowledge){ .count = 0 };
}

void knowledge_write(const struct knowledge *k, size_t most, struct buf *out)
{
	for (size_t i = 0; i < k->count && i < most; i++) {
		const struct note *n = k->at[i].note;
		buf_addf(out, "- %s (", n->name);
		knowledge_say(&k->at[i].standing, out);
		buf_addf(out, "): %s\n", n->text);
	}
}

/* --- advice of tools --------------------------------------------------------------------------------------------------- */

static const struct advisor *tool_of(const struct advisors *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->at[i].name, name) == 0)
			return &all->at[i];
	return NULL;
}

static int screen_one(struct history *h, const struct advisor *tool, struct advice *a, struct err *e)
{
	struct buf left = BUF_INIT;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < tool->try_count; i++) {
		const struct note_texts one = { .at = &tool->try[i], .count = 1 };
		struct standing s;
		rc = standing_of(h, &one, NULL, tool->condition, 1, &s, e);
		if (rc == 0 && !s.withdrawn)
			buf_addf(&left, "%s%s", left.len ? ", " : "", tool->try[i]);
	}
	if (rc == 0) {
		free(a->try);
		a->try = left.len ? buf_steal(&left) : NULL;
	}
	buf_fini(&left);
	return rc;
}

int knowledge_screen(struct db *db, const struct facts *facts, const struct advisors *advisors, struct advice *io_advice,
		     size_t count, struct err *e)
{
	struct history h;
	int rc = count ? history_init(&h, db, facts, e) : 0;
	if (count == 0 || rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct advisor *tool = tool_of(advisors, io_advice[i].tool);
		if (tool && tool->try_count)
			rc = screen_one(&h, tool, &io_advice[i], e);
	}
	history_fini(&h);
	return rc;
}
