/* oracle: asks an imported problem's own Python code (a ```python reference fence) what its outputs are, in a sandboxed process of its
 * own, as docs/import.md describes. truth.c decides with it whether the code runs in double; reference_make.c takes its answers for the
 * right outputs. The candidate's process never sees any of this. */
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
	const struct cancel *cancel;
};

struct oracle_output {
	enum dtype type; /* f64 in double; integers their own */
	uint8_t *bytes;  /* the logical content; owned */
	size_t len;
};

struct oracle_answer {
	struct oracle_output *outputs; /* in the plan's order */
	size_t count;
	char *by; /* what computed it: "torch 1.13.1 on the CPU, in double"; owned */
};

/* -ERR_INTERNAL with the Python error in one line, -ERR_TIMEOUT, -ERR_CRASH, -ERR_UNSUPPORTED where Python or torch is missing, with what
 * to install; -ERR_CANCELLED. */
int oracle_ask(struct oracle *o, const struct oracle_question *q, struct oracle_answer *ret_answer, struct err *e);
void oracle_answer_fini(struct oracle_answer *a);

/* The Python that runs oracles: $PEAKD_PYTHON, else python3. Borrowed. */
const char *oracle_python(void);
/* The command that runs this Python text in the sandbox. free() the list and its first string; the others are borrowed. */
char **oracle_command(const char *text);

#endif
