/* draft: see draft.h: the parts in order, and the context's text. */
#include "core/problems/draft.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/problems/drafting.h"
#include "core/problems/inputs.h"
#include "core/problems/launches.h"
#include "core/problems/original.h"

/* Device code without the #define lines of what became tuning parameters. */
static void write_device(struct drafting *d, struct buf *out)
{
	for (const char *line = buf_text(&d->source.device); *line;) {
		size_t n = strcspn(line, "\n") + 1;
		bool drop = false;
		for (size_t i = 0; i < d->dropped_count; i++) {
			const char *at = line + strspn(line, "# \t");
			size_t word = strlen(d->dropped[i]);
			if (*line == '#' && strncmp(at, "define", 6) == 0) {
				at += 6 + strspn(at + 6, " \t");
				drop |= strncmp(at, d->dropped[i], word) == 0 && strchr(" \t", at[word]) != NULL;
			}
		}
		if (!drop)
			buf_add(out, line, n);
		line += n;
	}
}

/* Numbers first, since extents mention them; of those the declared ones in their order, since sets may mention what stands before. */
static void write_inputs(struct drafting *d, struct buf *out)
{
	for (size_t i = 0; i < d->declared.count; i++) {
		const struct drafting_entry *x = d->declared.at[i].kind == DECLARED_ENTRY ? drafting_entry(d, d->declared.at[i].name) : NULL;
		if (x && x->declared && !x->array)
			buf_adds(out, x->line);
	}
	for (int arrays = 0; arrays < 2; arrays++)
		for (size_t i = 0; i < d->entry_count; i++) {
			const struct drafting_entry *x = &d->entries[i];
			if (x->line && x->array == arrays && !x->scratch && (arrays || !x->declared))
				buf_adds(out, x->line);
		}
}

static void write_context(struct drafting *d, struct buf *out)
{
	buf_addf(out, "---\nkernel: %s\nbackend: %s\ninputs:\n", d->source.kernels[0].name, d->backend);
	write_inputs(d, out);
	for (size_t i = 0; i < d->tune_count; i++)
		buf_addf(out, "%s%s", i ? "" : "tune:\n", d->tune[i].line ? d->tune[i].line : "");
	buf_addf(out, "---\n```%s\n", d->backend);
	write_device(d, out);
	buf_adds(out, "```\n```macros\n```\n```lua host\n");
	for (size_t i = 0; i < d->entry_count; i++)
		if (d->entries[i].scratch && d->entries[i].line)
			buf_adds(out, d->entries[i].line);
	buf_addf(out, "%s%s```\n", buf_text(&d->locals), buf_text(&d->host));
}

static void add_notes(struct drafting *d)
{
	if (d->tune_count)
		drafting_note(d, "tuning parameters have the file's values alone: widen them where the kernel works for others");
	drafting_note(d, "inputs are random: say = zeros, ones, normal or random(lo, hi) where that does not suit; flops: and bytes: give rates");
}

static int make(struct drafting *d, const char *const *declared, size_t count, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = declared_read(declared, count, &d->declared, e);
	if (rc < 0)
		return rc;
	inputs_name(d);
	launches_write(d);
	inputs_write(d);
	rc = declared_all_used(&d->declared, e);
	if (rc < 0)
		return rc;
	add_notes(d);
	write_context(d, &text);
	d->out->text = buf_steal(&text);
	if (d->out->question_count == 0)
		original_check(d);
	return 0;
}

int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
               struct err *e)
{
	struct drafting d = { .backend = backend, .locals = BUF_INIT, .host = BUF_INIT, .out = ret_draft };
	*ret_draft = (struct draft){ 0 };
	int rc = source_read(source, &d.source, e);
	if (rc == 0) {
		rc = make(&d, declared, declared_count, e);
		source_fini(&d.source);
	}
	drafting_fini(&d);
	if (rc < 0)
		draft_fini(ret_draft);
	return rc;
}

void draft_fini(struct draft *d)
{
	for (size_t i = 0; i < d->question_count; i++)
		free(d->questions[i]);
	for (size_t i = 0; i < d->note_count; i++)
		free(d->notes[i]);
	free(d->questions);
	free(d->notes);
	free(d->text);
	*d = (struct draft){ 0 };
}
