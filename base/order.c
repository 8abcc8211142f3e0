/* order: see order.h. */
#include "base/order.h"

#include <stdlib.h>

#include "base/mem.h"

/* Stable, from the lowest byte on; a byte that all have in common needs no pass. */
void order_many(uint64_t *numbers, size_t count)
{
	uint64_t *from = numbers, *to = MEM_NEW_N(uint64_t, count);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[256] = { 0 }, sum = 0;
		for (size_t i = 0; i < count; i++)
			at[from[i] >> shift & 255]++;
		if (count == 0 || at[from[0] >> shift & 255] == count)
			continue;
		for (size_t b = 0; b < 256; b++) {
			size_t n = at[b];
			at[b] = sum;
			sum += n;
		}
		for (size_t i = 0; i < count; i++)
			to[at[from[i] >> shift & 255]++] = from[i];
		uint64_t *next = from;
		from = to;
		to = next;
	}
	if (from != numbers) {
		memcpy(numbers, from, count * sizeof *numbers);
		to = from;
	}
	free(to);
}

void order_many_doubles(double *numbers, size_t count)
{
	const uint64_t sign = UINT64_C(1) << 63;
	uint64_t *keys = MEM_NEW_N(uint64_t, count);
	memcpy(keys, numbers, count * sizeof *keys);
	for (size_t i = 0; i < count; i++)
		keys[i] ^= keys[i] & sign ? UINT64_MAX : sign;
	order_many(keys, count);
	for (size_t i = 0; i < count; i++)
		keys[i] ^= keys[i] & sign ? sign : UINT64_MAX;
	memcpy(numbers, keys, count * sizeof *keys);
	free(keys);
}
