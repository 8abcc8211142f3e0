/* environment: see environment.h. A list of what to leave out and not of what to keep, since launchers (srun, ssh) and drivers read
 * variables that nobody can list. */
#include "core/workers/environment.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static bool has_word(const char *name, size_t len)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL" };
	for (size_t w = 0; w < MEM_COUNT(words); w++)
		for (size_t i = 0, n = strlen(words[w]); i + n <= len; i++)
			if (strncasecmp(name + i, words[w], n) == 0)
				return true;
	return false;
}

static bool is_named(const char *text, size_t len, const char *name, size_t name_len)
{
	return len == name_len && strncmp(text, name, len) == 0;
}

/* "…?model=m&key_env=NAME&…": where NAME begins, and its length; NULL without. */
static const char *key_variable(char *const *from, size_t *ret_len)
{
	static const char model[] = "PEAKD_MODEL=", option[] = "key_env=";
	for (; *from; from++) {
		const char *at = strncmp(*from, model, sizeof model - 1) == 0 ? strstr(*from, option) : NULL;
		if (at == NULL)
			continue;
		at += sizeof option - 1;
		*ret_len = strcspn(at, "&");
		return at;
	}
	*ret_len = 0;
	return NULL;
}

char **environment_new(char *const *from)
{
	size_t key_len, count = 0, kept = 0;
	const char *key = key_variable(from, &key_len);
	while (from[count])
		count++;
	char **list = MEM_NEW_N(char *, count + 1);
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(from[i], "=");
		if (!has_word(from[i], len) && !is_named(from[i], len, "PEAKD_MODEL", 11) &&
		    !(key && is_named(from[i], len, key, key_len)))
			list[kept++] = from[i];
	}
	return list;
}
