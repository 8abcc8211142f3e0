/* core/measure/ceiling on the device of this machine: what it reaches is measured once, and again for another driver. */
#include "core/measure/ceiling.h"

#include "core/record/fact.h"
#include "core/sample.h"

static void count(void *arg, double done, double total, const char *message)
{
	(void)done, (void)total, (void)message;
	++*(int *)arg;
}

int main(int argc, char **argv)
{
	struct sample s;
	sample_worker(argc, argv);
	sample_init(&s);
	if (!s.ready) {
		SKIP(1, "no HLSL device");
		sample_fini(&s);
		return tap_done();
	}
	int said = 0;
	struct eval ev = { .pool = s.pool, .references = s.references, .progress = count, .progress_arg = &said };
	struct ceilings list = { .at = NULL };
	struct err e = ERR_INIT;
	char *kept = NULL;
	double f32 = NAN, copy = NAN;
	is_int(ceiling_list(&ev, &s.facts, s.db, &list, &e), 0, "ceilings are measured %s", e.text);
	f32 = ceiling_of(&list, "f32");
	copy = ceiling_of(&list, "copy");
	ok(f32 > 1e8 && f32 < 1e15, "f32: %.4g FLOP/s", f32);
	ok(copy > 1e7 && copy < 1e14, "copy: %.4g bytes/s", copy);
	ok(ceiling_of(&list, "launch") > 10 && ceiling_of(&list, "launch") < 1e8, "launch: %.4g launches/s",
	   ceiling_of(&list, "launch"));
	ok(isnan(ceiling_of(&list, "tensor.f16")), "a pipe that the device lacks has none");
	ok(said > 0, "and it says so meanwhile");
	is_int(fact_get(s.db, s.facts.uuid, "ceiling.f32", &kept, &e), 0, "the figure is kept %s", e.text);
	ok(kept && fabs(strtod(kept, NULL) / f32 - 1) < 1e-4, "as it was measured");
	free(kept);
	free(list.at);

	said = 0;
	list.at = NULL;
	fact_set(s.db, s.facts.uuid, "ceiling.f32", "12345", &e);
	is_int(ceiling_list(&ev, &s.facts, s.db, &list, &e), 0, "a second call %s", e.text);
	ok(said == 0 && list.count == 3 && ceiling_of(&list, "f32") == 12345, "does not measure again");
	free(list.at);

	list.at = NULL;
	strcpy(s.facts.driver, "a later one");
	is_int(ceiling_list(&ev, &s.facts, s.db, &list, &e), 0, "with another driver %s", e.text);
	ok(said > 0 && list.count == 3 && ceiling_of(&list, "f32") > 1e8, "they are measured anew");
	free(list.at);
	sample_fini(&s);
	return tap_done();
}
