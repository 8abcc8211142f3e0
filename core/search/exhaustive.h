/* exhaustive: every point of the space, in order. */
#ifndef PEAKD_CORE_SEARCH_EXHAUSTIVE_H
#define PEAKD_CORE_SEARCH_EXHAUSTIVE_H

#include "core/search/search.h"

extern const struct search_strategy search_exhaustive;

#endif
