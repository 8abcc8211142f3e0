/* selftest: a folder of contexts that cheat and of honest ones that look like them, judged as any candidate is. The daemon's verb
 * `selftest` calls it; tests/adversary/README.md describes the files. */
#ifndef PEAKD_CORE_JUDGE_SELFTEST_H
#define PEAKD_CORE_JUDGE_SELFTEST_H

#include "core/workers/eval.h"

enum selftest_outcome {
	SELFTEST_REFUSED,  /* a cheat, refused for the reason that its file names */
	SELFTEST_PASSED,   /* an honest one, passed */
	SELFTEST_SKIPPED,  /* not judged here; the text says why */
	SELFTEST_BROKEN,   /* a cheat that passed or was refused for another reason, or an honest one that was refused */
	SELFTEST_OUTCOMES,
};

struct selftest_result {
	const char *name;    /* "17-content-cache.bad" */
	enum selftest_outcome outcome;
	const char *text;    /* the reason in words; one line */
};

struct selftest_counts { size_t of[SELFTEST_OUTCOMES]; };

/* Judges every NAME.{bad,good}.peak.md of the folder, or those whose name contains `only` (may be NULL), on the device of the same
 * backend among `devices` (those that run, and named architectures for compiling alone). `tell` gets one result each, in the order of
 * names. Negative only when the folder cannot be read or everything was cancelled. */
int selftest_run(const struct eval *ev, const char *folder, const char *only, const struct facts *devices, size_t device_count,
                 void (*tell)(void *arg, const struct selftest_result *result), void *arg, struct selftest_counts *ret_counts,
                 struct err *e);

#endif
