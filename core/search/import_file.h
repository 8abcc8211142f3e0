/* import_file: the text of a file that another tool wrote, plain or gzipped. Called by the importers and by `peakd workflow import`. */
#ifndef PEAKD_CORE_SEARCH_IMPORT_FILE_H
#define PEAKD_CORE_SEARCH_IMPORT_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends all of it. -ERR_IO when it cannot be read, -ERR_INPUT beyond a gibibyte. */
int import_file_read(const char *path, struct buf *text, struct err *e);

#endif
