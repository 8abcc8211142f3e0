/* sandbox: what a worker may still do once it has a kernel's text in its hands: no new files, no network, no other processes. Called
 * by worker.c: sandbox_start before anything else, sandbox_enter before the first compilation or the opening of a device, sandbox_close
 * once libraries and driver are there. What the kernel lacks is said in words (sandbox_lacks), which the daemon shows; an offered
 * lock that cannot be closed is an error, never silently left open. docs/trust.md tells what each part is for. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum sandbox_role {
	SANDBOX_COMPILE, /* reads the CUDA toolkit, and nothing else of the machine; writes nothing, with hiprtc a scratch folder */
	SANDBOX_DEVICE,  /* reads distribution and driver files, uses the GPU's device files; writes no file */
};

/* What this kernel offers, and what the user wants. */
struct sandbox_kernel {
	int landlock;  /* its ABI; 0: none */
	bool seccomp;
	bool off;      /* PEAKD_CAGE=off */
};

/* Asks the kernel, by system calls that change nothing. */
struct sandbox_kernel sandbox_probe(void);
/* Appends one line without its end on what is missing and what follows from it; nothing when all is there. */
void sandbox_lacks(const struct sandbox_kernel *kernel, struct buf *out);

/* Environment and limits, in the first moments of a worker: no caches in the user's home, no core files. */
void sandbox_start(void);
/* Landlock, for this thread and all that it will start; then the role's limits. Before threads of a driver exist, since Landlock
 * binds threads, not processes. Libraries that the compile role needs are opened by this call. Once in a process's life.
 * -ERR_UNSUPPORTED: offered by the kernel, but refused; says how to go on without. */
int sandbox_enter(const struct sandbox_kernel *kernel, enum sandbox_role role, struct err *e);
/* seccomp, for all threads: no sockets, programs, processes, tracing, mounts, kernel interfaces. After the driver is open,
 * whose start may need some of these. Errors as above. */
int sandbox_close(const struct sandbox_kernel *kernel, struct err *e);

#endif
