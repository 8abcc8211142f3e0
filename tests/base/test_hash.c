/* base/hash: SHA-256 against the vectors of FIPS 180-2 (appendix B) and the empty message of NIST's CAVP. */
#include "base/hash.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tap.h"

static void vectors(void)
{
	is_str(hash_text("").hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "the hash of the empty text");
	is_str(hash_text("abc").hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "the hash of one block");
	is_str(hash_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex,
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "the hash of two blocks");
	struct hash_state *s = hash_new();
	for (int i = 0; i < 1000; i++) {
		char piece[1000];
		memset(piece, 'a', sizeof piece);
		hash_add(s, piece, sizeof piece);
	}
	is_str(hash_end(s).hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
	       "the hash of a million bytes added in pieces");
}

static void names(void)
{
	struct hash h = hash_bytes("a\0b", 3);
	ok(strcmp(h.hex, hash_text("a").hex) != 0, "a NUL counts as content");
	is_int(strlen(h.hex), HASH_HEX, "a hash has 64 digits");
	ok(hash_valid(h.hex), "a hash of 64 hexadecimal digits is valid");
	h.hex[5] = 'G';
	ok(!hash_valid(h.hex), "a hash with other letters is invalid");
	h.hex[5] = 'A';
	ok(!hash_valid(h.hex), "a hash with capitals is invalid");
	ok(!hash_valid("abc"), "a hash that is too short is invalid");
	ok(!hash_valid("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550"), "a hash that is too long is invalid");
}

static void unguessable(void)
{
	unsigned char a[1000] = { 0 }, b[1000] = { 0 };
	hash_random(a, sizeof a);
	hash_random(b, sizeof b);
	ok(memcmp(a, b, sizeof a) != 0, "two random buffers differ");
	int zeros = 0;
	for (size_t i = 0; i < sizeof a; i++)
		zeros += a[i] == 0;
	ok(zeros < 50, "random bytes fill the whole buffer");
	unsigned char kept = b[0];
	hash_random(b, 0);
	is_int(b[0], kept, "a request for no random bytes writes nothing");
}

/* Every byte and the length change the hash, in each of the parts that are hashed in parallel. */
static void test_array(void)
{
	enum { N = 1 << 20 };
	char *bytes = mem_new(N + 1, 1);
	struct hash whole = hash_array(bytes, N), plain = hash_bytes(bytes, N);
	int same = 0;
	is_str(hash_array(bytes, N).hex, whole.hex, "hash_array gives equal bytes the same hash");
	ok(strcmp(whole.hex, plain.hex) != 0, "hash_array differs from the plain hash");
	for (size_t at = 0; at < N; at += N / 64 - 1) {
		bytes[at] = 1;
		same += strcmp(hash_array(bytes, N).hex, whole.hex) == 0;
		bytes[at] = 0;
	}
	is_int(same, 0, "changing any byte changes the hash");
	ok(strcmp(hash_array(bytes, N + 1).hex, whole.hex) != 0 && strcmp(hash_array(bytes, 0).hex, hash_array(bytes, 1).hex) != 0,
	   "changing the length changes the hash");
	free(bytes);
}

int main(void)
{
	test_array();
	vectors();
	names();
	unguessable();
	return tap_done();
}
