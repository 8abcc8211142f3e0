/* selftest: `peakd selftest`: the adversarial suite, as far as this machine can run it. It needs no daemon and no database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/judge/check.h"
#include "core/selftest/selftest.h"
#include "core/workers/binaries.h"
#include "daemon/app.h"
#include "daemon/verbs/verbs.h"

enum { REFERENCE_BYTES = 256 << 20 };

/* Architectures to compile for when the machine has no device of their backend. */
static const char *const architectures[] = { "cuda:sm_90a" };

static bool has_backend(const struct facts *facts, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (pool_is_of_backend(id, facts[i].backend))
			return true;
	return false;
}

static int find_devices(struct pool *pool, const char *asked, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct facts *facts = NULL, one;
	char *notes = NULL;
	size_t count = 0;
	if (asked) {
		int rc = pool_device(pool, asked, &one, e);
		if (rc < 0)
			return rc;
		*ret_facts = mem_copy(&one, sizeof one);
		*ret_count = 1;
		return 0;
	}
	int rc = pool_devices(pool, &facts, &count, &notes, e);
	free(notes);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < MEM_COUNT(architectures); i++) {
		struct err ignored = ERR_INIT; /* without the compiler, its cases are skipped */
		if (has_backend(facts, count, architectures[i]) || pool_device(pool, architectures[i], &one, &ignored) < 0)
			continue;
		facts = mem_resize(facts, count + 1, sizeof *facts);
		facts[count++] = one;
	}
	*ret_facts = facts;
	*ret_count = count;
	return 0;
}

/* arg: a list of results for --json; NULL: they are printed as they come. */
static void tell(void *arg, const struct selftest_result *r)
{
	static const char *const words[] = { "refused", "passed", "needed", "skipped", "WRONG" };
	if (arg)
		json_array_append_new(arg,
				      json_pack("{s:s, s:s, s:s}", "outcome", words[r->outcome], "name", r->name, "text", r->text));
	else
		printf("%-8s %-32s %s\n", words[r->outcome], r->name, r->text);
	fflush(stdout);
}

static int run(const struct verb_line *line, struct pool *pool, json_t *results, struct selftest_counts *ret_counts, struct err *e)
{
	struct facts *devices = NULL;
	size_t count = 0;
	struct eval ev = { .pool = pool };
	int rc = find_devices(pool, verb_get(line, "device"), &devices, &count, e);
	if (rc < 0)
		return rc;
	char *share = app_share(), *folder = mem_fmt("%s/tests/adversary", share);
	for (size_t i = 0; i < count && !results; i++)
		printf("%s: %s\n", devices[i].id, devices[i].name);
	ev.references = references_new(REFERENCE_BYTES);
	ev.binaries = app_binaries(); /* a baseline is compiled once, not for each of its references */
	struct selftest_request q = { .folder = verb_get(line, "suite") ? verb_get(line, "suite") : folder,
				      .only = verb_get(line, "only"),
				      .without = verb_get(line, "without"),
				      .devices = devices,
				      .device_count = count,
				      .tell = tell,
				      .arg = results };
	const char *part = verb_get(line, "part");
	if (part && (sscanf(part, "%u/%u", &q.part, &q.parts) != 2 || q.part < 1 || q.part > q.parts))
		rc = err_set(e, ERR_INPUT, "--part %s: write which part of how many, such as 1/4", part);
	q.seed = (uint64_t)verb_number(line, "seed", (long long)(check_seed() >> 1 | 1));
	if (rc == 0 && !results)
		printf("seed %llu: --seed repeats these values\n", (unsigned long long)q.seed);
	if (rc == 0)
		rc = selftest_run(&ev, &q, ret_counts, e);
	references_free(ev.references);
	binaries_free(ev.binaries);
	free(devices);
	free(folder);
	free(share);
	return rc;
}

static int selftest(const struct verb_line *line)
{
	struct pool_config config = { .compile_workers = 0 };
	struct selftest_counts counts = { { 0 } };
	struct err e = ERR_INIT;
	struct pool *pool = pool_new(&config);
	json_t *results = verb_get(line, "json") ? json_array() : NULL;
	int rc = run(line, pool, results, &counts, &e);
	pool_free(pool);
	if (rc < 0)
		return verb_fail(line, &e);
	size_t all = 0;
	for (size_t i = 0; i < SELFTEST_OUTCOMES; i++)
		all += counts.of[i];
	if (all == 0) {
		const char *only = verb_get(line, "only");
		err_set(&e, ERR_NOT_FOUND,
			only ? "no file of the suite has '%s' in its name"
			     : "the suite's folder has no file *.bad.peak.md or *.good.peak.md%s",
			only ? only : "");
		return verb_fail(line, &e);
	}
	size_t wrong = counts.of[SELFTEST_BROKEN],
	       judged = counts.of[SELFTEST_REFUSED] + counts.of[SELFTEST_PASSED] + counts.of[SELFTEST_NEEDED];
	int status = wrong || judged == 0 ? VERB_FAILED : VERB_OK;
	if (results) {
		json_t *answer =
			json_pack("{s:o, s:I, s:I, s:I, s:I}", "results", results, "refused",
				  (json_int_t)counts.of[SELFTEST_REFUSED], "passed", (json_int_t)counts.of[SELFTEST_PASSED],
				  "skipped", (json_int_t)counts.of[SELFTEST_SKIPPED], "wrong", (json_int_t)wrong);
		return verbs_answer(line, answer, "%s", "") ? VERB_FAILED : status;
	}
	if (wrong)
		printf("%zu WRONG: a cheat passed, an honest kernel was refused, or the reason given is wrong\n", wrong);
	if (wrong + judged == 0)
		printf("no case could be judged on this machine\n");
	printf("%zu refused, %zu honest passed, %zu skipped\n", counts.of[SELFTEST_REFUSED], counts.of[SELFTEST_PASSED],
	       counts.of[SELFTEST_SKIPPED]);
	return status;
}

const struct verb selftest_verb = { .name = "selftest", .run = selftest };
