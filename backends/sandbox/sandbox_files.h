/* sandbox_files: Landlock: a list of places, then only these. The kernel's own numbers are here, since Debian 12's header ends at
 * ABI 2. Called by sandbox.c, and by its test. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_FILES_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_FILES_H

#include "base/err.h"

enum sandbox_files_use {
	SANDBOX_FILES_READ,   /* read files and list folders */
	SANDBOX_FILES_DEVICE, /* read, write, ioctl; nothing is created */
	SANDBOX_FILES_SCRATCH, /* all that files and folders are for, but to execute them */
	SANDBOX_FILES_EMPTY,  /* remove empty folders, and list */
	SANDBOX_FILES_SHARE,  /* as DEVICE, and files may be created and removed: shared memory */
};

/* A Landlock rule set under construction. */
struct sandbox_files { int fd; int abi; };

/* Landlock's ABI, 0 without Landlock (compiled out, not booted, or an old or foreign kernel). */
int sandbox_files_abi(void);
/* Nothing is allowed yet. abi: of sandbox_files_abi, above 0. */
int sandbox_files_init(struct sandbox_files *f, int abi, struct err *e);
/* Allows a file or all below a folder. What does not exist or cannot be opened is passed over. */
void sandbox_files_allow(struct sandbox_files *f, const char *path, enum sandbox_files_use use);
/* The same for every match of a shell pattern. */
void sandbox_files_allow_all(struct sandbox_files *f, const char *pattern, enum sandbox_files_use use);
/* Binds this thread and what it starts; also TCP and abstract Unix sockets where the ABI knows them. Needs no_new_privs. */
int sandbox_files_close(struct sandbox_files *f, struct err *e);
void sandbox_files_fini(struct sandbox_files *f);

#endif
