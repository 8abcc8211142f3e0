/* compare_related: whether random numbers depend on each other in ways that plain correlation misses. Called by compare_random.c
 * alone. */
#ifndef PEAKD_BACKENDS_VALUES_COMPARE_RELATED_H
#define PEAKD_BACKENDS_VALUES_COMPARE_RELATED_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/wire/wire.h"

enum { RELATED_LAGS = 64, RELATED_LAGS_OF_MANY = 256 };

/* What correlations of n pairs may differ by, where each is a mean of products of which none exceeds `largest`, in variances: the
 * second term is Bernstein's ("Theory of Probability", 1927), for events so rare that two of them in one place stand out. */
double compare_related_limit(double z, size_t n, double largest);
/* n numbers in a row, and as many of the reference. Says in `finding` what it finds. many: from several executions, so that more
 * distant ones are looked at. */
void compare_related_within(const double *got, const double *want, size_t n, bool many, char finding[WIRE_FINDING]);
/* Whether got[0][i] and got[1][i] are related, and want[0][i] and want[1][i] are not. Its text completes "numbers that … ". */
void compare_related_between(const double *const got[2], const double *const want[2], size_t n, char finding[WIRE_FINDING]);

#endif
