/* worker: `peakd worker`, the child process that compiles or owns one device. It answers wire.h's requests until end of
 * file. */
#ifndef PEAKD_BACKENDS_WORKER_WORKER_H
#define PEAKD_BACKENDS_WORKER_WORKER_H

/* Takes the wire from descriptors 0 and 1: moves it to private descriptors (close-on-exec). Points 0 at /dev/null and 1 at stderr
 * before any vendor library is loaded. Then says hello and serves until the daemon closes. Returns the exit status. */
int worker_main(void);
/* `peakd worker -- [+] PROGRAM ARGUMENT…`: becomes this program in a sandbox (sandbox_exec; +: one that may start compilers).
 * Returns the exit status when that fails, with the reason on stderr. */
int worker_become(const char *const *argv);

#endif
