/* Which machines may be named, how they are spelt, and the command lines that follow. */
#include "core/workers/remote.h"

#include "base/buf.h"
#include "tap.h"

static const char *const command[] = { "sh", "-c", "it's $x", NULL };

/* The command line of a hold (job: NULL) or beside one, with '|' between its words. */
static char *line_of(const struct remote *r, const char *job)
{
	struct buf text = BUF_INIT;
	char **words = remote_words(r, job, command);
	for (char **word = words; *word; word++)
		buf_addf(&text, "%s%s", word == words ? "" : "|", *word);
	remote_words_free(words);
	return buf_steal(&text);
}

static void lines(void)
{
	static const struct {
		const char *entry, *id, *job, *line;
	} cases[] = {
		{ "ssh:me@gpu1.lab", "ssh:me@gpu1.lab/cuda:0", NULL, "|--|me@gpu1.lab|exec 'sh' '-c' 'it'\\''s $x'" },
		{ "lab=ssh:gpu1", "lab/cuda:0", "", "|--|gpu1|exec 'sh' '-c' 'it'\\''s $x'" },
		{ "slurm:partition=h200,gres=gpu:1", "slurm:partition=h200,gres=gpu:1/cuda:0*2", NULL,
		  "|--job-name=peakd|--partition=h200|--gres=gpu:1|sh|-c|it's $x" },
		{ "slurm:partition=h200", "slurm:partition=h200", "17", "|--overlap|--jobid|17|sh|-c|it's $x" },
		{ "kubectl:pod-0,namespace=lab", "kubectl:pod-0,namespace=lab/hlsl:0", NULL,
		  "kubectl|exec|--stdin|--namespace=lab|pod-0|--|sh|-c|it's $x" },
	};
	for (size_t i = 0; i < MEM_COUNT(cases); i++) {
		struct remotes *all = NULL;
		struct remote *r = NULL;
		struct err e = ERR_INIT;
		is_int(remotes_new((const char *const[]){ cases[i].entry, NULL }, &all, &e), 0, "%s names a machine %s",
		       cases[i].entry, e.text);
		is_int(remotes_find(all, cases[i].id, &r, &e), 0, "%s is a device of it %s", cases[i].id, e.text);
		char *line = line_of(r, cases[i].job);
		has_str(line, cases[i].line, "words are passed on one by one, or quoted for a shell");
		free(line);
		remotes_free(all);
	}
}

static void names(void)
{
	static const struct {
		const char *id, *local;
	} cases[] = { { "cuda:0", "cuda:0" },
		      { "ssh:h/cuda:0", "cuda:0" },
		      { "slurm:gres=gpu:1", "" },
		      { "p/hlsl:0*3", "hlsl:0" },
		      { "ssh:h/", "" } };
	char text[FACTS_TEXT];
	for (size_t i = 0; i < MEM_COUNT(cases); i++)
		is_str(remote_local(cases[i].id, text), cases[i].local, "the machine of %s has a name for it", cases[i].id);
}

/* Nothing that reaches a launcher may be read as an option, a path or a shell's text. */
static void misspelt(void)
{
	static const char *const entries[] = {
		"ssh:",           "ssh:-oProxyCommand=x", "ssh:a b",         "ssh:a;b",
		"ssh:$(x)",       "ssh:a,port=2",         "ssh:a\tb",        "slurm:x",
		"slurm:prolog=x", "slurm:time=-1",        "slurm:time=1 2",  "slurm:time=",
		"kubectl:",       "kubectl:namespace=x",  "telnet:x",        "-x=ssh:a",
		"a/b=ssh:a",      "ssh:a/cuda:0",         "kubectl:p,raw=x", "",
	};
	for (size_t i = 0; i < MEM_COUNT(entries); i++) {
		struct remotes *all = NULL;
		struct err e = ERR_INIT;
		is_int(remotes_new((const char *const[]){ entries[i], NULL }, &all, &e), -ERR_INPUT, "'%s' is refused: %s",
		       entries[i], e.text);
	}
}

static void permission(void)
{
	static const char *const named[] = { "lab=ssh:gpu1", NULL }, *const any[] = { "any", NULL };
	struct remotes *some = NULL, *all = NULL;
	struct remote *r = NULL, *again = NULL;
	struct err e = ERR_INIT;
	is_int(remotes_new(named, &some, &e), 0, "an operator names a machine");
	is_int(remotes_new(any, &all, &e), 0, "another operator allows all");
	is_int(remotes_find(NULL, "cuda:0", &r, &e), 0, "a device of this machine needs no permission");
	ok(r == NULL, "it is of no other machine");
	is_int(remotes_find(NULL, "ssh:gpu1/cuda:0", &r, &e), -ERR_INPUT, "without an operator's word no other machine is used");
	is_int(remotes_find(some, "ssh:gpu1/cuda:0", &r, &e), 0, "a machine may be named by what stands behind its name");
	is_int(remotes_find(some, "ssh:gpu2/cuda:0", &r, &e), -ERR_INPUT, "no other one may be");
	has_str(e.text, "(allowed: lab)", "the refusal lists those that may be named");
	is_int(remotes_find(all, "ssh:gpu2/cuda:0", &r, &e), 0, "'any' lets clients name machines");
	is_int(remotes_find(all, "ssh:gpu2/cuda:1", &again, &e), 0, "and again");
	ok(r == again, "each is kept once");
	is_int(remotes_find(all, "ssh:-x/cuda:1", &again, &e), -ERR_INPUT, "but not misspelt ones");
	ok(remotes_at(all, 0) == NULL, "only what the operator named is listed");
	remotes_free(some);
	remotes_free(all);
}

int main(void)
{
	lines();
	names();
	misspelt();
	permission();
	return tap_done();
}
