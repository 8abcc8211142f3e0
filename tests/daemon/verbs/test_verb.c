/* test_verb: parsing command lines by a table of options. */
#include "daemon/verbs/verb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

static const struct verb_option options[] = {
	{ "config", "FILE", "" },   { "device", "D", "" }, { "model", "M", "" },
	{ "keep-going", NULL, "" }, { "budget", "N", "" }, { NULL, NULL, NULL },
};
static const struct verb_option environment[] = { { "PEAKD_TEST_SETTING", "X", "" }, { NULL, NULL, NULL } };
static const struct verb sample = { .name = "sample",
				    .words = "FILE [MORE]",
				    .summary = "",
				    .options = options,
				    .environment = environment,
				    .min_words = 1,
				    .max_words = 2 };

static int parse(struct verb_line *line, struct err *e, const char *a, const char *b, const char *c, const char *d)
{
	const char *given[] = { a, b, c, d };
	char *argv[4];
	int argc = 0;
	bool help;
	while (argc < 4 && given[argc]) {
		argv[argc] = (char *)given[argc];
		argc++;
	}
	*e = (struct err)ERR_INIT;
	return verb_parse(&sample, argc, argv, line, &help, e);
}

static void refused(const char *part, const char *a, const char *b, const char *c)
{
	struct verb_line line;
	struct err e;
	is_int(parse(&line, &e, a, b, c, NULL), -ERR_INPUT, "refused: %s", part);
	has_str(e.text, part, "the refusal gives the reason");
}

static const char *write_config(const char *text)
{
	static char path[] = "/tmp/peakd-config.XXXXXX";
	static int fd = -1;
	if (fd < 0)
		fd = mkstemp(path);
	ok(ftruncate(fd, 0) == 0 && pwrite(fd, text, strlen(text), 0) >= 0, "a configuration file is written");
	return path;
}

static void test_config(void)
{
	struct verb_line line;
	struct err e;
	const char *path = write_config("# a comment\n\n  device = x y \r\nmodel = a=b\nmodel=c\nkeep-going = yes\nbudget = 7\n"
					"db = /file.db\nPEAKD_TEST_SETTING = from the file");
	unsetenv("PEAKD_DB");
	unsetenv("PEAKD_TEST_SETTING");
	is_int(parse(&line, &e, "a", "--config", path, "--budget=9"), 0, "a configuration file is read %s", e.text);
	is_str(verb_get(&line, "device"), "x y", "a setting has no white space around its value");
	is_str(verb_get_nth(&line, "model", 0), "a=b", "a setting may hold an equals sign");
	is_str(verb_get_nth(&line, "model", 1), "c", "a setting may be repeated");
	is_str(verb_get(&line, "keep-going"), "", "a flag is set by yes");
	is_str(verb_get(&line, "budget"), "9", "the command line takes precedence over the file");
	ok(verb_get_nth(&line, "budget", 1) == NULL, "the command line replaces the file's value");
	is_str(line.db, "/file.db", "the file names the database");
	is_str(getenv("PEAKD_TEST_SETTING"), "from the file", "the file sets a variable of the environment");
	verb_line_fini(&line);
	setenv("PEAKD_DB", "/env.db", 1);
	setenv("PEAKD_TEST_SETTING", "from outside", 1);
	is_int(parse(&line, &e, "a", "--config", path, NULL), 0, "the file is read again %s", e.text);
	is_str(line.db, "/env.db", "the environment's database takes precedence over the file's");
	is_str(getenv("PEAKD_TEST_SETTING"), "from outside", "a variable that is set keeps its value");
	verb_line_fini(&line);
	unsetenv("PEAKD_DB");
	static const struct {
		const char *text, *why;
	} mistakes[] = {
		{ "\nbudgett = 3", ":2: there is no setting 'budgett'; did you mean 'budget'?\n    budgett = 3" },
		{ "device", ":1: a setting is written OPTION = VALUE\n    device" },
		{ "device =", ":1: 'device' needs a value" },
		{ "keep-going = maybe", "'keep-going' is yes or no" },
		{ "config = /x", "there is no setting 'config'" },
		{ "PEAKD_OTHER = 1", "there is no setting 'PEAKD_OTHER'" },
	};
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		write_config(mistakes[i].text);
		is_int(parse(&line, &e, "a", "--config", path, NULL), -ERR_INPUT, "mistake %zu in the file is refused", i + 1);
		has_str(e.text, mistakes[i].why, "the refusal names the line and what is wrong with it");
	}
	write_config("keep-going = no\n");
	is_int(parse(&line, &e, "a", "--config", path, NULL), 0, "a flag may be no %s", e.text);
	ok(verb_get(&line, "keep-going") == NULL, "a flag that is no is not given");
	verb_line_fini(&line);
	unlink(path);
	is_int(parse(&line, &e, "a", "--config", path, NULL), -ERR_NOT_FOUND, "a missing file is an error");
	has_str(e.text, "--config: ", "the error names the option");
}

int main(void)
{
	test_config();
	struct verb_line line;
	struct err e;
	long long n;
	unsetenv("PEAKD_DB");
	is_int(parse(&line, &e, "a", "--device=x", "--keep-going", "b"), 0, "words and options may alternate %s", e.text);
	is_int(line.word_count, 2, "words are counted without the options");
	is_str(line.words[1], "b", "words keep their order");
	is_str(verb_get(&line, "device"), "x", "--name=value gives an option its value");
	is_str(verb_get(&line, "keep-going"), "", "a flag has an empty value");
	ok(verb_get(&line, "model") == NULL, "an option that is not given has no value");
	verb_line_fini(&line);

	is_int(parse(&line, &e, "a", "--model", "--model", "--model=z"), 0, "a value may look like an option %s", e.text);
	is_str(verb_get_nth(&line, "model", 0), "--model", "the first value of a repeated option is kept");
	is_str(verb_get(&line, "model"), "z", "the last value of a repeated option counts");
	ok(verb_get_nth(&line, "model", 2) == NULL, "there is no value after the last");
	verb_line_fini(&line);

	is_int(parse(&line, &e, "--budget", "12", "--", "--odd"), 0, "-- ends the options %s", e.text);
	is_str(line.words[0], "--odd", "after -- a word may begin with dashes");
	is_int(verb_int(&line, "budget", 1, 100, 5, &n, &e), 0, "verb_int reads a number");
	is_int(n, 12, "verb_int returns the number's value");
	is_int(verb_int(&line, "budget", 1, 10, 5, &n, &e), -ERR_INPUT, "verb_int refuses a number out of bounds");
	has_str(e.text, "from 1 to 10", "the refusal names the bounds");
	verb_line_fini(&line);

	setenv("PEAKD_DB", "/x/env.db", 1);
	is_int(parse(&line, &e, "a", NULL, NULL, NULL), 0, "a command line without --db is parsed %s", e.text);
	is_str(line.db, "/x/env.db", "the environment names the database");
	verb_line_fini(&line);
	is_int(parse(&line, &e, "a", "--db", "y.db", NULL), 0, "a command line with --db is parsed %s", e.text);
	is_str(line.db, "y.db", "--db takes precedence over the environment");
	verb_line_fini(&line);

	refused("did you mean --device?", "a", "--devise", "x");
	refused("--device needs a value", "a", "--device", NULL);
	refused("--keep-going takes no value", "a", "--keep-going=1", NULL);
	refused("is missing; usage: peakd", "--device", "x", NULL);
	refused("unexpected argument 'c'", "a", "b", "c");
	refused("there is no option -x", "-x", "a", NULL);
	refused("is not error", "a", "--log-level", "loud");
	refused("--db needs", "a", "--db", "");
	return tap_done();
}
