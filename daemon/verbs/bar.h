/* bar: what a running call says of itself, on stderr: one line with a bar, redrawn, when that is a terminal; nothing elsewhere. */
#ifndef PEAKD_DAEMON_VERBS_BAR_H
#define PEAKD_DAEMON_VERBS_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct bar {
	const char *label;    /* in front of the line; borrowed */
	bool terminal;
	bool drawn;           /* the line is on the screen */
	int width;            /* columns of the terminal */
	int64_t next_ns;      /* not redrawn before: monotonic time */
};

void bar_init(struct bar *bar, const char *label);
/* A client_progress: "tune 12/128, best 1.3 ms" is drawn as a bar that is 12/128 full with the words behind it. */
void bar_say(void *arg, const char *message);
/* Takes the line away. */
void bar_clear(struct bar *bar);
/* The line for a message, without control characters of the terminal; at most `width` columns. free(). */
char *bar_line(const char *label, const char *message, int width);

#endif
