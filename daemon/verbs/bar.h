/* bar: the progress of a running call: one redrawn line on stderr when that is a terminal, nothing elsewhere. */
#ifndef PEAKD_DAEMON_VERBS_BAR_H
#define PEAKD_DAEMON_VERBS_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct bar {
	const char *label; /* starts the line; borrowed */
	bool terminal;
	bool drawn;      /* the line is on the screen */
	int width;       /* columns of the terminal */
	int64_t next_ns; /* the earliest time of the next redraw; monotonic */
};

void bar_init(struct bar *bar, const char *label);
/* A client_progress: "tune 12/128, best 1.3 ms" is drawn as a bar that is 12/128 full, followed by the message. */
void bar_say(void *arg, const char *message);
/* Erases the line. */
void bar_clear(struct bar *bar);
/* The line for a message, without terminal control characters, at most `width` columns. free(). */
char *bar_line(const char *label, const char *message, int width);

#endif
