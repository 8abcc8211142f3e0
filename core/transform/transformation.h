/* transformation: a natural transformation as data, parsed from its Markdown file (format: docs/transformations.md)
 * or made of a sentence. People write these files; library.h finds them, transform.h applies them. Immutable once
 * parsed. */
#ifndef PEAKD_CORE_TRANSFORM_TRANSFORMATION_H
#define PEAKD_CORE_TRANSFORM_TRANSFORMATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/hash.h"
#include "core/context/context.h"

/* What must hold after a pass. */
enum transformation_expect { TRANSFORMATION_NONE, TRANSFORMATION_COMPILES, TRANSFORMATION_VALID };

/* Code that is inserted without a model, for one backend. */
struct transformation_insert {
	char *backend; /* "cuda"; "" for every backend */
	char *code;    /* ends in a newline */
};

/* One region of one pass: at most one model call. */
struct transformation_step {
	enum region region;
	char *text;                            /* instructions; "" when the step only inserts code */
	struct transformation_insert *inserts; /* put into the region before the model is asked: macros last, else first */
	size_t insert_count;
};

struct transformation_pass {
	char *title;
	char *text; /* said before every step of the pass; may be "" */
	enum transformation_expect expect;
	bool may_drop_kernels; /* `kernels: may change` */
	bool may_keep;         /* `unchanged: allowed`: an answer equal to the region is fine */
	char **adds;           /* names of parameters that enter the context before this pass's first step */
	size_t add_count;
	struct transformation_step steps[REGION_COUNT];
	size_t step_count; /* 1…3 */
};

/* A tuning parameter that the transformation adds, with its values in the context's own language. */
struct transformation_param {
	char *name, *values;
};

/* 21 fields: each thing that a file can declare has its own, and lists have counts. */
struct transformation {
	char *name;      /* [a-z0-9-]+; of free text: "text-" and 12 digits of its hash */
	char *summary;   /* one line */
	char **backends; /* empty: every backend */
	size_t backend_count;
	char **after; /* names of transformations that must have been applied before */
	size_t after_count;
	char **fits; /* conditions on context and device (fits.h): where one fails, it is neither offered nor applied */
	size_t fits_count;
	char **requires; /* for the context's `requires:`, on inputs or device.*: "n % 8 == 0" */
	size_t requires_count;
	struct transformation_param *params;
	size_t param_count;
	char **where; /* constraints that are added with the parameters, in the context's own language */
	size_t where_count;
	char **drops; /* tuning parameters that are removed before pass 1 */
	size_t drop_count;
	char *intro; /* text before the first pass: said with every step */
	struct transformation_pass *passes;
	size_t pass_count;
	char *source;     /* the file's text */
	struct hash hash; /* of source */
};

/* Reads a file's text; `where` names it in errors ("transforms/refactor.md"). Errors are ERR_INPUT with a line
 * number. */
int transformation_parse(const char *text, const char *where, struct transformation **ret_t, struct err *e);
/* One pass of one device step, expect valid, around a sentence. -ERR_INPUT when the text is empty or over 16 KiB. */
int transformation_of_text(const char *text, struct transformation **ret_t, struct err *e);
/* A sentence, which a model may answer with the host region beside the device region, or with a plan (transformation_of_plan). */
bool transformation_is_sentence(const struct transformation *t);
/* The plan that a model wrote for a sentence: a transformation's file without a name; it is called "plan-" and 12 digits of its
 * hash, and keeps the sentence in a comment. -ERR_INPUT when it cannot be read, or asks for what only a person may: excluded input
 * sizes. */
int transformation_of_plan(const char *plan, const struct transformation *sentence, struct transformation **ret_t, struct err *e);
void transformation_free(struct transformation *t);

/* Steps that need a model, over all passes, on a backend. */
size_t transformation_calls(const struct transformation *t, const char *backend);
/* The code that a step inserts on a backend; NULL when none. Borrowed. */
const char *transformation_insert_for(const struct transformation_step *step, const char *backend);
/* The text with `#### BACKEND` sections of other backends left out. Owned by the caller. */
char *transformation_text_for(const char *text, const char *backend);

/* Whether it may be applied to a context of this backend to which the named transformations were applied. One message
 * that names what is missing and what to do; -ERR_INPUT. Conditions on the device are checked in the context
 * (spec_device_ok); fits_check asks more. */
int transformation_check(const struct transformation *t, const char *backend, const char *const *applied, size_t applied_count,
			 struct err *e);

#endif
