/* sandbox: what a worker may still do once it holds a kernel's text: open no new files, use no network, touch no other
 * processes. backends/worker/worker.c calls sandbox_start before anything else, sandbox_enter before the first
 * compilation or the opening of a device, and sandbox_close once libraries and driver are loaded. sandbox_lacks says
 * which protection the kernel does not offer, and the daemon shows it. A lock that is offered but cannot be closed is
 * an error. docs/trust.md says what each part is for. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum sandbox_role {
	SANDBOX_COMPILE, /* reads what its compilers need (struct sandbox_needs), and nothing else of the machine */
	SANDBOX_DEVICE,  /* also reads distribution and driver files, and uses the GPU's device files; writes no file */
	SANDBOX_PROGRAM, /* the same for another program, which it also executes (sandbox_exec) */
	SANDBOX_BUILDER, /* the same for one that starts compilers and writes files, in a scratch folder that is its TMPDIR */
};

/* What this kernel offers, and what the user wants. */
struct sandbox_kernel {
	int landlock; /* its ABI; 0: none */
	bool seccomp;
	bool off; /* PEAKD_SANDBOX=off */
};

/* What the vendors' libraries need beyond that, as backends/worker/backend.c finds out. */
struct sandbox_needs {
	char read[8][PATH_MAX]; /* folders, or files, whose folders are meant */
	unsigned read_count;
	bool scratch; /* COMPILE: a compiler keeps files in TMPDIR */
};

/* Asks the kernel, by system calls that change nothing. */
struct sandbox_kernel sandbox_probe(void);
/* Appends one line, without a line break, on what is missing and what follows from it; nothing when nothing is
 * missing. */
void sandbox_lacks(const struct sandbox_kernel *kernel, struct buf *out);

/* Environment and limits, first of all in a worker: no caches in the user's home, no core files. */
void sandbox_start(void);
/* Applies Landlock to this thread and all that it will start, then the role's limits. Call it once, before a driver
 * starts threads: Landlock binds threads, not processes. -ERR_UNSUPPORTED: the kernel offers it but refuses; says how
 * to go on without. */
int sandbox_enter(const struct sandbox_kernel *kernel, enum sandbox_role role, const struct sandbox_needs *needs, struct err *e);
/* Applies seccomp to all threads: no sockets, programs, processes, tracing, mounts, kernel interfaces. Call it after
 * the driver is open, since its start may need some of these. Errors as above. */
int sandbox_close(const struct sandbox_kernel *kernel, struct err *e);
/* Becomes the program argv[0] (searched in $PATH when it has no slash) in a sandbox: it reads what a device worker reads, and the
 * folder that it is installed in, and opens no network. role: PROGRAM, which starts no other process, or BUILDER. Returns only when
 * that fails. */
int sandbox_exec(char *const *argv, enum sandbox_role role, struct err *e);
/* Before the worker ends: removes the scratch folder, if it has one. */
void sandbox_end(void);

/* --- sandbox_locks.c: the kernel's two locks: Landlock for files, seccomp for system calls. Called by sandbox.c. */

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
/* Nothing is allowed yet. abi: of sandbox_files_abi, above 0. sandbox_files_close must follow. */
int sandbox_files_init(struct sandbox_files *f, int abi, struct err *e);
/* Allows a file, or everything below a folder. Ignores what does not exist or cannot be opened. */
void sandbox_files_allow(struct sandbox_files *f, const char *path, enum sandbox_files_use use);
/* The same for every match of a shell pattern. */
void sandbox_files_allow_all(struct sandbox_files *f, const char *pattern, enum sandbox_files_use use);
/* Binds this thread and what it starts; where the ABI covers them, also TCP and abstract Unix sockets. Needs
 * no_new_privs. Frees the rule set. */
int sandbox_files_close(struct sandbox_files *f, struct err *e);

/* True when this kernel accepts filters that answer with an errno. */
bool sandbox_calls_offered(void);
/* What a process may still do with processes; each may do what those before it may. */
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
