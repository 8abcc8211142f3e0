/* genetic: a genetic algorithm: children of two of the fastest, with mutations. */
#ifndef PEAKD_CORE_SEARCH_GENETIC_H
#define PEAKD_CORE_SEARCH_GENETIC_H

#include "core/search/search.h"

extern const struct search_strategy search_genetic;

#endif
