/* local: some random points, then the neighbourhoods of the best ones found so far. */
#ifndef PEAKD_CORE_SEARCH_LOCAL_H
#define PEAKD_CORE_SEARCH_LOCAL_H

#include "core/search/search.h"

extern const struct search_strategy search_local;

#endif
