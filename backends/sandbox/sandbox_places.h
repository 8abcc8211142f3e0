/* sandbox_places: which files the sandbox leaves: measured with strace for NVRTC, glslang and lavapipe, generous where a closed driver
 * may look. Called by sandbox.c. */
#ifndef PEAKD_BACKENDS_SANDBOX_SANDBOX_PLACES_H
#define PEAKD_BACKENDS_SANDBOX_SANDBOX_PLACES_H

#include <stdbool.h>

#include "backends/sandbox/sandbox_files.h"

/* NVRTC's own folder and the toolkit's include folders; nothing when there is no NVRTC. Opens NVRTC and hiprtc, so that ld.so is done.
 * True when a scratch folder was made, since hiprtc is there. */
bool sandbox_places_compile(struct sandbox_files *f);
/* What distributions install, /sys, this process's part of /proc, and GPUs' device files. */
void sandbox_places_device(struct sandbox_files *f);

#endif
