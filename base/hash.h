/* hash: SHA-256 as lower-case hexadecimal text, the name of everything that is stored by content. */
#ifndef PEAKD_BASE_HASH_H
#define PEAKD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

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

/* The next number of a sequence that `state` (any number at first) stands for: SplitMix64 (Steele, Lea and Flood 2014). Not for
 * secrets. */
static inline uint64_t hash_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

#endif
