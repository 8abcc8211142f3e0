/* lanes: the same work on many items by several threads, for compiling beside a device that is busy. */
#ifndef PEAKD_CORE_EVAL_LANES_H
#define PEAKD_CORE_EVAL_LANES_H

#include <stddef.h>

/* Calls work(arg, i) for i = 0 … count-1, each once, on up to `width` threads; returns when all are done. */
void lanes_run(unsigned width, size_t count, void (*work)(void *arg, size_t i), void *arg);

#endif
