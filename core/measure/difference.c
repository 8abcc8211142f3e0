/* difference: see difference.h. */
#include "core/measure/difference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIGURE 0.05
#define KERNEL 0.1

/* Figures that follow from the time of an execution. */
static const char *const timed[] = { "time_us", "warm_us", "launch_percent", "joules",      "watts", "library_percent",
				     "gflops",  "gbs",     "pipe_percent",   "copy_percent" };

static bool differs(double before, double after, double by)
{
	if (isnan(before) && isnan(after))
		return false;
	return isnan(before) || isnan(after) || fabs(after - before) > by * fmax(fabs(before), fabs(after));
}

static void add(struct differences *list, char *take_what, const char *unit, double before, double after)
{
	*MEM_PUSH(list->at, list->count) = (struct difference){ .what = take_what, .unit = unit, .before = before, .after = after };
}

void difference_figures(const struct figures *before, const struct figures *after, struct differences *list)
{
	for (size_t i = 0; i < figures_known_count; i++) {
		const struct figure_kind *k = &figures_known[i];
		double a = before->values[i], b = after->values[i];
		/* A view that was open for one alone says nothing. */
		if (isfinite(a) && isfinite(b) && !mem_has_text(timed, MEM_COUNT(timed), k->name) && differs(a, b, FIGURE))
			add(list, mem_str(k->name), strcmp(k->unit, "share") == 0 ? "" : k->unit, a, b);
	}
}

static double time_of(const struct kernel_profiles *k, const char *name)
{
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->at[i].name, name) == 0)
			return k->at[i].ns / 1e3;
	return NAN;
}

void difference_kernels(const struct kernel_profiles *before, const struct kernel_profiles *after, struct differences *list)
{
	for (size_t i = 0; i < after->count; i++) {
		const char *name = after->at[i].name;
		if (differs(time_of(before, name), time_of(after, name), KERNEL))
			add(list, mem_fmt("kernel %s", name), "us", time_of(before, name), time_of(after, name));
	}
	for (size_t i = 0; i < before->count; i++)
		if (isnan(time_of(after, before->at[i].name)) && isfinite(before->at[i].ns))
			add(list, mem_fmt("kernel %s", before->at[i].name), "us", before->at[i].ns / 1e3, NAN);
}

/* A figure that appears or goes is larger than any that changes. */
static double size_of(const struct difference *d)
{
	double ratio = log(fabs(d->after) / fabs(d->before));
	return isfinite(ratio) ? fabs(ratio) : HUGE_VAL;
}

static int by_size(const void *a, const void *b)
{
	double x = size_of(a), y = size_of(b);
	return x != y ? (x < y ? 1 : -1) : strcmp(((const struct difference *)a)->what, ((const struct difference *)b)->what);
}

void difference_sort(struct differences *list)
{
	if (list->count)
		qsort(list->at, list->count, sizeof *list->at, by_size);
}

static void add_value(double value, struct buf *out)
{
	if (isfinite(value))
		buf_addf(out, "%.4g", value);
	else
		buf_adds(out, "none");
}

void difference_describe(const struct differences *list, size_t most, struct buf *out)
{
	for (size_t i = 0; i < list->count && i < most; i++) {
		const struct difference *d = &list->at[i];
		buf_addf(out, "%s%s ", i ? ", " : "", d->what);
		add_value(d->before, out);
		buf_adds(out, " → ");
		add_value(d->after, out);
		if (*d->unit)
			buf_addf(out, " %s", d->unit);
	}
}

void difference_fini(struct differences *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->at[i].what);
	free(list->at);
	*list = (struct differences){ .at = NULL };
}
