/* test_verb: parsing command lines by a table of options. */
#include "daemon/verbs/verb.h"

#include "tests/tap.h"

static const struct verb_option options[] = {
	{ "device", "D", "" }, { "model", "M", "" }, { "keep-going", NULL, "" }, { "budget", "N", "" }, { NULL, NULL, NULL },
};
static const struct verb sample = {
	.name = "sample", .words = "FILE [MORE]", .summary = "", .options = options, .min_words = 1, .max_words = 2
};

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

int main(void)
{
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
