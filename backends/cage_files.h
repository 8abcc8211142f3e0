/* cage_files: Landlock: a list of places, then only these. The kernel's own numbers are here, since Debian 12's header ends at
 * ABI 2. Called by cage.c, and by its test. */
#ifndef PEAKD_BACKENDS_CAGE_FILES_H
#define PEAKD_BACKENDS_CAGE_FILES_H

#include "base/err.h"

enum cage_files_use {
	CAGE_FILES_READ,   /* read files and list folders */
	CAGE_FILES_DEVICE, /* read, write, ioctl; nothing is created */
	CAGE_FILES_SCRATCH, /* all that files and folders are for, but to execute them */
	CAGE_FILES_EMPTY,  /* remove empty folders, and list */
	CAGE_FILES_SHARE,  /* as DEVICE, and files may be created and removed: shared memory */
};

/* A Landlock rule set under construction. */
struct cage_files { int fd; int abi; };

/* Landlock's ABI, 0 without Landlock (compiled out, not booted, or an old or foreign kernel). */
int cage_files_abi(void);
/* Nothing is allowed yet. abi: of cage_files_abi, above 0. */
int cage_files_init(struct cage_files *f, int abi, struct err *e);
/* Allows a file or all below a folder. What does not exist or cannot be opened is passed over. */
void cage_files_allow(struct cage_files *f, const char *path, enum cage_files_use use);
/* The same for every match of a shell pattern. */
void cage_files_allow_all(struct cage_files *f, const char *pattern, enum cage_files_use use);
/* Binds this thread and what it starts; also TCP and abstract Unix sockets where the ABI knows them. Needs no_new_privs. */
int cage_files_close(struct cage_files *f, struct err *e);
void cage_files_fini(struct cage_files *f);

#endif
