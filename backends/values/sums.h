/* sums: the first look at an output and its reference: how far they are apart in all, and which blocks of elements have to be looked at
 * one by one. Called by backends/values/compare.c. */
#ifndef PEAKD_BACKENDS_VALUES_SUMS_H
#define PEAKD_BACKENDS_VALUES_SUMS_H

#include <stdint.h>

#include "backends/wire/dtype.h"

enum { SUMS_BLOCK = 1024 };

struct sums {
	double diff2, ref2;     /* Σ(got−want)², Σwant² where both are finite */
	double max_abs;         /* the largest |got−want| where both are finite */
	uint64_t finite_refs;
};

/* Over `elements` elements of either. ret_most has room for one number per SUMS_BLOCK of them: the largest |got−want| in that block; infinite
 * when something there is not finite or, in a block of floats, holds `poison` (a byte, in all bytes of an element). The same whoever
 * computes it, on however many threads. */
void sums_of(enum dtype type, const void *got, const void *want, uint64_t elements, uint8_t poison, struct sums *ret_sums, double *ret_most);

#endif
