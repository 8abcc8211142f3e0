/* What changed between two profiles. */
#include "core/measure/difference.h"

#include <math.h>
#include <string.h>

#include "tap.h"

int main(void)
{
	struct figures before, after;
	struct differences list = { .at = NULL };
	struct buf text = BUF_INIT;
	struct kernel_profile old[] = { { .name = (char *)"sum", .ns = 4e5 }, { .name = (char *)"clear", .ns = 1e4 } },
			      new[] = { { .name = (char *)"sum", .ns = 1e5 }, { .name = (char *)"merge", .ns = 2e4 } };
	figures_init(&before);
	figures_init(&after);
	figures_set(&before, "registers", 32);
	figures_set(&after, "registers", 64);
	figures_set(&before, "occupancy", 0.5);
	figures_set(&after, "occupancy", 0.51);
	figures_set(&before, "time_us", 10);
	figures_set(&after, "time_us", 99);
	figures_set(&after, "dram_percent", 70);
	difference_figures(&before, &after, &list);
	is_int((long long)list.count, 1, "small differences, times, and what one side lacks are left out");
	is_str(list.at[0].what, "registers", "what differs is named");
	ok(list.at[0].before == 32 && list.at[0].after == 64, "with both values");
	difference_kernels(&(struct kernel_profiles){ old, 2 }, &(struct kernel_profiles){ new, 2 }, &list);
	is_int((long long)list.count, 4, "kernels that changed, came and went are added");
	difference_sort(&list);
	difference_describe(&list, 9, &text);
	is_str(buf_text(&text), "kernel clear 10 → none us, kernel merge none → 20 us, kernel sum 400 → 100 us, registers 32 → 64",
	       "the largest comes first");
	buf_clear(&text);
	difference_describe(&list, 1, &text);
	is_str(buf_text(&text), "kernel clear 10 → none us", "and no more than asked for");
	buf_fini(&text);
	difference_fini(&list);
	difference_figures(&before, &before, &list);
	is_int((long long)list.count, 0, "a profile does not differ from itself");
	figures_fini(&before);
	figures_fini(&after);
	return tap_done();
}
