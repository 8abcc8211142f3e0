/* core/judge/external: programs that answer as the protocol says, programs that do not, and programs that do not end; and what they
 * get. */
#include "core/judge/external.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "core/judge/external_answer.h"
#include "core/sample.h"
#include "pace.h"

enum { LEAKED = 57 };
/* For what answers, however slow the machine is, and for what never does. */
#define PATIENT (60 * CLOCK_S)
#define IMPATIENT (500 * CLOCK_MS)

static char folder[] = "/tmp/peakd-external-XXXXXX";
static struct context *ctx;
static struct params *params;
static struct facts facts;

static void write_program(const char *name, const char *body)
{
	char *path = mem_fmt("%s/%s", folder, name);
	FILE *f = fopen(path, "we");
	if (f == NULL)
		exit(1);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	chmod(path, 0700);
	free(path);
}

static void forget_programs(void)
{
	char *command = mem_fmt("rm -rf '%s'/*", folder);
	if (system(command) != 0)
		printf("# %s is not empty\n", folder);
	free(command);
}

static int ask(const char *list, int64_t deadline, struct external_answers *ret_answers, struct err *e)
{
	struct external_config config = { .validators = list, .deadline_ns = deadline };
	struct eval ev = { .external = &config };
	struct external_subject subject = { .ctx = ctx, .params = params, .facts = &facts, .median_ns = NAN };
	return external_validate(&ev, &subject, ret_answers, e);
}

/* One program whose body is `body`, within a time: its verdict, and a part of the reason (NULL: none may be there). */
static void judge_within(int64_t deadline, const char *body, enum validation_verdict verdict, bool broken, const char *reason,
			 const char *what)
{
	struct external_answers a = { .count = 0 };
	struct err e = ERR_INIT;
	write_program("lint.sh", body);
	is_int(ask(folder, deadline, &a, &e), 0, "%s: there is an answer", what);
	if (a.count == 1) {
		is_str(a.at[0].name, "lint", "under the file's name");
		is_int(a.at[0].verdict, verdict, "with the verdict %s", validation_verdict_name(verdict));
		is_int(a.at[0].broken, broken, broken ? "which is the validator's failure" : "which is the validator's own");
		if (reason)
			has_str(a.at[0].reason ? a.at[0].reason : "", reason, "because: %s", reason);
		else
			ok(a.at[0].reason == NULL, "without a reason");
	} else {
		ok(0, "%s: one answer, and not %zu (%s)", what, a.count, e.text);
	}
	external_answers_fini(&a);
	forget_programs();
}

static void judge(const char *body, enum validation_verdict verdict, bool broken, const char *reason, const char *what)
{
	judge_within(PATIENT, body, verdict, broken, reason, what);
}

/* What runs until it is ended. */
static void late(const char *body, const char *what)
{
	judge_within(IMPATIENT, body, VALIDATION_SKIPPED, true, "did not end in time", what);
}

static void check_protocol(void)
{
	judge("echo '{\"verdict\": \"passed\"}'", VALIDATION_PASSED, false, NULL, "a pass");
	judge("cat >/dev/stderr; echo '{\"verdict\": \"passed\", \"later\": [1]}'", VALIDATION_PASSED, false, NULL,
	      "much on stderr");
	judge("printf '%s' '{\"verdict\": \"failed\", \"reason\": \"I do not\\nlike it\"}'", VALIDATION_FAILED, false,
	      "I do not like it", "a failure");
	judge("echo '{\"verdict\": \"skipped\", \"reason\": \"only for CUDA\"}'", VALIDATION_SKIPPED, false, "only for CUDA",
	      "a skip");
	judge("echo '{\"verdict\": \"failed\", \"findings\": [{\"message\": \"bad sum\", \"line\": 6}]}'", VALIDATION_FAILED, false,
	      "1 finding; device:6: bad sum", "a finding");
}

static void check_garbage(void)
{
	judge("", VALIDATION_SKIPPED, true, "the validator itself failed: its answer is not one JSON document", "silence");
	judge("echo all is well", VALIDATION_SKIPPED, true, "not one JSON document", "prose");
	judge("echo '{\"verdict\": \"passed\"}{\"verdict\": \"passed\"}'", VALIDATION_SKIPPED, true, "not one JSON document",
	      "two documents");
	judge("echo '{\"verdict\": \"failed\", \"verdict\": \"passed\"}'", VALIDATION_SKIPPED, true, "duplicate", "two verdicts");
	judge("echo '[\"passed\"]'", VALIDATION_SKIPPED, true, "not a JSON object", "a list");
	judge("echo '{\"ok\": true}'", VALIDATION_SKIPPED, true, "no verdict", "no verdict");
	judge("echo '{\"verdict\": \"fine\"}'", VALIDATION_SKIPPED, true, "is not passed, failed or skipped", "another verdict");
	judge("echo '{\"verdict\": \"failed\"}'", VALIDATION_SKIPPED, true, "without a reason", "a failure without a reason");
	judge("echo '{\"verdict\": \"passed\", \"findings\": [{\"message\": \"x\"}]}'", VALIDATION_SKIPPED, true,
	      "passed and has 1 findings", "a pass with findings");
	judge("echo '{\"verdict\": \"failed\", \"findings\": [{\"line\": 2}]}'", VALIDATION_SKIPPED, true, "no message",
	      "a mute finding");
}

static void check_faults(void)
{
	judge("echo '{\"verdict\": \"passed\"}'; echo no such table >&2; exit 3", VALIDATION_SKIPPED, true,
	      "exited with status 3; it last said: no such table", "a status");
	judge("echo '{\"verdict\": \"passed\"}'; kill -SEGV $$", VALIDATION_SKIPPED, true, "ended by signal 11", "a crash");
	late("echo '{\"verdict\": \"passed\"}'; sleep 1000", "a time-out");
	late("exec 1>&- 2>&-; sleep 1000", "a time-out in silence");
	judge("yes", VALIDATION_SKIPPED, true, "wrote more than 1048576 bytes", "too much");
	late("yes >&2", "complaints without an end");
	struct pace pace = pace_begin();
	char *body = mem_fmt("sleep 1000 & echo $! >'%s'.pid; echo '{\"verdict\": \"passed\"}'", folder);
	judge(body, VALIDATION_PASSED, false, NULL, "one that leaves a child behind");
	free(body);
	ok(pace_within(&pace, 1500 * CLOCK_MS), "which is not waited for (%s)", pace_text(&pace));
	char *path = mem_fmt("%s.pid", folder);
	FILE *f = fopen(path, "re");
	long pid = 0;
	if (f == NULL || fscanf(f, "%ld", &pid) != 1)
		printf("# no pid\n");
	for (int i = 0; i < 3000 && pid && kill((pid_t)pid, 0) == 0; i++)
		clock_sleep(10 * CLOCK_MS);
	char *status = mem_fmt("! test -e /proc/%ld || grep -q '^State:.*Z' /proc/%ld/status", pid, pid);
	ok(pid > 0 && system(status) == 0, "and has ended");
	if (f)
		fclose(f);
	unlink(path);
	free(status);
	free(path);
}

static void check_inheritance(void)
{
	char *body = mem_fmt("why=; [ -e /proc/$$/fd/%d ] && why=descriptor; [ -n \"${SOME_API_KEY:-}\" ] && why=key\n"
			     "read -r _ _ _ _ group rest </proc/$$/stat; [ \"$group\" = $$ ] || why=group\n"
			     "cat >'%s'.question\n"
			     "if [ -n \"$why\" ]; then echo '{\"verdict\":\"failed\",\"reason\":\"'$why'\"}'; else echo "
			     "'{\"verdict\":\"passed\"}'; fi",
			     LEAKED, folder);
	char *path = mem_fmt("%s.question", folder), text[8192] = "";
	dup2(STDERR_FILENO, LEAKED);
	setenv("SOME_API_KEY", "secret", 1);
	judge(body, VALIDATION_PASSED, false, NULL, "no descriptor, no secret, a group of its own");
	close(LEAKED);
	FILE *f = fopen(path, "re");
	if (f && fread(text, 1, sizeof text - 1, f) > 0)
		fclose(f);
	has_str(text, "{\"protocol\":1,\"ask\":\"validate\",", "it was asked in protocol 1");
	has_str(text, "\"params\":{\"n\":64,\"BX\":8,\"BY\":4}", "with the parameters");
	has_str(text, "\"launches\":[{\"kernel\":\"matmul\",\"grid\":[8,16,1],\"block\":[8,4,1],\"shared_bytes\":0}]",
		"the launches");
	has_str(text, "\"regions\":{\"device\":\"[numthreads(BX, BY, 1)]\\n", "and the code");
	unlink(path);
	free(path);
	free(body);
}

static void check_lists(void)
{
	struct external_answers a = { .count = 0 };
	struct err e = ERR_INIT;
	write_program("b.sh", "echo '{\"verdict\": \"passed\"}'");
	write_program("a.py", "echo '{\"verdict\": \"passed\"}'");
	write_program("outputs", "echo '{\"verdict\": \"passed\"}'");
	write_program("z.sh", "echo '{\"verdict\": \"passed\"}'");
	char *notes = mem_fmt("%s/notes.txt", folder), *list = mem_fmt("%s:/nowhere/lint.sh:%s", folder, notes);
	char *forgotten = mem_fmt("%s/z.sh", folder);
	FILE *f = fopen(notes, "we");
	if (f == NULL || fputs("what the others check\n", f) < 0 || fclose(f) != 0)
		exit(1);
	chmod(forgotten, 0600);
	is_int(ask(list, PATIENT, &a, &e), 0, "a folder and two files");
	is_int(a.count, 6, "what is executable, scripts, and what is named");
	if (a.count == 6) {
		is_str(a.at[0].name, "a", "by name");
		is_str(a.at[1].name, "b", "within a folder");
		ok(a.at[2].broken && strstr(a.at[2].reason, "peakd has a validator 'outputs' of its own"),
		   "not under a name of peakd's");
		for (size_t i = 3; i < a.count; i++)
			ok(a.at[i].broken && strstr(a.at[i].reason, "cannot be started"),
			   "%s cannot be started, and did not pass (%s)", a.at[i].name, a.at[i].reason);
	}
	external_answers_fini(&a);
	is_int(ask("", PATIENT, &a, &e), 0, "none");
	is_int(a.count, 0, "no validator is asked");
	struct cancel cancel = { .asked = true };
	struct external_config config = { .validators = list };
	struct eval ev = { .external = &config, .cancel = &cancel };
	struct external_subject subject = { .ctx = ctx, .params = params, .facts = &facts, .median_ns = NAN };
	write_program("a.py", "sleep 60");
	is_int(external_validate(&ev, &subject, &a, &e), -ERR_CANCELLED, "cancelled");
	free(list);
	free(forgotten);
	free(notes);
	forget_programs();
}

static void check_evaluators(void)
{
	struct external_config config = { .evaluators = folder, .deadline_ns = PATIENT };
	struct eval ev = { .external = &config };
	struct external_subject subject = { .ctx = ctx, .params = params, .facts = &facts, .median_ns = 1500 };
	struct external_metrics m = { .count = 0 };
	struct err e = ERR_INIT;
	write_program("1-good", "grep -q '\"ask\":\"evaluate\".*\"median_ns\":1500' && "
				"echo '{\"metrics\": [{\"name\": \"area\", \"value\": 2.5, \"unit\": \"mm^2\"}, {\"name\": \"n\", "
				"\"value\": 3}]}'");
	write_program("2-half",
		      "echo '{\"metrics\": [{\"name\": \"area\", \"value\": 1}, {\"name\": \"x\", \"value\": \"many\"}]}'");
	write_program("3-none", "echo '{\"metrics\": []}'");
	write_program("4-skip", "echo '{\"skipped\": \"no licence\"}'");
	write_program("5-dead", "exit 1");
	is_int(external_evaluate(&ev, &subject, &m, &e), 0, "evaluators were asked");
	is_int(m.count, 2, "all figures of the working evaluator, none of the others");
	if (m.count == 2) {
		is_str(m.at[0].name, "1-good.area", "under both names");
		ok(m.at[0].value == 2.5 && strcmp(m.at[0].unit, "mm^2") == 0, "with value and unit");
		is_str(m.at[1].unit, "", "or without one");
	}
	is_int(m.skipped_count, 4, "the others say why");
	if (m.skipped_count == 4) {
		has_str(m.skipped[0], "2-half: metric x of its answer has no number", "no number");
		has_str(m.skipped[1], "3-none: its answer has neither", "no metrics");
		has_str(m.skipped[2], "4-skip: skipped: no licence", "a skip");
		has_str(m.skipped[3], "5-dead: it exited with status 1", "a fault");
	}
	external_metrics_fini(&m);
	forget_programs();
}

int main(void)
{
	struct err e = ERR_INIT;
	if (mkdtemp(folder) == NULL)
		return 1;
	ctx = sample_context(SAMPLE_RIGHT);
	if (params_parse(ctx, "n=64 BX=8 BY=4", true, &params, &e) < 0)
		printf("# %s\n", e.text);
	check_protocol();
	check_garbage();
	check_faults();
	check_inheritance();
	check_lists();
	check_evaluators();
	params_free(params);
	context_free(ctx);
	rmdir(folder);
	return tap_done();
}
