/* export: a checkpoint's fastest validated configurations as a library, as an answer of the workflow tool. The client writes the
 * files. What is JSON is made here: the evidence, which the library's Python file reads, and FlashInfer-Bench's solution. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/problems/export.h"
#include "core/record/lineage.h"
#include "core/record/measurement.h"
#include "core/record/validation.h"
#include "core/record/workflow.h"
#include "core/workers/pool.h"
#include "daemon/tools/tools.h"

/* Everything that an export is made of. */
struct parts {
	struct facts facts;           /* of the device that the binaries are for */
	char *device;                 /* UUID of the one that was measured */
	struct measurement_list rows; /* the fastest of each size on it */
	struct export_case *cases;
	const struct measurement **measured; /* of each case: one of rows */
	size_t count;
	struct context *reference; /* NULL: `unchecked` says why */
	char *unchecked;
};

static void parts_fini(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		variant_fini(&p->cases[i].built);
		variant_fini(&p->cases[i].reference);
	}
	free(p->cases);
	free(p->measured);
	free(p->device);
	measurement_list_fini(&p->rows);
	context_free(p->reference);
	free(p->unchecked);
}

/* The device that is asked for, or the context's first one. Where that is not the measured one, host code runs for an architecture.
 * It must not ask for the device's facts, which would give another plan than the validated one. */
static int find_device(struct mcp_call *call, struct db *db, const struct lineage *l, struct parts *p, struct err *e)
{
	const char *in_address = mcp_call_variable(call, "device"), *sizes = tools_text(call, "sizes");
	const char *asked = in_address ? in_address : tools_text(call, "device");
	struct measurement best;
	struct measurement_query q = { .checkpoint = l->id, .sizes = sizes && *sizes ? sizes : NULL };
	int rc = pool_device(tools_app(call)->work.pool, asked ? asked : context_backend(l->ctx), &p->facts, e);
	if (rc < 0)
		return err_wrap(e, "binaries are made for a device: without it name its architecture, as device cuda:sm_90a");
	q.device = p->facts.runs && *p->facts.uuid ? p->facts.uuid : NULL;
	rc = measurement_best(db, &q, &best, e);
	if (rc < 0 && !asked && q.device) {
		q.device = NULL;
		rc = measurement_best(db, &q, &best, e);
	}
	if (rc == -ERR_NOT_FOUND)
		err_set(e, ERR_NOT_FOUND, "checkpoint %lld has no validated measurement%s%s%s%s: tune it first", (long long)l->id,
			q.sizes ? " for " : "", q.sizes ? sizes : "", q.device ? " on " : "", q.device ? p->facts.id : "");
	if (rc < 0)
		return rc;
	p->device = mem_str(best.device);
	measurement_fini(&best);
	if (strcmp(p->device, p->facts.uuid) != 0 && strstr(context_region(l->ctx, REGION_HOST), "device."))
		return err_set(
			e, ERR_UNSUPPORTED,
			"%s was measured on %s, which is not here, and its host code asks for the device's facts: export it there",
			context_kernel(l->ctx), p->device);
	return 0;
}

static int build_reference(const struct eval *ev, const struct lineage *l, const struct parts *p, struct export_case *c,
			   struct context **ret_reference, struct err *e)
{
	struct params *params = NULL;
	int rc = export_reference(l->root, c->built.params, &p->facts, ret_reference, &params, e);
	if (rc == 0 && (rc = variant_build(ev, *ret_reference, params, &p->facts, &c->reference, e)) < 0) {
		context_free(*ret_reference);
		*ret_reference = NULL;
	}
	params_free(params);
	return rc;
}

static int build_cases(struct mcp_call *call, const struct lineage *l, struct parts *p, struct err *e)
{
	const struct work *work = &tools_app(call)->work;
	const struct eval ev = { .pool = work->pool, .binaries = work->binaries };
	const char *sizes = tools_text(call, "sizes");
	int rc = 0;
	p->cases = MEM_NEW_N(struct export_case, p->rows.count + 1);
	p->measured = MEM_NEW_N(const struct measurement *, p->rows.count + 1);
	for (size_t i = 0; i < p->rows.count && rc == 0; i++) {
		struct export_case *c = &p->cases[p->count];
		struct params *params = NULL;
		struct err why = ERR_INIT;
		if (sizes && *sizes && strcmp(p->rows.at[i].sizes, sizes) != 0)
			continue;
		rc = params_parse(l->ctx, p->rows.at[i].params, true, &params, e);
		if (rc == 0)
			rc = variant_build(&ev, l->ctx, params, &p->facts, &c->built, e);
		params_free(params);
		if (rc < 0)
			break;
		p->measured[p->count++] = &p->rows.at[i];
		struct context *reference = NULL;
		if (p->unchecked == NULL && build_reference(&ev, l, p, c, &reference, &why) < 0)
			p->unchecked = mem_str(why.text);
		context_free(p->reference);
		p->reference = reference;
	}
	if (p->unchecked) {
		context_free(p->reference);
		p->reference = NULL;
	}
	return rc;
}

/* --- the evidence: NAME.json ------------------------------------------------------------------------------------------------ */

static const char *const roles[] = { [PLAN_IN] = "in", [PLAN_OUT] = "out", [PLAN_INOUT] = "inout" };

static json_t *number(enum dtype type, const struct param *p)
{
	double value = p->is_float ? p->f : (double)p->i;
	if (!dtype_is_float(type))
		return json_integer(p->i);
	return json_real(type == DTYPE_F64 ? value : (double)(float)value);
}

/* The same order as in the library's own table (export_tables.c). */
static void add_interface(json_t *facts, const struct export_request *q)
{
	const struct spec *spec = context_spec(q->ctx);
	json_t *arrays = json_array(), *sizes = json_array(), *parameters = json_array(), *bounds = json_object();
	for (size_t i = 0; i < spec->array_count; i++) {
		const struct spec_array *a = &spec->arrays[i];
		json_array_append_new(arrays, json_pack("{s:s, s:s, s:s, s:i}", "name", a->name, "role", roles[a->role], "type",
							dtype_name(a->type), "bytes", (int)dtype_size(a->type)));
		if (a->role == PLAN_IN)
			continue;
		char *how = spec_judged_text(spec, a);
		json_object_set_new(bounds, a->name, json_string(how));
		free(how);
	}
	for (size_t i = 0; i < spec->input_count; i++)
		json_array_append_new(sizes, json_pack("{s:s, s:s, s:b}", "name", spec->vars[i].name, "type",
						       dtype_name(spec->vars[i].type), "extent", export_is_extent(q, i)));
	for (int outputs = 0; outputs < 2; outputs++)
		for (size_t i = 0; i < spec->inputs_len; i++) {
			size_t k = spec->inputs[i].index;
			bool array = spec->inputs[i].is_array;
			if (array ? (spec->arrays[k].role == PLAN_OUT) != outputs : outputs || export_is_extent(q, k))
				continue;
			json_array_append_new(parameters,
					      json_pack("{s:s, s:s}", "name", array ? spec->arrays[k].name : spec->vars[k].name,
							"type", dtype_name(array ? spec->arrays[k].type : spec->vars[k].type)));
		}
	json_object_set_new(facts, "arrays", arrays);
	json_object_set_new(facts, "sizes", sizes);
	json_object_set_new(facts, "parameters", parameters);
	json_object_set_new(facts, "bounds", bounds);
}

static json_t *validation_json(struct db *db, int64_t checkpoint, const struct measurement *m)
{
	struct validation_list list = { 0 };
	struct err ignored = ERR_INIT;
	json_t *shown = NULL;
	char when[32];
	if (validation_list(db, checkpoint, m->device, 0, &list, &ignored) < 0)
		return json_null();
	for (size_t i = 0; i < list.count && shown == NULL; i++) {
		const struct validation *v = &list.at[i];
		if (v->id != m->validation)
			continue;
		shown = json_pack("{s:I, s:s, s:s, s:s}", "id", (json_int_t)v->id, "validator", v->validator, "verdict",
				  validation_verdict_name(v->verdict), "at", clock_iso(v->created_ms, when));
		if (isfinite(v->error))
			json_object_set_new(shown, "error", json_real(v->error));
		if (isfinite(v->tolerance))
			json_object_set_new(shown, "tolerance", json_real(v->tolerance));
		if (v->details)
			json_object_set_new(shown, "details", json_string(v->details));
	}
	validation_list_fini(&list);
	return shown ? shown : json_null();
}

static void add_shapes(json_t *shown, const struct plan *plan, size_t arrays)
{
	json_t *shapes = json_object(), *strides = json_object(), *elements = json_object();
	for (size_t i = 0; i < arrays; i++) {
		const struct plan_buffer *b = &plan->buffers[i];
		json_t *shape = json_array(), *stride = json_array();
		int64_t step = 1;
		for (unsigned k = 0; k < b->rank; k++)
			json_array_append_new(shape, json_integer(b->dims[k]));
		for (unsigned k = b->rank; k-- > 0;) {
			json_array_insert_new(stride, 0, json_integer(step));
			step *= k + 1 == b->rank ? b->ld : b->dims[k];
		}
		json_object_set_new(shapes, b->name, shape);
		json_object_set_new(strides, b->name, stride);
		json_object_set_new(elements, b->name, json_integer((json_int_t)(b->bytes / dtype_size(b->type))));
	}
	json_object_set_new(shown, "shapes", shapes);
	json_object_set_new(shown, "strides", strides);
	json_object_set_new(shown, "elements", elements);
}

static json_t *triple(const uint32_t of[3])
{
	return json_pack("[I, I, I]", (json_int_t)of[0], (json_int_t)of[1], (json_int_t)of[2]);
}

/* Buffers by name, numbers as such; a tensor map by its buffer. */
static json_t *arguments_json(const struct plan *plan, const struct plan_launch *l)
{
	json_t *list = json_array();
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		if (a->kind == PLAN_ARG_SCALAR)
			json_array_append_new(list,
					      json_pack("{s:s, s:s, s:o}", "name", a->name, "type", dtype_name(a->type), "value",
							dtype_is_float(a->type) ? json_real(a->f) : json_integer(a->i)));
		else
			json_array_append_new(
				list,
				json_pack("{s:s}", a->kind == PLAN_ARG_MAP ? "tensor_map" : "buffer",
					  plan->buffers[a->kind == PLAN_ARG_MAP ? plan->maps[a->index].buffer : a->index].name));
	}
	return list;
}

static json_t *launches_json(const struct plan *plan)
{
	json_t *list = json_array();
	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_launch *l = &plan->ops[i].launch;
		if (plan->ops[i].kind == PLAN_OP_LAUNCH)
			json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:I, s:b, s:o}", "kernel", l->kernel, "grid",
							      triple(l->grid), "block", triple(l->block), "cluster",
							      triple(l->cluster), "shared", (json_int_t)l->shared, "cooperative",
							      l->cooperative, "arguments", arguments_json(plan, l)));
	}
	return list;
}

static json_t *configuration_json(struct db *db, const struct lineage *l, const struct measurement *m, const struct variant *v)
{
	const struct spec *spec = context_spec(l->ctx);
	json_t *sizes = json_object(), *tuning = json_object();
	char when[32];
	struct hash binary = hash_bytes(v->compiled.binary, v->compiled.binary_len);
	for (size_t i = 0; i < v->params->count; i++) {
		const struct param *p = &v->params->at[i];
		int var = spec_find(spec, p->name);
		json_object_set_new(p->tuning ? tuning : sizes, p->name, number(var < 0 ? DTYPE_F64 : spec->vars[var].type, p));
	}
	json_t *shown =
		json_pack("{s:o, s:o, s:f, s:I, s:s, s:s, s:s*, s:o, s:s, s:o}", "sizes", sizes, "tuning", tuning, "median_ms",
			  m->median_ns / 1e6, "samples", (json_int_t)m->sample_count, "caches", m->cold ? "cold" : "warm",
			  "measured", clock_iso(m->created_ms, when), "driver", m->driver, "validation",
			  validation_json(db, l->id, m), "binary_sha256", binary.hex, "launches", launches_json(v->plan));
	size_t others = 0;
	for (size_t i = 0; i < v->plan->op_count; i++)
		others += v->plan->ops[i].kind != PLAN_OP_LAUNCH;
	json_object_set_new(shown, "other_operations", json_integer((json_int_t)others)); /* memsets and copies */
	add_shapes(shown, v->plan, spec->array_count);
	return shown;
}

static json_t *evidence(struct db *db, const struct lineage *l, const struct parts *p, const struct export_request *q,
			const char *name)
{
	bool same = strcmp(p->device, p->facts.uuid) == 0;
	json_t *applied = json_array(), *configurations = json_array();
	for (size_t i = 0; i < l->applied_count; i++)
		json_array_append_new(applied, json_string(l->applied[i]));
	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(configurations, configuration_json(db, l, p->measured[i], &p->cases[i].built));
	json_t *facts = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:o, s:{s:s, s:s*, s:s}}", "name", name, "kernel",
				  context_kernel(l->ctx), "backend", context_backend(l->ctx), "peakd", PEAKD_VERSION, "checkpoint",
				  (json_int_t)l->id, "context", context_hash(l->ctx)->hex, "baseline", context_hash(l->root)->hex,
				  "transformations", applied, "device", "uuid", p->device, "name", same ? p->facts.name : NULL,
				  "arch", p->facts.arch);
	add_interface(facts, q);
	json_object_set_new(facts, "configurations", configurations);
	return facts;
}

/* --- FlashInfer-Bench: a solution that its TVM-FFI builder compiles --------------------------------------------------------- */

static json_t *solution(const struct lineage *l, const struct parts *p, const char *name, const struct export_file *files,
			size_t count)
{
	json_t *sources = json_array();
	for (size_t i = 0; i < count; i++) {
		const char *end = files[i].name + strlen(name);
		if (strncmp(files[i].name, name, strlen(name)) == 0 && (strcmp(end, ".h") == 0 || strcmp(end, ".c") == 0))
			/* The C source is C++, too, and some builders know that ending alone. */
			json_array_append_new(sources, json_pack("{s:o, s:s}", "path",
								 json_sprintf("%s%s", name, end[1] == 'c' ? ".cpp" : ".h"),
								 "content", files[i].text));
	}
	return json_pack("{s:o, s:s, s:s, s:o, s:{s:s, s:[s], s:o, s:[], s:b, s:s}, s:o}", "name",
			 json_sprintf("peakd_%s_%.12s", name, context_hash(l->ctx)->hex), "definition", context_kernel(l->ctx),
			 "author", "peakd", "description",
			 json_sprintf("checkpoint %lld, context %s", (long long)l->id, context_hash(l->ctx)->hex), "spec",
			 "language", "cuda", "target_hardware",
			 strcmp(p->device, p->facts.uuid) == 0 ? p->facts.name : p->facts.arch, "entry_point",
			 json_sprintf("%s.cpp::%s", name, name), "dependencies", "destination_passing_style", 1, "binding",
			 "tvm-ffi", "sources", sources);
}

/* --- the answer ------------------------------------------------------------------------------------------------------------- */

static char *provenance(const struct lineage *l, const struct parts *p)
{
	struct buf out = BUF_INIT;
	char created[32];
	buf_addf(&out, "Generated by peakd %s from checkpoint %lld, context %s\n", PEAKD_VERSION, (long long)l->id,
		 context_hash(l->ctx)->hex);
	for (size_t i = 0; i < p->count; i++) {
		const struct measurement *m = p->measured[i];
		buf_addf(&out, "%s: %.6g ms (median of %zu samples, %s caches) on %s, %s, %s; evidence: validation %lld\n",
			 m->params, m->median_ns / 1e6, m->sample_count, m->cold ? "cold" : "warm", m->device,
			 m->driver ? m->driver : "unknown driver", clock_iso(m->created_ms, created), (long long)m->validation);
	}
	return buf_steal(&out);
}

static void add_file(json_t *all, const char *name, const char *text)
{
	json_array_append_new(all, json_pack("{s:s, s:s}", "name", name, "text", text));
}

static void add_json(json_t *all, char *take_name, json_t *take_content)
{
	char *content = json_dumps(take_content, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	add_file(all, take_name, content);
	free(content);
	json_decref(take_content);
	free(take_name);
}

/* Every file as {name, text}. New reference. */
static json_t *all_files(struct db *db, const struct lineage *l, const struct parts *p, const struct export_request *q,
			 const struct export_file *files, size_t count)
{
	json_t *all = json_array();
	char *name = export_name(l->ctx);
	for (size_t i = 0; i < count; i++)
		add_file(all, files[i].name, files[i].text);
	add_json(all, mem_fmt("%s.json", name), evidence(db, l, p, q, name));
	if (strcmp(context_backend(l->ctx), "cuda") == 0)
		add_json(all, mem_fmt("%s.solution.json", name), solution(l, p, name, files, count));
	free(name);
	return all;
}

static json_t *link_to(const struct lineage *l, const struct parts *p, const char *name, json_int_t bytes)
{
	struct buf uri = BUF_INIT;
	buf_addf(&uri, "peak://export/%lld/", (long long)l->id);
	buf_add_uri(&uri, p->facts.id);
	buf_addc(&uri, '/');
	buf_add_uri(&uri, name);
	json_t *link = json_pack("{s:s, s:s, s:s, s:s, s:I}", "type", "resource_link", "uri", buf_text(&uri), "name", name,
				 "mimeType", "text/plain", "size", bytes);
	buf_fini(&uri);
	return link;
}

/* A text beyond the limit is named with its size: binaries are of no use to a model. A client can read all of them as resources,
 * which are of all sizes. */
static const struct mcp_done *show_files(struct mcp_call *call, const struct lineage *l, const struct parts *p, json_t *all)
{
	json_int_t limit = tools_int(call, "limit", 0);
	struct buf text = BUF_INIT;
	json_t *list = json_array(), *links = json_array(), *file;
	size_t i;
	json_array_foreach(all, i, file)
	{
		const char *name = json_string_value(json_object_get(file, "name"));
		json_int_t bytes = (json_int_t)json_string_length(json_object_get(file, "text"));
		bool shown = bytes <= limit;
		json_t *entry = json_pack("{s:s, s:I}", "name", name, "bytes", bytes);
		if (shown)
			json_object_set(entry, "text", json_object_get(file, "text"));
		json_array_append_new(list, entry);
		if (tools_text(call, "sizes") == NULL)
			json_array_append_new(links, link_to(l, p, name, bytes));
		buf_addf(&text, "%s (%lld bytes%s\n%s", name, (long long)bytes, shown ? ")" : ", left out)",
			 shown ? json_string_value(json_object_get(file, "text")) : "");
	}
	json_t *shown = json_pack("{s:I, s:o}", "checkpoint", (json_int_t)l->id, "files", list);
	if (p->unchecked)
		json_object_set_new(shown, "note", json_sprintf("the check program only times: %s", p->unchecked));
	if (strstr(buf_text(&text), "left out"))
		buf_adds(&text, "`peakd workflow export AT --out FOLDER` writes all; a larger limit shows them here\n");
	json_t *result = mcp_call_result(shown, buf_text(&text), 0);
	json_array_extend(json_object_get(result, "content"), links);
	json_decref(links);
	buf_fini(&text);
	return mcp_call_answer(call, result);
}

/* For peak://export/…: one of the files. */
static const struct mcp_done *show_one(struct mcp_call *call, const char *wanted, const json_t *all)
{
	json_t *file;
	size_t i;
	json_array_foreach(all, i, file)
	{
		if (strcmp(json_string_value(json_object_get(file, "name")), wanted) == 0)
			return mcp_call_reply_text(call, "text/plain", json_string_value(json_object_get(file, "text")));
	}
	return mcp_call_reply_absent(call, "the export has no file of that name: `workflow` with action export lists them");
}

static const struct mcp_done *refuse(struct mcp_call *call, const struct err *e)
{
	return mcp_call_variable(call, "file") ? mcp_call_reply_absent(call, e->text) : tools_refuse(call, e);
}

static const struct mcp_done *answer(struct mcp_call *call, struct db *db, const struct lineage *l)
{
	struct parts p = { 0 };
	struct export_file *files = NULL;
	size_t count = 0;
	char *from = NULL;
	struct err e = ERR_INIT;
	struct measurement_query each = { .checkpoint = l->id };
	int rc = find_device(call, db, l, &p, &e);
	each.device = p.device;
	if (rc == 0)
		rc = measurement_best_each(db, &each, &p.rows, &e);
	if (rc == 0)
		rc = build_cases(call, l, &p, &e);
	if (rc == 0)
		from = provenance(l, &p);
	struct export_request request = { .ctx = l->ctx,
					  .reference = p.reference,
					  .cases = p.cases,
					  .count = p.count,
					  .arch = p.facts.arch,
					  .provenance = from };
	if (rc == 0)
		rc = export_request(&request, &files, &count, &e);
	json_t *all = rc == 0 ? all_files(db, l, &p, &request, files, count) : NULL;
	const char *one = mcp_call_variable(call, "file");
	const struct mcp_done *done = rc < 0 ? refuse(call, &e) : one ? show_one(call, one, all) : show_files(call, l, &p, all);
	json_decref(all);
	export_files_free(files, count);
	free(from);
	parts_fini(&p);
	return done;
}

static const struct mcp_done *find_and_answer(struct mcp_call *call, struct db *db)
{
	struct lineage l;
	struct err e = ERR_INIT;
	int64_t checkpoint;
	const char *at = mcp_call_variable(call, "at");
	int rc = at ? workflow_resolve(db, at, &checkpoint, &e) : tools_at(call, db, &checkpoint, NULL, &e);
	if (rc < 0 || lineage_load(db, checkpoint, &l, &e) < 0)
		return refuse(call, &e);
	const struct mcp_done *done = answer(call, db, &l);
	lineage_fini(&l);
	return done;
}

/* On a thread for slow calls. */
static void run(void *arg)
{
	struct mcp_call *call = arg;
	mcp_call_was_pending(tools_with_db(call, find_and_answer));
	mcp_call_unref(call);
}

/* Compiling takes seconds, and the handlers' threads are shared by all calls. */
const struct mcp_done *export_read(struct mcp_call *call)
{
	struct err e = ERR_INIT;
	if (mcp_pool_add(tools_app(call)->slow, run, mcp_call_ref(call), 0) == 0)
		return mcp_call_pending(call);
	err_set(&e, ERR_CONFLICT, "too many slow calls are waiting; try again in a few seconds");
	mcp_call_unref(call);
	return refuse(call, &e);
}

const struct mcp_done *export_answer(struct mcp_call *call, struct db *db, int64_t checkpoint)
{
	(void)db, (void)checkpoint;
	return export_read(call);
}
