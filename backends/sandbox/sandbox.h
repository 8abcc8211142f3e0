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
/* Becomes the program argv[0] (searched in $PATH when it has no slash) in a sandbox: it reads what a device worker reads, and the folder
 * that it is installed in, and opens no network. role: PROGRAM, which starts no other process, or BUILDER. Returns only when that fails. */
int sandbox_exec(char *const *argv, enum sandbox_role role, struct err *e);
/* Before the worker ends: removes the scratch folder, if it has one. */
void sandbox_end(void);

#endif
