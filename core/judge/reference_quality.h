/* reference_quality: can candidates be judged by these reference outputs, and how exactly? Range, deviation and variation per axis
 * decide the first, the noise floor of the arithmetic the second. Called by reference.c alone. */
#ifndef PEAKD_CORE_JUDGE_REFERENCE_QUALITY_H
#define PEAKD_CORE_JUDGE_REFERENCE_QUALITY_H

#include "core/judge/reference.h"

/* -ERR_INTERNAL when a kernel that does nothing, writes a constant or computes one row could pass against this output: NaN or
 * infinity, zero or denormal throughout, a deviation that is mere rounding, no variation along an axis. */
int reference_quality_check(const struct reference_output *o, struct err *e);

/* -ERR_INTERNAL when spikes and offsets cannot judge: without a reference block the baseline's own error on them is unknown, and
 * inputs may be rounded to a type that does not reach so far (tensor:f16/…, fp8). */
int reference_quality_permits(const struct spec *spec, bool has_reference, struct err *e);

/* Sets every output's tolerance, on ‖out−reference‖/‖reference‖. With u_out, u_in, u_sum the unit roundoffs of the output's type,
 * of what precision: allows inputs to be rounded to, and of the permitted sums, and K the terms of a sum: floor = u_out + 2·u_in +
 * u_sum·√max(K,16) (the rounding errors of a sequential sum of K terms grow like 0.2·u·√K relative to its result, for random signs
 * and for one sign alike: N. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SISC 2019; so any order
 * passes with room). A baseline with a reference block may have a larger error of its own: then max(floor with f32 sums,
 * 4·own_error). Spikes and offsets cost conditioning: four times the floor. Exact values: 16·u_sum, since nothing rounds but the
 * output, once. -ERR_INTERNAL when values are to be exact and the outputs are not. */
int reference_quality_tolerances(const struct spec *spec, const struct params *params, enum plan_values values, struct reference *r,
				 struct err *e);

#endif
