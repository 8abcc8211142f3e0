/* work_known: what a model is told of the checkpoint that it transforms, as a few lines of Markdown: the best times, the last
 * profile, what was tried on this line of checkpoints, and the notes that fit; see work.h. */
#include "core/jobs/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/knowledge/knowledge.h"
#include "core/measure/guidance.h"
#include "core/record/application.h"
#include "core/record/measurement.h"
#include "core/transform/prompt.h"

enum { NOTES_TOLD = 3, TIMES_TOLD = 3, TRIED_TOLD = 6, REASON_MAX = 120 };

static void add_heading(struct buf *out, const char *text)
{
	buf_addf(out, "%s## %s\n\n", out->len ? "\n" : "", text);
}

static void add_count(struct buf *out, int64_t value, const char *what)
{
	if (value >= 0)
		buf_addf(out, ", %lld %s", (long long)value, what);
}

/* The best validated time at each of the last few sizes, with what the compiler said of that configuration. */
static int tell_times(struct db *db, const struct work_known *k, struct buf *out, struct err *e)
{
	struct measurement_list all;
	const struct measurement_query q = { .checkpoint = k->l->id, .device = k->facts->uuid };
	int rc = measurement_best_each(db, &q, &all, e);
	if (rc < 0)
		return rc;
	if (all.count)
		add_heading(out, "Best validated times so far");
	for (size_t i = all.count > TIMES_TOLD ? all.count - TIMES_TOLD : 0; i < all.count; i++) {
		const struct measurement *m = &all.at[i];
		buf_addf(out, "- %s: %.4g us", m->params, m->median_ns / 1e3);
		add_count(out, m->registers, "registers a thread");
		add_count(out, m->spill_bytes, "bytes spilled");
		add_count(out, m->shared_bytes, "bytes of static shared memory");
		buf_addc(out, '\n');
	}
	measurement_list_fini(&all);
	return 0;
}

static int tell_profile(const struct work *w, struct db *db, const struct work_known *k, struct buf *out, struct err *e)
{
	struct advisors advisors;
	char *text = NULL;
	int rc = library_advisors(w->library, &advisors, e);
	if (rc == 0)
		rc = guidance_recall(db, k->l->id, k->facts->uuid, &advisors, &text, e);
	if (text) {
		add_heading(out, "What the last profile found");
		buf_adds(out, text);
	}
	advice_fini(&advisors);
	free(text);
	return rc;
}

static int tell_notes(const struct work *w, struct db *db, const struct work_known *k, struct buf *out, struct err *e)
{
	struct notes notes;
	struct knowledge found = { .count = 0 };
	int rc = library_notes(w->library, &notes, e);
	if (rc < 0)
		return rc;
	const struct knowledge_query q = {
		.notes = &notes, .facts = k->facts, .checkpoint = k->l->id, .ctx = k->l->ctx, .applying = k->applying
	};
	rc = knowledge_search(db, &q, &found, e);
	if (found.count)
		add_heading(out, "Notes that may fit, with what they brought on such devices here");
	knowledge_write(&found, NOTES_TOLD, out);
	knowledge_fini(&found);
	note_fini(&notes);
	return rc;
}

/* How much faster than its parent a checkpoint was in pairwise timings; 0 where they were not compared. */
static double speedup_of(const struct application_list *all, int64_t checkpoint)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->at[i].checkpoint == checkpoint)
			return exp(all->at[i].log_speedup);
	return 0;
}

static void add_tried(struct buf *out, const struct application_tried *t, double speedup)
{
	buf_addf(out, "- %s: %s", t->by, t->status);
	if (speedup > 0)
		buf_addf(out, ", %.3g times as fast as before it", speedup);
	if (t->on_line)
		buf_adds(out, ", kept");
	if (t->note && *t->note && strcmp(t->status, "accepted") != 0) {
		char *why = mem_strn(t->note, strcspn(t->note, "\n"));
		utf8_cut(why, REASON_MAX);
		buf_adds(out, ": ");
		prompt_quote(out, why, REASON_MAX);
		free(why);
	}
	buf_addc(out, '\n');
}

static int tell_tried(struct db *db, const struct work_known *k, struct buf *out, struct err *e)
{
	struct application_tried_list list;
	struct application_list compared = { .count = 0 };
	int rc = application_tried(db, k->l->id, TRIED_TOLD, &list, e);
	if (rc < 0)
		return rc;
	if (list.count) {
		rc = application_list(db, NULL, k->facts->uuid, 0, &compared, e);
		add_heading(out, "What was tried on this line of versions, newest first");
	}
	for (size_t i = 0; i < list.count; i++)
		add_tried(out, &list.at[i], speedup_of(&compared, list.at[i].checkpoint));
	application_list_fini(&compared);
	application_tried_fini(&list);
	return rc;
}

/* A device that only compiles has no rows of its own: those of the last real one of its class are told (bundles, drain.h). */
static int find_measured(struct db *db, const struct work_known *k, struct facts *io_facts, struct err *e)
{
	char class[NOTE_CLASS], *device = NULL;
	int rc = k->facts->runs ? 0 : measurement_device(db, k->l->id, note_device_class(k->facts, class), &device, e);
	if (device)
		snprintf(io_facts->uuid, sizeof io_facts->uuid, "%s", device);
	free(device);
	return rc;
}

int work_known_text(const struct work *w, struct db *db, const struct work_known *asked, char **ret_text, struct err *e)
{
	struct buf out = BUF_INIT;
	struct facts facts = *asked->facts;
	struct work_known known = *asked, *k = &known;
	const char *without = k->without ? k->without : "";
	known.facts = &facts;
	int rc = find_measured(db, asked, &facts, e);
	if (rc == 0 && !strstr(without, "profile"))
		rc = tell_times(db, k, &out, e);
	if (rc == 0 && !strstr(without, "profile"))
		rc = tell_profile(w, db, k, &out, e);
	if (rc == 0 && !strstr(without, "history"))
		rc = tell_tried(db, k, &out, e);
	if (rc == 0 && !strstr(without, "knowledge"))
		rc = tell_notes(w, db, k, &out, e);
	*ret_text = rc == 0 && out.len ? buf_steal(&out) : NULL;
	buf_fini(&out);
	return rc;
}
