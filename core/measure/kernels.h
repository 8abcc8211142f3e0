/* kernels: a profile told kernel by kernel: time, resources, instructions, traffic and waits. Called by profile.c. */
#ifndef PEAKD_CORE_MEASURE_KERNELS_H
#define PEAKD_CORE_MEASURE_KERNELS_H

#include "core/advise/figures.h"
#include "core/measure/sass.h"
#include "core/workers/trial.h"

/* One kernel of the plan, or all its copies or fills. */
struct kernel_profile {
	char *name; /* "copy" and "memset" for those */
	size_t launches;
	double ns, share;                     /* of one cold execution, all its launches together; NAN not known */
	int64_t registers, shared, spill;     /* -1 not known */
	char *instructions, *traffic, *waits; /* in words; NULL not known */
};
struct kernel_profiles {
	struct kernel_profile *at; /* the longest first */
	size_t count;
};

/* Times the operations of the plan where there are several; times[] get NAN where that cannot be done. cold_ns: of one
 * execution. */
int kernels_time(struct trial *t, double cold_ns, struct kernel_profiles *ret_kernels, struct err *e);
void kernels_fini(struct kernel_profiles *k);
/* Adds what the counters say, and the figures of the longest kernel. */
void kernels_add_counters(struct kernel_profiles *k, const struct wire_counters *c, struct figures *io_figures);
/* The same for the disassembler, and what follows from both. */
void kernels_add_sass(struct kernel_profiles *k, const struct sass *s, const struct wire_counters *c, struct figures *io_figures);

/* The work of one execution. */
struct kernel_work {
	double buffers;      /* bytes of all of them: no more moves, either way */
	double flops, bytes; /* NAN: not known */
};
/* Operations and bytes by counters and disassembler, where they are not known. */
void kernels_work(const struct kernel_profiles *k, const struct wire_counters *c, const struct sass *s,
		  struct kernel_work *io_work);

#endif
