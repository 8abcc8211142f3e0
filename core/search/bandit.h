/* bandit: shares the budget among the other strategies by what each has lately found. */
#ifndef PEAKD_CORE_SEARCH_BANDIT_H
#define PEAKD_CORE_SEARCH_BANDIT_H

#include "core/search/search.h"

extern const struct search_strategy search_bandit;

#endif
