/* tunespace: the tuning configurations of one input size, as a search sees them: numbered points with value indices.
 * Connects core/context/space with core/search; used by core/tune. */
#ifndef PEAKD_CORE_SEARCH_TUNESPACE_H
#define PEAKD_CORE_SEARCH_TUNESPACE_H

#include "core/context/context.h"
#include "core/search/search.h"

struct tunespace;

/* All valid points at one input size (tuning parameters in `size` are ignored). The context must outlive the
 * tunespace. */
int tunespace_new(const struct context *ctx, const struct facts *facts, const struct params *size, struct tunespace **ret_space,
		  struct err *e);
void tunespace_free(struct tunespace *space);
const struct search_space *tunespace_search(const struct tunespace *space);
/* The name of a dimension's tuning parameter. Borrowed. */
const char *tunespace_name(const struct tunespace *space, size_t dim);
/* The complete execution parameters of a point; params_free them. */
struct params *tunespace_at(const struct tunespace *space, size_t point);
/* The point with exactly these parameters, sizes included; SEARCH_NONE if there is none. */
size_t tunespace_point(const struct tunespace *space, const struct params *params);
/* The point nearest to `like` in the tuning parameters that both have, so that a parent's winners can start a
 * child's search. When the child has new parameters, many points are equally near: each `turn` takes another one, so
 * that many winners spread over the new values. SEARCH_NONE when no parameter is shared. */
size_t tunespace_nearest(const struct tunespace *space, const struct params *like, size_t turn);

#endif
