/* hash: SHA-256 as lower-case hexadecimal text, the name of everything that is stored by content. */
#ifndef PEAKD_BASE_HASH_H
#define PEAKD_BASE_HASH_H

#include <stddef.h>

enum { HASH_HEX = 64, HASH_SIZE = HASH_HEX + 1 };

/* A hash in hexadecimal with its NUL; copied by value. */
struct hash {
	char hex[HASH_SIZE];
};

struct hash hash_bytes(const void *bytes, size_t n);
struct hash hash_text(const char *text);
/* For megabytes that only peakd names: the hash of the hashes of their parts, computed by all processors. Differs from
 * hash_bytes' result. */
struct hash hash_array(const void *bytes, size_t n);

/* For content that comes in pieces: new, add any number of times, end (which frees). */
struct hash_state;
struct hash_state *hash_new(void);
void hash_add(struct hash_state *s, const void *bytes, size_t n);
struct hash hash_end(struct hash_state *take_s);

/* True for 64 characters of [0-9a-f]. */
int hash_valid(const char *hex);
/* n unguessable bytes from the kernel; aborts when there are none. */
void hash_random(void *bytes, size_t n);

#endif
