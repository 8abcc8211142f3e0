/* test_bar: progress as one line that fits the terminal. */
#include "daemon/verbs/bar.h"

#include "tests/tap.h"

static void is_line(const char *message, int width, const char *want, const char *what)
{
	char *line = bar_line("tb-tiling", message, width);
	is_str(line, want, "%s", what);
	free(line);
}

int main(void)
{
	is_line("tune 5/20, best 1.3 ms", 79, "tb-tiling        [#####...............] tune 5/20, best 1.3 ms",
		"a quarter of the work fills a quarter of the bar");
	is_line("validate 16/16", 79, "tb-tiling        [####################] validate 16/16", "complete work fills the bar");
	is_line("waiting for the model", 79, "tb-tiling        waiting for the model", "progress without figures has no bar");
	is_line("3/0 and/or", 79, "tb-tiling        3/0 and/or", "a total of zero has no bar");
	is_line("7/4", 79, "tb-tiling        [####################] 7/4", "more than the total fills the bar only once");
	is_line("a\033[2Jb\nsecond line", 79, "tb-tiling        a [2Jb", "control characters and further lines are removed");
	is_line("µµµµ", 19, "tb-tiling        µµ", "a narrow terminal truncates between characters");
	is_line("tune 12/128, best 0.52 us (not validated yet), 3 pruned, 0 failed, 40 s left", 79,
		"tb-tiling        [##..................] tune 12/128, best 0.52 us (…, 40 s left", "the time that is left stays");
	is_line("a, which is far too long to be kept by a line that has forty columns", 40,
		"tb-tiling        a, which is far too lon", "a long last part is truncated like any other");
	return tap_done();
}
