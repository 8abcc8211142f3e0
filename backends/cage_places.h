/* cage_places: which files the cage leaves: measured with strace for NVRTC, glslang and lavapipe, generous where a closed driver
 * may look. Called by cage.c. */
#ifndef PEAKD_BACKENDS_CAGE_PLACES_H
#define PEAKD_BACKENDS_CAGE_PLACES_H

#include <stdbool.h>

#include "backends/cage_files.h"

/* NVRTC's own folder and the toolkit's include folders; nothing when there is no NVRTC. Opens NVRTC and hiprtc, so that ld.so is done.
 * True when a scratch folder was made, since hiprtc is there. */
bool cage_places_compile(struct cage_files *f);
/* What distributions install, /sys, this process's part of /proc, and GPUs' device files. */
void cage_places_device(struct cage_files *f);

#endif
