/* fields: named texts with one line each; see fields.h. Used for job requests and results, and by the client verbs. */
#include "base/fields.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void fields_fini(struct fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->at[i].name);
		free(f->at[i].value);
	}
	free(f->at);
	*f = (struct fields)FIELDS_INIT;
}

static bool valid_name(const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return n > 0;
}

static void drop(struct fields *f, size_t i)
{
	free(f->at[i].name);
	free(f->at[i].value);
	memmove(&f->at[i], &f->at[i + 1], (f->count - i - 1) * sizeof *f->at);
	f->count--;
}

void fields_set(struct fields *f, const char *name, const char *value)
{
	assert(valid_name(name, strlen(name)));
	char *copy = mem_str(value); /* the value may be the old one */
	for (size_t i = 0; i < f->count; i++) {
		if (strcmp(f->at[i].name, name) != 0)
			continue;
		if (copy == NULL) {
			drop(f, i);
			return;
		}
		free(f->at[i].value);
		f->at[i].value = copy;
		return;
	}
	if (copy == NULL)
		return;
	size_t i = f->count;
	MEM_PUSH(f->at, f->count);
	f->at[i].name = mem_str(name);
	f->at[i].value = copy;
}

void fields_setf(struct fields *f, const char *name, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *value = mem_fmtv(fmt, ap);
	va_end(ap);
	fields_set(f, name, value);
	free(value);
}

const char *fields_get(const struct fields *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->at[i].name, name) == 0)
			return f->at[i].value;
	return NULL;
}

const char *fields_text(const struct fields *f, const char *name, const char *or_else)
{
	const char *value = fields_get(f, name);
	return value ? value : or_else;
}

int64_t fields_int(const struct fields *f, const char *name, int64_t or_else)
{
	const char *value = fields_get(f, name);
	return value && *value ? strtoll(value, NULL, 10) : or_else;
}

double fields_number(const struct fields *f, const char *name, double or_else)
{
	const char *value = fields_get(f, name);
	return value && *value ? strtod(value, NULL) : or_else;
}

bool fields_flag(const struct fields *f, const char *name)
{
	const char *value = fields_text(f, name, "");
	return strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
}

char *fields_render(const struct fields *f)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < f->count; i++) {
		buf_addf(&out, "%s: ", f->at[i].name);
		for (const char *c = f->at[i].value; *c; c++) {
			if (*c == '\n')
				buf_adds(&out, "\\n");
			else if (*c == '\\')
				buf_adds(&out, "\\\\");
			else
				buf_addc(&out, *c);
		}
		buf_addc(&out, '\n');
	}
	return buf_steal(&out);
}

static char *unescape(const char *text, size_t n)
{
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\' && i + 1 < n) {
			i++;
			buf_addc(&out, text[i] == 'n' ? '\n' : text[i]);
		} else {
			buf_addc(&out, text[i]);
		}
	}
	return buf_steal(&out);
}

int fields_parse(const char *text, struct fields *ret_f, struct err *e)
{
	struct fields f = FIELDS_INIT;
	int line = 0;
	while (*text) {
		size_t n = strcspn(text, "\n"), name = strcspn(text, ":");
		line++;
		if (name + 1 >= n || text[name + 1] != ' ' || !valid_name(text, name)) {
			fields_fini(&f);
			return err_set(e, ERR_INPUT, "line %d is not 'name: value'", line);
		}
		char *key = mem_strn(text, name), *value = unescape(text + name + 2, n - name - 2);
		fields_set(&f, key, value);
		free(key);
		free(value);
		text += n + (text[n] == '\n');
	}
	*ret_f = f;
	return 0;
}
