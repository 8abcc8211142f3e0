/* bandit: shares the budget among the other strategies by what each has lately found. */
#ifndef PEAKD_CORE_EVAL_SEARCH_BANDIT_H
#define PEAKD_CORE_EVAL_SEARCH_BANDIT_H

#include "core/eval/search/search.h"

extern const struct search_strategy search_bandit;

#endif
