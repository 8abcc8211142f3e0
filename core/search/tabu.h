/* tabu: tabu search: always on to the best neighbour, never back. */
#ifndef PEAKD_CORE_SEARCH_TABU_H
#define PEAKD_CORE_SEARCH_TABU_H

#include "core/search/search.h"

extern const struct search_strategy search_tabu;

#endif
