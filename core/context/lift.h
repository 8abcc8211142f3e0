/* lift: a context that computes the same in double. Its code has `double` wherever the context has a narrower type. Its arrays of
 * narrower floats are arrays of f64, and their values are still rounded to the declared type first. Its outputs are what judges
 * take for exact (core/judge/truth.c); host.c widens the plan that its host code records.
 *
 * An array whose bits the code reads (asuint, packed halves) keeps its type, and only what is computed from it is double. */
#ifndef PEAKD_CORE_CONTEXT_LIFT_H
#define PEAKD_CORE_CONTEXT_LIFT_H

#include "backends/wire/plan.h"
#include "core/context/context.h"

/* What the text of a lifted context says about its buffers. */
struct lift;
void lift_free(struct lift *lift);

/* narrow: for CUDA and HIP, arrays narrower than f32 become f64, too; code that reads them as packed words does not survive it.
 * HLSL code says by its views which arrays it reads so. -ERR_UNSUPPORTED with the reason where lifting cannot be done, or `narrow`
 * changes nothing. A result need not compile. */
int lift_context(const struct context *ctx, bool narrow, struct context **ret_lifted, struct err *e);

/* For host.c: widens buffers, scalars and dynamic shared memory of a plan that the unchanged host code recorded.
 * -ERR_UNSUPPORTED for operations on bytes that mean something else then. */
int lift_plan(const struct lift *lift, struct plan *plan, struct err *e);
/* For context.c: a constant of the front matter as the lifted code sees it, rounded to f32 where the declared code rounds it. */
double lift_constant(const struct lift *lift, double value);

#endif
