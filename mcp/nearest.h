/* nearest: "did you mean": the candidate that is closest to a misspelt name. */
#ifndef PEAKD_MCP_NEAREST_H
#define PEAKD_MCP_NEAREST_H

#include <stddef.h>

struct mcp_nearest {
	const char *given;
	const char *best; /* borrowed from the caller; NULL while nothing is near */
	size_t distance;  /* of best */
};

struct mcp_nearest mcp_nearest_init(const char *given);
void mcp_nearest_offer(struct mcp_nearest *near, const char *candidate);
/* NULL when nothing was near enough to be meant: within a third of the name's length, at least 1. */
const char *mcp_nearest_best(const struct mcp_nearest *near);

#endif
