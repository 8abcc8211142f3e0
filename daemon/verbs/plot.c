/* plot: `peakd plot NAME`: the speed-up curve of a workflow as an SVG picture: each checkpoint's speed over the baseline's, with
 * its interval, a line for each device and input size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "daemon/verbs/call.h"
#include "daemon/verbs/out.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

enum { WIDTH = 900, HEIGHT = 480, LEFT = 64, RIGHT = 240, TOP = 56, BOTTOM = 128, LABEL = 24 };

static const char *const colours[] = { "#36c", "#c33", "#2a7", "#a5c", "#d80", "#088" };

struct plot {
	const json_t *checkpoints; /* newest first */
	size_t count;
	double top; /* of the axis of speed-ups */
	struct buf out;
};

static double at_x(const struct plot *p, size_t i)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * ((double)i + 0.5) / (double)p->count;
}

static double at_y(const struct plot *p, double speedup)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * speedup / p->top;
}

/* The oldest is number 0. */
static const json_t *checkpoint(const struct plot *p, size_t i)
{
	return json_array_get(p->checkpoints, p->count - 1 - i);
}

/* The baseline is as fast as itself. NaN: not compared. */
static double speedup(const json_t *checkpoint, const json_t *best, const char *key)
{
	bool root = json_array_size(json_object_get(checkpoint, "parents")) == 0;
	return root ? 1 : run_setup_number(best, key);
}

static void add_text(struct plot *p, const char *text)
{
	for (; *text; text++)
		if (strchr("<>&'", *text))
			buf_addf(&p->out, "&#%d;", *text);
		else
			buf_addc(&p->out, *text);
}

static void add_axes(struct plot *p, const char *title)
{
	double step = pow(10, floor(log10(p->top)));
	step = p->top / step < 2 ? step / 4 : p->top / step < 5 ? step / 2 : step;
	buf_addf(&p->out,
		 "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' font-family='sans-serif' "
		 "font-size='12'>\n<style>text{fill:#333}.grid{stroke:#ddd}</style>\n<rect width='%d' height='%d' fill='#fff'/>\n"
		 "<text x='%d' y='28' font-size='16'>",
		 WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	add_text(p, title);
	buf_adds(&p->out, ": speed-up over the baseline, timed in pairs</text>\n");
	for (double y = 0; y <= p->top * 1.001; y += step)
		buf_addf(&p->out, "<path class='grid' d='M%d %.1fH%d'/><text x='%d' y='%.1f' text-anchor='end'>%gx</text>\n", LEFT,
			 at_y(p, y), WIDTH - RIGHT, LEFT - 8, at_y(p, y) + 4, y);
	for (size_t i = 0; i < p->count; i++) {
		const char *by = run_setup_text(checkpoint(p, i), "by");
		char *label = mem_fmt("%.*s%s", LABEL, by, strlen(by) > LABEL ? "..." : "");
		buf_addf(&p->out, "<text transform='translate(%.1f %d) rotate(35)'>", at_x(p, i) - 4, HEIGHT - BOTTOM + 18);
		add_text(p, label);
		buf_adds(&p->out, "</text>\n");
		free(label);
	}
}

/* What a line shows: "n=4096, llvmpipe". free() */
static char *series_name(const json_t *best)
{
	return mem_fmt("%s, %s", run_setup_text(best, "sizes"), run_setup_text(best, "device"));
}

static void add_series(struct plot *p, const char *name, size_t number)
{
	const char *colour = colours[number % MEM_COUNT(colours)];
	struct buf line = BUF_INIT;
	for (size_t i = 0; i < p->count; i++) {
		const json_t *best, *c = checkpoint(p, i);
		size_t k;
		json_array_foreach(json_object_get(c, "best"), k, best)
		{
			char *own = series_name(best);
			double y = speedup(c, best, "speedup"), low = speedup(c, best, "speedup_low"),
			       high = speedup(c, best, "speedup_high");
			if (strcmp(own, name) == 0 && isfinite(y)) {
				buf_addf(&line, "%c%.1f %.1f", line.len ? 'L' : 'M', at_x(p, i), at_y(p, y));
				buf_addf(&p->out, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'><title>%.3gx</title></circle>\n",
					 at_x(p, i), at_y(p, y), colour, y);
				if (high > low)
					buf_addf(&p->out, "<path d='M%.1f %.1fV%.1f' stroke='%s'/>\n", at_x(p, i), at_y(p, low),
						 at_y(p, high), colour);
			}
			free(own);
		}
	}
	buf_addf(&p->out, "<path d='%s' fill='none' stroke='%s' stroke-width='2'/><text x='%d' y='%zu' style='fill:%s'>",
		 line.len ? buf_text(&line) : "M0 0", colour, WIDTH - RIGHT + 8, TOP + 16 * number, colour);
	add_text(p, name);
	buf_adds(&p->out, "</text>\n");
	buf_fini(&line);
}

/* Every device and size that was compared. The names: mem_free_texts. */
static void find_series(struct plot *p, char ***ret_names, size_t *ret_count)
{
	char **names = NULL;
	size_t count = 0, k;
	const json_t *best;
	for (size_t i = 0; i < p->count; i++)
		json_array_foreach(json_object_get(checkpoint(p, i), "best"), k, best)
		{
			char *name = series_name(best);
			size_t at = 0;
			double y = speedup(checkpoint(p, i), best, "speedup");
			while (at < count && strcmp(names[at], name) != 0)
				at++;
			if (at == count && isfinite(y))
				*MEM_PUSH(names, count) = mem_str(name);
			p->top = isfinite(y) ? fmax(p->top, fmax(y, speedup(checkpoint(p, i), best, "speedup_high"))) : p->top;
			free(name);
		}
	*ret_names = names;
	*ret_count = count;
}

static int plot_run(const struct verb_line *line, const struct verb_call *call)
{
	const char *out = verb_get(line, "out");
	bool force = verb_get(line, "force");
	struct plot p = { .top = 1.25, .out = BUF_INIT };
	struct err e = ERR_INIT;
	json_t *arguments = NULL, *answer = NULL;
	char **names = NULL;
	size_t count = 0;
	if (out_check(out, force, &e) < 0 || call_arguments(line, call, 0, &arguments, &e) < 0)
		return verb_fail(line, &e);
	json_object_set_new(arguments, "action", json_string("log"));
	int status = call_tool(line, call->tool, NULL, arguments, verb_get(line, "json") ? NULL : &answer);
	if (status != VERB_OK || answer == NULL)
		return status;
	p.checkpoints = json_object_get(answer, "checkpoints");
	p.count = json_array_size(p.checkpoints);
	find_series(&p, &names, &count);
	p.top *= 1.05;
	add_axes(&p, line->words[0]);
	for (size_t i = 0; i < count; i++)
		add_series(&p, names[i], i);
	buf_adds(&p.out, "</svg>\n");
	if (count == 0)
		err_set(&e, ERR_NOT_FOUND, "no checkpoint of %s has been timed yet: `peakd tune %s` times its head", line->words[0],
			line->words[0]);
	if (e.code != ERR_NONE || out_text(out, buf_text(&p.out), force, &e) < 0)
		status = verb_fail(line, &e);
	mem_free_texts(names, count);
	buf_fini(&p.out);
	json_decref(answer);
	return status;
}

const struct verb plot_verb = { .name = "plot",
				.hidden = "at with what device sizes limit",
				.calls = VERB_CALL(.tool = "workflow", .arguments = "name", .run = plot_run) };
