/* counters: hardware counters and stalls of a profiled configuration. They are read in a device worker of their own, which alone
 * loads the vendor's profiler and may hold CAP_PERFMON; nothing is timed there. Called by profile.c; their names are those of
 * backends/cuda/counters.c. */
#ifndef PEAKD_CORE_MEASURE_COUNTERS_H
#define PEAKD_CORE_MEASURE_COUNTERS_H

#include "core/advise/figures.h"
#include "core/context/context.h"
#include "core/measure/sass.h"
#include "core/workers/trial.h"

/* Builds the configuration with line information, executes it and reads. No lease may be held. Views that are closed say why; only
 * what ends the job is an error (-ERR_CANCELLED). wire_counters_fini. */
int counters_read(const struct eval *ev, const struct context *ctx, const struct params *params, const struct facts *facts,
		  struct wire_counters *ret_counters, struct err *e);
/* NAN where the kernel has no such counter. */
double counters_get(const struct wire_counters *c, const char *kernel, const char *name);
/* Sets the figures that counters give of this kernel; where an interpreter or the context gave one, it stays. */
void counters_figures(const struct wire_counters *c, const char *kernel, struct figures *io_figures);
/* Those that need the instruction mix as well, which is taken to be that of all executed instructions: operations, and how wide
 * loads and stores are. */
void counters_mixed_figures(const struct wire_counters *c, const char *kernel, const struct sass_mix *mix,
			    struct figures *io_figures);
/* Operations on floats of one launch, by the same; NAN where tensor cores work, whose operations are not known. */
double counters_flops(const struct wire_counters *c, const char *kernel, const struct sass_mix *mix);
/* "DRAM 12 MB (34 %), L2 40 MB (hit 60 %), L1 …; pipes: …"; nothing without counters. */
void counters_describe(const struct wire_counters *c, const char *kernel, struct buf *out);
/* "long_scoreboard 41 % (device:12), barrier 20 % (device:31)": the largest stalls of the kernel; nothing without samples. */
void counters_waits(const struct wire_counters *c, const char *kernel, struct buf *out);

#endif
