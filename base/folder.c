/* folder: see folder.h. */
#include "base/folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct folder_file *)a)->name, ((const struct folder_file *)b)->name);
}

/* The file's name without the ending that it has; NULL when it has none of them, or is hidden. free(). */
static char *name_of(const char *file, const char *const *endings)
{
	size_t n = strlen(file);
	for (; *file != '.' && *endings; endings++) {
		size_t m = strlen(*endings);
		if (n > m && strcmp(file + n - m, *endings) == 0)
			return mem_strn(file, n - m);
	}
	return NULL;
}

struct folder_file *folder_list(const char *const *folders, size_t folder_count, const char *const *endings, size_t *ret_count)
{
	struct folder_file *files = NULL;
	size_t count = 0;
	for (size_t i = 0; i < folder_count; i++) {
		DIR *d = folders[i] ? opendir(folders[i]) : NULL;
		for (struct dirent *x; d && (x = readdir(d)) != NULL;) {
			char *name = name_of(x->d_name, endings);
			bool known = name == NULL;
			for (size_t k = 0; k < count && !known; k++)
				known = strcmp(files[k].name, name) == 0;
			if (known)
				free(name);
			else
				*MEM_PUSH(files, count) = (struct folder_file){ name, mem_fmt("%s/%s", folders[i], x->d_name) };
		}
		if (d)
			closedir(d);
	}
	if (count)
		qsort(files, count, sizeof *files, by_name);
	*ret_count = count;
	return files;
}

char *folder_find_program(const char *folders, const char *name)
{
	while (folders && *folders) {
		size_t n = strcspn(folders, ":");
		char *path = mem_fmt("%.*s/%s", (int)n, folders, name);
		if (n && access(path, X_OK) == 0)
			return path;
		free(path);
		folders += n + (folders[n] == ':');
	}
	return NULL;
}

void folder_free(struct folder_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].name);
		free(files[i].path);
	}
	free(files);
}
