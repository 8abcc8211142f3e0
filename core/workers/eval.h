/* eval: what every evaluation needs: the workers, the reference outputs kept so far, and where progress goes. One per job; the
 * daemon owns pool and references. */
#ifndef PEAKD_CORE_WORKERS_EVAL_H
#define PEAKD_CORE_WORKERS_EVAL_H

#include <stdint.h>

#include "backends/wire/facts.h"
#include "backends/wire/wire.h"
#include "core/workers/cancel.h"
#include "core/workers/pool.h"

struct binaries;
struct external_config;
struct references;

/* Where the time of a piece of work went, so far; lanes of several devices add to it at once. */
struct eval_spent {
	_Atomic int64_t leased_ns;            /* with a device leased to it; of several devices the sum */
	_Atomic int64_t validation_ns;        /* in validate_run: compiling, references and waiting for the device too */
	_Atomic int64_t validation_leased_ns; /* of leased_ns, what fell into validate_run */
};

struct eval {
	struct pool *pool;
	struct references *references;
	struct cancel *cancel; /* may be NULL */
	/* Progress for people: done of total (0: unknown) in configurations. May be NULL. Any thread calls it (those that wait for
	 * a device do), even while another one records: it must not use that thread's database handle. */
	void (*progress)(void *arg, double done, double total, const char *message);
	void *progress_arg;
	struct binaries *binaries;              /* what was compiled before; NULL: everything is compiled anew */
	const struct external_config *external; /* the user's validators and evaluators; NULL: none */
	bool line_info;                         /* device code is compiled with line numbers, for tools that name source lines */
	enum wire_probe probe;                  /* what kernels are compiled to have for nothing (core/measure/probe.h) */
	bool disturbed;                         /* CUDA kernels are compiled so that chance shows (backends/cuda/cuda.h) */
	struct eval_spent *spent;               /* the work's; may be NULL */
};

/* A device for this work: pool_take_device with the work's cancel; waiting is reported as progress, the lease counts as spent.
 * launcher: see struct pool_wish. */
int eval_take_device(const struct eval *ev, const struct facts *facts, const char *const *launcher, struct pool_worker **ret_worker,
		     struct err *e);
/* The same for a device that the work can do without: `over` (may be NULL) ends the waiting. */
int eval_await_device(const struct eval *ev, const struct facts *facts, const struct cancel *over, struct pool_worker **ret_worker,
		      struct err *e);
void eval_progress(const struct eval *ev, double done, double total, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Deadlines of single requests, nanoseconds. A kernel that needs longer counts as hung. */
#define EVAL_COMPILE_NS (INT64_C(180) * 1000000000)
#define EVAL_PREPARE_NS (INT64_C(120) * 1000000000)
#define EVAL_EXECUTE_NS (INT64_C(60) * 1000000000)
#define EVAL_COMPARE_NS (INT64_C(120) * 1000000000)

/* How often a step is tried whose worker was killed from outside (-ERR_IO of a call, pool.h): that says nothing about the kernel.
 */
enum { EVAL_TRIES = 3 };
/* True when another try is due, which is reported; *io_tries counts. */
bool eval_retries(const struct eval *ev, enum err_code code, const char *why, unsigned *io_tries);

#endif
