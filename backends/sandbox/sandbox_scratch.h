/* sandbox_scratch: a folder of the compile role's own. AMD's comgr (below hiprtc) keeps what it compiles in files below TMPDIR; NVRTC and
 * glslang write nothing. Called by sandbox_places.c before Landlock binds, and by worker.c at the end. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_SCRATCH_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_SCRATCH_H

#include <stdbool.h>

#include "backends/sandbox/sandbox_files.h"

/* Makes TMPDIR (else /tmp)/peakd-UID/PID, removes those of processes that are gone, allows it and makes it this process's TMPDIR. False
 * when it cannot be made, or the folder above belongs to somebody else. */
bool sandbox_scratch_make(struct sandbox_files *f);
/* Removes it with all that is in it; nothing when there is none. */
void sandbox_scratch_remove(void);

#endif
