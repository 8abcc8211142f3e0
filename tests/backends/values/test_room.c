/* backends/values/room: large blocks are reused, no more stay idle than allowed, and none has two users. */
#include "backends/values/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define MIB ((size_t)1 << 20)

static void test_room(void)
{
	struct room *r = room_new(16 * MIB);
	void *a = room_take(r, 5 * MIB), *b = room_take(r, 5 * MIB + 1);
	ok(a != b, "blocks in use are distinct");
	memset(a, 1, 5 * MIB);
	memset(b, 2, 5 * MIB + 1);
	room_give(r, a, 5 * MIB);
	void *c = room_take(r, 9 * MIB), *d = room_take(r, 6 * MIB);
	ok(c != a, "a block that is too small is not reused");
	ok(d == a, "a returned block is reused for sizes that round to the same");
	memset(d, 3, 6 * MIB);
	room_give(r, b, 5 * MIB + 1);
	room_give(r, d, 6 * MIB);
	ok(room_take(r, 6 * MIB) == d && room_take(r, 6 * MIB) == b, "the block used last is reused first, each once");
	room_give(r, b, 6 * MIB);
	room_give(r, d, 6 * MIB);
	room_give(r, c, 9 * MIB);
	ok(room_take(r, 9 * MIB) == c, "the newest idle block stays");
	a = room_take(r, 6 * MIB);
	ok(a == d, "the oldest idle block is freed first: 22 MiB were idle, 16 allowed");
	room_give(r, a, 6 * MIB);
	room_give(r, c, 10 * MIB);
	void *small = room_take(r, 10), *none = room_take(r, 0), *large = room_take(r, 40 * MIB);
	memset(small, 4, 10);
	memset(large, 5, 40 * MIB);
	room_give(r, small, 10);
	room_give(r, none, 0);
	room_give(r, NULL, 40 * MIB);
	room_give(r, large, 40 * MIB);
	room_free(r);
	room_free(NULL);
}

static void test_cache(void)
{
	struct room *r = room_new(64 * MIB);
	struct room_cache *c = room_cache_new(8 * MIB, r);
	size_t len = 0;
	void *first = room_take(r, 4 * MIB), *again = room_take(r, 4 * MIB);
	ok(room_cache_put(c, "a", first, 4 * MIB) == first && room_cache_put(c, "a", again, 4 * MIB) == first,
	   "content that is cached already stays");
	ok(room_take(r, 4 * MIB) == again, "the second copy returns to the room");
	room_cache_put(c, "b", again, 4 * MIB);
	ok(room_cache_get(c, "a", &len) == first && len == 4 * MIB, "both entries are cached");
	room_cache_put(c, "c", room_take(r, 4 * MIB), 4 * MIB);
	ok(room_cache_get(c, "b", &len) == NULL && room_cache_get(c, "a", &len) == first,
	   "the least recently used entry is forgotten");
	ok(room_take(r, 4 * MIB) == again, "its block returns to the room");
	free(again);
	room_cache_free(c);
	c = room_cache_new(8 * MIB, r);
	for (int i = 0; i < 3000; i++) {
		char name[16];
		snprintf(name, sizeof name, "%d", i);
		room_cache_put(c, name, room_take(r, 4), 4);
	}
	ok(room_cache_get(c, "2999", &len) && room_cache_get(c, "1976", &len) && room_cache_get(c, "1975", &len) == NULL,
	   "1,024 entries are kept at most, however small they are");
	room_cache_free(c);
	room_free(r);
}

int main(void)
{
	test_room();
	test_cache();
	return tap_done();
}
