/* specimen: one file of the adversarial suite, read into the context that is judged and the baseline that judges it. selftest.c
 * calls it; tests/adversary/README.md describes the files. */
#ifndef PEAKD_CORE_SELFTEST_SPECIMEN_H
#define PEAKD_CORE_SELFTEST_SPECIMEN_H

#include "core/context/context.h"

struct specimen {
	char *name; /* without .peak.md */
	bool bad;
	struct context *ctx, *baseline;
	struct err why;    /* why it could not be read: for some cheats that is the refusal */
	char *because;     /* of the cheats: part of the reason that is expected */
	char *caught_by;   /* of some cheats: the one check that refuses it */
	bool compile_only; /* the compiler's or host code's refusal needs no device */
};

/* The names of the suite's files in order, those that contain `only` (NULL: all). free() each name and the list. */
int specimen_list(const char *folder, const char *only, char ***ret_names, size_t *ret_count, struct err *e);
/* Always fills it: a file that cannot be read says why. */
void specimen_read(const char *folder, const char *file, struct specimen *ret_specimen);
void specimen_fini(struct specimen *s);

#endif
