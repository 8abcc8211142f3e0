/* import: see import.h. Parameters that the context does not have are left out. When several configurations differ
 * in nothing else, the fastest is kept. */
#include "core/jobs/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/jobs/work.h"
#include "core/record/lineage.h"
#include "core/record/store.h"

/* Files may contain anything, so what is copied from them into messages and rows is bounded. */
enum { LEFT_OUT_SHOWN = 8, DEVICE_BYTES = 80, NAME_BYTES = 40 };

/* One result, in the context's own parameters. */
struct row {
	char *device, *sizes, *params;
	const struct foreign_result *result;
};

struct importing {
	struct lineage l;
	struct foreign results;
	struct params *size; /* used when the file names no size; NULL until needed */
	const char *given;   /* the size that the caller named, or NULL */
	struct row *rows;
	size_t count;
	char **left_out; /* names of parameters that the context lacks */
	size_t left_out_count;
};

static void importing_fini(struct importing *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->rows[i].device);
		free(x->rows[i].sizes);
		free(x->rows[i].params);
	}
	mem_free_texts(x->left_out, x->left_out_count);
	free(x->rows);
	params_free(x->size);
	foreign_fini(&x->results);
	lineage_fini(&x->l);
}

/* Uses the size that the caller named, or the only one that the context has. */
static int find_size(struct importing *x, struct err *e)
{
	struct work_sizes sizes = { 0 };
	if (x->size)
		return 0;
	int rc = work_sizes_list(x->given, x->l.ctx, NULL, &sizes, e);
	if (rc < 0)
		return rc;
	if (sizes.count == 1)
		x->size = params_copy(sizes.at[0]);
	else
		rc = err_set(e, ERR_INPUT,
			     "the file does not say which input sizes were measured, and kernel %s has %zu: name one with "
			     "`sizes` (--sizes)",
			     context_kernel(x->l.ctx), sizes.count);
	work_sizes_fini(&sizes);
	return rc;
}

static void leave_out(struct importing *x, const char *name, size_t len)
{
	if (x->left_out_count > LEFT_OUT_SHOWN)
		return;
	for (size_t i = 0; i < x->left_out_count; i++)
		if (strlen(x->left_out[i]) == len && strncmp(x->left_out[i], name, len) == 0)
			return;
	*MEM_PUSH(x->left_out, x->left_out_count) = mem_strn(name, len);
}

/* Drops what is not a tuning parameter of this context from a text like "BX=16 OLD=1". */
static char *shared_params(struct importing *x, const char *params)
{
	const struct spec *spec = context_spec(x->l.ctx);
	struct buf out = BUF_INIT;
	for (const char *at = params; *at;) {
		size_t n = strcspn(at, " "), len = strcspn(at, "=");
		char *name = mem_strn(at, len < n ? len : n);
		int var = spec_find(spec, name);
		if (var >= 0 && spec->vars[var].tuning)
			buf_addf(&out, "%s%.*s", out.len ? " " : "", (int)n, at);
		else
			leave_out(x, name, strlen(name));
		free(name);
		at += n + (at[n] == ' ');
	}
	return buf_steal(&out);
}

/* Adds one result as a row. Skips configurations that the context cannot have. */
static int add_row(struct importing *x, const struct foreign_result *r, struct err *e)
{
	struct params *tuning = NULL, *size = NULL, *whole;
	struct err ignored = ERR_INIT;
	char *shared = shared_params(x, r->params);
	const char *device = r->device ? r->device : x->results.device ? x->results.device : "unknown device";
	int rc = 0;
	if (*shared && params_parse(x->l.ctx, shared, false, &tuning, &ignored) == 0) {
		if (r->sizes == NULL || params_parse(x->l.ctx, r->sizes, false, &size, &ignored) < 0)
			rc = find_size(x, e);
		if (rc == 0) {
			whole = params_merge(size ? size : x->size, tuning);
			*MEM_PUSH(x->rows, x->count) =
				(struct row){ .device = mem_fmt("imported: %.*s", (int)utf8_fit(device, DEVICE_BYTES), device),
					      .sizes = params_text(size ? size : x->size),
					      .params = params_text(whole),
					      .result = r };
			params_free(whole);
		}
	}
	params_free(tuning);
	params_free(size);
	free(shared);
	return rc;
}

static double time_of(const struct row *r)
{
	return isfinite(r->result->ms) ? r->result->ms : INFINITY;
}

static int alike(const struct row *a, const struct row *b)
{
	int c = strcmp(a->device, b->device);
	return c ? c : strcmp(a->params, b->params);
}

static int alike_and_faster(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = alike(x, y);
	return c ? c : (time_of(x) > time_of(y)) - (time_of(x) < time_of(y));
}

static int record(struct db *db, const struct importing *x, const struct row *row, int64_t run, const char *message, struct err *e)
{
	const struct foreign_result *r = row->result;
	double *samples = MEM_NEW_N(double, r->run_count + 1), least = r->ms;
	for (size_t i = 0; i < r->run_count; i++) {
		samples[i] = r->runs_ms[i] * 1e6;
		least = fmin(least, r->runs_ms[i]);
	}
	/* The file does not say how it was timed. Hardly any tool flushes caches, so count it as warm. */
	struct measurement m = { .checkpoint = x->l.id,
				 .run = run,
				 .device = row->device,
				 .sizes = row->sizes,
				 .params = row->params,
				 .status = r->status,
				 .median_ns = r->ms * 1e6,
				 .min_ns = least * 1e6,
				 .rse = NAN,
				 .samples = samples,
				 .sample_count = isfinite(r->ms) ? r->run_count : 0,
				 .cold = false,
				 .compile_ns = isfinite(r->compile_ms) ? (int64_t)(r->compile_ms * 1e6) : -1,
				 .registers = -1,
				 .shared_bytes = -1,
				 .spill_bytes = -1,
				 .message = message };
	int rc = measurement_add(db, &m, e);
	free(samples);
	return rc;
}

/* Records the sorted rows in one transaction. *ret_best is the fastest. */
static int record_all(struct db *db, const struct importing *x, const char *origin, struct foreign_summary *sum,
		      const struct row **ret_best, struct err *e)
{
	char *settings = mem_fmt("%s: %zu configurations", origin, x->results.count);
	char *message = mem_fmt("imported, not measured here: %s", origin);
	struct measurement_run run = { .checkpoint = x->l.id,
				       .device = x->rows[0].device,
				       .strategy = "import",
				       .settings = settings,
				       .planned = (int64_t)x->count };
	int rc = store_begin(db, e);
	if (rc == 0) {
		rc = measurement_run_begin(db, &run, e);
		for (size_t i = 0; rc == 0 && i < x->count; i++) {
			if (i > 0 && alike(&x->rows[i - 1], &x->rows[i]) == 0)
				continue;
			rc = record(db, x, &x->rows[i], run.id, message, e);
			sum->taken++;
			if (*ret_best == NULL || time_of(&x->rows[i]) < time_of(*ret_best))
				*ret_best = &x->rows[i];
		}
		if (rc == 0)
			rc = measurement_run_end(db, run.id, e);
		rc = store_end(db, rc, e);
	}
	sum->run = run.id;
	free(settings);
	free(message);
	return rc;
}

static char *describe(const struct importing *x, const struct foreign_summary *sum, const struct row *best, const char *origin)
{
	struct buf out = BUF_INIT;
	buf_addf(&out,
		 "Kept %zu of %zu configurations of %s as run %lld of \"%s\". They are never quoted; the next tune "
		 "starts with "
		 "the fastest.",
		 sum->taken, sum->found, origin, (long long)sum->run, x->rows[0].device);
	if (isfinite(time_of(best)))
		buf_addf(&out, " Fastest there: %.6g ms with %s.", best->result->ms, best->params);
	for (size_t i = 0; i < x->left_out_count && i < LEFT_OUT_SHOWN; i++)
		buf_addf(&out, "%s%.*s", i ? ", " : " Not parameters of this kernel: ", NAME_BYTES, x->left_out[i]);
	if (x->left_out_count)
		buf_addf(&out, "%s.", x->left_out_count > LEFT_OUT_SHOWN ? ", …" : "");
	return buf_steal(&out);
}

int foreign_take(struct db *db, int64_t checkpoint, const char *text, const char *sizes, const char *origin,
		 struct foreign_summary *ret_summary, struct err *e)
{
	struct importing x = { .given = sizes };
	struct foreign_summary sum = { 0 };
	const struct row *best = NULL;
	int rc = lineage_load(db, checkpoint, &x.l, e);
	if (rc < 0)
		return rc;
	rc = foreign_read(text, strlen(text), &x.results, e);
	sum.found = x.results.count;
	for (size_t i = 0; rc == 0 && i < x.results.count; i++)
		rc = add_row(&x, &x.results.at[i], e);
	if (rc == 0 && x.count == 0)
		rc = err_set(e, ERR_INPUT, "none of the %zu configurations gives a number for a tuning parameter of kernel %s",
			     x.results.count, context_kernel(x.l.ctx));
	if (rc == 0) {
		qsort(x.rows, x.count, sizeof x.rows[0], alike_and_faster);
		rc = record_all(db, &x, origin, &sum, &best, e);
	}
	if (rc == 0) {
		sum.text = describe(&x, &sum, best, origin);
		*ret_summary = sum;
	}
	importing_fini(&x);
	return rc < 0 ? err_wrap(e, "%s", origin) : 0;
}
