/* profile: one configuration of a checkpoint, measured: cold and warm time, energy, clocks, shares of the device's measured
 * ceilings and of the vendor's library. It says also what the compiler tells of registers and memory, what limits the kernel and
 * what to try. Called for the profile tool. */
#ifndef PEAKD_CORE_MEASURE_PROFILE_H
#define PEAKD_CORE_MEASURE_PROFILE_H

#include "core/advise/advice.h"
#include "core/context/context.h"
#include "core/judge/external.h"
#include "core/measure/kernels.h"
#include "core/measure/library_baseline.h"
#include "core/measure/load.h"
#include "core/measure/probe.h"
#include "core/workers/trial.h"

struct db;

struct profile_request {
	const struct context *ctx, *baseline;
	const struct params *params;     /* all execution parameters */
	const struct facts *facts;       /* a device that runs */
	bool probes;                     /* also what if loads, stores or barriers were free? */
	const struct advisors *advisors; /* that are asked for guidance; NULL: none */
};

/* More than 20 fields, since each is a figure or a view of the answer. */
struct profile_result {
	struct trial_times cold, warm;
	char load[LOAD_TEXT]; /* what others did meanwhile on a CPU that is the device; "" */
	struct trial_weighed energy;
	struct library_baseline library; /* name NULL: the context names no library */
	double flops, bytes;             /* of one execution: declared, else counted; NAN not known */
	const char *pipe; /* the ceiling that precision permits: "f32", "tensor.f16", …; static; NULL: none is measured */
	double pipe_share, copy_share;    /* of the ceilings, by the cold time, 0…1; NAN not known */
	int64_t registers, shared, spill; /* -1 unknown */
	struct external_metrics more;     /* of the user's evaluators */
	int64_t evidence;                 /* validation row */
	struct figures figures;
	const char *class;     /* what limits it: advice_class_names; static; NULL not known */
	char *why;             /* the figures behind it; NULL */
	struct advice *advice; /* what the tools of that class say */
	size_t advice_count;
	struct probe_result probes[WIRE_PROBES]; /* by enum wire_probe; where they were asked for */
	char *closed;                            /* tools that lack a figure; NULL */
	struct kernel_profiles kernels;
	char *no_sass, *no_counters, *no_stalls; /* why these views are closed; NULL: they are open */
};

/* Checks the configuration with a fresh seed first: -ERR_WRONG when its outputs are wrong. Figures become metrics of the
 * checkpoint. */
int profile_run(const struct eval *ev, const struct profile_request *request, struct db *db, int64_t checkpoint, const char *job,
		struct profile_result *ret_result, struct err *e);
void profile_result_fini(struct profile_result *r);

#endif
