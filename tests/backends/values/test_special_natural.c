/* backends/values/special_natural: values as people have them. */
#include "backends/values/fill.h"

#include <math.h>
#include <string.h>

#include "backends/array.h"
#include "base/mem.h"
#include "tap.h"

/* Of PLAN_NATURAL, in all arrays alike; free() */
static void *natural(const struct plan_buffer *b, unsigned form)
{
	void *v = mem_new(b->bytes, 1);
	fill_chosen(b, &(struct fill_choice){ .seed = form + PLAN_FORMS, .values = PLAN_NATURAL }, v);
	return v;
}

static bool is_prose(const char *bytes, size_t n)
{
	bool printed = true;
	for (size_t i = 0; i < n; i++)
		printed &= (bytes[i] >= ' ' && bytes[i] <= '~') || bytes[i] == '\n';
	return printed && memmem(bytes, n, " the ", 5) && memmem(bytes, n, "it; he w", 8) && memchr(bytes, '\n', n);
}

static void test_natural(void)
{
	enum { ROWS = 40, COLUMNS = 400, ALL = ROWS * COLUMNS };
	struct plan_buffer b = array(DTYPE_F32, ROWS, COLUMNS, PLAN_RANDOM),
			   text = array(DTYPE_U8, ROWS, COLUMNS, PLAN_RANDOM);
	b.lo = 0;
	b.hi = 1;
	text.lo = 0;
	text.hi = 256;
	float *v = natural(&b, 0);
	double most = 0, turns = 0;
	for (int i = COLUMNS + 1; i < ALL; i++)
		if (i % COLUMNS > 1) {
			most = fmax(most, fmax(fabs((double)v[i] - v[i - 1]), fabs((double)v[i] - v[i - COLUMNS])));
			turns += (v[i] > v[i - 1]) != (v[i - 1] > v[i - 2]);
		}
	ok(most > 0.01 && most < 0.2 && turns > ALL / 100.0, "neighbours are nearly equal, and rise and fall (%g, %g)", most,
	   turns);
	free(v);
	static const struct {
		unsigned form;
		double times;
		const char *text;
	} grids[] = { { 3, 255, "grey levels" }, { 5, 32768, "sound of 16 bits" }, { 7, 1, "ones among zeros" } };
	for (size_t k = 0; k < MEM_COUNT(grids); k++) {
		int off = 0;
		v = natural(&b, grids[k].form);
		for (int i = 0; i < ALL; i++)
			off += v[i] != (float)(nearbyint(v[i] * grids[k].times) / grids[k].times) || v[i] < 0 || v[i] > 1;
		is_int(off, 0, "%s", grids[k].text);
		free(v);
	}
	char *bytes = natural(&text, 3);
	ok(is_prose(bytes, ALL), "prose has words, ends of lines, and nothing that is not printed");
	free(bytes);
	struct plan_buffer any = array(DTYPE_U8, ROWS, COLUMNS, PLAN_RANDOM), words = array(DTYPE_U32, ROWS, COLUMNS, PLAN_RANDOM);
	any.lo = words.lo = 0;
	any.hi = words.hi = 16;
	bytes = natural(&any, 3);
	ok(is_prose(bytes, ALL), "bytes that may be any, too");
	free(bytes);
	bytes = natural(&words, 3);
	ok(is_prose(bytes, sizeof(uint32_t) * ALL), "and words of four bytes");
	free(bytes);
	words.closed = true;
	words.most = 15;
	uint32_t *closed = natural(&words, 3), over = 0;
	for (int i = 0; i < ALL; i++)
		over += closed[i] > 15;
	is_int(over, 0, "but not where numbers are declared");
	free(closed);
	bytes = natural(&text, 4);
	ok(memmem(bytes, ALL, "\\\"", 2) && memmem(bytes, ALL, "\r\n", 2), "tables have quoted marks");
	free(bytes);
}

int main(void)
{
	test_natural();
	return tap_done();
}
