/* load: what others do on the CPU while a device that is the CPU is timed. core/measure/compare and profile say it beside
 * their figures. */
#ifndef PEAKD_CORE_MEASURE_LOAD_H
#define PEAKD_CORE_MEASURE_LOAD_H

#include <stdint.h>
#include <sys/types.h>

struct load {
	pid_t worker;
	double total, busy; /* seconds of all CPUs so far; total 0: not known */
	double own;         /* of them, of the worker and of this process */
};

enum { LOAD_TEXT = 96 };

/* Call it before and after what is timed. */
void load_begin(struct load *l, pid_t worker);
/* "other processes used 0.8 of 2 CPUs meanwhile"; "" where they used next to nothing, or where it is not known. Returns text. */
char *load_end(const struct load *l, char text[LOAD_TEXT]);

#endif
