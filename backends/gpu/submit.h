/* submit: a plan's operations on the stream of an NVIDIA or AMD device. Called by run.c, which records them into a graph or times them
 * one by one, and by cuda/backend.c. */
#ifndef PEAKD_BACKENDS_GPU_SUBMIT_H
#define PEAKD_BACKENDS_GPU_SUBMIT_H

#include "backends/gpu/run.h"

/* The attributes of an extensible launch (cooperative, cluster); returns their number. */
unsigned gpu_submit_attributes(const struct plan_launch *l, struct gpu_launch_attribute to[GPU_ATTRIBUTES]);
/* Submits operation i of the plan on the set's buffers. */
gpu_result gpu_submit_op(const struct backend_run *run, const struct gpu_set *set, size_t i);
/* Submits every operation, in order; *ret_op: the number of the last one tried, from 1. */
gpu_result gpu_submit_plan(const struct backend_run *run, const struct gpu_set *set, size_t *ret_op);

#endif
