/* export: a checkpoint's winner as source files, as an answer of the workflow tool. The client writes the files. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/context/host.h"
#include "core/problems/export.h"
#include "core/record/lineage.h"
#include "core/record/measurement.h"
#include "core/workers/pool.h"
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
		return err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no validated measurement%s%s: tune it first",
			       (long long)l->id, sizes ? " for " : "", sizes ? sizes : "");
	rc = params_parse(l->ctx, m.params, true, ret_params, e);
	if (rc == 0)
		*ret_provenance = mem_fmt(
			"checkpoint %lld, context %s\n%s\n%.6g ms (median of %zu samples, %s caches) on %s, %s, %s; evidence: "
			"validation %lld\n",
			(long long)l->id, context_hash(l->ctx)->hex, m.params, m.median_ns / 1e6, m.sample_count,
			m.cold ? "cold" : "warm", m.device, m.driver ? m.driver : "unknown driver",
			clock_iso(m.created_ms, created), (long long)m.validation);
	measurement_fini(&m);
	return rc;
}

/* Everything that a request points to. */
struct parts {
	struct params *params, *reference_params;
	struct plan *plan, *reference_plan;
	struct context *reference;
	char *provenance;
};

static void parts_fini(struct parts *p)
{
	params_free(p->params);
	params_free(p->reference_params);
	plan_free(p->plan);
	plan_free(p->reference_plan);
	context_free(p->reference);
	free(p->provenance);
}

/* Host code runs for the device that is asked for, or for the first one of the context's backend. */
static int gather(struct mcp_call *call, struct db *db, const struct lineage *l, struct parts *p, struct err *e)
{
	const char *device = tools_text(call, "device");
	struct facts facts;
	int rc = find_winner(call, db, l, &p->params, &p->provenance, e);
	if (rc == 0)
		rc = pool_device(tools_app(call)->work.pool, device ? device : context_backend(l->ctx), &facts, e);
	if (rc == 0)
		rc = host_run(l->ctx, p->params, &facts, &p->plan, e);
	if (rc == 0)
		rc = export_reference(l->root, p->params, &facts, &p->reference, &p->reference_params, &p->reference_plan, e);
	return rc;
}

static const struct mcp_done *show_files(struct mcp_call *call, int64_t checkpoint, const struct export_file *files, size_t count)
{
	struct buf text = BUF_INIT;
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", files[i].name, "text", files[i].text));
		buf_addf(&text, "%s (%zu bytes)\n", files[i].name, strlen(files[i].text));
	}
	const struct mcp_done *done = mcp_call_reply(
		call, json_pack("{s:I, s:o}", "checkpoint", (json_int_t)checkpoint, "files", list), "%s", buf_text(&text));
	buf_fini(&text);
	return done;
}

static const struct mcp_done *answer(struct mcp_call *call, struct db *db, const struct lineage *l)
{
	struct parts p = { 0 };
	struct export_file *files = NULL;
	size_t count = 0;
	struct err e = ERR_INIT;
	int rc = gather(call, db, l, &p, &e);
	struct export_request request = { .ctx = l->ctx,
					  .params = p.params,
					  .plan = p.plan,
					  .provenance = p.provenance,
					  .reference = p.reference,
					  .reference_params = p.reference_params,
					  .reference_plan = p.reference_plan };
	if (rc == 0)
		rc = export_request(&request, &files, &count, &e);
	const struct mcp_done *done = rc < 0 ? tools_refuse(call, &e) : show_files(call, l->id, files, count);
	export_files_free(files, count);
	parts_fini(&p);
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
