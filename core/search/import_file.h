/* import_file: reads a JSON file of another tool, or one of our own, plain or gzipped. Called by core/search/simulate,
 * core/transform/replay and `peakd workflow import`. */
#ifndef PEAKD_CORE_SEARCH_IMPORT_FILE_H
#define PEAKD_CORE_SEARCH_IMPORT_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the whole text. Returns -ERR_IO when the file cannot be read, -ERR_INPUT beyond a gibibyte. */
int import_file_read(const char *path, struct buf *text, struct err *e);

#endif
