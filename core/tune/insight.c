/* insight: see insight.h. The importance of a parameter is the share of the variance over the valid space that it explains alone.
 * That of a pair is what it explains beyond its two parameters. This is functional ANOVA (Hutter, Hoos, Leyton-Brown, "An efficient
 * approach for assessing hyperparameter importance", ICML 2014). Averages over valid points replace the paper's closed-form
 * marginals, because constraints tie parameters to each other. The model is core/search/trees over the logarithms of the times. */
#include "core/tune/insight.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/record/measurement.h"
#include "core/search/grid.h"
#include "core/search/trees.h"
#include "core/search/tunespace.h"

enum { TOP = 5, GROUPS = 6, TREES = 48, LEARN_FROM = 1000, SAMPLE = 3000, ENOUGH = 12, SHOWN = 6, PAIRS = 3, WHY_BYTES = 160 };

struct study {
	const struct context *ctx;
	const struct measurement_list *rows;
	struct tunespace *space;
	struct search_grid grid;
	struct search_trees trees;
	unsigned char *seen; /* per point: 1 if it was tried */
	size_t seen_count, timed;
	double best;            /* log time of the fastest */
	size_t *sample;         /* points of the space, drawn uniformly */
	double *value, *spread; /* prediction of the model and its uncertainty, per sample */
	size_t count;
};

/* --- fastest and failed configurations ---------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct measurement *x = *(const struct measurement *const *)a, *y = *(const struct measurement *const *)b;
	return (x->median_ns > y->median_ns) - (x->median_ns < y->median_ns);
}

static void fastest(const struct measurement_list *rows, struct buf *out)
{
	const struct measurement **at = MEM_NEW_N(const struct measurement *, rows->count + 1);
	size_t n = 0, shown = 0;
	for (size_t i = 0; i < rows->count; i++)
		if (rows->at[i].status == MEASUREMENT_OK)
			at[n++] = &rows->at[i];
	qsort(at, n, sizeof at[0], by_time);
	buf_adds(out, "fastest (median, least, relative standard error, samples):\n");
	for (size_t i = 0; i < n && shown < TOP; i++, shown++)
		buf_addf(out, "  %.6g ms  %.6g ms  %.2f %%  %zu  %s%s\n", at[i]->median_ns / 1e6, at[i]->min_ns / 1e6,
			 100 * at[i]->rse, at[i]->sample_count, at[i]->params,
			 at[i]->proven       ? ""
			 : at[i]->validation ? "  (refuted since)"
					     : "  (from the search, not validated)");
	free(at);
}

/* Replaces numbers by #, so that "needs 49152 bytes" and "needs 65536 bytes" count as one reason. */
static char *reason_of(const struct measurement *m)
{
	struct buf out = BUF_INIT;
	buf_addf(&out, "%s: ", measurement_status_name(m->status));
	for (const char *c = m->message ? m->message : ""; *c && *c != '\n' && out.len < WHY_BYTES; c++) {
		if (!isdigit((unsigned char)*c))
			buf_addc(&out, *c);
		else if (!isdigit((unsigned char)c[1]))
			buf_addc(&out, '#');
	}
	return buf_steal(&out);
}

static void failures(const struct measurement_list *rows, struct buf *out)
{
	struct {
		char *reason;
		const char *example;
		size_t count;
	} groups[GROUPS];
	size_t n = 0, others = 0;
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->at[i].status == MEASUREMENT_OK)
			continue;
		char *reason = reason_of(&rows->at[i]);
		size_t g = 0;
		while (g < n && strcmp(groups[g].reason, reason) != 0)
			g++;
		if (g < n) {
			groups[g].count++;
		} else if (n < GROUPS) {
			groups[n].example = rows->at[i].params;
			groups[n].count = 1;
			groups[n++].reason = mem_str(reason);
		} else {
			others++;
		}
		free(reason);
	}
	buf_adds(out, n ? "failures by reason:\n" : "no configuration failed\n");
	for (size_t g = 0; g < n; g++) {
		buf_addf(out, "  %zu × %s (for example %s)\n", groups[g].count, groups[g].reason, groups[g].example);
		free(groups[g].reason);
	}
	if (others)
		buf_addf(out, "  %zu for other reasons\n", others);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

/* Fits the model to one time per point, and marks the points that were tried. */
static void learn(struct study *s, struct search_shuffle *random)
{
	size_t features = s->grid.features;
	float *x = MEM_NEW_N(float, LEARN_FROM *features + 1);
	double *y = MEM_NEW_N(double, LEARN_FROM);
	s->best = INFINITY;
	for (size_t i = 0; i < s->rows->count; i++) {
		const struct measurement *m = &s->rows->at[i];
		struct params *params;
		struct err ignored = ERR_INIT;
		if (params_parse(s->ctx, m->params, true, &params, &ignored) < 0)
			continue;
		size_t point = tunespace_point(s->space, params);
		params_free(params);
		if (point == SEARCH_NONE || s->seen[point])
			continue;
		s->seen[point] = 1;
		s->seen_count++;
		if (m->status != MEASUREMENT_OK || s->timed == LEARN_FROM)
			continue;
		search_grid_features(&s->grid, point, x + s->timed * features);
		y[s->timed] = log(m->median_ns);
		s->best = fmin(s->best, y[s->timed++]);
	}
	if (s->timed)
		search_trees_fit(&s->trees, x, y, s->timed, 2, random);
	free(x);
	free(y);
}

/* Variance of the sample's averages, grouped by the value of parameter a, or of a and b (when b < dims). */
static double explained(const struct study *s, size_t a, size_t b)
{
	size_t width = b < s->grid.dims ? s->grid.sizes[b] : 1, cells = s->grid.sizes[a] * width;
	double *sum = MEM_NEW_N(double, cells), mean = 0, variance = 0;
	size_t *n = MEM_NEW_N(size_t, cells);
	for (size_t i = 0; i < s->count; i++) {
		size_t cell = search_grid_index(&s->grid, s->sample[i], a) * width;
		cell += b < s->grid.dims ? search_grid_index(&s->grid, s->sample[i], b) : 0;
		sum[cell] += s->value[i];
		n[cell]++;
		mean += s->value[i] / (double)s->count;
	}
	for (size_t c = 0; c < cells; c++)
		if (n[c])
			variance += (double)n[c] * pow(sum[c] / (double)n[c] - mean, 2) / (double)s->count;
	free(sum);
	free(n);
	return variance;
}

struct share {
	size_t a, b;
	double part;
};

static int larger_first(const void *a, const void *b)
{
	double x = ((const struct share *)a)->part, y = ((const struct share *)b)->part;
	return (x < y) - (x > y);
}

static void importance(const struct study *s, struct buf *out)
{
	size_t dims = s->grid.dims, pairs = 0;
	struct share *one = MEM_NEW_N(struct share, dims + 1), *two = MEM_NEW_N(struct share, dims * dims + 1);
	double total = 0, mean = 0, *alone = MEM_NEW_N(double, dims + 1);
	for (size_t i = 0; i < s->count; i++)
		mean += s->value[i] / (double)s->count;
	for (size_t i = 0; i < s->count; i++)
		total += pow(s->value[i] - mean, 2) / (double)s->count;
	for (size_t a = 0; a < dims; a++) {
		alone[a] = explained(s, a, dims);
		one[a] = (struct share){ a, dims, alone[a] / (total + 1e-300) };
	}
	for (size_t a = 0; a < dims; a++)
		for (size_t b = a + 1; b < dims; b++)
			two[pairs++] = (struct share){ a, b, (explained(s, a, b) - alone[a] - alone[b]) / (total + 1e-300) };
	qsort(one, dims, sizeof one[0], larger_first);
	qsort(two, pairs, sizeof two[0], larger_first);
	buf_adds(out, "what matters (share of the variance of log time over the valid space, by a model of the measured times; "
		      "overlapping where constraints tie parameters):\n");
	for (size_t i = 0; i < dims && i < SHOWN; i++)
		buf_addf(out, "  %.0f %%  %s\n", 100 * one[i].part, tunespace_name(s->space, s->grid.dim[one[i].a]));
	for (size_t i = 0; i < pairs && i < PAIRS && two[i].part > 0.01; i++)
		buf_addf(out, "  %.0f %%  %s and %s together, beyond each alone\n", 100 * two[i].part,
			 tunespace_name(s->space, s->grid.dim[two[i].a]), tunespace_name(s->space, s->grid.dim[two[i].b]));
	free(one);
	free(two);
	free(alone);
}

/* Expected improvement of the most promising untried points under the model. */
static void outlook(const struct study *s, struct buf *out)
{
	double most = 0;
	size_t hopeful = 0, unseen = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->seen[s->sample[i]])
			continue;
		double deviation = fmax(s->spread[i], 1e-6), z = (s->best - s->value[i]) / deviation;
		double gain =
			(s->best - s->value[i]) * 0.5 * erfc(-z * M_SQRT1_2) + deviation * exp(-0.5 * z * z) * 0.3989422804014327;
		most = fmax(most, gain);
		hopeful += 0.5 * erfc(-z * M_SQRT1_2) > 0.05;
		unseen++;
	}
	if (unseen == 0) {
		buf_adds(out, "more budget: every sampled configuration was tried\n");
		return;
	}
	buf_addf(out,
		 "more budget: by the model, the most promising untried configuration is %.2f %% faster than the best. %.1f %% of "
		 "the untried ones beat it with more than 5 %% probability (%s)\n",
		 100 * (1 - exp(-most)), 100 * (double)hopeful / (double)unseen, most > 0.01 ? "likely to pay" : "unlikely to pay");
}

static void model(struct study *s, struct buf *out)
{
	const struct search_space *space = tunespace_search(s->space);
	struct search_shuffle random;
	search_grid_init(&s->grid, space);
	search_trees_init(&s->trees, s->grid.features, LEARN_FROM, TREES);
	search_shuffle_init(&random, space->count, 1);
	s->seen = MEM_NEW_N(unsigned char, space->count + 1);
	s->sample = MEM_NEW_N(size_t, SAMPLE);
	s->value = MEM_NEW_N(double, SAMPLE);
	s->spread = MEM_NEW_N(double, SAMPLE);
	learn(s, &random);
	buf_addf(out, "tried: %zu of %zu valid configurations (%.3g %%)\n", s->seen_count, space->count,
		 100 * (double)s->seen_count / (double)space->count);
	if (s->timed >= ENOUGH && s->grid.dims > 0) {
		size_t all = s->grid.space->count;
		float *x = MEM_NEW_N(float, s->grid.features + 1);
		s->count = all < SAMPLE ? all : SAMPLE;
		for (size_t i = 0; i < s->count; i++) {
			s->sample[i] = search_shuffle_draw(&random);
			search_grid_features(&s->grid, s->sample[i], x);
			s->value[i] = search_trees_predict(&s->trees, x, &s->spread[i]);
		}
		free(x);
		importance(s, out);
		outlook(s, out);
	} else {
		buf_addf(out, "what matters: unknown; %zu configurations were timed, and the model needs %d\n", s->timed, ENOUGH);
	}
	search_shuffle_fini(&random);
	search_trees_fini(&s->trees);
	search_grid_fini(&s->grid);
	free(s->seen);
	free(s->sample);
	free(s->value);
	free(s->spread);
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static int report(const struct measurement_run *run, const struct measurement_list *rows, const struct context *ctx,
		  struct buf *out, struct err *e)
{
	struct study s = { .ctx = ctx, .rows = rows };
	struct params *params, *size;
	buf_addf(out, "run %lld, strategy %s, %s%s\n", (long long)run->id, run->strategy, run->settings,
		 run->ended_ms ? "" : " (interrupted)");
	fastest(rows, out);
	failures(rows, out);
	if (rows->count == 0)
		return 0;
	int rc = params_parse(ctx, rows->at[0].params, false, &params, e);
	if (rc < 0)
		return rc;
	size = params_part(params, false);
	/* The device may be gone, so constraints that mention it are left out. */
	rc = tunespace_new(ctx, NULL, size, &s.space, e);
	if (rc == 0)
		model(&s, out);
	tunespace_free(s.space);
	params_free(size);
	params_free(params);
	return rc;
}

int insight_text(struct db *db, int64_t checkpoint, const struct context *ctx, struct buf *out, struct err *e)
{
	struct measurement_run_list runs;
	struct measurement_list rows;
	int rc = measurement_runs(db, checkpoint, &runs, e);
	if (rc < 0)
		return rc;
	/* Take the newest tune, and an import only if there is no tune. */
	size_t k = 0;
	while (k + 1 < runs.count && strcmp(runs.at[k].strategy, "import") == 0)
		k++;
	if (runs.count == 0) {
		rc = err_set(e, ERR_NOT_FOUND, "checkpoint %lld was never tuned: tune it first", (long long)checkpoint);
	} else {
		struct measurement_query q = { .checkpoint = checkpoint, .run = runs.at[k].id };
		rc = measurement_list(db, &q, &rows, e);
		if (rc == 0) {
			rc = report(&runs.at[k], &rows, ctx, out, e);
			measurement_list_fini(&rows);
		}
	}
	measurement_run_list_fini(&runs);
	return rc;
}
