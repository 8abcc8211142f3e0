/* library: looks for a vendor's libraries on this machine. Called by cuda/library.c and hip/library.c, which know the
 * folders and names, and by cuda/nvml.c. */
#ifndef PEAKD_BACKENDS_GPU_LIBRARY_H
#define PEAKD_BACKENDS_GPU_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/gpu/api.h"
#include "base/buf.h"

/* Folders of installed toolkits, in the order of the search. */
struct gpu_places {
	char **list;
	size_t count;
};

/* Adds a folder that is not there yet. */
void gpu_places_add(struct gpu_places *p, const char *folder);
/* Adds the folders that a glob pattern finds, the newest version first. */
void gpu_places_add_versions(struct gpu_places *p, const char *pattern);
void gpu_places_fini(struct gpu_places *p);
/* Appends "; looked below A, B". */
void gpu_places_describe(const struct gpu_places *p, struct buf *out);

/* An environment variable; NULL when it is unset or empty. */
const char *gpu_library_setting(const char *name);
/* dlopen of one file; the linker's message is appended to `tried` when it fails. Libraries stay loaded for the life of the
 * process, so opening one again is only a look-up. */
void *gpu_library_open(const char *file, struct buf *tried);
/* The first of the files that opens. When the environment variable is set, it names the only candidate. NULL: none. */
void *gpu_library_open_first(const char *variable, const char *const *files, size_t count, struct buf *tried);
/* The next readable file below the places with one of the names, from *io_at on, which starts as 0. False at the end. */
bool gpu_library_next(const struct gpu_places *places, const char *const *names, size_t count, size_t *io_at, char file[GPU_PATH]);
/* The first library below the places that opens; with_linker: else the first that ld.so finds by its name. NULL: none. */
void *gpu_library_search(const struct gpu_places *places, const char *const *names, size_t count, bool with_linker,
			 struct buf *tried);
/* The file that a function's address comes from; ret_path is left alone when the linker does not know it. */
void gpu_library_path(void *function, char ret_path[GPU_PATH]);

#endif
