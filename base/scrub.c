/* scrub: rules over plain text, one pass; see scrub.h. Code must survive: a division is no path, and `token = tokens[i]` no
 * secret. */
#include "base/scrub.h"
#include "base/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@%~"
#define KEY_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define VALUE_CHARS KEY_CHARS "./+=~!$%^&*:@#?"
enum { SECRET_MIN = 8, PATH_MIN = 8 };

extern char **environ;

/* --- paths ------------------------------------------------------------------------------------------------------------ */

static const char *const roots[] = { "home", "root", "tmp",   "usr",  "var",     "opt", "etc",
				     "mnt",  "srv",  "Users", "data", "scratch", NULL };

static bool is_root(const char *name, size_t n)
{
	for (size_t i = 0; roots[i]; i++)
		if (strlen(roots[i]) == n && strncmp(roots[i], name, n) == 0)
			return true;
	return false;
}

/* A path begins here, and not a division, a comment or the rest of an address. */
static bool begins_path(const char *text, const char *at)
{
	char before = at > text ? at[-1] : ' ';
	if (at - text >= 3 && strncmp(at - 3, "://", 3) == 0)
		return true;
	if (at - text >= 2 && at[-2] == '-' && (before == 'I' || before == 'L'))
		return true;
	return !isalnum((unsigned char)before) && strchr("_./)]}*\\<", before) == NULL;
}

/* Bytes of the absolute path at `at` (0: none), and its last component. */
static size_t path_at(const char *text, const char *at, const char **ret_last, size_t *ret_last_len)
{
	size_t n = 0, parts = 0;
	if (*at != '/' || !begins_path(text, at))
		return 0;
	for (size_t name; at[n] == '/' && (name = strspn(at + n + 1, NAME_CHARS)) > 0; n += 1 + name, parts++) {
		*ret_last = at + n + 1;
		*ret_last_len = name;
	}
	while (*ret_last_len > 1 && (*ret_last)[*ret_last_len - 1] == '.') { /* the end of a sentence */
		--*ret_last_len;
		n--;
	}
	size_t first = strspn(at + 1, NAME_CHARS);
	return parts >= 2 && (is_root(at + 1, first) || (n >= PATH_MIN && first >= 2)) ? n : 0;
}

/* C:\Users\name\file */
static size_t windows_path_at(const char *text, const char *at, const char **ret_last, size_t *ret_last_len)
{
	size_t n = 2, parts = 0;
	if (!isalpha((unsigned char)*at) || at[1] != ':' || at[2] != '\\' || (at > text && isalnum((unsigned char)at[-1])))
		return 0;
	for (size_t name; at[n] == '\\' && (name = strspn(at + n + 1 + (at[n + 1] == '\\'), NAME_CHARS)) > 0; parts++) {
		*ret_last = at + n + 1 + (at[n + 1] == '\\');
		*ret_last_len = name;
		n += 1 + (at[n + 1] == '\\') + name;
	}
	return parts >= 2 ? n : 0;
}

/* --- secrets ---------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *prefix;
	size_t min; /* characters behind it */
} shapes[] = {
	{ "sk-", 16 },   { "ghp_", 20 },  { "gho_", 20 }, { "ghs_", 20 }, { "github_pat_", 20 }, { "glpat-", 16 }, { "hf_", 20 },
	{ "xoxb-", 16 }, { "xoxp-", 16 }, { "AKIA", 16 }, { "ASIA", 16 }, { "AIza", 30 },        { "nvapi-", 20 }, { "eyJ", 40 },
};

static size_t shape_at(const char *text, const char *at)
{
	if (at > text && lex_in_word(at[-1]))
		return 0;
	for (size_t i = 0; i < MEM_COUNT(shapes); i++) {
		size_t n = strlen(shapes[i].prefix), more;
		if (strncmp(at, shapes[i].prefix, n) != 0)
			continue;
		more = strspn(at + n, KEY_CHARS ".");
		if (more >= shapes[i].min)
			return n + more;
	}
	return 0;
}

/* A private key in PEM, whole. */
static size_t pem_at(const char *at)
{
	static const char begin[] = "-----BEGIN ", key[] = "PRIVATE KEY-----", end[] = "-----END ";
	if (strncmp(at, begin, sizeof begin - 1) != 0)
		return 0;
	const char *is_key = strstr(at, key), *line = at + strcspn(at, "\n"), *last = strstr(at, end);
	if (is_key == NULL || is_key > line)
		return 0;
	return last ? (size_t)(last - at) + strcspn(last, "\n") : strlen(at);
}

/* name:password@ of an address. */
static size_t credentials_at(const char *text, const char *at)
{
	if (at - text < 3 || strncmp(at - 3, "://", 3) != 0)
		return 0;
	size_t n = strcspn(at, "@/ \t\n\"'`");
	return at[n] == '@' && memchr(at, ':', n) ? n : 0;
}

/* Letters and digits, as code seldom has in one word. */
static bool looks_random(const char *at, size_t n)
{
	bool digit = false, letter = false;
	for (size_t i = 0; i < n; i++) {
		digit |= isdigit((unsigned char)at[i]) != 0;
		letter |= isalpha((unsigned char)at[i]) != 0;
		if (at[i] == '.' || at[i] == '*' || at[i] == '&')
			return false;
	}
	return n >= 12 && digit && letter;
}

static const struct {
	const char *word;
	bool always; /* no code assigns to it */
} names[] = {
	{ "password", true },   { "passwd", true },     { "api_key", true }, { "api-key", true }, { "apikey", true },
	{ "secret_key", true }, { "access_key", true }, { "bearer", true },  { "token", false },  { "secret", false },
};

/* The value behind `api_key = `: how many bytes to keep before it, and how many it has; 0: there is none. */
static size_t value_at(const char *text, const char *at, size_t *ret_keep)
{
	for (size_t i = 0; i < MEM_COUNT(names); i++) {
		size_t n = strlen(names[i].word);
		if (strncasecmp(at, names[i].word, n) != 0 || (at > text && isalnum((unsigned char)at[-1])))
			continue;
		size_t quote = strspn(at + n, "\"'"), blank = strspn(at + n + quote, " \t"),
		       sign = strspn(at + n + quote + blank, "=:");
		bool header = strcasecmp(names[i].word, "bearer") == 0 && blank > 0;
		if (strncasecmp(at, "bearer", 6) == 0 ? !header : sign == 0)
			continue;
		size_t keep = n + quote + blank + sign;
		keep += strspn(at + keep, " \t\"'");
		size_t len = strspn(at + keep, VALUE_CHARS);
		while (len && strchr(".:?!", at[keep + len - 1]))
			len--;
		bool call = at[keep + len] == '(' || at[keep + len] == '[';
		if (call || len < (names[i].always ? (header ? 12 : 4) : 12) || (!names[i].always && !looks_random(at + keep, len)))
			continue;
		*ret_keep = keep;
		return len;
	}
	return 0;
}

bool scrub_names_secret(const char *variable, size_t n)
{
	static const char *const words[] = { "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL" };
	for (size_t w = 0; w < MEM_COUNT(words); w++)
		for (size_t i = 0, k = strlen(words[w]); i + k <= n; i++)
			if (strncasecmp(variable + i, words[w], k) == 0)
				return true;
	return false;
}

static size_t environment_at(const char *at)
{
	for (char **v = environ; v && *v; v++) {
		size_t name = strcspn(*v, "="), n = strlen(*v) > name ? strlen(*v + name + 1) : 0;
		if (n >= SECRET_MIN && scrub_names_secret(*v, name) && strncmp(at, *v + name + 1, n) == 0)
			return n;
	}
	return 0;
}

/* ---------------------------------------------------------------------------------------------------------------------- */

static size_t secret_at(const char *text, const char *at, size_t *ret_keep)
{
	size_t n = environment_at(at);
	*ret_keep = 0;
	n = n ? n : shape_at(text, at);
	n = n ? n : pem_at(at);
	n = n ? n : credentials_at(text, at);
	return n ? n : value_at(text, at, ret_keep);
}

char *scrub_text(const char *text)
{
	struct buf out = BUF_INIT;
	if (text == NULL)
		return NULL;
	for (const char *at = text; *at;) {
		const char *last = NULL;
		size_t last_len = 0, keep = 0, n = secret_at(text, at, &keep);
		if (n) {
			buf_add(&out, at, keep);
			buf_adds(&out, "<secret>");
		} else if ((n = path_at(text, at, &last, &last_len)) > 0 || (n = windows_path_at(text, at, &last, &last_len)) > 0) {
			buf_addf(&out, "<path>/%.*s", (int)last_len, last);
		} else {
			buf_addc(&out, *at);
			n = 1;
		}
		at += keep + n;
	}
	return buf_steal(&out);
}
