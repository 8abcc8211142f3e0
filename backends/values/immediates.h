/* immediates: the numbers that compiled code holds. The judge makes input values of them, as fuzzers do of a dictionary: code that
 * is wrong at one number alone most often compares with it. Called by the backends' compilers; core/judge/dictionary.c chooses. */
#ifndef PEAKD_BACKENDS_VALUES_IMMEDIATES_H
#define PEAKD_BACKENDS_VALUES_IMMEDIATES_H

#include "backends/wire/wire.h"

/* A constant of a floating type. Zeros, infinities and NaN are left out. */
void immediates_add_float(struct wire_immediates *to, double v);
/* An integer constant of so many bits: its value, and what the bits mean as a float, as two equal halves, as f16 and as bf16. */
void immediates_add_integer(struct wire_immediates *to, int64_t v, unsigned bits);
/* Operands of PTX instructions, and the tables of floats beside them. The text may be hostile. */
void immediates_add_ptx(struct wire_immediates *to, const char *ptx);
/* Numeric literals of source text in C or HLSL, where a compiler gives no readable code. */
void immediates_add_source(struct wire_immediates *to, const char *text);
/* Each once and in order; some hundreds, evenly chosen where there are more. The last call. */
void immediates_finish(struct wire_immediates *to);

#endif
