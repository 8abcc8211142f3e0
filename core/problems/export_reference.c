/* export_reference: what an exported check program compares with; see export.h. */
#include "core/context/host.h"
#include "core/context/space.h"
#include "core/problems/export.h"

/* The first point that host code does not prune. */
static int first_accepted(const struct context *ctx, const struct space *space, const struct facts *facts,
			  struct params **ret_params, struct err *e)
{
	int rc = err_set(e, ERR_PRUNED, "no configuration of the baseline is accepted at this input size");
	for (size_t i = 0; i < space_count(space) && rc == -ERR_PRUNED; i++) {
		struct params *params = space_at(space, i);
		struct plan *plan = NULL;
		rc = host_run(ctx, params, facts, &plan, e);
		if (rc == 0)
			*ret_params = params;
		else
			params_free(params);
		plan_free(plan);
	}
	return rc;
}

int export_reference(const struct context *root, const struct params *params, const struct facts *facts,
		     struct context **ret_reference, struct params **ret_params, struct err *e)
{
	struct context *ctx = NULL;
	struct params *inputs = params_part(params, false);
	struct space *space = NULL;
	struct err none = ERR_INIT;
	int rc = 0;
	if (context_oracle(root))
		rc = err_set(e, ERR_UNSUPPORTED,
			     "right outputs come from a Python reference, which an exported program does not run");
	else if (context_reference(root) == NULL)
		ctx = context_ref(root);
	else
		rc = context_as_reference(root, &ctx, e);
	if (rc == 0)
		rc = space_new(ctx, facts, inputs, &space, e);
	if (rc == 0)
		rc = first_accepted(ctx, space, facts, ret_params, &none);
	if (rc < 0 && none.code != ERR_NONE)
		err_set(e, none.code, "%s", none.text);
	if (rc == 0)
		*ret_reference = ctx;
	else
		context_free(ctx);
	space_free(space);
	params_free(inputs);
	return rc;
}
