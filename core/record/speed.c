/* speed: ratios out of recorded pairs; see speed.h. */
#include "core/record/speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/record/comparison.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"

#define WIDE 1.5 /* high / low beyond which an interval says little */

#define RATIO(member_, name_, flags_)                                                                                              \
	{ LAYOUT_AS(struct speed, member_.times, REAL, name_), .unit = "ratio", .flags = flags_ },                                 \
		{ LAYOUT_AS(struct speed, member_.low, REAL, name_ "_low"), .unit = "ratio", .flags = LAYOUT_DETAIL },             \
		{ LAYOUT_AS(struct speed, member_.high, REAL, name_ "_high"), .unit = "ratio", .flags = LAYOUT_DETAIL },           \
	{                                                                                                                          \
		LAYOUT_AS(struct speed, member_.verdict, TEXT, name_ "_verdict"), .flags = LAYOUT_DETAIL                           \
	}

static const struct layout_field fields[] = {
	RATIO(baseline, "speedup", 0),
	RATIO(start, "start_speedup", LAYOUT_DETAIL),
	RATIO(parent, "step_speedup", LAYOUT_DETAIL),
	{ LAYOUT_AT(struct speed, joules, REAL), .unit = "J", .say = "; % an execution" },
	{ LAYOUT_AT(struct speed, load, TEXT), .flags = LAYOUT_DETAIL },
	{ LAYOUT_AT(struct speed, compared, TEXT), .say = "; %", .flags = LAYOUT_DETAIL },
	{ .name = NULL },
};
const struct layout speed_layout = { "speed", sizeof(struct speed), fields };

bool speed_unclear(const struct speed_ratio *r)
{
	return r->verdict && (strcmp(r->verdict, "unclear") == 0 || !(r->high <= r->low * WIDE));
}

char *speed_text(const struct speed_ratio *r, char text[SPEED_TEXT])
{
	if (r->verdict == NULL || !isfinite(r->times))
		snprintf(text, SPEED_TEXT, "-");
	else if (speed_unclear(r) && !(r->low < r->high))
		snprintf(text, SPEED_TEXT, "unclear (too few pairs)");
	else if (speed_unclear(r) && strcmp(r->verdict, "faster") == 0)
		snprintf(text, SPEED_TEXT, "at least %.2fx (%.2f-%.2f)", r->low, r->low, r->high);
	else if (speed_unclear(r) && strcmp(r->verdict, "slower") == 0)
		snprintf(text, SPEED_TEXT, "at most %.2fx (%.2f-%.2f)", r->high, r->low, r->high);
	else if (speed_unclear(r))
		snprintf(text, SPEED_TEXT, "unclear (%.2f-%.2f)", r->low, r->high);
	else
		snprintf(text, SPEED_TEXT, "%.2fx (%.2f-%.2f)", r->times, r->low, r->high);
	return text;
}

char *speed_words(const struct speed_ratio *r, char text[SPEED_TEXT])
{
	char ratio[SPEED_TEXT];
	speed_text(r, ratio);
	if (r->verdict == NULL || strncmp(ratio, "unclear", 7) == 0)
		snprintf(text, SPEED_TEXT, "%s", ratio);
	else
		snprintf(text, SPEED_TEXT, "%s, %.50s", r->verdict, ratio);
	return text;
}

/* The checkpoint's configuration against one of another checkpoint (or of its own). */
static void compare(struct db *db, const struct speed_query *q, int64_t with, const char *with_params, struct speed *s,
		    struct speed_ratio *r)
{
	const struct comparison_query pair = { .a = with,
					       .b = q->checkpoint,
					       .device = q->device,
					       .sizes = q->sizes,
					       .a_params = with_params,
					       .b_params = q->params,
					       .a_start = with_params == NULL,
					       .cold = !q->warm };
	struct comparison c;
	struct err ignored = ERR_INIT;
	if (comparison_pair(db, &pair, &c, &ignored) < 0)
		return;
	*r = (struct speed_ratio){ .times = 1 / c.ratio, .low = 1 / c.high, .high = 1 / c.low, .verdict = mem_str(c.verdict) };
	if (c.load && s->load == NULL)
		s->load = mem_str(c.load);
	comparison_fini(&c);
}

/* Against the best that is known of the other one now. */
static void compare_best(struct db *db, const struct speed_query *q, int64_t with, struct speed *s, struct speed_ratio *r)
{
	struct measurement_query best = { .checkpoint = with, .device = q->device, .sizes = q->sizes, .warm = q->warm };
	struct measurement m;
	struct err ignored = ERR_INIT;
	if (with <= 0 || with == q->checkpoint || measurement_best(db, &best, &m, &ignored) < 0)
		return;
	compare(db, q, with, m.params, s, r);
	measurement_fini(&m);
}

static void add_words(const struct speed_ratio *r, const char *over, struct buf *out)
{
	char text[SPEED_TEXT];
	if (r->verdict)
		buf_addf(out, "%s%s%s", out->len ? ", " : "", speed_text(r, text), over);
}

void speed_of(struct db *db, const struct speed_query *q, struct speed *s)
{
	struct buf words = BUF_INIT;
	struct err ignored = ERR_INIT;
	layout_init(&speed_layout, s);
	metric_newest(db, q->checkpoint, q->device, q->params, "energy", &s->joules, &ignored);
	compare_best(db, q, q->root, s, &s->baseline);
	compare(db, q, q->root, NULL, s, &s->start);
	compare_best(db, q, q->parent, s, &s->parent);
	add_words(&s->baseline, " over the baseline", &words);
	add_words(&s->start, " over the baseline's starting parameters", &words);
	if (q->parent != q->root)
		add_words(&s->parent, " over its parent", &words);
	if (words.len && s->load)
		buf_addf(&words, "; %s", s->load);
	s->compared = words.len ? buf_steal(&words) : NULL;
	buf_fini(&words);
}

void speed_fini(struct speed *s)
{
	layout_fini(&speed_layout, s);
}
