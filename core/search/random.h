/* random: points drawn uniformly without replacement. */
#ifndef PEAKD_CORE_SEARCH_RANDOM_H
#define PEAKD_CORE_SEARCH_RANDOM_H

#include "core/search/search.h"

extern const struct search_strategy search_random;

#endif
