/* guard: see guard.h. */
#include "backends/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PIECE = 4 << 20 };

/* 0xFFFD in every 16 bits: NaN in f16, bf16, f32 and f64, so that a value read from here shows, and unlike the NaN that
 * arithmetic makes, unlike the poison and unlike -1, so that one written here shows too. */
static void pattern(uint8_t zone[BACKEND_RED_ZONE])
{
	for (size_t i = 0; i < BACKEND_RED_ZONE; i++)
		zone[i] = i % 2 ? 0xFF : 0xFD;
}

int guard_arm(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, struct err *e)
{
	uint8_t zone[BACKEND_RED_ZONE];
	pattern(zone);
	int r = b->write(run, buffer, -BACKEND_RED_ZONE, zone, sizeof zone, e);
	return r < 0 ? r : b->write(run, buffer, (int64_t)bytes, zone, sizeof zone, e);
}

int guard_check(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, bool *ret_broken,
                struct err *e)
{
	uint8_t zone[BACKEND_RED_ZONE], below[BACKEND_RED_ZONE], above[BACKEND_RED_ZONE];
	pattern(zone);
	int r = b->read(run, buffer, -BACKEND_RED_ZONE, below, sizeof below, e);
	if (r == 0)
		r = b->read(run, buffer, (int64_t)bytes, above, sizeof above, e);
	if (r == 0)
		*ret_broken = memcmp(zone, below, sizeof zone) != 0 || memcmp(zone, above, sizeof zone) != 0;
	return r;
}

int guard_poison(const struct backend *b, struct backend_run *run, unsigned buffer, uint64_t bytes, uint8_t value,
                 struct err *e)
{
	size_t piece = bytes < PIECE ? (size_t)bytes : PIECE;
	uint8_t *poison = mem_resize(NULL, piece, 1);
	int r = 0;
	memset(poison, value, piece);
	for (uint64_t at = 0; at < bytes && r == 0; at += piece)
		r = b->write(run, buffer, (int64_t)at, poison, bytes - at < piece ? (size_t)(bytes - at) : piece, e);
	free(poison);
	return r;
}

int guard_same(const struct backend *b, struct backend_run *run, unsigned buffer, const void *want, uint64_t bytes,
               bool *ret_same, struct err *e)
{
	size_t piece = bytes < PIECE ? (size_t)bytes : PIECE;
	uint8_t *have = mem_resize(NULL, piece, 1);
	bool same = true;
	int r = 0;
	for (uint64_t at = 0; at < bytes && same && r == 0; at += piece) {
		size_t n = bytes - at < piece ? (size_t)(bytes - at) : piece;
		r = b->read(run, buffer, (int64_t)at, have, n, e);
		same = r < 0 || memcmp(have, (const uint8_t *)want + at, n) == 0;
	}
	if (r == 0)
		*ret_same = same;
	free(have);
	return r;
}
