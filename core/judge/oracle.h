/* oracle: asks an imported problem's own Python code (a ```python reference fence) what its outputs are, in a sandboxed process of
 * its own, as docs/import.md describes. truth.c decides with it whether the code runs in double; reference_make.c takes its answers
 * for the right outputs. The candidate's process never sees any of this. */
#ifndef PEAKD_CORE_JUDGE_ORACLE_H
#define PEAKD_CORE_JUDGE_ORACLE_H

#include "core/context/context.h"
#include "core/workers/eval.h"
#include "core/workers/trial.h"

/* Python processes that wait for the next question. Threads may share it; references.c owns the daemon's. */
struct oracle;
struct oracle *oracle_new(void);
void oracle_free(struct oracle *o);

/* All borrowed. */
struct oracle_question {
	const struct context *ctx; /* has a Python reference */
	const struct plan *plan;   /* of its host code with these parameters: what the inputs are */
	const struct params *params;
	const struct trial_input *input; /* which values */
	bool in_double;                  /* double in place of every narrower type; else the types that the code names */
	bool plain;                      /* also in the types that the code names */
	unsigned moves;                  /* also from inputs that are perturbed so often, by `amplitude` of each value */
	double amplitude;
	const struct cancel *cancel;
	const struct wire_shared *shared; /* where the arrays of the plan's buffers are on `device`; NULL: they are sent */
	const char *device;               /* "cuda:0"; of `shared` */
};

struct oracle_output {
	enum dtype type, declared; /* type: f64 in double; integers their own */
	size_t elements;
	uint8_t *bytes; /* the logical content; owned */
	float *moved;   /* how far each element moved at most (bound_output.moved); NULL: it was not asked for; owned */
	uint8_t *plain; /* of the declared type; NULL: it was not asked for, or the code does not run so; owned */
};

struct oracle_answer {
	struct oracle_output *outputs; /* in the plan's order */
	size_t count;
	char *by;    /* what computed it: "torch 1.13.1 on the CPU, in double"; owned */
	bool on_gpu; /* which was a CUDA device that the process chose itself */
};

/* -ERR_INTERNAL with the Python error in one line, -ERR_TIMEOUT, -ERR_CRASH, -ERR_UNSUPPORTED where Python or torch is missing,
 * with what to install; -ERR_CANCELLED. */
int oracle_ask(struct oracle *o, const struct oracle_question *q, struct oracle_answer *ret_answer, struct err *e);
void oracle_answer_fini(struct oracle_answer *a);

/* The arrays of a question's plan in the memory of the judge's process, where candidates are compared with them. */
struct oracle_run {
	struct variant variant; /* a plan of arrays alone */
	struct trial trial;
	struct wire_shared shared;
};
/* judge: a CUDA device's process of references, the caller's meanwhile; the judge's kernels are loaded. Of the question its plan,
 * parameters and types count. */
int oracle_run_begin(struct oracle_run *ret_run, struct pool_worker *judge, const struct oracle_question *q, struct err *e);
/* Fills the inputs and has the outputs computed, which stay there: the answer has no bytes. Errors as oracle_ask. */
int oracle_run_execute(struct oracle *o, struct oracle_run *r, const struct oracle_question *q, struct oracle_answer *ret_answer,
		       struct err *e);
void oracle_run_end(struct oracle_run *r);

/* The problem's own module with one set of inputs, in a process of its own, to be timed beside a kernel; one thread uses it. */
struct oracle_timer;
enum { ORACLE_WAYS = 3 };
/* How it is run: "eager", "compile", "max-autotune". */
extern const char *const oracle_ways[ORACLE_WAYS];

/* Sends code and inputs (q->in_double is false) and warms every way up, which compiles the module: seconds to minutes, on the
 * device that the caller leases. device: "cpu", or as torch names it, "cuda:0". flush: bytes that are written before each sample.
 * Errors as above. */
int oracle_timer_begin(const struct oracle_question *q, const char *device, size_t flush, struct oracle_timer **ret_timer,
		       struct err *e);
/* What ran it: "torch 2.11.0 on NVIDIA H200". Borrowed. */
const char *oracle_timer_by(const struct oracle_timer *t);
/* Why this way cannot be timed; NULL: it can. Borrowed. */
const char *oracle_timer_why(const struct oracle_timer *t, unsigned way);
/* Times so many executions, from cold caches; ns[] gets nanoseconds. */
int oracle_timer_block(struct oracle_timer *t, unsigned way, size_t samples, double *ns, struct err *e);
void oracle_timer_end(struct oracle_timer *take_timer);

/* The Python that runs oracles: $PEAKD_PYTHON, else python3. Borrowed. */
const char *oracle_python(void);
/* The command that runs this Python text in the sandbox; builds: in one where it may start compilers. free() the list and its first
 * string; the others are borrowed. */
char **oracle_command(const char *text, bool builds);

#endif
