/* selftest: a folder of contexts that cheat and of honest ones that look like them, judged as any candidate is. The daemon's verb
 * `selftest` calls it; tests/adversary/README.md describes the files. */
#ifndef PEAKD_CORE_SELFTEST_SELFTEST_H
#define PEAKD_CORE_SELFTEST_SELFTEST_H

#include "core/workers/eval.h"

enum selftest_outcome {
	SELFTEST_REFUSED, /* a cheat, refused for the reason that its file names */
	SELFTEST_PASSED,  /* an honest kernel, passed */
	SELFTEST_NEEDED,  /* a cheat that passed because the check that it names was left out */
	SELFTEST_SKIPPED, /* not judged here; the text says why */
	SELFTEST_BROKEN,  /* a cheat that passed or was refused for another reason, an honest kernel that was refused, or a check
			   * without which no cheat passes */
	SELFTEST_OUTCOMES,
};

struct selftest_result {
	const char *name; /* "17-content-cache.bad" */
	enum selftest_outcome outcome;
	const char *text; /* the reason in words; one line */
};

struct selftest_counts {
	size_t of[SELFTEST_OUTCOMES];
};

struct selftest_request {
	const char *folder;          /* of NAME.{bad,good}.peak.md */
	const char *only;            /* names that contain this; NULL: all */
	unsigned part, parts;        /* judges every `parts`-th file from number `part` (1 …) on; 0, 0: all */
	const char *without;         /* a check (suite.h) that is left out; "each": see selftest_run; NULL: none */
	const struct facts *devices; /* those that run, and named architectures for compiling alone */
	size_t device_count;
	uint64_t seed; /* of all values and sampled configurations, not 0; files of one root share references by it */
	void (*tell)(void *arg, const struct selftest_result *result); /* gets one result each, in the order of names */
	void *arg;
};

/* Judges each file on the device of its backend. Without "each", every check is left out in turn, and the cheats that name it in
 * their line `Caught by:` must then pass: a check that no cheat needs is a wrong result. Negative only when the folder cannot be
 * read or all was cancelled. */
int selftest_run(const struct eval *ev, const struct selftest_request *request, struct selftest_counts *ret_counts, struct err *e);

#endif
