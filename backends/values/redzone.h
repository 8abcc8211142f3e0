/* guard: what surrounds every buffer of a run, and what an output holds before it is written: patterns that betray a
 * kernel which writes where it must not, reads beyond an end, or leaves elements out. Called by backends/worker/run.c. */
#ifndef PEAKD_BACKENDS_VALUES_REDZONE_H
#define PEAKD_BACKENDS_VALUES_REDZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/worker/backend.h"
#include "backends/values/room.h"

/* Writes the red zones on both sides of a buffer of `bytes` bytes. */
int redzone_arm(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, struct err *e);
/* Sets ret_broken when a red zone does not hold its pattern any more. */
int redzone_check(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, bool *ret_broken,
                struct err *e);
/* Fills the buffer with one byte value. */
int redzone_poison(const struct backend *b, struct backend_run *run, struct room *room, unsigned buffer, uint64_t bytes, uint8_t value,
                 struct err *e);

/* What is written and must stay is written with its red zones, and compared with them: an image is one zone, the content, one zone. */
size_t redzone_image_bytes(uint64_t bytes);
/* Where the content of an image is. */
static inline void *redzone_content(void *image)
{
	return (uint8_t *)image + BACKEND_RED_ZONE;
}
/* Writes the zones of an image whose content has so many bytes. */
void redzone_frame(void *image, uint64_t bytes);
int redzone_write(const struct backend *b, struct backend_run *run, unsigned buffer, const void *image, uint64_t bytes, struct err *e);
/* Sets ret_same when the buffer holds the image's content, and ret_broken when a red zone does not hold its pattern any more. */
int redzone_same(const struct backend *b, struct backend_run *run, struct room *room, unsigned buffer, const void *image, uint64_t bytes,
               bool *ret_same, bool *ret_broken, struct err *e);

#endif
