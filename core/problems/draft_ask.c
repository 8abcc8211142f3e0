/* draft_ask: a model answers a draft's questions in one conversation that only grows at its end. See draft.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/markdown.h"
#include "base/mem.h"
#include "core/problems/draft.h"

enum { FILE_MAX_BYTES = 256 << 10, LINES_MAX = 64 };

/* --- the prompt ------------------------------------------------------------------------------------------------------------- */

static void add_list(struct buf *out, char *const *at, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "- %s\n", at[i]);
}

/* --- an answer -------------------------------------------------------------------------------------------------------------- */

static bool blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* The one block of an answer; free(). NULL with *ret_complaint when the answer has none or several. */
static char *find_block(const struct model_answer *answer, char **ret_complaint)
{
	struct markdown m = { .at = answer->text, .line = 1, .lists = true };
	struct markdown_block f, found = { 0 };
	size_t blocks = 0;
	bool closed = true;
	for (; markdown_next_fence(&m, &f); blocks++) {
		found = f;
		closed &= f.closed;
	}
	if (answer->finish == REPLY_FINISH_REFUSED)
		*ret_complaint = mem_str("the model refused to answer");
	else if (answer->finish == REPLY_FINISH_LENGTH || !closed)
		*ret_complaint = mem_str("the answer was cut off before its block ended");
	else if (blocks != 1)
		*ret_complaint =
			mem_fmt("the answer holds %zu fenced blocks; exactly one, with the declarations, is expected", blocks);
	else
		return markdown_body(&found);
	return NULL;
}

struct lines {
	char **at;
	size_t count;
};

/* The lines of a block without blank ones and comments. False with *ret_complaint when there are none or too many. */
static bool split(const char *block, struct lines *ret_lines, char **ret_complaint)
{
	for (const char *at = block; *at;) {
		size_t n = strcspn(at, "\n");
		char *line = mem_strn(at, n);
		line[strcspn(line, "\r")] = '\0';
		const char *first = line + strspn(line, " \t");
		if (blank(line) || *first == '#' || strncmp(first, "--", 2) == 0)
			free(line);
		else
			*MEM_PUSH(ret_lines->at, ret_lines->count) = line;
		at += n + (at[n] == '\n');
	}
	if (ret_lines->count == 0)
		*ret_complaint = mem_str("the block holds no declaration");
	else if (ret_lines->count > LINES_MAX)
		*ret_complaint = mem_fmt("the block holds %zu lines; %d at most are taken", ret_lines->count, LINES_MAX);
	return *ret_complaint == NULL;
}

/* What people declared stands behind the model's lines, and so before them. */
static int make(const struct draft_ask_request *q, const struct lines *l, struct draft *ret_draft, struct err *e)
{
	const char **all = MEM_NEW_N(const char *, l->count + q->declared_count + 1);
	size_t n = 0;
	for (size_t i = 0; i < l->count; i++)
		all[n++] = l->at[i];
	for (size_t i = 0; i < q->declared_count; i++)
		all[n++] = q->declared[i];
	int rc = draft_make(q->source, q->backend, all, n, ret_draft, e);
	free(all);
	return rc;
}

/* The open questions as a list; free(). NULL without any. */
static char *open_questions(const struct draft *d)
{
	struct buf out = BUF_INIT;
	if (d->question_count == 0)
		return NULL;
	buf_adds(&out, "these questions are open:\n\n");
	add_list(&out, d->questions, d->question_count);
	return buf_steal(&out);
}

/* Takes an answer into the draft. *ret_complaint (free()): what is wrong with it besides open questions, or NULL. */
static int take(const struct draft_ask_request *q, const struct model_answer *answer, struct draft_ask_result *r,
		char **ret_complaint, struct err *e)
{
	struct lines lines = { 0 };
	struct draft d;
	struct err why = ERR_INIT;
	*ret_complaint = NULL;
	char *block = find_block(answer, ret_complaint);
	int rc = 0;
	if (block && split(block, &lines, ret_complaint)) {
		if (make(q, &lines, &d, &why) < 0) {
			*ret_complaint = mem_str(why.text);
		} else {
			/* Notes which lines are the model's, so that people look at them. Lines that others replaced are not in the
			 * draft. */
			const char *model = answer->model ? answer->model : "";
			for (size_t i = 0; i < lines.count; i++)
				if (strstr(d.text, lines.at[i] + strspn(lines.at[i], " \t")))
					*MEM_PUSH(d.notes, d.note_count) =
						mem_fmt("answered by the model %s, not found in the file: %s", model, lines.at[i]);
			draft_fini(&r->draft);
			r->draft = d;
			if (d.question_count == 0 && q->judge)
				rc = q->judge(q->arg, &r->draft, ret_complaint, e);
		}
	}
	mem_free_texts(lines.at, lines.count);
	free(block);
	return rc;
}

/* --- the conversation ------------------------------------------------------------------------------------------------------- */

static void ask_again(struct prompt *p, const char *answer, const char *wrong)
{
	char *text = mem_fmt(
		"That answer cannot be used: %s\n\nReturn all lines again, corrected, in one fenced block marked `declare`.\n",
		wrong);
	prompt_add(p, PROMPT_ASSISTANT, blank(answer) ? "(nothing)" : answer);
	prompt_add(p, PROMPT_USER, text);
	free(text);
}

/* One question and its answer; *ret_more: the answer has to be corrected. */
static int turn(const struct draft_ask_request *q, struct prompt *p, struct draft_ask_result *r, bool *ret_more, struct err *e)
{
	struct model_request request = { .prompt = p,
					 .cancel = q->cancel,
					 .key = { .context = hash_bytes(q->source, strlen(q->source)),
						  .transformation = "draft",
						  .pass = 1,
						  .step = 1,
						  .attempt = r->asked + 1 } };
	struct model_answer answer = { 0 };
	int rc = q->model->ask(q->model->arg, &request, &answer, e);
	if (rc < 0)
		return rc;
	r->asked++;
	free(r->complaint);
	rc = take(q, &answer, r, &r->complaint, e);
	char *wrong = r->complaint ? mem_str(r->complaint) : open_questions(&r->draft);
	if (rc == 0 && q->answered)
		rc = q->answered(q->arg, &request, &answer, wrong, e);
	if (rc == 0 && wrong)
		ask_again(p, answer.text, wrong);
	*ret_more = wrong != NULL;
	free(wrong);
	model_answer_fini(&answer);
	return rc;
}

int draft_ask(const struct draft_ask_request *q, struct draft_ask_result *ret_result, struct err *e)
{
	struct prompt p = PROMPT_INIT;
	struct draft_ask_result r = { .asked = 0 };
	int rc = draft_make(q->source, q->backend, q->declared, q->declared_count, &r.draft, e);
	if (rc < 0)
		return rc;
	bool more = r.draft.question_count > 0 && q->model;
	if (r.draft.question_count == 0 && q->judge)
		rc = q->judge(q->arg, &r.draft, &r.complaint, e);
	if (more) {
		struct buf text = BUF_INIT, file = BUF_INIT;
		prompt_quote(&file, q->source, FILE_MAX_BYTES);
		buf_addf(&text, "# The file (%s)\n\n", q->backend);
		prompt_fence(&text, "cpp", buf_text(&file));
		buf_adds(&text, "\n# The draft, without what is asked for\n\n");
		prompt_fence(&text, "context", r.draft.text);
		if (q->declared_count)
			buf_adds(&text, "\n# Declared already, and not to be changed\n\n");
		for (size_t i = 0; i < q->declared_count; i++)
			buf_addf(&text, "- %s\n", q->declared[i]);
		buf_adds(&text, "\n# What was assumed\n\n");
		add_list(&text, r.draft.notes, r.draft.note_count);
		buf_adds(&text, "\n# Questions\n\n");
		add_list(&text, r.draft.questions, r.draft.question_count);
		buf_adds(&text,
			 "\nAnswer every question with lines in one fenced block marked `declare`. Where the draft has a role or a "
			 "size wrong, declare that as well.\n");
		prompt_add(&p, PROMPT_SYSTEM, embedded_file("core/problems/draft_rules.md"));
		prompt_add(&p, PROMPT_USER, buf_text(&text));
		buf_fini(&text);
		buf_fini(&file);
	}
	for (int i = 0; i < DRAFT_ASK_TURNS && more && rc == 0; i++)
		rc = turn(q, &p, &r, &more, e);
	prompt_fini(&p);
	if (rc < 0)
		draft_ask_fini(&r);
	else
		*ret_result = r;
	return rc;
}

void draft_ask_fini(struct draft_ask_result *r)
{
	draft_fini(&r->draft);
	free(r->complaint);
	*r = (struct draft_ask_result){ .asked = 0 };
}
