/* roofline: a picture of where a kernel stands below its device's measured ceilings: operations a second over operations for each
 * byte, both logarithmic. Called for `peakd profile --svg`. */
#ifndef PEAKD_CORE_MEASURE_ROOFLINE_H
#define PEAKD_CORE_MEASURE_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct roofline_point {
	const char *label;
	double intensity, gflops; /* FLOP/byte, GFLOP/s; not drawn unless both are positive */
};
/* All borrowed. */
struct roofline {
	const char *title, *pipe;            /* "matmul on NVIDIA H200", "f32" */
	double pipe_gflops, copy_gbs;        /* ceilings */
	const struct roofline_point *points; /* the first is the kernel, the second its parent */
	size_t point_count;
};

/* Appends an SVG document. False: a ceiling or every point is not known, and nothing was appended. */
bool roofline_svg(const struct roofline *r, struct buf *out);

#endif
