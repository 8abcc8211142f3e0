/* folder: which files stand in folders that are searched in order, such as a user's own before the shipped one. Used by the library
 * of transformations, by notes and by micro-profiling tools. */
#ifndef PEAKD_BASE_FOLDER_H
#define PEAKD_BASE_FOLDER_H

#include <stddef.h>

struct folder_file {
	char *name; /* without its ending */
	char *path;
};

/* The files with one of the endings (".md"; NULL at the end of the list), sorted by name. Of a name that stands more than once the
 * first folder's counts. Missing folders, NULLs and hidden files are passed over. folder_free. */
struct folder_file *folder_list(const char *const *folders, size_t folder_count, const char *const *endings, size_t *ret_count);
/* Where the first of these folders ("/usr/bin:/bin"; NULL: none) has a program of this name, which may begin with folders. NULL:
 * nowhere. free(). */
char *folder_find_program(const char *folders, const char *name);
void folder_free(struct folder_file *take_files, size_t count);

#endif
