/* folder: files in a test's own folder below /tmp, which mkdtemp has made. */
#ifndef PEAKD_TESTS_FOLDER_H
#define PEAKD_TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

/* Writes ROOT/PATH; PATH may begin with one folder, which is made. */
__attribute__((unused))
static void folder_write(const char *root, const char *path, const char *text)
{
	char *file = mem_fmt("%s/%s", root, path), *slash = strrchr(file, '/');
	*slash = '\0';
	mkdir(file, 0700);
	*slash = '/';
	FILE *f = fopen(file, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	free(file);
}

__attribute__((unused))
static void folder_remove(const char *root)
{
	char *command = mem_fmt("rm -rf '%s'", root);
	if (system(command) != 0)
		printf("# %s is left\n", root);
	free(command);
}

#endif
