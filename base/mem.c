/* mem: allocation that aborts instead of failing; see mem.h. Used by every room. */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p, size_t bytes)
{
	if (p == NULL) {
		fprintf(stderr, "peakd: out of memory: %zu bytes could not be allocated\n", bytes);
		abort();
	}
	return p;
}

static size_t product(size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		must(NULL, SIZE_MAX);
	return bytes ? bytes : 1;
}

/* What glibc keeps ready for each thread, where its malloc looks and its calloc does not. */
enum { SMALL = 1024 };

/* noinline: the compiler would make a calloc of it and of memset. */
static __attribute__((noinline)) void *fresh(size_t bytes)
{
	return must(malloc(bytes), bytes);
}

void *mem_new(size_t n, size_t size)
{
	size_t bytes = product(n, size);
	return bytes <= SMALL ? memset(fresh(bytes), 0, bytes) : must(calloc(1, bytes), bytes);
}

void *mem_resize(void *p, size_t n, size_t size)
{
	size_t bytes = product(n, size);
	return must(realloc(p, bytes), bytes);
}

char *mem_str(const char *s)
{
	return s ? mem_strn(s, strlen(s)) : NULL;
}

char *mem_strn(const char *s, size_t n)
{
	if (n == SIZE_MAX)
		must(NULL, n);
	char *copy = fresh(n + 1);
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

void *mem_copy(const void *p, size_t bytes)
{
	void *copy = fresh(product(bytes, 1));
	if (bytes)
		memcpy(copy, p, bytes);
	return copy;
}

char *mem_fmtv(const char *fmt, va_list ap)
{
	char *text = NULL;
	int n = vasprintf(&text, fmt, ap);
	return must(n < 0 ? NULL : text, 0);
}

bool mem_has_text(const char *const *texts, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

char *mem_fmt(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = mem_fmtv(fmt, ap);
	va_end(ap);
	return text;
}

void mem_free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}
