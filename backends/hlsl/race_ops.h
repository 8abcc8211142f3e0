/* race_ops: arithmetic of the SPIR-V interpreter, one scalar at a time. Called by race_lane.c. */
#ifndef PEAKD_BACKENDS_HLSL_RACE_OPS_H
#define PEAKD_BACKENDS_HLSL_RACE_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/hlsl/race_module.h"

/* Results of `op` on scalars a, b, c of type `in` (the operands') as a scalar of type `out`. False when the operation is not known. */
bool hlsl_race_ops_scalar(uint32_t op, const struct race_type *out, const struct race_type *in, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t *ret);
/* The same for an instruction of GLSL.std.450. */
bool hlsl_race_ops_ext(uint32_t number, const struct race_type *type, uint64_t a, uint64_t b, uint64_t c, uint64_t *ret);
/* Numbers as bits of a type, and back. */
double hlsl_race_ops_float(const struct race_type *t, uint64_t bits);
uint64_t hlsl_race_ops_bits(const struct race_type *t, double value);

#endif
