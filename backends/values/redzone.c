/* redzone: see redzone.h. */
#include "backends/values/redzone.h"

#include <string.h>

/* Read and compared at a time, while what was read is still in a cache. */
enum { PIECE = (4 << 20) + 2 * BACKEND_RED_ZONE };

/* 0xFFFD in every 16 bits: NaN in f16, bf16, f32 and f64, so that a value read from here shows. It differs from the NaN
 * that arithmetic makes, from the poison and from -1, so that a value written here shows, too. */
static void pattern(uint8_t *zone)
{
	const uint64_t word = UINT64_C(0xFFFDFFFDFFFDFFFD);
	for (size_t i = 0; i < BACKEND_RED_ZONE; i += sizeof word)
		memcpy(zone + i, &word, sizeof word);
}

int redzone_arm(const struct redzone *z, struct err *e)
{
	uint8_t zone[BACKEND_RED_ZONE];
	pattern(zone);
	int r = z->backend->write(z->run, z->buffer, -BACKEND_RED_ZONE, zone, sizeof zone, e);
	return r < 0 ? r : z->backend->write(z->run, z->buffer, (int64_t)z->bytes, zone, sizeof zone, e);
}

int redzone_check(const struct redzone *z, bool *ret_broken, struct err *e)
{
	uint8_t zone[BACKEND_RED_ZONE], below[BACKEND_RED_ZONE], above[BACKEND_RED_ZONE];
	pattern(zone);
	int r = z->backend->read(z->run, z->buffer, -BACKEND_RED_ZONE, below, sizeof below, e);
	if (r == 0)
		r = z->backend->read(z->run, z->buffer, (int64_t)z->bytes, above, sizeof above, e);
	if (r == 0)
		*ret_broken = memcmp(zone, below, sizeof zone) != 0 || memcmp(zone, above, sizeof zone) != 0;
	return r;
}

int redzone_poison(const struct redzone *z, uint8_t value, struct err *e)
{
	size_t piece = z->bytes < PIECE ? (size_t)z->bytes : PIECE;
	int r = 0;
	if (z->backend->fill)
		return z->backend->fill(z->run, z->buffer, value, e);
	uint8_t *poison = room_take(z->room, piece);
	memset(poison, value, piece);
	for (uint64_t at = 0; at < z->bytes && r == 0; at += piece) {
		size_t n = z->bytes - at < piece ? (size_t)(z->bytes - at) : piece;
		r = z->backend->write(z->run, z->buffer, (int64_t)at, poison, n, e);
	}
	room_give(z->room, poison, piece);
	return r;
}

/* --- images ------------------------------------------------------------------------------------------------------- */

size_t redzone_image_bytes(uint64_t bytes)
{
	return (size_t)bytes + 2 * BACKEND_RED_ZONE;
}

void redzone_frame(void *image, uint64_t bytes)
{
	pattern(image);
	pattern((uint8_t *)redzone_content(image) + bytes);
}

int redzone_write(const struct redzone *z, const void *image, struct err *e)
{
	return z->backend->write(z->run, z->buffer, -BACKEND_RED_ZONE, image, redzone_image_bytes(z->bytes), e);
}

/* True when `have`, the image's n bytes from `at` on, differs from it somewhere in [from, to). */
static bool differs(const uint8_t *have, const uint8_t *image, size_t at, size_t n, size_t from, size_t to)
{
	from = from > at ? from : at;
	to = to < at + n ? to : at + n;
	return from < to && memcmp(have + (from - at), image + from, to - from) != 0;
}

int redzone_same(const struct redzone *z, const void *image, bool *ret_same, bool *ret_broken, struct err *e)
{
	size_t all = redzone_image_bytes(z->bytes), piece = all < PIECE ? all : PIECE, end = all - BACKEND_RED_ZONE;
	uint8_t *have = room_take(z->room, piece);
	bool same = true, broken = false;
	int r = 0;
	for (size_t at = 0; at < all && r == 0; at += piece) {
		size_t n = all - at < piece ? all - at : piece;
		r = z->backend->read(z->run, z->buffer, (int64_t)at - BACKEND_RED_ZONE, have, n, e);
		if (r < 0 || !differs(have, image, at, n, 0, all))
			continue;
		same = same && !differs(have, image, at, n, BACKEND_RED_ZONE, end);
		broken = broken || differs(have, image, at, n, 0, BACKEND_RED_ZONE) || differs(have, image, at, n, end, all);
	}
	room_give(z->room, have, piece);
	if (r == 0) {
		*ret_same = same;
		*ret_broken = broken;
	}
	return r;
}
