/* layout: structs by the table of their fields: memory, JSON, schema and words; see layout.h. Every function walks the table. */
#include "base/layout.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { LIST_SHOWN = 8, WHOLE_MAX_BITS = 53 };

/* --- members ---------------------------------------------------------------------------------------------------------------- */

/* Tables are read-only, the objects that they describe are the caller's to change: one cast for both. */
static void *member(const struct layout_field *f, const void *object)
{
	return (char *)object + f->offset;
}

static size_t *count_of(const struct layout_field *f, const void *object)
{
	return (size_t *)((char *)object + f->count);
}

int64_t layout_get_int(const struct layout_field *f, const void *object)
{
	if (f->type == LAYOUT_BOOL)
		return *(bool *)member(f, object);
	if (f->size == sizeof(int64_t))
		return *(int64_t *)member(f, object);
	assert(f->size == sizeof(int32_t));
	return *(int32_t *)member(f, object);
}

void layout_set_int(const struct layout_field *f, void *object, int64_t value)
{
	if (f->type == LAYOUT_BOOL)
		*(bool *)member(f, object) = value != 0;
	else if (f->size == sizeof(int64_t))
		*(int64_t *)member(f, object) = value;
	else
		*(int32_t *)member(f, object) = (int32_t)value;
}

int layout_word(const struct layout_field *f, const char *word)
{
	for (int i = 0; f->words[i]; i++)
		if (strcmp(f->words[i], word) == 0)
			return i;
	return -1;
}

void layout_init(const struct layout *l, void *object)
{
	memset(object, 0, l->size);
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_COUNT)
			layout_set_int(f, object, -1);
		else if (f->type == LAYOUT_REAL)
			*(double *)member(f, object) = NAN;
		else if (f->type == LAYOUT_PART)
			layout_init(f->of, member(f, object));
	}
}

void layout_fini(const struct layout *l, void *object)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		switch (f->type) {
		case LAYOUT_TEXTS:
			for (size_t i = 0; i < *count_of(f, object); i++)
				free((*(char ***)member(f, object))[i]);
			/* fall through */
		case LAYOUT_TEXT:
		case LAYOUT_INTS:
		case LAYOUT_REALS: free(*(void **)member(f, object)); break;
		case LAYOUT_LIST: layout_free_list(f->of, *(void **)member(f, object), *count_of(f, object)); break;
		case LAYOUT_PART: layout_fini(f->of, member(f, object)); break;
		case LAYOUT_BOOL:
		case LAYOUT_INT:
		case LAYOUT_ID:
		case LAYOUT_COUNT:
		case LAYOUT_REAL:
		case LAYOUT_WORD:
		case LAYOUT_HASH: break;
		}
	}
	layout_init(l, object);
}

void *layout_new(const struct layout *l)
{
	void *object = MEM_NEW_N(char, l->size);
	layout_init(l, object);
	return object;
}

void layout_free(const struct layout *l, void *take_object)
{
	if (take_object)
		layout_fini(l, take_object);
	free(take_object);
}

void layout_free_list(const struct layout *l, void *take_at, size_t count)
{
	for (size_t i = 0; i < count; i++)
		layout_fini(l, (char *)take_at + i * l->size);
	free(take_at);
}

/* --- to JSON ---------------------------------------------------------------------------------------------------------------- */

/* Results quote compilers and host code, whose bytes may be anything. */
static json_t *text_json(const char *text)
{
	char *clean = mem_str(text);
	utf8_clean(clean);
	json_t *json = json_string(clean);
	free(clean);
	return json;
}

json_t *layout_texts(char *const *at, size_t count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, text_json(at[i]));
	return list;
}

static json_t *list_json(const struct layout_field *f, const void *object)
{
	json_t *list = json_array();
	for (size_t i = 0; i < *count_of(f, object); i++) {
		if (f->type == LAYOUT_TEXTS)
			json_array_append_new(list, text_json((*(char ***)member(f, object))[i]));
		else if (f->type == LAYOUT_INTS)
			json_array_append_new(list, json_integer((*(int64_t **)member(f, object))[i]));
		else if (f->type == LAYOUT_REALS)
			json_array_append_new(list, json_real((*(double **)member(f, object))[i]));
		else
			json_array_append_new(list, layout_json(f->of, *(char **)member(f, object) + i * f->of->size));
	}
	return list;
}

/* NULL for what is left out. */
static json_t *field_json(const struct layout_field *f, const void *object)
{
	int64_t value;
	switch (f->type) {
	case LAYOUT_BOOL:
		value = layout_get_int(f, object);
		return value || !(f->flags & LAYOUT_OPTIONAL) ? json_boolean(value) : NULL;
	case LAYOUT_INT:
		value = layout_get_int(f, object);
		return value || !(f->flags & LAYOUT_OPTIONAL) ? json_integer(value) : NULL;
	case LAYOUT_ID: value = layout_get_int(f, object); return value ? json_integer(value) : NULL;
	case LAYOUT_COUNT: value = layout_get_int(f, object); return value >= 0 ? json_integer(value) : NULL;
	case LAYOUT_REAL: {
		double real = *(double *)member(f, object);
		return isfinite(real) ? json_real(real) : NULL;
	}
	case LAYOUT_TEXT: {
		const char *text = *(char **)member(f, object);
		return text ? text_json(text) : NULL;
	}
	case LAYOUT_WORD: return json_string(f->words[layout_get_int(f, object)]);
	case LAYOUT_HASH: {
		const struct hash *hash = member(f, object);
		return *hash->hex ? json_string(hash->hex) : NULL;
	}
	case LAYOUT_TEXTS:
	case LAYOUT_INTS:
	case LAYOUT_REALS:
	case LAYOUT_LIST: return list_json(f, object);
	case LAYOUT_PART: break;
	}
	return NULL;
}

void layout_add_json(const struct layout *l, const void *object, json_t *into)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		json_t *value = field_json(f, object);
		if (f->type == LAYOUT_PART)
			layout_add_json(f->of, member(f, object), into);
		else if (value)
			json_object_set_new(into, f->name, value);
	}
}

json_t *layout_json(const struct layout *l, const void *object)
{
	json_t *json = json_object();
	layout_add_json(l, object, json);
	return json;
}

char *layout_write(const struct layout *l, const void *object)
{
	json_t *json = layout_json(l, object);
	char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
	assert(text && "numbers are finite and texts are UTF-8");
	json_decref(json);
	return text;
}

/* --- from JSON -------------------------------------------------------------------------------------------------------------- */

/* 5 and 5.0 are the same number in JSON; a fraction, or a real beyond what it holds exactly, is no integer. */
static bool whole(const json_t *value, int64_t *ret_value)
{
	double real = json_real_value(value);
	if (json_is_integer(value))
		*ret_value = json_integer_value(value);
	else if (json_is_real(value) && real == floor(real) && fabs(real) < (double)((int64_t)1 << WHOLE_MAX_BITS))
		*ret_value = (int64_t)real;
	else
		return false;
	return true;
}

static int read_list(const struct layout_field *f, const json_t *value, void *object, struct err *e)
{
	size_t count = json_array_size(value), size = f->type == LAYOUT_LIST ? f->of->size : sizeof(int64_t), i;
	const json_t *element;
	char *at = MEM_NEW_N(char, (count + 1) * size);
	free(*(void **)member(f, object));
	*(void **)member(f, object) = at;
	json_array_foreach(value, i, element)
	{
		int rc = 0;
		*count_of(f, object) = i + 1;
		if (f->type == LAYOUT_LIST) {
			layout_init(f->of, at + i * size);
			rc = layout_read(f->of, element, at + i * size, e);
		} else if (f->type == LAYOUT_TEXTS && json_is_string(element)) {
			((char **)(void *)at)[i] = mem_str(json_string_value(element));
		} else if (f->type == LAYOUT_REALS && json_is_number(element)) {
			((double *)(void *)at)[i] = json_number_value(element);
		} else if (f->type != LAYOUT_INTS || !whole(element, &((int64_t *)(void *)at)[i])) {
			rc = err_set(e, ERR_INPUT, "%s[%zu]: this element has the wrong type", f->name, i);
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_field(const struct layout_field *f, const json_t *value, void *object, struct err *e)
{
	const char *want = NULL, *text = json_string_value(value);
	int64_t number = 0;
	int word;
	switch (f->type) {
	case LAYOUT_BOOL:
		if (json_is_boolean(value))
			layout_set_int(f, object, json_is_true(value));
		else
			want = "true or false";
		break;
	case LAYOUT_INT:
	case LAYOUT_ID:
	case LAYOUT_COUNT:
		if (!whole(value, &number) || (f->size == sizeof(int32_t) && number != (int32_t)number))
			want = "an integer";
		else
			layout_set_int(f, object, number);
		break;
	case LAYOUT_REAL:
		if (json_is_number(value))
			*(double *)member(f, object) = json_number_value(value);
		else
			want = "a number";
		break;
	case LAYOUT_TEXT:
		if (text == NULL) {
			want = "a string";
		} else {
			free(*(char **)member(f, object));
			*(char **)member(f, object) = mem_str(text);
		}
		break;
	case LAYOUT_WORD:
		word = text ? layout_word(f, text) : -1;
		if (word < 0)
			want = "one of its words";
		else
			layout_set_int(f, object, word);
		break;
	case LAYOUT_HASH:
		if (text && strlen(text) == HASH_HEX)
			memcpy(((struct hash *)member(f, object))->hex, text, HASH_HEX + 1);
		else
			want = "a hash";
		break;
	case LAYOUT_TEXTS:
	case LAYOUT_INTS:
	case LAYOUT_REALS:
	case LAYOUT_LIST:
		if (json_is_array(value))
			return read_list(f, value, object, e);
		want = "an array";
		break;
	case LAYOUT_PART: break;
	}
	return want ? err_set(e, ERR_INPUT, "%s: expected %s", f->name, want) : 0;
}

int layout_read(const struct layout *l, const json_t *json, void *object, struct err *e)
{
	if (!json_is_object(json))
		return err_set(e, ERR_INPUT, "%s: expected a JSON object", l->name);
	int rc = 0;
	for (const struct layout_field *f = l->fields; f->name && rc == 0; f++) {
		const json_t *value = json_object_get(json, f->name);
		if (f->type == LAYOUT_PART)
			rc = layout_read(f->of, json, member(f, object), e);
		else if (value && !json_is_null(value) && !(f->flags & LAYOUT_WRITTEN))
			rc = read_field(f, value, object, e);
	}
	return rc;
}

/* --- what peakd wrote before it wrote JSON --------------------------------------------------------------------------------------
 */

static const struct layout_field *find(const struct layout *l, const char *name, size_t n)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		const struct layout_field *inner = f->type == LAYOUT_PART ? find(f->of, name, n) : NULL;
		if (inner)
			return inner;
		if (strlen(f->name) == n && memcmp(f->name, name, n) == 0)
			return f;
	}
	return NULL;
}

/* A value in the type that its field has now. */
static json_t *old_value(const struct layout_field *f, const char *value)
{
	if (f->type == LAYOUT_BOOL)
		return json_boolean(strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
	if (f->type == LAYOUT_INT || f->type == LAYOUT_ID || f->type == LAYOUT_COUNT)
		return json_integer(strtoll(value, NULL, 10));
	if (f->type == LAYOUT_REAL)
		return json_real(strtod(value, NULL));
	if (f->type != LAYOUT_TEXTS)
		return text_json(value);
	json_t *lines = json_array();
	for (size_t n; *value; value += n + (value[n] == '\n')) {
		n = strcspn(value, "\n");
		json_array_append_new(lines, json_stringn(value, n));
	}
	return lines;
}

/* One "name: value" into the object; a name that the layout does not know is passed over. */
static void take_old(const struct layout *l, const char *name, size_t n, const char *value, json_t *into)
{
	const struct layout_field *f = find(l, name, n);
	size_t digits = 0;
	if (f && f->type != LAYOUT_LIST) {
		json_object_set_new(into, f->name, old_value(f, value));
		return;
	}
	while (digits < n && isdigit((unsigned char)name[n - digits - 1]))
		digits++;
	if (digits == 0 || digits > 4 || n <= digits + 1 || name[n - digits - 1] != '_')
		return;
	for (f = l->fields; f->name; f++) {
		if (f->type != LAYOUT_LIST || find(f->of, name, n - digits - 1) == NULL)
			continue;
		json_t *list = json_object_get(into, f->name);
		if (list == NULL)
			json_object_set_new(into, f->name, list = json_array());
		size_t i = (size_t)strtoul(name + n - digits, NULL, 10);
		while (json_array_size(list) <= i)
			json_array_append_new(list, json_object());
		take_old(f->of, name, n - digits - 1, value, json_array_get(list, i));
	}
}

static json_t *old_json(const struct layout *l, const char *text)
{
	json_t *json = json_object();
	struct buf value = BUF_INIT;
	while (*text) {
		size_t n = strcspn(text, "\n"), name = strcspn(text, ":\n");
		buf_clear(&value);
		for (size_t i = name + 2; i < n; i++) {
			bool escaped = text[i] == '\\' && i + 1 < n;
			i += escaped;
			buf_addc(&value, escaped && text[i] == 'n' ? '\n' : text[i]);
		}
		if (name < n)
			take_old(l, text, name, buf_text(&value), json);
		text += n + (text[n] == '\n');
	}
	buf_fini(&value);
	return json;
}

int layout_read_text(const struct layout *l, const char *text, void *object, struct err *e)
{
	json_error_t why;
	json_t *json = *text == '{' ? json_loads(text, 0, &why) : old_json(l, text);
	int rc = json ? layout_read(l, json, object, e) : err_set(e, ERR_INPUT, "%s: not JSON: %s", l->name, why.text);
	json_decref(json);
	return rc;
}

/* --- schema ----------------------------------------------------------------------------------------------------------------- */

static json_t *field_schema(const struct layout_field *f)
{
	json_t *schema = NULL, *words;
	switch (f->type) {
	case LAYOUT_BOOL: schema = json_pack("{s:s}", "type", "boolean"); break;
	case LAYOUT_INT:
	case LAYOUT_ID:
	case LAYOUT_COUNT: schema = json_pack("{s:s}", "type", "integer"); break;
	case LAYOUT_REAL: schema = json_pack("{s:s}", "type", "number"); break;
	case LAYOUT_WORD:
		words = json_array();
		for (int i = 0; f->words[i]; i++)
			json_array_append_new(words, json_string(f->words[i]));
		schema = json_pack("{s:o}", "enum", words);
		break;
	case LAYOUT_TEXTS: schema = json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string"); break;
	case LAYOUT_INTS: schema = json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "integer"); break;
	case LAYOUT_REALS: schema = json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "number"); break;
	case LAYOUT_LIST: schema = json_pack("{s:s, s:o}", "type", "array", "items", layout_schema(f->of)); break;
	case LAYOUT_TEXT:
	case LAYOUT_HASH:
	case LAYOUT_PART: schema = json_pack("{s:s}", "type", "string"); break;
	}
	if (f->about)
		json_object_set_new(schema, "description", json_string(f->about));
	return schema;
}

static void add_schema(const struct layout *l, json_t *into)
{
	json_t *properties = json_object_get(into, "properties"), *required = json_object_get(into, "required");
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_PART)
			add_schema(f->of, into);
		else if (!(f->flags & LAYOUT_DETAIL))
			json_object_set_new(properties, f->name, field_schema(f));
		if (f->flags & LAYOUT_REQUIRED) {
			if (required == NULL)
				json_object_set_new(into, "required", required = json_array());
			json_array_append_new(required, json_string(f->name));
		}
	}
}

json_t *layout_schema(const struct layout *l)
{
	json_t *schema = json_pack("{s:s, s:{}}", "type", "object", "properties");
	add_schema(l, schema);
	return schema;
}

/* --- words ------------------------------------------------------------------------------------------------------------------ */

char *layout_time(double ns, char text[32])
{
	if (!isfinite(ns))
		snprintf(text, 32, "-");
	else if (ns < 1e6)
		snprintf(text, 32, "%.4g us", ns / 1e3);
	else
		snprintf(text, 32, "%.4g ms", ns / 1e6);
	return text;
}

char *layout_joules(double joules, char text[32])
{
	if (!isfinite(joules))
		snprintf(text, 32, "-");
	else if (joules < 1e-3)
		snprintf(text, 32, "%.4g uJ", joules * 1e6);
	else if (joules < 1)
		snprintf(text, 32, "%.4g mJ", joules * 1e3);
	else
		snprintf(text, 32, "%.4g J", joules);
	return text;
}

static void add_number(const char *unit, double value, struct buf *out)
{
	char text[32];
	if (unit && strcmp(unit, "ns") == 0)
		buf_adds(out, layout_time(value, text));
	else if (unit && strcmp(unit, "J") == 0)
		buf_adds(out, layout_joules(value, text));
	else if (unit && strcmp(unit, "share") == 0)
		buf_addf(out, "%.1f %%", 100 * value);
	else if (unit && strcmp(unit, "%") == 0)
		buf_addf(out, "%.1f %%", value);
	else if (unit && strcmp(unit, "ratio") == 0)
		buf_addf(out, "%.4f", value);
	else
		buf_addf(out, "%.4g%s%s", value, unit ? " " : "", unit ? unit : "");
}

/* False when there is nothing to say. */
static bool add_value(const struct layout_field *f, const void *object, struct buf *out)
{
	json_t *value = f->type == LAYOUT_LIST || f->type == LAYOUT_TEXTS ? NULL : field_json(f, object);
	if (value == NULL || json_is_false(value)) {
		json_decref(value);
		return false;
	}
	if (json_is_string(value))
		buf_adds(out, json_string_value(value));
	else if (json_is_real(value))
		add_number(f->unit, json_real_value(value), out);
	else if (json_is_integer(value))
		buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	json_decref(value);
	return true;
}

static void say(const struct layout_field *f, const char *value, struct buf *out)
{
	const char *mark = strchr(f->say, '%');
	if (mark)
		buf_addf(out, "%.*s%s%s", (int)(mark - f->say), f->say, value, mark + 1);
	else
		buf_adds(out, f->say);
}

void layout_text(const struct layout *l, const void *object, struct buf *out)
{
	struct buf value = BUF_INIT;
	for (const struct layout_field *f = l->fields; f->name; f++) {
		if (f->type == LAYOUT_PART) {
			layout_text(f->of, member(f, object), out);
		} else if (f->type == LAYOUT_LIST) {
			for (size_t i = 0; i < *count_of(f, object) && i < LIST_SHOWN; i++) {
				buf_adds(out, f->say ? f->say : "");
				size_t before = out->len;
				layout_text(f->of, *(char **)member(f, object) + i * f->of->size, out);
				buf_adds(out, f->say || out->len == before ? "" : "\n");
			}
		} else if (f->type == LAYOUT_TEXTS && f->say) {
			for (size_t i = 0; i < *count_of(f, object); i++)
				say(f, (*(char ***)member(f, object))[i], out);
		} else if (f->say) {
			buf_clear(&value);
			if (add_value(f, object, &value))
				say(f, buf_text(&value), out);
		}
	}
	buf_fini(&value);
}
