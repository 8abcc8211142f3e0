/* selftest: see selftest.h. */
#include "core/selftest/selftest.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/selftest/specimen.h"
#include "core/judge/suite.h"
#include "core/judge/validate.h"

enum { SAMPLES = 2 };

static const struct facts *find_device(const struct specimen *s, const struct facts *devices, size_t count)
{
	const struct facts *found = NULL;
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i].backend, context_backend(s->ctx)) == 0 && (!found || (devices[i].runs && !found->runs)))
			found = &devices[i];
	return found;
}

/* Whether the text holds one of the reasons, which " | " separates. */
static bool names_reason(const char *text, const char *reasons)
{
	bool found = false;
	for (const char *at = reasons; !found && at;) {
		const char *end = strstr(at, " | ");
		char *one = end ? mem_strn(at, (size_t)(end - at)) : mem_str(at);
		found = strstr(text, one);
		free(one);
		at = end ? end + 3 : NULL;
	}
	return found;
}

/* What a verdict means for this specimen. */
static enum selftest_outcome outcome(const struct specimen *s, const struct validate_result *v, char **ret_text)
{
	bool expected = names_reason(v->summary, s->because);
	if (!s->bad || (!v->passed && expected)) {
		*ret_text = mem_str(v->summary);
		if (s->bad)
			return SELFTEST_REFUSED;
		return v->passed ? SELFTEST_PASSED : v->failed_count == 0 && v->skipped_count ? SELFTEST_SKIPPED : SELFTEST_BROKEN;
	}
	*ret_text = mem_fmt("%s; expected: %s", v->summary, s->because ? s->because : "(the file has no line Because:)");
	return SELFTEST_BROKEN;
}

static enum selftest_outcome judge(const struct eval *ev, const struct specimen *s, const struct facts *facts,
				   const struct selftest_request *request, const char *without, char **ret_text, struct err *e)
{
	struct validate_request q = { .ctx = s->ctx,
				      .baseline = s->baseline,
				      .parent = s->baseline,
				      .facts = facts,
				      .samples = SAMPLES,
				      .without = without,
				      .secret = request->seed,
				      .seed = request->seed };
	struct validate_result v = { 0 };
	bool executed = facts->runs && !s->compile_only;
	int rc =
		executed ? validate_run(ev, &q, NULL, 0, NULL, &v, e) : validate_compile(ev, s->ctx, facts, SAMPLES, q.seed, &v, e);
	enum selftest_outcome result = SELFTEST_BROKEN;
	if (rc < 0) {
		/* A baseline that cannot judge is refused by peakd itself. */
		if (s->bad && names_reason(e->text, s->because))
			result = SELFTEST_REFUSED;
		else if (e->code == ERR_UNSUPPORTED)
			result = SELFTEST_SKIPPED;
		*ret_text = mem_str(e->text);
	} else if (!executed && v.passed && !s->compile_only) {
		*ret_text = mem_fmt("compiled for %s; a device must run it", facts->id);
		result = SELFTEST_SKIPPED;
	} else {
		result = outcome(s, &v, ret_text);
	}
	validate_result_fini(&v);
	return result;
}

/* Judges one file, without one of the checks where `without` names it. */
static int judge_file(const struct eval *ev, const struct selftest_request *q, const struct specimen *s, const char *without,
		      struct selftest_result *ret_result, char **ret_text, struct err *e)
{
	const struct facts *facts = s->why.code == ERR_NONE ? find_device(s, q->devices, q->device_count) : NULL;
	struct err why = ERR_INIT;
	ret_result->name = s->name;
	ret_result->outcome = SELFTEST_BROKEN;
	if (s->why.code != ERR_NONE) {
		*ret_text = mem_str(s->why.text);
	} else if (facts == NULL) {
		*ret_text = mem_fmt("this machine has no %s device or compiler", context_backend(s->ctx));
		ret_result->outcome = SELFTEST_SKIPPED;
	} else {
		ret_result->outcome = judge(ev, s, facts, q, without, ret_text, &why);
	}
	for (char *c = *ret_text; (c = strchr(c, '\n')) != NULL;)
		*c = ' ';
	ret_result->text = *ret_text;
	if (why.code != ERR_CANCELLED)
		return 0;
	*e = why;
	return -ERR_CANCELLED;
}

static void tell(const struct selftest_request *q, const struct selftest_result *r, struct selftest_counts *counts)
{
	counts->of[r->outcome]++;
	q->tell(q->arg, r);
}

static int judge_all(const struct eval *ev, const struct selftest_request *q, const struct specimen *all, size_t count,
		     struct selftest_counts *counts, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct selftest_result r;
		char *text = NULL;
		rc = judge_file(ev, q, &all[i], q->without, &r, &text, e);
		tell(q, &r, counts);
		free(text);
	}
	return rc;
}

/* Is one check needed? The cheats that name it pass without it. */
static int leave_out(const struct eval *ev, const struct selftest_request *q, const struct specimen *all, size_t count,
		     const char *check, struct selftest_counts *counts, struct err *e)
{
	struct selftest_result r = { .name = check, .outcome = SELFTEST_BROKEN, .text = "no cheat of the suite needs this check" };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct selftest_result one;
		char *text = NULL;
		if (!all[i].bad || !all[i].caught_by || strcmp(all[i].caught_by, check) != 0)
			continue;
		rc = judge_file(ev, q, &all[i], check, &one, &text, e);
		if (one.outcome == SELFTEST_SKIPPED && r.outcome == SELFTEST_BROKEN)
			r = (struct selftest_result){ check, SELFTEST_SKIPPED, "its cheats need another device" };
		/* Without the check it is refused for no reason, or for another one, which is not what its file says. */
		if (one.outcome == SELFTEST_BROKEN && strstr(text, "configurations passed"))
			r = (struct selftest_result){ check, SELFTEST_NEEDED, all[i].name };
		free(text);
	}
	tell(q, &r, counts);
	return rc;
}

static int find_check(const char *name, struct err *e)
{
	struct buf names = BUF_INIT;
	bool found = strcmp(name, "each") == 0;
	for (size_t i = 0; !found && suite_check_name(i); i++) {
		found = strcmp(name, suite_check_name(i)) == 0;
		buf_addf(&names, "%s%s", i ? "; " : "", suite_check_name(i));
	}
	if (!found)
		err_set(e, ERR_INPUT, "the suite has no check \"%s\"; it has: %s", name, buf_text(&names));
	buf_fini(&names);
	return found ? 0 : -ERR_INPUT;
}

int selftest_run(const struct eval *ev, const struct selftest_request *q, struct selftest_counts *ret_counts, struct err *e)
{
	char **names = NULL;
	size_t count = 0;
	struct selftest_counts counts = { { 0 } };
	int rc = q->without ? find_check(q->without, e) : 0;
	if (rc == 0)
		rc = specimen_list(q->folder, q->only, &names, &count, e);
	struct specimen *all = MEM_NEW_N(struct specimen, count + 1);
	size_t files = count;
	count = 0;
	for (size_t i = 0; i < files; i++) {
		if (q->parts < 2 || i % q->parts == q->part - 1)
			specimen_read(q->folder, names[i], &all[count++]);
		free(names[i]);
	}
	free(names);
	if (rc == 0 && q->without && strcmp(q->without, "each") == 0)
		for (size_t i = 0; rc == 0 && suite_check_name(i); i++)
			rc = leave_out(ev, q, all, count, suite_check_name(i), &counts, e);
	else if (rc == 0)
		rc = judge_all(ev, q, all, count, &counts, e);
	for (size_t i = 0; i < count; i++)
		specimen_fini(&all[i]);
	free(all);
	if (rc == 0)
		*ret_counts = counts;
	return rc;
}
