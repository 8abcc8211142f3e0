/* registry: lookups in the owner's tables, and URI templates; see registry.h. */
#include "mcp/registry.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

const void *mcp_registry_find(const void *table, size_t size, const char *name)
{
	const char *const *first = table;
	for (; first && *first; first = (const void *)((const char *)first + size))
		if (strcmp(*first, name) == 0)
			return first;
	return NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes n characters; NULL when the result would hold a NUL or is not UTF-8. */
static json_t *decode(const char *text, size_t n)
{
	struct buf b = BUF_INIT;
	json_t *value = NULL;
	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)text[i];
		if (c == '%' && i + 2 < n && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
			c = hex(text[i + 1]) * 16 + hex(text[i + 2]);
			i += 2;
		}
		if (c == 0)
			goto out;
		buf_addc(&b, (char)c);
	}
	value = json_stringn(buf_text(&b), b.len);
out:
	buf_fini(&b);
	return value;
}

/* Matches from the left; a variable takes as much as it can and gives back until the rest matches. */
static int match(const char *t, const char *uri, json_t *variables)
{
	for (; *t && *t != '{'; t++, uri++)
		if (*t != *uri)
			return 0;
	if (*t == '\0')
		return *uri == '\0';
	const char *close = strchr(t, '}');
	if (close == NULL)
		return 0;
	int any = t[1] == '+';
	const char *name = t + 1 + any;
	size_t most = any ? strlen(uri) : strcspn(uri, "/?#");
	for (size_t n = most; n >= 1; n--) {
		if (!match(close + 1, uri + n, variables))
			continue;
		json_t *value = decode(uri, n);
		return value && json_object_setn_new(variables, name, (size_t)(close - name), value) == 0;
	}
	return 0;
}

const struct mcp_template *mcp_registry_template(const struct mcp_template *templates, const char *uri, json_t **ret_variables)
{
	for (const struct mcp_template *t = templates; t && t->uri_template; t++) {
		json_t *variables = json_object();
		if (match(t->uri_template, uri, variables)) {
			*ret_variables = variables;
			return t;
		}
		json_decref(variables);
	}
	return NULL;
}
