/* parse_number: numbers by RFC 8259's grammar, which is narrower than that of strtod; see parse.h. Called by
 * mcp/parse.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/parse.h"

/* Characters of a number; digits of one that certainly is a json_int_t. */
enum { NUMBER_MAX = 64, SMALL_DIGITS = 18 };

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* Length of the number at s; 0 when there is none. *ret_real: it has a fraction or exponent. */
static size_t number_length(const char *s, int *ret_real)
{
	size_t i = s[0] == '-', whole = digits(s + i);
	if (whole == 0 || (whole > 1 && s[i] == '0'))
		return 0;
	i += whole;
	*ret_real = 0;
	if (s[i] == '.') {
		size_t more = digits(s + i + 1);
		if (more == 0)
			return 0;
		i += 1 + more;
		*ret_real = 1;
	}
	if (s[i] == 'e' || s[i] == 'E') {
		size_t sign = s[i + 1] == '+' || s[i + 1] == '-', more = digits(s + i + 1 + sign);
		if (more == 0)
			return 0;
		i += 1 + sign + more;
		*ret_real = 1;
	}
	return i;
}

/* The id of most messages: a few digits, and nothing behind them that belongs to a number. NULL: anything else. */
static json_t *small(const char *s, size_t n, size_t *ret_length)
{
	json_int_t whole = 0;
	size_t i = 0;
	for (; i < SMALL_DIGITS && i < n && s[i] >= '0' && s[i] <= '9'; i++)
		whole = 10 * whole + (s[i] - '0');
	if (i == 0 || i == n || (s[i] != ',' && s[i] != '}') || (s[0] == '0' && i > 1))
		return NULL;
	*ret_length = i;
	return json_integer(whole);
}

json_t *mcp_parse_number(const char *s, size_t n, size_t *ret_length, const char **ret_why)
{
	json_t *v = small(s, n, ret_length);
	if (v)
		return v;
	char text[NUMBER_MAX + 1];
	int real = 0;
	n = n < NUMBER_MAX ? n : NUMBER_MAX;
	memcpy(text, s, n);
	text[n] = '\0';
	*ret_why = "a number with too many digits";
	if (strspn(text, "+-.eE0123456789") == NUMBER_MAX)
		return NULL;
	size_t length = number_length(text, &real);
	*ret_why = "not a number";
	if (length == 0)
		return NULL;
	text[length] = '\0';
	errno = 0;
	if (real) {
		v = json_real(strtod(text, NULL)); /* NULL for infinity */
	} else {
		long long whole = strtoll(text, NULL, 10);
		v = errno == ERANGE ? NULL : json_integer(whole);
	}
	*ret_why = "a number that is too large";
	*ret_length = length;
	return v;
}
