/* reply: see reply.h. Models answer with whole files best. The ways in which they fail are few, so each has its own name and its
 * own sentence back to the model. */
#include "core/transform/reply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/front_matter.h"
#include "base/lex.h"
#include "base/markdown.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/transform/fits.h"

enum { WORDS_MAX = 300 };

static void fail(struct reply *r, enum reply_outcome outcome, char *take_detail)
{
	r->outcome = outcome;
	r->detail = take_detail;
}

/* --- which fence holds the region
 * -------------------------------------------------------------------------------------- */

static bool word_in(const char *word, const char *const *list)
{
	for (; *list; list++) {
		if (strcasecmp(word, *list) == 0)
			return true;
	}
	return false;
}

/* 3: marked as the region; 2: marked as a language that the region may be written in; 1: not marked; 0: something
 * else. */
static int rank_fence(const struct reply_want *want, const struct markdown_block *f)
{
	static const char *const host[] = { "host", NULL };
	static const char *const c_like[] = { "c", "cpp", "c++", "cu", "cuh", "cuda", "hip", "hlsl", "h", "hpp", NULL };
	static const char *const macros[] = { "macros", "macro", NULL };
	char word[32] = "";
	size_t n = 0;
	while (n < f->info_len && n < sizeof word - 1 && !isspace((unsigned char)f->info[n]) && f->info[n] != '{')
		n++;
	memcpy(word, f->info, n);
	if (!n)
		return 1;
	switch (want->region) {
	case REGION_DEVICE:
		return strcasecmp(word, want->backend) == 0 ? 3
		       : strcasecmp(word, "device") == 0    ? 3
		       : word_in(word, c_like)              ? 2
							    : 0;
	case REGION_HOST: return strcasecmp(word, "lua") == 0 || word_in(word, host) ? 3 : 0;
	case REGION_MACROS: return word_in(word, macros) ? 3 : word_in(word, c_like) ? 2 : 0;
	case REGION_COUNT: break;
	}
	return 0;
}

/* The last fence of the highest rank. Returns the rank (0: none matches), -1 when there is no fence at all. */
static int find_fence(const struct reply_want *want, const char *answer, struct markdown_block *ret_fence)
{
	int best = -1;
	struct markdown m = { .at = answer, .line = 1, .lists = true };
	struct markdown_block f;
	while (markdown_next_fence(&m, &f)) {
		int rank = rank_fence(want, &f);
		if (rank >= best || (rank > 0 && !f.closed)) {
			best = rank;
			*ret_fence = f;
		}
	}
	return best;
}

/* --- what is wrong with it
 * -------------------------------------------------------------------------------------------- */

/* True when the words of a comment stand for code that was left out. */
static bool stands_for_code(const char *line, size_t n)
{
	static const char *const words[] = { "rest of",   "remain",    "unchanged", "existing",   "same as",
					     "as before", "omitted",   "previous",  "other code", "as above",
					     "no change", "your code", "original" };
	char low[256];
	if (n >= sizeof low)
		n = sizeof low - 1;
	for (size_t i = 0; i < n; i++)
		low[i] = (char)tolower((unsigned char)line[i]);
	low[n] = '\0';
	const char *s = low + strspn(low, " \t"), *dots = strstr(s, "...");
	if (!dots)
		dots = strstr(s, "\u2026");
	if (!dots)
		return false;
	size_t len = strlen(s);
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	if ((len == 3 && strncmp(s, "...", 3) == 0 && dots == s) || (len == strlen("\u2026") && dots == s))
		return true;
	if (strncmp(s, "//", 2) != 0 && strncmp(s, "/*", 2) != 0 && strncmp(s, "--", 2) != 0 && *s != '#')
		return false;
	for (size_t i = 0; i < MEM_COUNT(words); i++) {
		if (strstr(s, words[i]))
			return true;
	}
	s += strspn(s, "/*-# \t");
	return s == dots &&
	       strspn(s + (*dots == '.' ? 3 : strlen("\u2026")), "*/ \t\r") == strlen(s + (*dots == '.' ? 3 : strlen("\u2026")));
}

/* The first line that elides code and did not stand in the region before; NULL when none. */
static char *find_elision(const char *text, const char *before)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		if (stands_for_code(line, n)) {
			char *copy = mem_strn(line, n);
			if (!strstr(before, copy))
				return copy;
			free(copy);
		}
		line += n + (line[n] == '\n');
	}
	return NULL;
}

/* True when the text defines or names `name` as a function: the whole word followed by '('. */
static bool has_function(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)); at++) {
		if (lex_is_whole(text, at, n) && at[n + strspn(at + n, " \t\r\n")] == '(')
			return true;
	}
	return false;
}

/* The first kernel that host code launches, that was there before and is not any more; NULL when none. */
static char *find_dropped(const char *host, const char *before, const char *after)
{
	for (char *name; (name = fits_next_launch(&host)) != NULL;) {
		if (*name && has_function(before, name) && !has_function(after, name))
			return name;
		free(name);
	}
	return NULL;
}

/* Equal but for white space at line ends and blank lines at the end. */
static bool same_code(const char *a, const char *b)
{
	while (*a || *b) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n"), i = n, j = m;
		while (i && isspace((unsigned char)a[i - 1]))
			i--;
		while (j && isspace((unsigned char)b[j - 1]))
			j--;
		if (i != j || memcmp(a, b, i) != 0)
			return false;
		a += n + (a[n] == '\n');
		b += m + (b[m] == '\n');
	}
	return true;
}

static bool sounds_like_refusal(const char *answer)
{
	static const char *const starts[] = { "i can't",   "i cannot",     "i can’t",       "i'm sorry",
					      "i’m sorry", "sorry",        "i am unable",   "i'm unable",
					      "i won't",   "i'm not able", "i am not able", "unfortunately, i can" };
	answer += strspn(answer, " \t\r\n");
	for (size_t i = 0; i < MEM_COUNT(starts); i++) {
		if (strncasecmp(answer, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

/* --- the whole
 * -------------------------------------------------------------------------------------------------------- */

static void no_fence(const struct reply_want *want, const char *answer, enum reply_finish finish, struct reply *r)
{
	const char *region = context_region_name(want->region);
	if (finish == REPLY_FINISH_REFUSED || sounds_like_refusal(answer))
		fail(r, REPLY_REFUSED, mem_str("the model refused"));
	else if (finish == REPLY_FINISH_LENGTH)
		fail(r, REPLY_TRUNCATED, mem_str("the answer was cut at its length limit before any code came"));
	else
		fail(r, REPLY_NO_CODE,
		     mem_fmt("the answer holds no fenced block; the whole %s region in one fence is expected", region));
}

static void check_text(const struct reply_want *want, char *take_text, struct reply *r)
{
	char *found;
	const char *region = context_region_name(want->region);
	if (!want->may_keep && same_code(take_text, want->before)) {
		fail(r, REPLY_UNCHANGED, mem_fmt("the %s region came back as it was; the step asks for a change", region));
	} else if (want->region != REGION_MACROS && take_text[strspn(take_text, " \t\r\n")] == '\0') {
		fail(r, REPLY_EMPTY, mem_fmt("the %s region is empty", region));
	} else if ((found = find_elision(take_text, want->before))) {
		fail(r, REPLY_ELIDED,
		     mem_fmt("code was left out (\"%.120s\"); the region must be complete", found + strspn(found, " \t")));
		free(found);
	} else if (want->region == REGION_DEVICE && want->host && !want->may_drop_kernels &&
		   (found = find_dropped(want->host, want->before, take_text))) {
		fail(r, REPLY_DROPPED_KERNEL, mem_fmt("kernel %s is gone, and host code launches it; keep its name", found));
		free(found);
	} else {
		r->outcome = REPLY_OK;
		r->text = take_text;
		return;
	}
	free(take_text);
}

/* --- search/replace blocks: conflict markers, which most models know ---------------------------------------------- */

struct block {
	struct buf search, replace;
};

static bool marks(const char *line, char c)
{
	line += strspn(line, " \t");
	return strspn(line, (char[]){ c, '\0' }) >= 5;
}

/* `<<<<<<< SEARCH` and `>>>>>>> REPLACE` differ from shifts in code by their length and the word. */
static bool opens(const char *line)
{
	return marks(line, '<') && strncmp(line + strcspn(line, "S\n"), "SEARCH", 6) == 0;
}

static bool ends(const char *line)
{
	return marks(line, '>') && strncmp(line + strcspn(line, "R\n"), "REPLACE", 7) == 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static void add_line(struct buf *out, const char *line)
{
	size_t n = strcspn(line, "\n");
	if (n && line[n - 1] == '\r')
		n--;
	buf_add(out, line, n);
	buf_addc(out, '\n');
}

static bool has_patch(const char *answer)
{
	for (const char *line = answer; *line; line = next_line(line)) {
		if (opens(line))
			return true;
	}
	return false;
}

/* Reads the block that opens at `line`; returns what follows it, NULL when it is not closed. */
static const char *read_block(const char *line, struct block *b)
{
	bool replacing = false;
	for (line = next_line(line); *line; line = next_line(line)) {
		if (ends(line))
			return replacing ? next_line(line) : NULL;
		if (!replacing && marks(line, '='))
			replacing = true;
		else
			add_line(replacing ? &b->replace : &b->search, line);
	}
	return NULL;
}

/* First place at or after `from` where the search stands as whole lines. */
static const char *find_lines(const char *text, const char *from, const char *search)
{
	for (const char *at = from; (at = strstr(at, search)); at++) {
		if (at == text || at[-1] == '\n')
			return at;
	}
	return NULL;
}

static char *describe(const char *what, const char *search)
{
	size_t n = strcspn(search, "\n");
	return mem_fmt("the search block that begins with \"%.*s\" %s", (int)(n < 120 ? n : 120), search, what);
}

/* Replaces the one place where the search stands; else says what is wrong and returns false. */
static bool apply_block(struct buf *text, const struct block *b, struct reply *r)
{
	const char *search = buf_text(&b->search), *at = *search ? find_lines(text->data, text->data, search) : NULL;
	if (!at) {
		fail(r, REPLY_SEARCH_MISSING, describe("is not in the region; it must repeat whole lines exactly", search));
		return false;
	}
	if (find_lines(text->data, at + 1, search)) {
		fail(r, REPLY_SEARCH_TWICE, describe("is there more than once; it must hold enough lines to be unique", search));
		return false;
	}
	struct buf out = BUF_INIT;
	buf_add(&out, text->data, (size_t)(at - text->data));
	buf_adds(&out, buf_text(&b->replace));
	buf_adds(&out, at + b->search.len);
	buf_fini(text);
	*text = out;
	return true;
}

/* Applies every block of the answer in order, each to what the one before left: all or none. */
static void apply_patch(const struct reply_want *want, const char *answer, enum reply_finish finish, struct reply *r)
{
	struct buf text = BUF_INIT;
	bool good = want->may_patch;
	if (!good)
		fail(r, REPLY_NO_CODE,
		     mem_fmt("search/replace blocks are not accepted here; expected the whole %s region in one fence",
			     context_region_name(want->region)));
	buf_adds(&text, want->before);
	if (text.len && text.data[text.len - 1] != '\n')
		buf_addc(&text, '\n');
	for (const char *line = answer; good && *line;) {
		if (!opens(line)) {
			line = next_line(line);
			continue;
		}
		struct block b = { BUF_INIT, BUF_INIT };
		line = read_block(line, &b);
		if (line) {
			good = apply_block(&text, &b, r);
		} else {
			good = false;
			fail(r, finish == REPLY_FINISH_LENGTH ? REPLY_TRUNCATED : REPLY_UNTERMINATED,
			     mem_str("a search/replace block is not closed by `>>>>>>> REPLACE`"));
		}
		buf_fini(&b.search);
		buf_fini(&b.replace);
	}
	if (good)
		check_text(want, buf_steal(&text), r);
	buf_fini(&text);
}

/* What stands outside of the fences, on one line. */
static char *words_of(const char *answer)
{
	struct buf prose = BUF_INIT;
	struct markdown m = { .at = answer, .line = 1, .lists = true };
	struct markdown_block b;
	while (prose.len < 4 * WORDS_MAX && markdown_next(&m, &b))
		if (b.kind != MARKDOWN_FENCE)
			buf_add(&prose, b.start, (size_t)(b.end - b.start));
	char *words = front_matter_collapse(buf_text(&prose), prose.len);
	buf_fini(&prose);
	utf8_cut(words, WORDS_MAX);
	if (*words)
		return words;
	free(words);
	return NULL;
}

char *reply_marked(const char *answer, const char *mark)
{
	char *text = NULL;
	size_t len = strlen(mark);
	struct markdown m = { .at = answer, .line = 1, .lists = true };
	struct markdown_block f;
	while (markdown_next_fence(&m, &f))
		if (f.closed && f.info_len >= len && strncmp(f.info, mark, len) == 0 &&
		    (f.info_len == len || isspace((unsigned char)f.info[len]))) {
			free(text);
			text = markdown_body(&f);
		}
	return text;
}

static void parse(const struct reply_want *want, const char *answer, enum reply_finish finish, struct reply *ret_reply)
{
	*ret_reply = (struct reply){ .outcome = REPLY_EMPTY };
	struct markdown_block f;
	if (answer[strspn(answer, " \t\r\n")] == '\0') {
		if (finish == REPLY_FINISH_REFUSED)
			fail(ret_reply, REPLY_REFUSED, mem_str("the provider reports a refusal and sent no text"));
		else if (finish == REPLY_FINISH_LENGTH)
			fail(ret_reply, REPLY_TRUNCATED, mem_str("the answer was cut at its length limit before any text came"));
		else
			fail(ret_reply, REPLY_EMPTY, mem_str("the answer is empty"));
		return;
	}
	if (has_patch(answer)) {
		apply_patch(want, answer, finish, ret_reply);
		return;
	}
	int rank = find_fence(want, answer, &f);
	if (rank < 0) {
		no_fence(want, answer, finish, ret_reply);
	} else if (rank == 0) {
		fail(ret_reply, REPLY_WRONG_REGION,
		     mem_fmt("no fence holds the %s region; mark it as the instructions say", context_region_name(want->region)));
	} else if (!f.closed) {
		bool cut = finish == REPLY_FINISH_LENGTH;
		fail(ret_reply, cut ? REPLY_TRUNCATED : REPLY_UNTERMINATED,
		     mem_str(cut ? "the answer was cut at its length limit inside the code"
				 : "the fence around the code is not closed"));
	} else {
		check_text(want, markdown_body(&f), ret_reply);
	}
}

void reply_parse(const struct reply_want *want, const char *answer, enum reply_finish finish, struct reply *ret_reply)
{
	parse(want, answer, finish, ret_reply);
	if (ret_reply->outcome != REPLY_OK)
		ret_reply->words = words_of(answer);
}

void reply_fini(struct reply *r)
{
	free(r->words);
	free(r->text);
	free(r->detail);
	*r = (struct reply){ .outcome = REPLY_EMPTY };
}

const char *reply_finish_name(enum reply_finish f)
{
	static const char *const names[] = {
		[REPLY_FINISH_STOP] = "stop",
		[REPLY_FINISH_LENGTH] = "length",
		[REPLY_FINISH_REFUSED] = "refused",
		[REPLY_FINISH_OTHER] = "other",
	};
	return names[f];
}

const char *reply_outcome_name(enum reply_outcome o)
{
	static const char *const names[] = {
		[REPLY_OK] = "ok",
		[REPLY_EMPTY] = "empty",
		[REPLY_REFUSED] = "refused",
		[REPLY_NO_CODE] = "no code",
		[REPLY_WRONG_REGION] = "wrong region",
		[REPLY_TRUNCATED] = "truncated",
		[REPLY_UNTERMINATED] = "unterminated",
		[REPLY_ELIDED] = "elided",
		[REPLY_DROPPED_KERNEL] = "dropped kernel",
		[REPLY_UNCHANGED] = "unchanged",
		[REPLY_SEARCH_MISSING] = "search block missing",
		[REPLY_BAD_PLAN] = "bad plan",
		[REPLY_SEARCH_TWICE] = "search block ambiguous",
	};
	return names[o];
}
