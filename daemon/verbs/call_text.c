/* call_text: usage, help and options of a verb, as verbs.md has them. Called by call.c, and by main.c for the list of verbs. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/mem.h"
#include "daemon/verbs/call.h"

/* What follows the verb's name in its section; free(). */
static char *find_section(const char *name)
{
	const char *at = embedded_file("daemon/verbs/verbs.md"), *next;
	size_t n = strlen(name);
	while ((at = strstr(at, "\n## ")) != NULL)
		if (at += 4, strncmp(at, name, n) == 0 && strchr(" \n", at[n]))
			break;
	assert(at); /* a verb that verbs.md lacks */
	next = strstr(at, "\n## ");
	return mem_strn(at + n, next ? (size_t)(next - at) - n : strlen(at + n));
}

/* Ends the text at `mark`, and returns what follows; NULL where there is no such mark. */
static char *cut(char *text, const char *mark)
{
	char *at = strstr(text, mark);
	if (at)
		*at = '\0';
	return at ? at + strlen(mark) : NULL;
}

static void count_words(struct verb *verb)
{
	size_t count = 0;
	bool optional = false;
	for (const char *at = verb->words; *at; at += strcspn(at, " "), at += *at == ' ') {
		size_t n = strcspn(at, " ");
		optional = optional || *at == '[';
		count = *at == '|' ? 0 : count + 1;
		if (strncmp(at, "…", strlen("…")) == 0)
			count = SIZE_MAX;
		else
			verb->min_words += !optional;
		verb->max_words = count > verb->max_words ? count : verb->max_words;
		optional = optional && at[n - 1] != ']';
	}
}

/* "NAME VALUE 1..9: HELP", "NAME VALUE number: HELP" or "NAME: HELP". */
static void add_option(struct call_verb *v, char *name)
{
	char *help = cut(name, ": "), *value = cut(name, " "), *bounds = value ? cut(value, " ") : NULL;
	char *max = bounds ? cut(bounds, "..") : NULL;
	*MEM_PUSH(v->options, v->option_count) = (struct verb_option){ name, value, help };
	if (bounds)
		*MEM_PUSH(v->numbers, v->number_count) =
			(struct verb_number){ name, max ? strtoll(bounds, NULL, 10) : 0, max ? strtoll(max, NULL, 10) : 0 };
}

static void add_variable(struct call_verb *v, char *name)
{
	char *help = cut(name, ": "), *value = cut(name, "=");
	*MEM_PUSH(v->environment, v->environment_count) = (struct verb_option){ name, value, help };
}

void call_text(const struct verb *verb, struct call_verb *ret_verb)
{
	struct call_verb *v = ret_verb;
	char *text = find_section(verb->name), *option = cut(text, "\n\n--"), *variable = cut(option ? option : text, "\n\n$");
	char *summary = cut(text, "\n"), *rest = summary ? cut(summary, "\n") : NULL;
	*v = (struct call_verb){ .verb = *verb };
	*MEM_PUSH(v->texts, v->text_count) = text;
	v->verb.words = text + strspn(text, " ");
	v->verb.summary = summary ? summary : "";
	if (rest && strncmp(rest, "again: ", 7) == 0) {
		v->verb.again = rest + 7;
		rest = cut(rest, "\n");
	}
	v->verb.details = rest && *rest == '\n' ? rest + 1 : NULL;
	count_words(&v->verb);
	for (char *next; option; option = next) {
		next = cut(option, "\n--");
		cut(option, "\n");
		add_option(v, option);
	}
	for (char *next; variable; variable = next) {
		next = cut(variable, "\n$");
		cut(variable, "\n");
		add_variable(v, variable);
	}
}
