/* reference_ahead: references that will be needed, computed by a thread of their own beside the executions that come before: the process
 * of references and that of candidates work at the same time. validate.c starts one for each of its leases; what is timed meanwhile asks
 * reference_hold first. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_AHEAD_H
#define PEAKD_CORE_JUDGE_REFERENCE_AHEAD_H

#include "core/judge/reference.h"

struct reference_ahead;

/* All borrowed until reference_ahead_free, which has to come before the device is given back. */
struct reference_ahead *reference_ahead_new(const struct eval *ev, const struct context *root, const struct facts *facts,
                                            struct pool_worker *device);
/* In the order of need. size is borrowed, too; output_bytes: of all outputs at this size. Not more than half of what references_new keeps
 * is computed ahead: the rest would drive it out again. */
void reference_ahead_add(struct reference_ahead *a, const struct params *size, uint64_t seed, enum plan_values values, uint64_t output_bytes);
/* Begins. What cannot be computed is left to who needs it. */
void reference_ahead_start(struct reference_ahead *a);
/* Ends behind the reference that is being computed. NULL is fine. */
void reference_ahead_free(struct reference_ahead *take_ahead);

#endif
