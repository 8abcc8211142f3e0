/* core/jobs/work_known: what a model is told of a checkpoint: best times, the last profile, and what was tried, each in a few
 * lines. */
#include "core/jobs/work.h"

#include <math.h>

#include "core/sample.h"

#include "core/advise/figures.h"
#include "core/record/fact.h"
#include "core/record/measurement.h"
#include "core/record/metric.h"
#include "core/record/validation.h"

static const char device[] = "GPU-1", params[] = "n=64 BX=8 BY=8";

static void figure(struct sample *s, int64_t checkpoint, const char *name, double value)
{
	struct err e = ERR_INIT;
	char *full = mem_fmt("%s%s", FIGURES_METRIC, name);
	struct metric m = { .checkpoint = checkpoint, .device = device, .params = params, .name = full, .value = value, .unit = "",
			    .source = "peakd" };
	if (metric_add(s->db, &m, &e) < 0)
		printf("# %s\n", e.text);
	free(full);
}

static void timed(struct sample *s, int64_t checkpoint)
{
	struct err e = ERR_INIT;
	double samples[] = { 1234e3, 1234e3 };
	struct validation v = { .checkpoint = checkpoint, .device = device, .params = params, .sizes = "n=64", .size_kind = "input",
				.validator = "test", .verdict = VALIDATION_PASSED, .error = NAN, .tolerance = NAN, .took_ns = -1 };
	if (validation_add(s->db, &v, &e) < 0)
		printf("# %s\n", e.text);
	struct measurement m = { .checkpoint = checkpoint, .device = device, .sizes = "n=64", .params = params,
				 .status = MEASUREMENT_OK, .median_ns = 1234e3, .min_ns = 1234e3, .rse = 0, .samples = samples,
				 .sample_count = 2, .cold = true, .compile_ns = -1, .registers = 40, .shared_bytes = -1,
				 .spill_bytes = 16, .validation = v.id };
	if (measurement_add(s->db, &m, &e) < 0)
		printf("# %s\n", e.text);
}

int main(int argc, char **argv)
{
	struct sample s;
	struct err e = ERR_INIT;
	struct lineage l;
	char *text = NULL;
	const char *folders[] = { "transforms" };
	struct facts facts = { .backend = "hlsl", .runs = true };
	sample_worker(argc, argv);
	sample_init(&s);
	strcpy(facts.uuid, device);
	struct work work = { .library = library_new(folders, 1) };
	struct context *ctx = sample_context(SAMPLE_RIGHT);
	int64_t root = sample_checkpoint(&s, ctx), kept = sample_add(&s, ctx, root, "unroll", CHECKPOINT_ACCEPTED, NULL);
	is_int(lineage_load(s.db, root, &l, &e), 0, "a baseline %s", e.text);
	struct work_known known = { .l = &l, .facts = &facts, .without = "knowledge,history" };
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "nothing was measured yet %s", e.text);
	ok(text == NULL, "so nothing is told");
	lineage_fini(&l);
	for (int i = 0; i < 9; i++) {
		char *by = mem_fmt("idea-%d", i);
		sample_add(&s, ctx, root, by, CHECKPOINT_FAILED, "wrong results: 7 of 9\nand a long log");
		free(by);
	}
	timed(&s, kept);
	figure(&s, kept, "time_us", 1234);
	figure(&s, kept, "registers", 40);
	figure(&s, kept, "occupancy", 0.5);
	figure(&s, kept, "pipe_percent", 35);
	figure(&s, kept, "copy_percent", 12);
	is_int(lineage_load(s.db, kept, &l, &e), 0, "a step %s", e.text);
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "it was measured and profiled %s", e.text);
	has_str(text ? text : "", "1234 us, 40 registers a thread, 16 bytes spilled",
		"its best time comes with what the compiler said");
	has_str(text ? text : "", "35 % of the arithmetic ceiling, 12 % of the copy ceiling",
		"the profile with the shares of both roofs");
	has_str(text ? text : "", "40 registers a thread, 50 % occupancy", "and with the occupancy");
	ok(text && !strstr(text, "tried"), "what is left out is not told");
	free(text);
	struct facts compiler = { .backend = "hlsl", .arch = "spirv", .name = "a compiler" };
	known.facts = &compiler;
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "on a device that only compiles %s", e.text);
	ok(text == NULL, "what another kind of device measured is not told");
	free(text);
	fact_set(s.db, device, "class", "a compiler", &e);
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "when a device of its class measured it %s", e.text);
	has_str(text ? text : "", "1234 us, 40 registers a thread", "that device's times are told");
	has_str(text ? text : "", "35 % of the arithmetic ceiling", "and its profile");
	known.facts = &facts;
	free(text);
	known.without = "knowledge,profile";
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "without the profile %s", e.text);
	has_str(text ? text : "", "- idea-8: failed: wrong results: 7 of 9\n",
		"what was tried comes with the first line of why it failed");
	ok(text && !strstr(text, "idea-1:") && !strstr(text, "arithmetic"), "the newest few alone, and no profile");
	free(text);
	known.without = NULL;
	is_int(work_known_text(&work, s.db, &known, &text, &e), 0, "all of it %s", e.text);
	ok(text && strlen(text) < 6000, "stays small: %zu bytes", text ? strlen(text) : 0);
	free(text);
	lineage_fini(&l);
	library_free(work.library);
	context_free(ctx);
	sample_fini(&s);
	return tap_done();
}
