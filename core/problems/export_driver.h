/* export_driver: the C++ text of KERNEL_driver.h, which every exported CUDA driver includes: buffers, filling, launching, timing,
 * checking. It is data here: nvcc compiles it, peakd does not. Used by core/problems/export.c alone. */
#ifndef PEAKD_CORE_PROBLEMS_EXPORT_DRIVER_H
#define PEAKD_CORE_PROBLEMS_EXPORT_DRIVER_H

#include "base/buf.h"

void export_driver(struct buf *out);

#endif
