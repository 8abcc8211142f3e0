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
	is_line("tune 5/20, best 1.3 ms", 79, "tb-tiling        [#####...............] tune 5/20, best 1.3 ms", "a quarter");
	is_line("validate 16/16", 79, "tb-tiling        [####################] validate 16/16", "all");
	is_line("waiting for the model", 79, "tb-tiling        waiting for the model", "no figures, no bar");
	is_line("3/0 and/or", 79, "tb-tiling        3/0 and/or", "no division by zero");
	is_line("7/4", 79, "tb-tiling        [####################] 7/4", "never more than full");
	is_line("a\033[2Jb\nsecond line", 79, "tb-tiling        a [2Jb", "nothing that moves the cursor");
	is_line("µµµµ", 19, "tb-tiling        µµ", "cut between characters");
	return tap_done();
}
