/* region: the three parts of a kernel context that a transformation step may rewrite, and their names in Markdown.
 * Shared by every file of this room; the values equal core/context's, so that a cast is enough. */
#ifndef PEAKD_TRANSFORM_REGION_H
#define PEAKD_TRANSFORM_REGION_H

enum region { REGION_DEVICE, REGION_HOST, REGION_MACROS };
enum { REGION_COUNT = 3 };

/* "device", "host", "macros": as in `### device`. Static storage. */
const char *region_name(enum region region);
/* -1 for anything else. */
int region_parse(const char *name);
/* The word behind the fence of that region for a backend ("cuda", "hlsl", …): "cuda", "lua host", "macros". Static. */
const char *region_fence(enum region region, const char *backend);

#endif
