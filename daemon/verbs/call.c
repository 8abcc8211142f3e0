/* call: see call.h. */
#include "daemon/verbs/call.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/embedded.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/client.h"
#include "daemon/start.h"
#include "daemon/verbs/bar.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/table.h"

enum { FILE_MIN = 1000000 /* a text that may be so long is a file's */, WHOLE = 100000000, ACTION_COLUMN = 24 };

/* --- schemas ---------------------------------------------------------------------------------------------------------------- */

/* New reference. */
static json_t *schema_of(const char *tool)
{
	char *path = mem_fmt("schema/%s.input.json", tool);
	json_t *schema = json_loads(embedded_file(path), 0, NULL);
	assert(schema);
	free(path);
	return schema;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static bool is_file(const json_t *property)
{
	return json_integer_value(json_object_get(property, "maxLength")) >= FILE_MIN;
}

/* The description; "As in `tune`" is replaced by that tool's description of the argument. free() */
static char *describe(const char *key, const json_t *property)
{
	static const char as_in[] = "As in `";
	const char *text = text_of(property, "description"), *name = text + sizeof as_in - 1, *end;
	if (strncmp(text, as_in, sizeof as_in - 1) == 0 && (end = strchr(name, '`'))) {
		char *tool = mem_strn(name, (size_t)(end - name));
		json_t *schema = schema_of(tool);
		const json_t *other = json_object_get(json_object_get(schema, "properties"), key);
		char *described = other ? describe(key, other) : mem_str(text);
		json_decref(schema);
		free(tool);
		return described;
	}
	const json_t *value;
	size_t i;
	struct buf out = BUF_INIT;
	buf_adds(&out, text);
	if (out.len && islower((unsigned char)text[1]))
		out.data[0] = (char)tolower((unsigned char)*text);
	bool named = true;
	json_array_foreach(json_object_get(property, "enum"), i, value) named = named && strstr(text, json_string_value(value));
	json_array_foreach(json_object_get(property, "enum"), i, value) if (!named) buf_addf(&out, "%s%s",
											     i       ? ", "
											     : *text ? "; one of "
												     : "one of ",
											     json_string_value(value));
	return buf_steal(&out);
}

/* --- completing a verb ------------------------------------------------------------------------------------------------------ */

static const char *keep(struct call_verb *v, char *take_text)
{
	*MEM_PUSH(v->texts, v->text_count) = take_text;
	return take_text;
}

/* Whether one of the names in "at @text" is `key`. */
static bool lists(const char *names, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = names ? names : ""; *at; at += strcspn(at, " "), at += *at == ' ') {
		const char *name = at + (*at == '@');
		if (strncmp(name, key, n) == 0 && (name[n] == '\0' || name[n] == ' '))
			return true;
	}
	return false;
}

static bool is_option(const struct verb *verb, const char *key)
{
	bool hidden = lists("action wait_s cursor from", key) || lists(verb->hidden, key);
	for (const struct verb_call *c = verb->calls; c->name; c++)
		hidden = hidden || lists(c->arguments, key);
	return !hidden;
}

/* "device_seconds" is the option device-seconds. free() */
static char *option_name(const char *key)
{
	char *name = mem_str(key);
	for (char *c = name; *c; c++)
		if (*c == '_')
			*c = '-';
	return name;
}

static const char *value_name(struct call_verb *v, const char *type, const char *name, const json_t *property)
{
	if (strcmp(type, "boolean") == 0)
		return NULL;
	if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		return *type == 'i' ? "N" : "X";
	if (is_file(property))
		return "FILE";
	if (json_object_get(property, "enum"))
		return "NAME";
	char *upper = mem_str(name);
	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return keep(v, upper);
}

/* The verb's own help for an option, and its own bounds, take precedence. */
static void add_option(struct call_verb *v, const char *name, const char *key, const json_t *property)
{
	const char *type = text_of(property, "type");
	const json_t *min = json_object_get(property, "minimum"), *max = json_object_get(property, "maximum");
	size_t own = 0, bounds = 0;
	while (own < v->option_count && strcmp(v->options[own].name, name) != 0)
		own++;
	while (bounds < v->number_count && strcmp(v->numbers[bounds].option, name) != 0)
		bounds++;
	if (own == v->option_count) {
		struct verb_option option = { name, value_name(v, type, name, property), keep(v, describe(key, property)) };
		*MEM_PUSH(v->options, v->option_count) = option;
	}
	if (bounds < v->number_count)
		return;
	if (strcmp(type, "integer") == 0)
		*MEM_PUSH(v->numbers, v->number_count) =
			(struct verb_number){ name, json_integer_value(min), max ? json_integer_value(max) : INT64_MAX };
	else if (strcmp(type, "number") == 0)
		*MEM_PUSH(v->numbers, v->number_count) = (struct verb_number){ name, 0, 0 };
}

static int call_run(const struct verb_line *line);

/* The actions, a line each, in front of the verb's own details. */
static const char *details_of(struct call_verb *v)
{
	struct buf out = BUF_INIT;
	for (const struct verb_call *c = v->verb.calls; c->name && *c->name; c++) {
		int used = (int)(strlen(c->name) + 1 + strlen(c->words));
		buf_addf(&out, "  %s %s%*s", c->name, c->words, used < ACTION_COLUMN ? ACTION_COLUMN - used : 1, "");
		buf_addf(&out, "%s\n", c->about);
	}
	buf_adds(&out, v->verb.details ? v->verb.details : "");
	return keep(v, buf_steal(&out));
}

void call_complete(const struct verb *verb, struct call_verb *ret_verb)
{
	struct call_verb *v = ret_verb;
	call_text(verb, v);
	for (const struct verb_call *c = verb->calls; c && c->name; c++) {
		json_t *schema = schema_of(c->tool), *property;
		const char *key;
		json_object_foreach(json_object_get(schema, "properties"), key, property)
		{
			char *name = option_name(key);
			if (is_option(verb, key))
				add_option(v, keep(v, name), key, property);
			else
				free(name);
		}
		json_decref(schema);
	}
	if (verb->calls) {
		*MEM_PUSH(v->options, v->option_count) =
			(struct verb_option){ "json", NULL, "prints the answer as JSON (docs/cli.md)" };
		v->verb.details = details_of(v);
		v->verb.run = call_run;
	}
	*MEM_PUSH(v->options, v->option_count) = (struct verb_option){ NULL, NULL, NULL };
	*MEM_PUSH(v->numbers, v->number_count) = (struct verb_number){ NULL, 0, 0 };
	*MEM_PUSH(v->environment, v->environment_count) = (struct verb_option){ NULL, NULL, NULL };
	v->verb.options = v->options;
	v->verb.numbers = v->numbers;
	v->verb.environment = v->environment_count > 1 ? v->environment : NULL;
}

void call_fini(struct call_verb *verb)
{
	mem_free_texts(verb->texts, verb->text_count);
	free(verb->options);
	free(verb->numbers);
	free(verb->environment);
}

/* --- arguments -------------------------------------------------------------------------------------------------------------- */

static int set_file(json_t *arguments, const json_t *properties, const char *key, const char *path, struct err *e)
{
	char *text = NULL, *stem = run_setup_stem(path);
	int rc = run_setup_read(path, &text, e);
	if (rc == 0)
		json_object_set_new(arguments, key, json_string(text));
	/* A workflow is named as its file, unless a word names it. */
	if (rc == 0 && json_object_get(properties, "file")) {
		json_object_set_new(arguments, "file", json_string(path));
		json_object_set_new(arguments, "name", json_string(stem));
	}
	free(stem);
	free(text);
	return rc;
}

/* Numbers were checked by verb_parse. */
static int set(json_t *arguments, const json_t *properties, const char *key, const char *text, struct err *e)
{
	const json_t *property = json_object_get(properties, key);
	const char *type = text_of(property, "type");
	json_t *value = json_string(text), *list;
	if (value == NULL)
		return err_set(e, ERR_INPUT, "%s is not UTF-8 text: write it in UTF-8", key);
	if (strcmp(type, "boolean") == 0) {
		json_decref(value);
		value = json_true();
	} else if (strcmp(type, "integer") == 0) {
		json_decref(value);
		value = json_integer(strtoll(text, NULL, 10));
	} else if (strcmp(type, "number") == 0) {
		json_decref(value);
		value = json_real(strtod(text, NULL));
	} else if (strcmp(type, "array") == 0) {
		list = json_object_get(arguments, key);
		value = json_pack("[o]", value);
		if (list)
			json_array_extend(list, value);
		if (list)
			json_decref(value);
		value = list ? json_incref(list) : value;
	}
	json_object_set_new(arguments, key, value);
	return 0;
}

static int set_words(const struct verb_line *line, const struct verb_call *call, size_t first, const json_t *properties,
		     json_t *arguments, struct err *e)
{
	const char *at = call->arguments ? call->arguments : "";
	int rc = 0;
	for (size_t i = first; i < line->word_count && *at && rc == 0; i++) {
		size_t n = strcspn(at, " ");
		bool file = *at == '@';
		char *key = mem_strn(at + file, n - file);
		rc = file ? set_file(arguments, properties, key, line->words[i], e)
			  : set(arguments, properties, key, line->words[i], e);
		at += n + (at[n] == ' ');
		free(key);
	}
	return rc;
}

static int set_options(const struct verb_line *line, const struct verb_call *call, const json_t *properties, json_t *arguments,
		       struct err *e)
{
	int rc = 0;
	for (size_t i = 0; i < line->given_count && rc == 0; i++) {
		const struct verb_given *given = &line->given[i];
		char *key = mem_str(given->option->name);
		for (char *c = key; *c; c++)
			if (*c == '-')
				*c = '_';
		const json_t *property = json_object_get(properties, key);
		if (property)
			rc = is_file(property) ? set_file(arguments, properties, key, given->value, e)
					       : set(arguments, properties, key, given->value, e);
		if (*call->name && !lists("json db log-level", given->option->name) && !lists(call->takes, given->option->name))
			rc = err_set(e, ERR_INPUT, "--%s does not belong to `peakd %s %s`; `peakd %s --help` lists the options",
				     given->option->name, line->verb->name, call->name, line->verb->name);
		free(key);
	}
	return rc;
}

int call_arguments(const struct verb_line *line, const struct verb_call *call, size_t first, json_t **ret_arguments, struct err *e)
{
	json_t *schema = schema_of(call->tool), *properties = json_object_get(schema, "properties"), *arguments = json_object();
	const json_t *limit = json_object_get(json_object_get(properties, "limit"), "maximum");
	if (json_object_get(properties, "action") && *call->name)
		json_object_set_new(arguments, "action", json_string(call->action ? call->action : call->name));
	/* Answers are short for models; the shell shows everything. */
	if (json_integer_value(limit) >= WHOLE)
		json_object_set_new(arguments, "limit", json_integer(WHOLE));
	int rc = set_options(line, call, properties, arguments, e);
	if (rc == 0)
		rc = set_words(line, call, first, properties, arguments, e);
	json_decref(schema);
	if (rc < 0)
		json_decref(arguments);
	else
		*ret_arguments = arguments;
	return rc;
}

/* --- calling ---------------------------------------------------------------------------------------------------------------- */

/* Turns a message about an argument into one about its option: "arguments.over: given …" and "over: given …" become "--over: given
 * …". An argument that words give has only its name; where the first word is the source's file, "source: line 3: …" becomes
 * "FILE:3: …". */
static void name_option(const struct verb_line *line, struct err *e)
{
	const struct verb_call *first = line->verb->calls;
	int at = 0, end = 0;
	if (first && first->arguments && strncmp(first->arguments, "@source", 7) == 0 && strncmp(e->text, "source: ", 8) == 0) {
		char *said = mem_str(e->text + 8);
		if (sscanf(said, "line %d: %n", &at, &end) == 1 && end)
			err_set(e, e->code, "%s:%d: %s", line->words[0], at, said + end);
		else
			err_set(e, e->code, "%s: %s", line->words[0], said);
		free(said);
		return;
	}
	static const char place[] = "arguments.";
	bool placed = strncmp(e->text, place, sizeof place - 1) == 0;
	char *key = mem_str(e->text + (placed ? sizeof place - 1 : 0)), *colon = strchr(key, ':'), *name = NULL;
	const char *dashes = "", *rest = colon ? colon + 1 : "";
	size_t n = colon ? (size_t)(colon - key) : 0;
	if (colon)
		*colon = '\0';
	name = option_name(key);
	for (const struct verb_option *o = line->verb->options; colon && o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			dashes = "--";
	/* Some say twice what they are about. */
	if (*dashes && strncmp(rest, " ", 1) == 0 && strncmp(rest + 1, key, n) == 0 && rest[1 + n] == ':')
		rest += n + 2;
	if (colon && (placed || *dashes))
		err_set(e, e->code, "%s%s:%s", dashes, name, rest);
	free(name);
	free(key);
}

static bool is_table(const struct verb_call *call, const json_t *structured)
{
	return call && call->rows && out_is_terminal(stdout) && json_array_size(json_object_get(structured, call->rows)) > 0;
}

static int print(const struct verb_line *line, const struct verb_call *call, const json_t *structured, const char *text)
{
	struct err e = ERR_INIT;
	if (verb_get(line, "json"))
		return out_json(NULL, structured, JSON_INDENT(2), &e) < 0 ? verb_fail(line, &e) : VERB_OK;
	if (is_table(call, structured))
		table_print(structured, call->rows, call->columns);
	else
		out_coloured(text);
	return VERB_OK;
}

/* What --validator names must be asked, so a daemon that does not know it is refused. */
static int require_validators(const struct verb_line *line, struct err *e)
{
	int fd = -1, rc = verb_get(line, "validator") ? verb_validators(line, e) : 0;
	if (rc == 0 && verb_get(line, "validator"))
		rc = start_connect(line->db, &fd, e);
	if (fd >= 0 && !start_shares(fd, "PEAKD_VALIDATORS"))
		rc = err_set(
			e, ERR_CONFLICT,
			"--validator: the daemon of this database runs without it: `peakd stop` ends that daemon, and the same "
			"command then starts one with it");
	if (fd >= 0)
		close(fd);
	return rc;
}

/* With --json a job that failed or was cancelled is shown as any other: its state is in the answer. */
static int fail(const struct verb_line *line, const json_t *structured, const struct err *e)
{
	const char *json = verb_get(line, "json");
	struct err why = ERR_INIT;
	if (structured == NULL || json == NULL || *json)
		return verb_fail(line, e);
	verb_print_error(line->verb, e);
	if (out_json(NULL, structured, JSON_INDENT(2), &why) < 0)
		return verb_fail(line, &why);
	return e->code == ERR_CANCELLED ? VERB_INTERRUPTED : VERB_FAILED;
}

int call_tool(const struct verb_line *line, const char *tool, const struct verb_call *call, json_t *take_arguments,
	      json_t **ret_structured)
{
	struct client *client = NULL;
	struct err e = ERR_INIT;
	struct bar bar;
	json_t *structured = NULL;
	char *text = NULL;
	int status = VERB_OK;
	int rc = require_validators(line, &e);
	rc = rc < 0 ? rc : client_open(line->db, &client, &e);
	if (rc < 0) {
		json_decref(take_arguments);
		return verb_fail(line, &e);
	}
	bar_init(&bar, line->verb->name);
	rc = client_call(client, tool, take_arguments, &(struct client_watch){ bar_say, &bar }, &structured, &text, &e);
	bar_clear(&bar);
	if (rc < 0) {
		name_option(line, &e);
		status = fail(line, structured, &e);
	} else {
		if (ret_structured)
			*ret_structured = json_incref(structured);
		if (ret_structured == NULL || call)
			status = print(line, call, structured, text);
	}
	status = verb_ended(client_interrupted(client), status);
	/* A validation that ran and did not pass is no success. */
	if (status == VERB_OK && json_is_false(json_object_get(json_object_get(structured, "result"), "passed")))
		status = VERB_FAILED;
	json_decref(structured);
	free(text);
	client_close(client);
	return status;
}

/* The call that the first word names, or the only one. */
static const struct verb_call *find_call(const struct verb_line *line, struct err *e)
{
	const struct verb_call *calls = line->verb->calls;
	const char **names = NULL, *name = line->word_count ? line->words[0] : calls[0].name;
	size_t count = 0, at = 0;
	char hint[96];
	if (*calls[0].name == '\0')
		return calls;
	for (const struct verb_call *c = calls; c->name; c++)
		*MEM_PUSH(names, count) = c->name;
	while (at < count && strcmp(names[at], name) != 0)
		at++;
	if (at == count)
		err_set(e, ERR_INPUT, "there is no action '%s'%s; `peakd %s --help` lists them", name,
			suggest_hint(name, names, count, hint), line->verb->name);
	free(names);
	return at < count ? &calls[at] : NULL;
}

static int call_run(const struct verb_line *line)
{
	struct err e = ERR_INIT;
	const struct verb_call *call = find_call(line, &e);
	size_t first = call && *call->name, given = line->word_count > first ? line->word_count - first : 0, most = 0;
	json_t *arguments = NULL;
	for (const char *at = call && call->arguments ? call->arguments : ""; *at; at += strcspn(at, " "), at += *at == ' ')
		most++;
	const char *space = call && *call->words ? " " : "";
	if (call && first && given < call->min)
		err_set(&e, ERR_INPUT, "usage: peakd %s %s%s%s; see `peakd %s --help`", line->verb->name, call->name, space,
			call->words, line->verb->name);
	else if (call && first && given > most)
		err_set(&e, ERR_INPUT, "unexpected argument '%s'; usage: peakd %s %s%s%s", line->words[line->word_count - 1],
			line->verb->name, call->name, space, call->words);
	if (e.code != ERR_NONE)
		return verb_misused(line, &e);
	if (call->run)
		return call->run(line, call);
	if (call_arguments(line, call, first, &arguments, &e) < 0)
		return verb_fail(line, &e);
	return call_tool(line, call->tool, call, arguments, NULL);
}
