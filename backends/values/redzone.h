/* redzone: what surrounds every buffer of a run, and what an output holds before it is written: patterns that reveal a
 * kernel which writes where it must not, reads beyond an end, or leaves elements out. Called by
 * backends/worker/runs.c. */
#ifndef PEAKD_BACKENDS_VALUES_REDZONE_H
#define PEAKD_BACKENDS_VALUES_REDZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/values/room.h"
#include "backends/worker/backend.h"

/* A buffer of a run, all borrowed; the room is for copies. */
struct redzone {
	const struct backend *backend;
	struct backend_run *run;
	struct room *room;
	unsigned buffer;
	uint64_t bytes; /* of the buffer, without its red zones */
};

/* Writes the red zones on both sides of the buffer. */
int redzone_arm(const struct redzone *z, struct err *e);
/* Sets *ret_broken when a red zone lost its pattern. */
int redzone_check(const struct redzone *z, bool *ret_broken, struct err *e);
/* Fills the buffer with one byte value. */
int redzone_poison(const struct redzone *z, uint8_t value, struct err *e);

/* Content that must not change is written and compared together with its red zones: an image is a zone, the content, a
 * zone. */
size_t redzone_image_bytes(uint64_t bytes);
/* Where the content of an image is. */
static inline void *redzone_content(void *image)
{
	return (uint8_t *)image + BACKEND_RED_ZONE;
}
/* Writes the zones of an image whose content has `bytes` bytes. */
void redzone_frame(void *image, uint64_t bytes);
int redzone_write(const struct redzone *z, const void *image, struct err *e);
/* Sets *ret_same when the buffer holds the image's content, and *ret_broken when a red zone lost its pattern. */
int redzone_same(const struct redzone *z, const void *image, bool *ret_same, bool *ret_broken, struct err *e);

#endif
