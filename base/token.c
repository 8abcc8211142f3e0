/* token: random ids; see token.h. */
#include "base/token.h"

#include "base/hash.h"

char *token_make(char prefix, char text[TOKEN_SIZE])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[TOKEN_CHARS];
	hash_random(random, sizeof random);
	text[0] = prefix;
	for (int i = 0; i < TOKEN_CHARS; i++)
		text[1 + i] = alphabet[random[i] & 31];
	text[1 + TOKEN_CHARS] = '\0';
	return text;
}
