/* export: a checkpoint's winner as source files; see export.h. The files are written by whoever asked. */
#include "daemon/tools/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/eval/pool.h"
#include "core/export.h"
#include "core/lineage.h"
#include "core/record/measurement.h"
#include "daemon/tools/tools.h"

/* The winner for the asked sizes (or the first that was measured), with where the figure comes from. */
static int find_winner(struct mcp_call *call, struct db *db, const struct lineage *l, struct params **ret_params,
                       char **ret_provenance, struct err *e)
{
	const char *sizes = tools_text(call, "sizes");
	struct measurement m;
	struct measurement_query q = { .checkpoint = l->id, .sizes = sizes && *sizes ? sizes : NULL };
	char created[32];
	int rc = measurement_best(db, &q, &m, e);
	if (rc < 0)
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no validated measurement%s%s: tune it first", (long long)l->id,
		               sizes ? " for " : "", sizes ? sizes : "");
	rc = params_parse(l->ctx, m.params, true, ret_params, e);
	if (rc == 0)
		*ret_provenance = mem_fmt("checkpoint %lld, context %s\n%s\n%.6g ms (median of %zu samples, %s caches) on %s, %s, %s\n",
		                          (long long)l->id, context_hash(l->ctx)->hex, m.params, m.median_ns / 1e6, m.sample_count,
		                          m.cold ? "cold" : "warm", m.device, m.driver ? m.driver : "unknown driver",
		                          clock_iso(m.created_ms, created));
	measurement_fini(&m);
	return rc;
}

/* The plan that host code records on the device that is asked for, or on the context's own backend's first one. */
static int make_plan(struct mcp_call *call, const struct context *ctx, const struct params *params, struct plan **ret_plan,
                     struct err *e)
{
	const char *device = tools_text(call, "device");
	struct facts facts;
	int rc = pool_device(tools_app(call)->work.pool, device ? device : context_backend(ctx), &facts, e);
	return rc < 0 ? rc : host_run(ctx, params, &facts, ret_plan, e);
}

static const struct mcp_done *answer(struct mcp_call *call, struct db *db, const struct lineage *l)
{
	struct params *params = NULL;
	struct plan *plan = NULL;
	struct export_file *files = NULL;
	char *provenance = NULL;
	size_t count = 0;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	const struct mcp_done *done;
	int rc = find_winner(call, db, l, &params, &provenance, &e);
	if (rc == 0)
		rc = make_plan(call, l->ctx, params, &plan, &e);
	if (rc == 0)
		rc = export_context(l->ctx, params, plan, provenance, &files, &count, &e);
	if (rc < 0) {
		done = tools_refuse(call, &e);
	} else {
		json_t *list = json_array();
		for (size_t i = 0; i < count; i++) {
			json_array_append_new(list, json_pack("{s:s, s:s}", "name", files[i].name, "text", files[i].text));
			buf_addf(&text, "%s (%zu bytes)\n", files[i].name, strlen(files[i].text));
		}
		done = mcp_call_reply(call, json_pack("{s:I, s:o}", "checkpoint", (json_int_t)l->id, "files", list), "%s",
		                      buf_text(&text));
	}
	export_files_free(files, count);
	buf_fini(&text);
	params_free(params);
	plan_free(plan);
	free(provenance);
	return done;
}

const struct mcp_done *export_answer(struct mcp_call *call, struct db *db, int64_t checkpoint)
{
	struct lineage l;
	struct err e = ERR_INIT;
	if (lineage_load(db, checkpoint, &l, &e) < 0)
		return tools_refuse(call, &e);
	const struct mcp_done *done = answer(call, db, &l);
	lineage_fini(&l);
	return done;
}
