/* branches: device code that tells which of its branches it takes. Of a context one is made whose kernels also write, for each
 * `if` and each `?:` that depends on what arrays hold, whether it was true and whether it was false. suite_branches.c executes it,
 * to find values on which a kernel does what it has not done yet. */
#ifndef PEAKD_CORE_JUDGE_BRANCHES_H
#define PEAKD_CORE_JUDGE_BRANCHES_H

#include <stddef.h>

#include "core/context/context.h"

/* The array that the kernels write: u32[2 * BRANCHES_MOST]. Element 2·k + 1 becomes 1 where branch k was true, 2·k where it was
 * false. */
#define BRANCHES_ARRAY "peakd_took"

enum { BRANCHES_MOST = 64 };

struct branch {
	char *condition; /* in one line, without comments, cut where it is long */
	long line;       /* of the device region, from 1 */
};

struct branches {
	struct context *ctx; /* NULL where there is no such branch */
	struct branch at[BRANCHES_MOST];
	size_t count, left_out; /* left_out: further ones, which are not told */
};

/* By tokens alone. Loops, macros, `switch`, and conditions that declare or assign are left out. selects: also ?:, whose condition
 * may be a vector in HLSL, which does not compile then. -ERR_UNSUPPORTED where the code is too long to follow; branches_fini. */
int branches_make(const struct context *ctx, bool selects, struct branches *ret_branches, struct err *e);
void branches_fini(struct branches *b);

#endif
