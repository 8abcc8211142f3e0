/* base/mem: zeroed, copied and growing memory; a failed allocation aborts. */
#include "base/mem.h"

#include <stdint.h>

#include "child.h"
#include "tap.h"

static void overflow(void)
{
	free(mem_new(SIZE_MAX / 2, 4));
}

static void resize_overflow(void)
{
	free(mem_resize(NULL, SIZE_MAX, 2));
}

static void pushing(void)
{
	int *array = NULL;
	size_t count = 0;
	for (int i = 0; i < 1000; i++)
		*MEM_PUSH(array, count) = i * i;
	is_int(count, 1000, "MEM_PUSH counts");
	int wrong = 0;
	for (int i = 0; i < 1000; i++)
		wrong += array[i] != i * i;
	is_int(wrong, 0, "MEM_PUSH keeps its elements while it grows");
	free(array);
}

int main(void)
{
	unsigned char *zeroed = mem_new(100, 3);
	int set = 0;
	for (int i = 0; i < 300; i++)
		set += zeroed[i] != 0;
	is_int(set, 0, "fresh memory is zero");
	memset(zeroed, 7, 300);
	zeroed = mem_resize(zeroed, 1000, 1);
	ok(zeroed[0] == 7 && zeroed[299] == 7, "growing memory keeps the content");
	free(zeroed);
	void *none = mem_new(0, 8);
	ok(none != NULL, "an allocation of zero bytes returns a pointer");
	free(none);

	char *copy = mem_str("text");
	is_str(copy, "text", "mem_str copies");
	free(copy);
	ok(mem_str(NULL) == NULL, "mem_str returns NULL for NULL");
	copy = mem_strn("abcdef", 3);
	is_str(copy, "abc", "mem_strn copies the first bytes and terminates them");
	free(copy);
	copy = mem_copy("a\0b", 4);
	ok(memcmp(copy, "a\0b", 4) == 0, "mem_copy copies bytes");
	free(copy);
	copy = mem_fmt("%s=%d", "n", 3);
	is_str(copy, "n=3", "mem_fmt formats");
	free(copy);
	pushing();

	char said[256];
	ok(child_aborts(overflow, said, sizeof said), "a size that overflows aborts");
	has_str(said, "out of memory", "the abort says out of memory");
	ok(child_aborts(resize_overflow, said, sizeof said), "a growth that overflows aborts");
	return tap_done();
}
