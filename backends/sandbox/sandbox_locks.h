/* sandbox_locks: the kernel's two locks: Landlock for files, seccomp for system calls. Called by sandbox.c and its
 * test. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_LOCKS_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_LOCKS_H

#include <stdbool.h>

#include "base/err.h"

enum sandbox_files_use {
	SANDBOX_FILES_READ,    /* read files and list folders */
	SANDBOX_FILES_RUN,     /* the same, and execute programs */
	SANDBOX_FILES_DEVICE,  /* read, write, ioctl, but create nothing */
	SANDBOX_FILES_SCRATCH, /* everything except executing */
	SANDBOX_FILES_EMPTY,   /* list, and remove empty folders */
};

/* A Landlock rule set under construction. */
struct sandbox_files {
	int fd;
	int abi;
};

/* Landlock's ABI; 0 without Landlock (not compiled in, not booted, or an old or foreign kernel). */
int sandbox_files_abi(void);
/* Nothing is allowed yet. abi: of sandbox_files_abi, above 0. */
int sandbox_files_init(struct sandbox_files *f, int abi, struct err *e);
/* Allows a file, or everything below a folder. Ignores what does not exist or cannot be opened. */
void sandbox_files_allow(struct sandbox_files *f, const char *path, enum sandbox_files_use use);
/* The same for every match of a shell pattern. */
void sandbox_files_allow_all(struct sandbox_files *f, const char *pattern, enum sandbox_files_use use);
/* Binds this thread and what it starts; where the ABI covers them, also TCP and abstract Unix sockets. Needs
 * no_new_privs. */
int sandbox_files_close(struct sandbox_files *f, struct err *e);
void sandbox_files_fini(struct sandbox_files *f);

/* True when this kernel accepts filters that answer with an errno. */
bool sandbox_calls_offered(void);
/* What a process may still do with processes. */
enum sandbox_calls {
	SANDBOX_CALLS_ALONE,   /* nothing */
	SANDBOX_CALLS_EXECUTE, /* become another program, which keeps the filter */
	SANDBOX_CALLS_START,   /* also start other programs, which keep it, too */
};
/* Refuses, with EPERM and in every thread, the system calls that no compiler and no working GPU driver needs. A list of
 * what is denied, not of what is allowed: drivers are closed and change, and what they do (ioctl, mmap, futex) is up to
 * them. Needs no_new_privs. */
int sandbox_calls_close(enum sandbox_calls may, struct err *e);

#endif
