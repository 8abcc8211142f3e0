/* verb: see verb.h. Called by main.c and by every verb. */
#include "daemon/verbs/verb.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "daemon/verbs/out.h"

enum { CONFIG_MAX = 1 << 20, HELP_COLUMN = 27 };

static const struct verb_option common[] = {
	{ "db", "FILE", "the database (default: $PEAKD_DB, else peakd/peakd.db in $XDG_DATA_HOME)" },
	{ "log-level", "LEVEL", "error, warning, info or debug" },
	{ "help", NULL, "this text" },
};

static const struct verb_option none[] = { { NULL, NULL, NULL } };

static const struct verb_option *own_options(const struct verb *verb)
{
	return verb->options ? verb->options : none;
}

static const struct verb_option *find_option(const struct verb *verb, const char *name, size_t n)
{
	for (const struct verb_option *o = own_options(verb); o->name; o++)
		if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
			return o;
	for (size_t i = 0; i < MEM_COUNT(common); i++)
		if (strlen(common[i].name) == n && memcmp(common[i].name, name, n) == 0)
			return &common[i];
	return NULL;
}

static const char *nearest_option(const struct verb *verb, const char *name)
{
	const char **known = NULL;
	size_t count = 0;
	for (const struct verb_option *o = own_options(verb); o->name; o++)
		*MEM_PUSH(known, count) = o->name;
	for (size_t i = 0; i < MEM_COUNT(common); i++)
		*MEM_PUSH(known, count) = common[i].name;
	const char *near = suggest_word(name, known, count);
	free(known);
	return near;
}

static int unknown_option(const struct verb *verb, const char *name, size_t n, struct err *e)
{
	char *given = mem_strn(name, n);
	const char *near = nearest_option(verb, given);
	int rc = err_set(e, ERR_INPUT, "there is no option --%s%s%s%s; `peakd %s --help` lists them", given,
			 near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "", verb->name);
	free(given);
	return rc;
}

/* --- the database ------------------------------------------------------------------------------------------------------- */

static void make_folders(const char *path)
{
	char *copy = mem_str(path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0700); /* opening the database says what is wrong */
		*slash = '/';
	}
	free(copy);
}

static int default_db(char **ret_db, struct err *e)
{
	const char *set = getenv("PEAKD_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	if (set && *set)
		*ret_db = mem_str(set);
	else if (data && *data)
		*ret_db = mem_fmt("%s/peakd/peakd.db", data);
	else if (home && *home)
		*ret_db = mem_fmt("%s/.local/share/peakd/peakd.db", home);
	else
		return err_set(e, ERR_INPUT,
			       "there is no place for the database: neither $PEAKD_DB, $XDG_DATA_HOME nor $HOME is set; "
			       "name a file with --db");
	if (!(set && *set))
		make_folders(*ret_db);
	return 0;
}

/* --- parsing ------------------------------------------------------------------------------------------------------------ */

static int take_option(const struct verb *verb, int argc, char **argv, int *at, struct verb_line *line, struct err *e)
{
	const char *name = argv[*at] + 2, *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	const struct verb_option *option = find_option(verb, name, n);
	const char *value = equals ? equals + 1 : "";
	if (option == NULL)
		return unknown_option(verb, name, n, e);
	if (option->value == NULL && equals)
		return err_set(e, ERR_INPUT, "--%s takes no value", option->name);
	if (option->value && !equals) {
		if (*at + 1 >= argc)
			return err_set(e, ERR_INPUT, "--%s needs a value: --%s %s", option->name, option->name, option->value);
		value = argv[++*at];
	}
	*MEM_PUSH(line->given, line->given_count) = (struct verb_given){ .option = option, .value = value };
	return 0;
}

/* --- the configuration file --------------------------------------------------------------------------------------------- */

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t n = strlen(text);
	while (n > 0 && strchr(" \t\r", text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

/* Sets a variable of the environment, unless it is set. False when the verb reads no such variable. At a reload other threads read
 * the environment, which must not change then. */
static bool take_variable(const struct verb_line *line, const char *name, const char *value)
{
	for (const struct verb_option *o = line->verb->environment ? line->verb->environment : none; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return line->again || setenv(name, value, 0) == 0;
	return false;
}

/* `text` is cut into key and value. */
static int take_setting(struct verb_line *line, char *text, struct err *e)
{
	char *equals = strchr(text, '='), *value = equals ? trim(equals + 1) : NULL;
	if (equals == NULL)
		return err_set(e, ERR_INPUT, "a setting is written OPTION = VALUE");
	*equals = '\0';
	const char *key = trim(text), *set = getenv("PEAKD_DB");
	const struct verb_option *option = find_option(line->verb, key, strlen(key));
	if (*value == '\0')
		return err_set(e, ERR_INPUT, "'%s' needs a value", key);
	if (option == NULL && take_variable(line, key, value))
		return 0;
	if (option == NULL || strcmp(key, "config") == 0 || strcmp(key, "help") == 0) {
		const char *near = option ? NULL : nearest_option(line->verb, key);
		return err_set(e, ERR_INPUT, "there is no setting '%s'%s%s%s", key, near ? "; did you mean '" : "",
			       near ? near : "", near ? "'?" : "");
	}
	if (option->value == NULL && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return err_set(e, ERR_INPUT, "'%s' is yes or no", key);
	if ((option->value == NULL && strcmp(value, "no") == 0) || (strcmp(key, "db") == 0 && set && *set))
		return 0;
	for (size_t i = 0; i < line->typed; i++)
		if (line->given[i].option == option)
			return 0;
	*MEM_PUSH(line->given, line->given_count) = (struct verb_given){ .option = option, .value = option->value ? value : "" };
	return 0;
}

static int read_config(struct verb_line *line, struct err *e)
{
	const char *path = verb_get(line, "config");
	struct buf text = BUF_INIT;
	line->typed = line->given_count;
	int rc = path ? buf_add_file(&text, path, CONFIG_MAX, e) : 0;
	if (rc < 0)
		err_wrap(e, "--config");
	line->config = buf_steal(&text);
	char *at = path ? line->config : NULL;
	for (int number = 1; rc == 0 && at && *at; number++) {
		char *end = at + strcspn(at, "\n"), *next = end + (*end == '\n');
		*end = '\0';
		char *shown = mem_str(at), *setting = trim(at);
		struct err why = ERR_INIT;
		if (*setting && *setting != '#' && take_setting(line, setting, &why) < 0)
			rc = err_set(e, ERR_INPUT, "%s:%d: %s\n    %s", path, number, why.text, shown);
		free(shown);
		at = next;
	}
	return rc;
}

static int check_words(const struct verb *verb, const struct verb_line *line, struct err *e)
{
	const char *space = *verb->words ? " " : "", *word = verb->words;
	if (line->word_count > verb->max_words)
		return err_set(e, ERR_INPUT, "unexpected argument '%s'; usage: peakd %s%s%s [options]",
			       line->words[verb->max_words], verb->name, space, verb->words);
	if (line->word_count >= verb->min_words)
		return 0;
	for (size_t i = 0; i < line->word_count; i++)
		word += strcspn(word, " ") + 1;
	return err_set(e, ERR_INPUT, "%.*s is missing; usage: peakd %s%s%s [options]; `peakd %s --help` says more",
		       (int)strcspn(word, " "), word, verb->name, space, verb->words, verb->name);
}

static int apply_common(struct verb_line *line, struct err *e)
{
	const char *level = verb_get(line, "log-level"), *db = verb_get(line, "db");
	if (level && log_level_parse(level) < 0)
		return err_set(e, ERR_INPUT, "--log-level: '%s' is not error, warning, info or debug", level);
	if (level)
		log_set_level((enum log_level)log_level_parse(level));
	if (db && !*db)
		return err_set(e, ERR_INPUT, "--db needs the name of a file");
	if (db)
		line->db = mem_str(db);
	return db ? 0 : default_db(&line->db, e);
}

static int check_numbers(const struct verb_line *line, struct err *e)
{
	long long ignored;
	for (const struct verb_number *n = line->verb->numbers; n && n->option; n++) {
		const char *text = verb_get(line, n->option);
		char *end = NULL;
		if (n->max && verb_int(line, n->option, n->min, n->max, 0, &ignored, e) < 0)
			return -ERR_INPUT;
		if (text && !n->max)
			(void)strtod(text, &end);
		if (end && (end == text || *end))
			return err_set(e, ERR_INPUT, "--%s: '%s' is not a number", n->option, text);
	}
	return 0;
}

int verb_parse(const struct verb *verb, int argc, char **argv, struct verb_line *ret_line, bool *ret_help, struct err *e)
{
	struct verb_line line = { .verb = verb };
	bool only_words = false;
	int rc = 0;
	for (int i = 0; i < argc && rc == 0; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0)
			only_words = true;
		else if (!only_words && strcmp(argv[i], "-h") == 0)
			argv[i--] = (char *)"--help";
		else if (!only_words && strncmp(argv[i], "--", 2) == 0)
			rc = take_option(verb, argc, argv, &i, &line, e);
		else if (!only_words && argv[i][0] == '-' && argv[i][1])
			rc = err_set(e, ERR_INPUT, "there is no option %s; options are written --name", argv[i]);
		else
			*MEM_PUSH(line.words, line.word_count) = argv[i];
	}
	*ret_help = rc == 0 && verb_get(&line, "help");
	if (rc == 0 && !*ret_help)
		rc = read_config(&line, e);
	if (rc == 0 && !*ret_help)
		rc = check_words(verb, &line, e);
	if (rc == 0 && !*ret_help)
		rc = check_numbers(&line, e);
	if (rc == 0 && !*ret_help)
		rc = apply_common(&line, e);
	if (rc < 0)
		verb_line_fini(&line);
	else
		*ret_line = line;
	return rc;
}

int verb_reload(const struct verb_line *line, struct verb_line *ret_line, struct err *e)
{
	struct verb_line fresh = { .verb = line->verb, .again = true };
	for (size_t i = 0; i < line->typed; i++)
		*MEM_PUSH(fresh.given, fresh.given_count) = line->given[i];
	int rc = read_config(&fresh, e);
	if (rc < 0)
		verb_line_fini(&fresh);
	else
		*ret_line = fresh;
	return rc;
}

void verb_line_fini(struct verb_line *line)
{
	free(line->words);
	free(line->given);
	free(line->db);
	free(line->config);
}

static void print_option(const char *dashes, const struct verb_option *o)
{
	char text[64];
	snprintf(text, sizeof text, "%s%s%s%s", dashes, o->name, o->value ? *dashes ? " " : "=" : "", o->value ? o->value : "");
	printf("  %-*s ", HELP_COLUMN - 3, text);
	out_wrapped(o->help, HELP_COLUMN);
}

/* A line that begins with two blanks is of a list: what an action does goes on below itself. */
static void print_details(const char *text)
{
	while (text && *text) {
		size_t n = strcspn(text, "\n"), indent = strncmp(text, "  ", 2) == 0 && n > HELP_COLUMN - 1 ? HELP_COLUMN - 1 : 0;
		char *line = mem_strn(text + indent, n - indent);
		printf("%.*s", (int)indent, text);
		out_wrapped(line, (int)indent);
		free(line);
		text += n + (text[n] == '\n');
	}
}

void verb_help(const struct verb *verb)
{
	printf("usage: peakd %s%s%s [options]\n", verb->name, *verb->words ? " " : "", verb->words);
	print_details(verb->summary);
	printf("\n");
	print_details(verb->details);
	if (verb->details)
		printf("\n");
	for (const struct verb_option *o = own_options(verb); o->name; o++)
		print_option("--", o);
	for (size_t i = 0; i < MEM_COUNT(common); i++)
		print_option("--", &common[i]);
	if (verb->environment)
		printf("\nVariables of the environment, which the file of --config may set as well:\n\n");
	for (const struct verb_option *o = verb->environment; o && o->name; o++)
		print_option("", o);
}

/* --- reading ------------------------------------------------------------------------------------------------------------ */

const char *verb_get_nth(const struct verb_line *line, const char *name, size_t i)
{
	for (size_t k = 0; k < line->given_count; k++)
		if (strcmp(line->given[k].option->name, name) == 0 && i-- == 0)
			return line->given[k].value;
	return NULL;
}

const char *verb_get(const struct verb_line *line, const char *name)
{
	const char *value = NULL;
	for (size_t k = 0; k < line->given_count; k++)
		if (strcmp(line->given[k].option->name, name) == 0)
			value = line->given[k].value;
	return value;
}

int verb_int(const struct verb_line *line, const char *name, long long min, long long max, long long or_else, long long *ret_value,
	     struct err *e)
{
	const char *text = verb_get(line, name);
	char *end;
	*ret_value = or_else;
	if (text == NULL)
		return 0;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		return err_set(e, ERR_INPUT, "--%s: '%s' is not an integer from %lld to %lld", name, text, min, max);
	*ret_value = value;
	return 0;
}

const struct verb_number *verb_find_number(const struct verb *verb, const char *name)
{
	for (const struct verb_number *n = verb->numbers; n && n->option; n++)
		if (strcmp(n->option, name) == 0)
			return n;
	return NULL;
}

long long verb_number(const struct verb_line *line, const char *name, long long or_else)
{
	const char *text = verb_get(line, name);
	return text ? strtoll(text, NULL, 10) : or_else;
}

void verb_print_error(const struct verb *verb, const struct err *e)
{
	bool colours = out_colours(stderr);
	fflush(stdout);
	fprintf(stderr, "%speakd %s:%s %s\n", colours ? OUT_RED : "", verb->name, colours ? OUT_PLAIN : "", e->text);
}

int verb_fail(const struct verb_line *line, const struct err *e)
{
	struct err said = *e;
	if (e->code == ERR_CANCELLED && line->verb->again)
		err_set(&said, e->code, "%s; %s", e->text, line->verb->again);
	verb_print_error(line->verb, &said);
	/* Where --json names a file, standard output is for words. */
	const char *json = verb_get(line, "json");
	json_t *answer = json && !*json ? json_pack("{s:s}", "error", e->text) : NULL;
	if (answer && (json_dumpf(answer, stdout, JSON_INDENT(2)) < 0 || putchar('\n') < 0))
		fprintf(stderr, "peakd %s: standard output cannot be written\n", line->verb->name);
	json_decref(answer);
	return e->code == ERR_CANCELLED ? VERB_INTERRUPTED : VERB_FAILED;
}

int verb_validators(const struct verb_line *line, struct err *e)
{
	const char *path, *before = getenv("PEAKD_VALIDATORS");
	struct buf all = BUF_INIT;
	int rc = 0;
	buf_adds(&all, before ? before : "");
	for (size_t i = 0; rc == 0 && (path = verb_get_nth(line, "validator", i)) != NULL; i++) {
		char *real = realpath(path, NULL);
		if (real == NULL || access(real, X_OK) < 0)
			rc = err_sys(e, errno, "--validator: %s cannot be executed", path);
		else
			buf_addf(&all, "%s%s", all.len ? ":" : "", real);
		free(real);
	}
	if (rc == 0 && all.len)
		setenv("PEAKD_VALIDATORS", buf_text(&all), 1);
	buf_fini(&all);
	return rc;
}

int verb_ended(int signal, int status)
{
	return signal == 0 ? status : 128 + signal;
}

int verb_misused(const struct verb_line *line, const struct err *e)
{
	verb_fail(line, e);
	return VERB_USAGE;
}
