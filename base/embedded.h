/* embedded: the files that are compiled into the binary (EMBEDDED in the Makefile): schema/, and texts in other languages that
 * stand beside the code that uses them. */
#ifndef PEAKD_BASE_EMBEDDED_H
#define PEAKD_BASE_EMBEDDED_H

/* The text of the first file whose path begins so ("schema/0001-", "core/context/lift.cu"); NULL when there is none. */
const char *embedded_file(const char *path);

#endif
