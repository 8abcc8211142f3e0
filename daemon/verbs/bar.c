/* bar: see bar.h. Used by run.c and verbs.c. */
#include "daemon/verbs/bar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "daemon/verbs/out.h"

#define REDRAW_NS (100 * CLOCK_MS)

enum { CELLS = 20, LABEL = 16 };

void bar_init(struct bar *bar, const char *label)
{
	*bar = (struct bar){ .label = label, .terminal = out_is_terminal(stderr), .width = out_width(stderr) };
}

/* The first "12/128" in the text as a fraction; -1 without one. */
static double fraction(const char *text)
{
	for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/')) {
		const char *begin = at;
		while (begin > text && isdigit((unsigned char)begin[-1]))
			begin--;
		double total = strtod(at + 1, NULL);
		if (begin < at && isdigit((unsigned char)at[1]) && total > 0) {
			double done = strtod(begin, NULL) / total;
			return done > 1 ? 1 : done;
		}
	}
	return -1;
}

/* Cuts the text to `columns` characters. What follows its last comma stays: how much time is left. */
static void cut(struct buf *b, int columns)
{
	char *comma = strrchr(buf_text(b), ','), *last = NULL;
	if ((int)utf8_count(buf_text(b)) <= columns)
		return;
	if (comma && (int)utf8_count(comma) < columns / 2) {
		last = mem_fmt("…%s", comma);
		columns -= (int)utf8_count(last);
	}
	for (size_t i = 0; i < b->len; i++)
		if (((unsigned char)b->data[i] & 0xc0) != 0x80 && columns-- == 0) {
			b->len = i;
			b->data[i] = '\0';
		}
	buf_adds(b, last ? last : "");
	free(last);
}

char *bar_line(const char *label, const char *message, int width)
{
	struct buf out = BUF_INIT;
	double part = fraction(message);
	buf_addf(&out, "%-*s ", LABEL, label);
	if (part >= 0) {
		int full = (int)(part * CELLS + 0.5);
		buf_addc(&out, '[');
		for (int i = 0; i < CELLS; i++)
			buf_addc(&out, i < full ? '#' : '.');
		buf_adds(&out, "] ");
	}
	for (const char *c = message; *c && *c != '\n'; c++)
		buf_addc(&out, iscntrl((unsigned char)*c) ? ' ' : *c);
	cut(&out, width);
	return buf_steal(&out);
}

void bar_say(void *arg, const char *message)
{
	struct bar *bar = arg;
	if (!bar->terminal || clock_now() < bar->next_ns)
		return;
	/* Some terminals start a new line after the last column, so it stays empty. */
	char *line = bar_line(bar->label, message, bar->width - 1);
	fflush(stdout);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	free(line);
	bar->drawn = true;
	bar->next_ns = clock_now() + REDRAW_NS;
}

void bar_clear(struct bar *bar)
{
	if (bar->drawn)
		fputs("\r\033[K", stderr);
	bar->drawn = false;
}
