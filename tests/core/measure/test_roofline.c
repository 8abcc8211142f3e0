/* The roofline picture: what is drawn where, and when nothing can be. A file name as argument gets the picture, to look at. */
#include "core/measure/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static int count(const char *text, const char *what)
{
	int n = 0;
	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	struct roofline_point points[] = { { "tiled <4x4>", 85.3, 22400 }, { "checkpoint 1", 85.3, 7650 } };
	struct roofline r = { .title = "matmul & more, n=1024", .pipe = "f32", .pipe_gflops = 60500, .copy_gbs = 4200,
			      .points = points, .point_count = 2 };
	struct buf svg = BUF_INIT;
	ok(roofline_svg(&r, &svg), "a kernel and its parent are drawn");
	const char *text = buf_text(&svg);
	is_int(count(text, "<circle"), 4, "as two points, each with its label");
	ok(strstr(text, "class='kernel'") && strstr(text, "class='parent'"), "which look different");
	has_str(text, "tiled &#60;4x4&#62;: 22.4 TFLOP/s, 37 % of its roof",
		"the label escapes signs, and gives the share of the roof");
	has_str(text, "copy 4200 GB/s", "the copy ceiling has its figure");
	has_str(text, "f32 60.5 TFLOP/s", "the arithmetic ceiling has its own");
	has_str(text, "matmul &#38; more", "the title is escaped");
	ok(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL, "no coordinate is missing");
	if (argc > 1) {
		FILE *f = fopen(argv[1], "w");
		fputs(text, f);
		fclose(f);
	}
	buf_clear(&svg);
	points[1].gflops = NAN;
	ok(roofline_svg(&r, &svg), "without a parent the kernel is drawn alone");
	is_int(count(buf_text(&svg), "<circle"), 2, "as one point");
	buf_clear(&svg);
	points[0].intensity = NAN;
	ok(!roofline_svg(&r, &svg) && svg.len == 0, "without a point there is no picture");
	points[0].intensity = 2;
	r.copy_gbs = NAN;
	ok(!roofline_svg(&r, &svg) && svg.len == 0, "without a ceiling neither");
	for (int i = 0; i < 3; i++) {
		r.copy_gbs = i == 0 ? INFINITY : i == 1 ? 0 : 4200;
		r.pipe_gflops = i == 2 ? INFINITY : 60500;
		ok(!roofline_svg(&r, &svg) && svg.len == 0, "nor with one of %g GB/s or %g GFLOP/s", r.copy_gbs, r.pipe_gflops);
	}
	buf_fini(&svg);
	return tap_done();
}
