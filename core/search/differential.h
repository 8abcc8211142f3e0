/* differential: differential evolution over value indices. */
#ifndef PEAKD_CORE_SEARCH_DIFFERENTIAL_H
#define PEAKD_CORE_SEARCH_DIFFERENTIAL_H

#include "core/search/search.h"

extern const struct search_strategy search_differential;

#endif
