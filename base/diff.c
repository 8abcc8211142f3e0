/* diff: longest common subsequence by dynamic programming, after cutting equal heads and tails; see diff.h. */
#include "base/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct lines {
	const char **at;
	size_t *len;
	size_t count;
};

/* One line of the result: ' ', '-' or '+', and where it stands in both texts. */
struct edit {
	char sign;
	size_t a, b;
};

struct edits {
	struct edit *at;
	size_t count;
};

static struct lines split(const char *text)
{
	struct lines l = { 0 };
	size_t lens = 0;
	while (*text) {
		size_t n = strcspn(text, "\n");
		*MEM_PUSH(l.at, l.count) = text;
		*MEM_PUSH(l.len, lens) = n;
		text += n + (text[n] == '\n');
	}
	return l;
}

static bool same(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	return a->len[i] == b->len[j] && memcmp(a->at[i], b->at[j], a->len[i]) == 0;
}

static void add(struct edits *e, char sign, size_t a, size_t b)
{
	*MEM_PUSH(e->at, e->count) = (struct edit){ sign, a, b };
}

/* The middle part, where heads and tails differ. */
static void compare(const struct lines *a, size_t a0, size_t a1, const struct lines *b, size_t b0, size_t b1, struct edits *e)
{
	size_t n = a1 - a0, m = b1 - b0, i = 0, j = 0;
	bool small = n <= DIFF_LINES_MAX && m <= DIFF_LINES_MAX;
	uint16_t *best = small ? MEM_NEW_N(uint16_t, (n + 1) * (m + 1)) : NULL;
	for (size_t x = n; small && x-- > 0;)
		for (size_t y = m; y-- > 0;) {
			uint16_t down = best[(x + 1) * (m + 1) + y], right = best[x * (m + 1) + y + 1];
			best[x * (m + 1) + y] = same(a, a0 + x, b, b0 + y) ? (uint16_t)(best[(x + 1) * (m + 1) + y + 1] + 1)
						: down > right             ? down
									   : right;
		}
	while (i < n || j < m) {
		if (small && i < n && j < m && same(a, a0 + i, b, b0 + j)) {
			add(e, ' ', a0 + i, b0 + j);
			i++;
			j++;
		} else if (i < n && (j == m || !small || best[(i + 1) * (m + 1) + j] >= best[i * (m + 1) + j + 1])) {
			add(e, '-', a0 + i++, b0 + j);
		} else {
			add(e, '+', a0 + i, b0 + j++);
		}
	}
	free(best);
}

static void print_hunk(struct buf *out, const struct lines *a, const struct lines *b, const struct edit *from,
		       const struct edit *to)
{
	size_t old = 0, new = 0;
	for (const struct edit *x = from; x < to; x++) {
		old += x->sign != '+';
		new += x->sign != '-';
	}
	buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from->a + (old > 0), old, from->b + (new > 0), new);
	for (const struct edit *x = from; x < to; x++) {
		const struct lines *l = x->sign == '+' ? b : a;
		size_t i = x->sign == '+' ? x->b : x->a;
		buf_addf(out, "%c%.*s\n", x->sign, (int)l->len[i], l->at[i]);
	}
}

void diff_unified(struct buf *out, const char *name_a, const char *text_a, const char *name_b, const char *text_b, unsigned around)
{
	if (strcmp(text_a, text_b) == 0)
		return;
	struct lines a = split(text_a), b = split(text_b);
	struct edits e = { 0 };
	size_t head = 0, tail = 0;
	for (; head < a.count && head < b.count && same(&a, head, &b, head); head++)
		add(&e, ' ', head, head);
	while (tail < a.count - head && tail < b.count - head && same(&a, a.count - 1 - tail, &b, b.count - 1 - tail))
		tail++;
	compare(&a, head, a.count - tail, &b, head, b.count - tail, &e);
	for (; tail > 0; tail--)
		add(&e, ' ', a.count - tail, b.count - tail);
	buf_addf(out, "--- %s\n+++ %s\n", name_a, name_b);
	for (size_t i = 0; i < e.count;) {
		if (e.at[i].sign == ' ') {
			i++;
			continue;
		}
		/* A hunk ends where more than twice `around` lines in a row are equal. */
		size_t first = i > around ? i - around : 0, last = i, end;
		for (size_t k = i; k < e.count && k <= last + 2 * around; k++)
			if (e.at[k].sign != ' ')
				last = k;
		end = last + 1 + around < e.count ? last + 1 + around : e.count;
		print_hunk(out, &a, &b, &e.at[first], e.at + end);
		i = end;
	}
	free(a.at);
	free(a.len);
	free(b.at);
	free(b.len);
	free(e.at);
}
