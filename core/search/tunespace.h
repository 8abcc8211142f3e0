/* tunespace: the tuning configurations of one input size as a search sees them: numbered points with value indices.
 * Between core/context/space and core/eval/search; used by tune.c. */
#ifndef PEAKD_CORE_SEARCH_TUNESPACE_H
#define PEAKD_CORE_SEARCH_TUNESPACE_H

#include <stdbool.h>

#include "core/context/context.h"
#include "core/search/search.h"

struct tunespace;

/* All valid points of a size (its inputs; tuning parameters in it are ignored). The context must outlive it. */
int tunespace_new(const struct context *ctx, const struct facts *facts, const struct params *size, struct tunespace **ret_space,
                  struct err *e);
void tunespace_free(struct tunespace *space);
const struct search_space *tunespace_search(const struct tunespace *space);
/* Name of a dimension's tuning parameter. Borrowed. */
const char *tunespace_name(const struct tunespace *space, size_t dim);
/* Full execution parameters of a point; params_free them. */
struct params *tunespace_at(const struct tunespace *space, size_t point);
/* The point with exactly these parameters, sizes included; SEARCH_NONE when there is none. */
size_t tunespace_point(const struct tunespace *space, const struct params *params);
/* It is one of the points. */
bool tunespace_has(const struct tunespace *space, const struct params *params);
/* The point whose tuning parameters agree with most of `like` (those that both have; nearest values for the rest), so that the
 * winners of a parent seed a child with other parameters. Where parameters appeared, many points agree equally well: `turn` takes
 * them one after the other, so that many winners spread over what is new. SEARCH_NONE when nothing is shared. */
size_t tunespace_nearest(const struct tunespace *space, const struct params *like, size_t turn);

#endif
