/* part: aspects of a checkpoint as text; see part.h. */
#include "daemon/tools/part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/foreign.h"
#include "core/record/checkpoint.h"
#include "core/record/exchange.h"
#include "core/record/lineage.h"
#include "core/record/measurement.h"
#include "core/record/validation.h"
#include "core/tune/insight.h"

/* A CSV field (RFC 4180). */
static void field(struct buf *out, const char *text, char end)
{
	buf_addc(out, '"');
	for (; text && *text; text++) {
		if (*text == '"')
			buf_addc(out, '"');
		buf_addc(out, *text);
	}
	buf_addc(out, '"');
	buf_addc(out, end);
}

static void real(struct buf *out, double value, char end)
{
	if (isfinite(value))
		buf_addf(out, "%.9g", value);
	buf_addc(out, end);
}

static int measurements(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct measurement_list list;
	struct measurement_query q = { .checkpoint = id };
	int rc = measurement_list(db, &q, &list, e);
	if (rc < 0)
		return rc;
	buf_adds(out,
		 "device,params,status,median_ns,min_ns,rse,samples,cold,compile_ns,registers,shared_bytes,spill_bytes,evidence,"
		 "standing,message\n");
	for (size_t i = 0; i < list.count; i++) {
		const struct measurement *m = &list.at[i];
		field(out, m->device, ',');
		field(out, m->params, ',');
		buf_addf(out, "%s,", measurement_status_name(m->status));
		real(out, m->median_ns, ',');
		real(out, m->min_ns, ',');
		real(out, m->rse, ',');
		buf_addf(out, "%zu,%d,%lld,%lld,%lld,%lld,%lld,%s,", m->sample_count, m->cold, (long long)m->compile_ns,
			 (long long)m->registers, (long long)m->shared_bytes, (long long)m->spill_bytes, (long long)m->validation,
			 isfinite(m->median_ns) ? measurement_standing(m) : "");
		field(out, m->message, '\n');
	}
	measurement_list_fini(&list);
	return 0;
}

static int validations(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct validation_list list;
	int rc = validation_list(db, id, NULL, 0, &list, e);
	if (rc < 0)
		return rc;
	buf_adds(out, "id,validator,device,params,size_kind,verdict,error,tolerance,reason\n");
	for (size_t i = 0; i < list.count; i++) {
		const struct validation *v = &list.at[i];
		buf_addf(out, "%lld,%s,", (long long)v->id, v->validator);
		field(out, v->device, ',');
		field(out, v->params, ',');
		buf_addf(out, "%s,%s,", v->size_kind, validation_verdict_name(v->verdict));
		real(out, v->error, ',');
		real(out, v->tolerance, ',');
		field(out, v->reason, '\n');
	}
	validation_list_fini(&list);
	return 0;
}

/* Every exchange of this checkpoint's transformation. */
static int exchanges(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct exchange_list list;
	struct checkpoint c;
	int rc = checkpoint_get(db, id, &c, e);
	if (rc < 0)
		return rc;
	rc = exchange_list(db, NULL, c.by, 0, &list, e);
	for (size_t i = 0; rc >= 0 && i < list.count; i++) {
		const struct exchange *x = &list.at[i];
		buf_addf(out, "%lld %s pass %d %s attempt %d, %s: %s\n", (long long)x->id, x->key.transformation, x->key.pass,
			 x->key.step, x->key.attempt, x->model, x->outcome ? x->outcome : "");
	}
	if (rc >= 0)
		exchange_list_fini(&list);
	checkpoint_fini(&c);
	return rc < 0 ? rc : 0;
}

/* All that was measured, in the words of the auto-tuning community. Parameters follow the sizes in a row's text. */
static int t4(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct measurement_list list;
	struct measurement_query q = { .checkpoint = id };
	struct foreign results = { .count = 0 };
	int rc = measurement_list(db, &q, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.count; i++) {
		const struct measurement *m = &list.at[i];
		size_t inputs = strlen(m->sizes);
		const char *tuning = strncmp(m->params, m->sizes, inputs) == 0 ? m->params + inputs : m->params;
		struct foreign_result *r = MEM_PUSH(results.at, results.count);
		*r = (struct foreign_result){ .params = mem_str(tuning + (*tuning == ' ')),
					      .device = mem_str(m->device),
					      .sizes = mem_str(m->sizes),
					      .status = m->status,
					      .ms = m->median_ns / 1e6,
					      .run_count = m->sample_count,
					      .runs_ms = MEM_NEW_N(double, m->sample_count + 1),
					      .proven = m->proven,
					      .compile_ms = m->compile_ns < 0 ? NAN : (double)m->compile_ns / 1e6,
					      .created_ms = m->created_ms };
		for (size_t k = 0; k < m->sample_count; k++)
			r->runs_ms[k] = m->samples[k] / 1e6;
	}
	foreign_write(&results, out);
	foreign_fini(&results);
	measurement_list_fini(&list);
	return 0;
}

/* The winner's parameters per size, to paste into a build. */
static int best(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct measurement_list list;
	struct measurement_query q = { .checkpoint = id };
	int rc = measurement_best_each(db, &q, &list, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.count; i++) {
		buf_addf(out, "/* %s, %s: %.6g ms, evidence %lld */\n", list.at[i].device, list.at[i].sizes,
			 list.at[i].median_ns / 1e6, (long long)list.at[i].validation);
		for (const char *at = list.at[i].params; *at;) {
			size_t n = strcspn(at, " "), name = strcspn(at, "=");
			if (name < n)
				buf_addf(out, "#define %.*s %.*s\n", (int)name, at, (int)(n - name - 1), at + name + 1);
			at += n + (at[n] == ' ');
		}
	}
	measurement_list_fini(&list);
	return 0;
}

/* What the newest tune says beyond its winner. */
static int tuning(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	struct lineage l;
	int rc = lineage_load(db, id, &l, e);
	if (rc < 0)
		return rc;
	rc = insight_text(db, id, l.ctx, out, e);
	lineage_fini(&l);
	return rc;
}

static int region(struct db *db, int64_t id, enum region which, struct buf *out, struct err *e)
{
	struct lineage l;
	int rc = lineage_load(db, id, &l, e);
	if (rc < 0)
		return rc;
	buf_adds(out, context_region(l.ctx, which));
	lineage_fini(&l);
	return 0;
}

static int source(struct db *db, int64_t id, struct buf *out, struct err *e)
{
	char *text;
	int rc = checkpoint_context(db, id, &text, e);
	if (rc < 0)
		return rc;
	buf_adds(out, text);
	free(text);
	return 0;
}

static const struct {
	const char *name;
	int (*make)(struct db *db, int64_t id, struct buf *out, struct err *e);
} parts[] = {
	{ "source", source },
	{ "measurements", measurements },
	{ "validations", validations },
	{ "exchanges", exchanges },
	{ "best", best },
	{ "tuning", tuning },
	{ "t4", t4 },
};

int part_text(struct db *db, int64_t checkpoint, const char *what, char **ret_text, struct err *e)
{
	struct buf out = BUF_INIT;
	int rc = -ERR_INPUT, which = context_region_parse(what);
	bool known = which >= 0;
	if (known)
		rc = region(db, checkpoint, (enum region)which, &out, e);
	for (size_t i = 0; i < MEM_COUNT(parts) && !known; i++)
		if (strcmp(parts[i].name, what) == 0) {
			known = true;
			rc = parts[i].make(db, checkpoint, &out, e);
		}
	if (!known)
		rc = err_set(e, ERR_INPUT, "what: a checkpoint has no part called '%s'", what);
	if (rc < 0) {
		buf_fini(&out);
	} else {
		*ret_text = buf_steal(&out);
		utf8_clean(*ret_text); /* reasons quote host code and compilers, and the text ends in JSON */
	}
	return rc < 0 ? rc : 0;
}
