/* annealing: simulated annealing: a walk that also goes uphill, ever less. */
#ifndef PEAKD_CORE_SEARCH_ANNEALING_H
#define PEAKD_CORE_SEARCH_ANNEALING_H

#include "core/search/search.h"

extern const struct search_strategy search_annealing;

#endif
