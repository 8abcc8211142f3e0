/* host: runs a context's host code (sandboxed Lua) for one set of execution parameters and records what it asks for
 * as a plan. Used by core/judge before compiling, and by core/context/domain. */
#ifndef PEAKD_CORE_CONTEXT_HOST_H
#define PEAKD_CORE_CONTEXT_HOST_H

#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/context/params.h"

/* Compiles the host region without running it: -ERR_INPUT for a syntax error, with its line in the region. */
int host_check(const struct context *ctx, struct err *e);

/* Runs the host region. `params` must be complete. The plan holds all declared arrays first, in their order, then
 * scratch and tables; it has passed plan_check. Owned by the caller (plan_free). -ERR_PRUNED with the reason for
 * need(), invalid() or a requires: that does not hold; -ERR_INPUT for a mistake in the code ("host code, line 3: …"),
 * for a script that uses too much time or memory, and for impossible sizes. The same parameters and facts always
 * give the same plan. Takes well under a millisecond for usual code, 100 ms at most. */
int host_run(const struct context *ctx, const struct params *params, const struct facts *facts, struct plan **ret_plan,
	     struct err *e);

#endif
