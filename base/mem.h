/* mem: allocation that cannot fail. Running out of memory aborts (house rule 5), so callers never check. */
#ifndef PEAKD_BASE_MEM_H
#define PEAKD_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory for n elements of size bytes each; never NULL; free() it. Aborts on overflow and exhaustion. */
void *mem_new(size_t n, size_t size);
/* Grows or shrinks an array to n elements; new elements are not zeroed. */
void *mem_resize(void *p, size_t n, size_t size);
/* Copies a string (NULL stays NULL), its first n bytes (NUL-terminated), or any bytes. */
char *mem_str(const char *s);
char *mem_strn(const char *s, size_t n);
void *mem_copy(const void *p, size_t bytes);
/* Frees the texts and the array of them. */
void mem_free_texts(char **take_texts, size_t count);
/* Whether a text is among them. */
bool mem_has_text(const char *const *texts, size_t count, const char *text);
/* printf into fresh memory. */
char *mem_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *mem_fmtv(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

#define MEM_NEW(type) ((type *)mem_new(1, sizeof(type)))
#define MEM_NEW_N(type, n) ((type *)mem_new((n), sizeof(type)))

/* Makes room for one more element at array[count]; doubles the capacity when it is a power of two.
 * `count` is evaluated several times. */
#define MEM_PUSH(array, count)                                                                                                     \
	((((count) & ((count)-1)) == 0 ? (void)((array) = mem_resize((array), (count) ? 2 * (size_t)(count) : 1, sizeof *(array))) \
				       : (void)0),                                                                                 \
	 &(array)[(count)++])

/* Number of elements of a true array. */
#define MEM_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
