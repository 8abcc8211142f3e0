/* bayes: a few diverse points, then whatever promises most improvement under a Gaussian process of the logarithms of the times. */
#ifndef PEAKD_CORE_SEARCH_BAYES_H
#define PEAKD_CORE_SEARCH_BAYES_H

#include "core/search/search.h"

extern const struct search_strategy search_bayes;

#endif
