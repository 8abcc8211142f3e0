/* aim: which configurations of a size are worth judging beside random ones: those that the code itself tells apart. Its
 * comparisons of tuning parameters (`#if TX == 56 && U == 7`, `threads / 32 > 17`, `case 64:`), quotients that are cut off, tiles
 * that another parameter does not divide, and the ends of what it computes split the configurations into classes. Mistakes for few
 * configurations, which hardly any random draw meets, lie where rare classes meet. Called by core/judge/samples.c. */
#ifndef PEAKD_CORE_CONTEXT_AIM_H
#define PEAKD_CORE_CONTEXT_AIM_H

#include "core/context/space.h"

struct aim;

/* Reads the code of all regions. Borrows both, which must live as long. */
struct aim *aim_new(const struct context *ctx, const struct facts *facts);
void aim_free(struct aim *a);
/* By how many features configurations differ, as far as they were read. */
size_t aim_count(const struct aim *a);
/* Number k: "BX*BY//32" and "17". Borrowed. */
void aim_text(const struct aim *a, size_t k, const char **ret_left, const char **ret_right);

/* The points of one size, at most AIM_POINTS of them; where there are more, the seed chooses. `space` has no other size and must
 * live as long. */
enum { AIM_POINTS = 1024 };
struct aim_size;
struct aim_size *aim_size_new(struct aim *a, const struct space *space, uint64_t seed);
void aim_size_free(struct aim_size *s);
/* The number of the point in the rarest classes, by pairs of them that the fewest configurations of any size were in (aim_had). It
 * is never given again. SIZE_MAX: none is left, or they do not differ. */
size_t aim_next(struct aim_size *s);
/* This point, which may be any of the space, is judged. */
void aim_had(struct aim_size *s, size_t point);

#endif
