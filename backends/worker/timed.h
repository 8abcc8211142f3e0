/* timed: times prepared runs so that no kernel gains by keeping results. The values of every timed execution are others than
 * those of the execution before, at other addresses, and nothing that an earlier one computed is left (backend.h). Outputs
 * of timed executions, drawn by lot, are kept until the daemon has examined them. runs.c forwards requests to this file. */
#ifndef PEAKD_BACKENDS_WORKER_TIMED_H
#define PEAKD_BACKENDS_WORKER_TIMED_H

#include <stdbool.h>

#include "backends/worker/runs_parts.h"

/* Requests and answers as in wire_calls. */
int timed_measure(struct runs *all, struct run *r, const void *request, void *answer, struct err *e);
int timed_pair(struct runs *all, struct run *r, const void *request, void *answer, struct err *e);
/* WIRE_SPLIT: the time of each operation. What the last execution left is gone afterwards. */
int timed_split(struct runs *all, struct run *r, const void *request, void *answer, struct err *e);
int timed_energy(struct runs *all, struct run *r, const void *request, void *answer, struct err *e);
/* Makes what a timed execution with these values left the run's outputs. False when none was kept. */
bool timed_look(struct runs *all, struct run *r, const struct fill_choice *choice, struct wire_executed *ret_executed);
/* Where another process writes the buffers: keeps what inout holds, for timed executions to start from. */
int timed_keep_inout(struct runs *all, struct run *r, struct err *e);
/* Drops what timed executions left. */
void timed_forget(struct runs *all, struct run *r);

#endif
