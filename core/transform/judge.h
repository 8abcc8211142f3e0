/* judge: what the engine of transformations asks of the room that compiles and runs (core/jobs/work_judge.c fills the table; tests
 * bring a fake), and the findings that come back. Findings are data: feedback.c turns them into words for a model. */
#ifndef PEAKD_CORE_TRANSFORM_JUDGE_H
#define PEAKD_CORE_TRANSFORM_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/context/context.h"

enum judge_result {
	JUDGE_PASS,    /* holds */
	JUDGE_COMPILE, /* device code refused, host code failed, or launch and kernel do not fit: see errors */
	JUDGE_WRONG,   /* ran, and the outputs are wrong: see counts, mismatches, map */
	JUDGE_CRASH,   /* the device faulted, the worker died, or a deadline passed: see summary */
	JUDGE_NARROW,  /* prunes input sizes that its parent accepted, or leaves no configuration at all: see summary */
};

/* One error of a compiler or of host code, pointing into a region. */
struct judge_error {
	enum region region; /* whose line it is */
	unsigned line;      /* 1-based within the region's text; 0 unknown */
	char *text;         /* the message alone, one or more lines; owned */
};

struct judge_mismatch {
	char *output;        /* name of the output buffer; owned */
	int64_t row, column; /* row: all but the last dimension, flattened */
	double got, want;
};

/* One configuration that was tried. */
struct judge_config {
	char *params; /* "n=64 BX=16 BY=16 TILE_K_SIZE=8"; owned */
	bool passed;
	char *why; /* NULL when passed; one line; owned */
};

enum { JUDGE_MAP = 8, JUDGE_LIST_MAX = 64 };

/* More than 20 fields: a verdict holds whichever evidence its validator had, and feedback shows what is there. */
struct judge_verdict {
	enum judge_result result;
	const char *headline;       /* what the feedback begins with; static; NULL: words for the result */
	char *summary;              /* one line for people: what was checked, what failed; owned, may be NULL */
	char *params;               /* the configuration that the errors or counts below belong to; owned, may be NULL */
	struct judge_error *errors; /* of JUDGE_COMPILE, in the compiler's order; owned */
	size_t error_count;
	char *log; /* whole compiler log when it could not be parsed into errors; owned, may be NULL */
	uint64_t elements, mismatched, nan, untouched; /* of the failing configuration's outputs */
	double error, tolerance;                       /* relative error found and allowed */
	struct judge_mismatch *mismatches;             /* first eight are shown; owned */
	size_t mismatch_count;
	bool has_map;
	float map[JUDGE_MAP][JUDGE_MAP]; /* share of wrong elements per tile of the output, 0…1, row-major; negative: it has none */
	struct judge_config *configs;    /* what was tried, in order; owned */
	size_t config_count;
	bool right;   /* JUDGE_WRONG, but the outputs are right: one of the user's validators refused it; the summary says why */
	char **hints; /* sentences from the validator ("rows ≥ n were written"); owned */
	size_t hint_count;
};

#define JUDGE_VERDICT_INIT                                                                                                         \
	{                                                                                                                          \
		.result = JUDGE_PASS                                                                                               \
	}
void judge_verdict_fini(struct judge_verdict *v);
/* Append to a verdict; texts are copied; lists end silently at JUDGE_LIST_MAX. */
void judge_verdict_error(struct judge_verdict *v, enum region region, unsigned line, const char *text);
void judge_verdict_mismatch(struct judge_verdict *v, const char *output, int64_t row, int64_t column, double got, double want);
void judge_verdict_config(struct judge_verdict *v, const char *params, bool passed, const char *why);
void judge_verdict_hint(struct judge_verdict *v, const char *text);
/* "pass", "compile", "wrong", "crash", "narrow". Static storage. */
const char *judge_result_name(enum judge_result r);

/* Both return 0 with *ret_verdict filled whatever the verdict is (judge_verdict_fini), negative only when nothing
 * could be judged: no such device, cancelled, disk full. They may block. */
struct judge {
	void *arg;
	/* Host code runs and device code compiles, for a few sampled execution parameters. */
	int (*compile)(void *arg, const struct context *ctx, struct judge_verdict *ret_verdict, struct err *e);
	/* The above, and outputs equal the reference's. `parent` is the context that the transformation started from. */
	int (*validate)(void *arg, const struct context *parent, const struct context *ctx, struct judge_verdict *ret_verdict,
			struct err *e);
};

#endif
