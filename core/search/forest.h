/* forest: local search guided by extremely randomised trees that learn from every result, failures included. */
#ifndef PEAKD_CORE_SEARCH_FOREST_H
#define PEAKD_CORE_SEARCH_FOREST_H

#include "core/search/search.h"

extern const struct search_strategy search_forest;

#endif
