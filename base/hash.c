/* hash: SHA-256 by nettle; see hash.h. Names contexts, blobs, binaries and reference outputs. */
#include "base/hash.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/parallel_for.h"

struct hash_state {
	struct sha256_ctx sha;
};

struct hash_state *hash_new(void)
{
	struct hash_state *s = MEM_NEW(struct hash_state);
	sha256_init(&s->sha);
	return s;
}

void hash_add(struct hash_state *s, const void *bytes, size_t n)
{
	sha256_update(&s->sha, n, bytes);
}

struct hash hash_end(struct hash_state *take_s)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_SIZE];
	struct hash h;
	sha256_digest(&take_s->sha, sizeof digest, digest);
	for (size_t i = 0; i < sizeof digest; i++) {
		h.hex[2 * i] = digits[digest[i] >> 4];
		h.hex[2 * i + 1] = digits[digest[i] & 15];
	}
	h.hex[HASH_HEX] = '\0';
	free(take_s);
	return h;
}

struct hash hash_bytes(const void *bytes, size_t n)
{
	struct hash_state *s = hash_new();
	hash_add(s, bytes, n);
	return hash_end(s);
}

struct hash hash_text(const char *text)
{
	return hash_bytes(text, strlen(text));
}

struct parts {
	const char *bytes;
	struct hash of[PARALLEL_FOR_PARTS];
};

static void hash_part(void *arg, unsigned k, uint64_t from, uint64_t to)
{
	struct parts *p = arg;
	p->of[k] = hash_bytes(p->bytes + from, (size_t)(to - from));
}

struct hash hash_array(const void *bytes, size_t n)
{
	struct parts p = { .bytes = bytes };
	parallel_for(n, hash_part, &p);
	return hash_bytes(p.of, sizeof p.of);
}

int hash_valid(const char *hex)
{
	return strlen(hex) == HASH_HEX && strspn(hex, "0123456789abcdef") == HASH_HEX;
}

void hash_random(void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = getrandom((char *)bytes + done, n - done, 0);
		if (got < 0)
			abort();
		done += (size_t)got;
	}
}
