/* roofline: see roofline.h. Williams, Waterman, Patterson: "Roofline: an insightful visual performance model for multicore
 * architectures", CACM 52(4), 2009. */
#include "core/measure/roofline.h"

#include <math.h>

enum { WIDTH = 760, HEIGHT = 480, LEFT = 84, RIGHT = 24, TOP = 56, BOTTOM = 64 };

/* Powers of ten that frame all that is drawn. */
struct frame {
	double x0, x1, y0, y1;
};

static bool is_drawn(const struct roofline_point *p)
{
	return p->intensity > 0 && p->gflops > 0 && isfinite(p->intensity) && isfinite(p->gflops);
}

static void widen(double value, double *io_low, double *io_high)
{
	*io_low = fmin(*io_low, floor(log10(value) - 0.15));
	*io_high = fmax(*io_high, ceil(log10(value) + 0.15));
}

static struct frame frame_of(const struct roofline *r)
{
	double ridge = r->pipe_gflops / r->copy_gbs;
	struct frame f = { log10(ridge), log10(ridge), log10(r->pipe_gflops), log10(r->pipe_gflops) };
	widen(ridge / 10, &f.x0, &f.x1);
	widen(ridge * 10, &f.x0, &f.x1);
	widen(r->pipe_gflops, &f.y0, &f.y1);
	for (size_t i = 0; i < r->point_count; i++)
		if (is_drawn(&r->points[i])) {
			widen(r->points[i].intensity, &f.x0, &f.x1);
			widen(r->points[i].gflops, &f.y0, &f.y1);
		}
	f.y0 = fmin(f.y0, f.y1 - 2);
	return f;
}

static double at_x(const struct frame *f, double intensity)
{
	return LEFT + (log10(intensity) - f->x0) / (f->x1 - f->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct frame *f, double gflops)
{
	return HEIGHT - BOTTOM - (log10(gflops) - f->y0) / (f->y1 - f->y0) * (HEIGHT - TOP - BOTTOM);
}

static void add_text(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			buf_addf(out, "&#%d;", *text);
		else
			buf_addc(out, *text);
	}
}

static void add_speed(double gflops, struct buf *out)
{
	if (gflops >= 1000)
		buf_addf(out, "%.3g TFLOP/s", gflops / 1000);
	else
		buf_addf(out, "%.3g GFLOP/s", gflops);
}

static void add_axes(const struct frame *f, struct buf *out)
{
	double left = LEFT, right = WIDTH - RIGHT, top = TOP, bottom = HEIGHT - BOTTOM;
	for (double x = f->x0; x <= f->x1 + 0.5; x++)
		buf_addf(out, "<path class='grid' d='M%.1f %.1fV%.1f'/><text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n",
			 at_x(f, pow(10, x)), top, bottom, at_x(f, pow(10, x)), bottom + 18, pow(10, x));
	for (double y = f->y0; y <= f->y1 + 0.5; y++)
		buf_addf(out, "<path class='grid' d='M%.1f %.1fH%.1f'/><text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n", left,
			 at_y(f, pow(10, y)), right, left - 8, at_y(f, pow(10, y)) + 4, pow(10, y));
	buf_addf(out, "<text x='%.1f' y='%d' text-anchor='middle'>operations for each byte that must move (FLOP/byte)</text>\n",
		 (left + right) / 2, HEIGHT - 16);
	buf_addf(out, "<text transform='translate(20 %.1f) rotate(-90)' text-anchor='middle'>GFLOP/s</text>\n", (top + bottom) / 2);
}

/* The slope of the copy ceiling up to the ridge, then the arithmetic ceiling. */
static void add_roof(const struct roofline *r, const struct frame *f, struct buf *out)
{
	double ridge = r->pipe_gflops / r->copy_gbs, low = fmax(pow(10, f->x0), pow(10, f->y0) / r->copy_gbs),
	       middle = sqrt(low * ridge);
	double dx = at_x(f, ridge) - at_x(f, low), dy = at_y(f, r->pipe_gflops) - at_y(f, low * r->copy_gbs);
	buf_addf(out, "<path class='roof' d='M%.1f %.1fL%.1f %.1fH%d'/>\n", at_x(f, low), at_y(f, low * r->copy_gbs),
		 at_x(f, ridge), at_y(f, r->pipe_gflops), WIDTH - RIGHT);
	buf_addf(out, "<text transform='translate(%.1f %.1f) rotate(%.1f)' text-anchor='middle'>copy %.4g GB/s</text>\n",
		 at_x(f, middle), at_y(f, middle * r->copy_gbs) - 8, atan2(dy, dx) * 180 / acos(-1), r->copy_gbs);
	buf_addf(out, "<text x='%d' y='%.1f' text-anchor='end'>", WIDTH - RIGHT - 4, at_y(f, r->pipe_gflops) - 8);
	add_text(r->pipe, out);
	buf_addc(out, ' ');
	add_speed(r->pipe_gflops, out);
	buf_adds(out, "</text>\n");
}

/* Labels stand in the lower right corner, where no roof is. */
static void add_point(const struct roofline *r, const struct frame *f, size_t i, struct buf *out)
{
	const struct roofline_point *p = &r->points[i];
	const char *class = i ? "parent" : "kernel";
	int y = HEIGHT - BOTTOM - 18 * (int)(r->point_count - i), x = WIDTH / 2 + 40;
	if (!is_drawn(p))
		return;
	double roof = fmin(r->pipe_gflops, r->copy_gbs * p->intensity);
	if (i == 0)
		buf_addf(out, "<path class='gap' d='M%.1f %.1fV%.1f'/>\n", at_x(f, p->intensity), at_y(f, p->gflops),
			 at_y(f, roof));
	buf_addf(out,
		 "<circle class='%s' cx='%.1f' cy='%.1f' r='6'/><circle class='%s' cx='%d' cy='%d' r='5'/><text x='%d' y='%d'>",
		 class, at_x(f, p->intensity), at_y(f, p->gflops), class, x, y, x + 12, y + 4);
	add_text(p->label, out);
	buf_adds(out, ": ");
	add_speed(p->gflops, out);
	buf_addf(out, ", %.0f %% of its roof</text>\n", 100 * p->gflops / roof);
}

bool roofline_svg(const struct roofline *r, struct buf *out)
{
	bool any = false;
	for (size_t i = 0; i < r->point_count; i++)
		any |= is_drawn(&r->points[i]);
	double ridge = r->pipe_gflops / r->copy_gbs;
	if (!any || !(r->pipe_gflops > 0) || !isfinite(r->pipe_gflops) || !(ridge > 0) || !isfinite(ridge))
		return false;
	struct frame f = frame_of(r);
	buf_addf(out,
		 "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' font-family='sans-serif' "
		 "font-size='12'>\n"
		 "<style>text{fill:#333}.grid{stroke:#ddd;fill:none}.roof{stroke:#333;stroke-width:2.5;fill:none}.gap{stroke:#c33;"
		 "stroke-dasharray:4 4;"
		 "fill:none}.kernel{fill:#c33}.parent{fill:#fff;stroke:#36c;stroke-width:2}</style>\n"
		 "<rect width='%d' height='%d' fill='#fff'/>\n<text x='%d' y='28' font-size='16'>",
		 WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	add_text(r->title, out);
	buf_adds(out, "</text>\n");
	add_axes(&f, out);
	add_roof(r, &f, out);
	for (size_t i = r->point_count; i-- > 0;)
		add_point(r, &f, i, out);
	buf_adds(out, "</svg>\n");
	return true;
}
