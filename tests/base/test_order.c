/* Sorting by bytes is sorting. */
#include "base/order.h"

#include <stdlib.h>

#include "tap.h"

static uint64_t draw(uint64_t *io_state)
{
	*io_state = *io_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *io_state ^ *io_state >> 29;
}

static void numbers(size_t count, uint64_t mask)
{
	uint64_t a[1000], b[1000], state = count;
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] = draw(&state) & mask;
	order_many(a, count);
	qsort(b, count, sizeof *b, order_numbers);
	ok(memcmp(a, b, count * sizeof *a) == 0, "%zu numbers of 0x%llx", count, (unsigned long long)mask);
}

int main(void)
{
	static const size_t counts[] = { 0, 1, 2, 255, 1000 };
	double x[1000], y[1000];
	uint64_t state = 3;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		numbers(counts[i], UINT64_MAX);
		numbers(counts[i], UINT64_C(0xff00));
		numbers(counts[i], 0);
	}
	for (size_t i = 0; i < 1000; i++)
		x[i] = y[i] = (double)(int64_t)draw(&state) * (i % 3 ? 1e-300 : 1e200);
	x[7] = y[7] = -1.0 / 0.0;
	x[8] = y[8] = 1.0 / 0.0;
	order_many_doubles(x, 1000);
	qsort(y, 1000, sizeof *y, order_doubles);
	ok(memcmp(x, y, sizeof x) == 0, "doubles of both signs, and infinities");
	return tap_done();
}
