/* spec: the front matter of a kernel context as typed data. core/context/context.c reads it; spaces, host code,
 * validators and prompts use it through context_spec(). */
#ifndef PEAKD_CORE_CONTEXT_SPEC_H
#define PEAKD_CORE_CONTEXT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/dtype.h"
#include "backends/wire/facts.h"
#include "backends/wire/judgement.h"
#include "backends/wire/plan.h"
#include "base/err.h"
#include "core/context/expr.h"
#include "core/context/params.h"

struct front_matter;

/* A scalar input, an "A.size", or a tuning parameter: something that execution parameters give a value to. */
struct spec_var {
	char *name;
	bool tuning;          /* else an input */
	enum dtype type;      /* declared type of a scalar input; I64 for "A.size"; I32 for a tuning parameter */
	size_t slot;          /* in spec->scope */
	struct expr_set *set; /* its values; may depend on variables before it */
	int line;             /* in the file */
};

/* One side of a domain. */
struct spec_bound {
	struct expr *x; /* over inputs and constants; NULL: none is declared */
	bool strict;    /* the bound itself is outside */
};

/* What an input holds (content.h). */
struct spec_content {
	enum plan_fill fill;
	struct expr *lo, *hi;          /* of random(lo, hi) and sorted(lo, hi); NULL: the type's */
	bool closed;                   /* declared so, by the word */
	struct spec_bound least, most; /* declared bounds */
};

struct spec_array {
	char *name;
	enum dtype type;
	enum plan_role role; /* PLAN_IN, PLAN_OUT or PLAN_INOUT */
	unsigned rank;
	struct expr *dims[PLAN_RANK_MAX]; /* outermost first; over inputs and constants */
	struct expr *ld;                  /* NULL: the last dim */
	struct spec_content content;      /* inputs */
	struct judgement judged;          /* outputs; `of` counts arrays, which the plan has as its first buffers in this order */
	char *indexed;                    /* the name in `indices of NAME`; else NULL */
	int line;
};

/* The inputs: section in its order: each entry is one of the two. */
struct spec_input {
	bool is_array;
	size_t index; /* into vars or arrays */
};

struct spec_const {
	char *name;
	size_t slot;
	struct value value;
};

/* One constraint of where: or requires:. */
struct spec_rule {
	char *text; /* as written */
	struct expr *expr;
	bool device; /* mentions device.* */
	bool tuning; /* mentions a tuning parameter */
	int line;
};

/* One further set of sizes from check:; inputs that it does not name keep their declared sets. */
struct spec_check {
	struct expr_set **sets; /* one per var; NULL: as declared */
	int line;
};

/* library: gemm C = A * B: positions in spec->arrays; ^T behind an operand says that it is stored transposed. */
struct spec_gemm {
	size_t a, b, c;
	bool a_transposed, b_transposed;
};

enum spec_precision { SPEC_STRICT, SPEC_TENSOR };

/* Many fields, because each thing that a front matter can declare has its own, and all are read together. */
struct spec {
	char *kernel, *backend;
	struct spec_var *vars;         /* scalar inputs and sizes in order, then tuning parameters in order */
	size_t var_count, input_count; /* all; those that are inputs */
	struct spec_array *arrays;
	size_t array_count;
	struct spec_input *inputs;
	size_t inputs_len;
	struct spec_const *constants;
	size_t constant_count;
	struct spec_rule *where, *requires;
	size_t where_count, requires_count;
	struct spec_check *checks;
	size_t check_count;
	char **options; /* compiler options, one word each */
	size_t option_count;
	enum spec_precision precision;
	char *precision_text;                   /* "strict", "tensor:f16/f32" */
	char precision_in[8], precision_acc[8]; /* "f16", "f32"; "" when strict */
	struct expr *flops, *bytes;             /* NULL when undeclared */
	struct spec_gemm *gemm;                 /* library: the vendor's equivalent; NULL when undeclared */
	struct expr_scope *scope;               /* the names that expressions see: constants, device.*, vars, loop variables */
	size_t device_slot;                     /* of the first of SPEC_DEVICE_NAMES device.* names */
};

/* Position of a variable in spec->vars; -1 when there is none. */
int spec_find(const struct spec *spec, const char *name);
/* The array of that name; NULL when there is none. */
const struct spec_array *spec_array(const struct spec *spec, const char *name);
/* Whether all floats that go in are random numbers of this type. Sums of numbers with fewer bits are often exact in one formula,
 * and not in another. */
bool spec_is_random(const struct spec *spec, enum dtype type);

/* The facts of a device that front matter and host code may ask for, as `device.NAME`: the name ("warp_size") and the
 * value of number k. */
enum { SPEC_DEVICE_NAMES = 17 };
const char *spec_device_name(size_t k);
int64_t spec_device_value(const struct facts *facts, size_t k);

/* Values for spec->scope: constants, the device's facts (without a value when facts is NULL) and `params` (may be
 * NULL). Owned by the caller. */
struct value *spec_env(const struct spec *spec, const struct facts *facts, const struct params *params);

/* How an output is judged and why, in words: "within 2 ulp (declared)", "exact (the default for i32)". Owned by the
 * caller. */
char *spec_judged_text(const struct spec *spec, const struct spec_array *output);

/* flops:, bytes: for execution parameters; NaN when undeclared or when a variable that it needs is not in `params`. */
double spec_flops(const struct spec *spec, const struct params *params);
double spec_bytes(const struct spec *spec, const struct params *params);
/* Terms of a typical sum: flops per element of all outputs together, at least 1, when flops: is declared; else the
 * largest extent of any input array (an output element that sums over one whole axis), at least 1. */
double spec_reduction(const struct spec *spec, const struct params *params);
/* Unit roundoff of the coarsest type that precision: permits: strict: the coarsest floating type among the arrays;
 * tensor: also IN and ACC ("tf32" is 2^-11). 0 when everything is an integer. */
double spec_roundoff(const struct spec *spec);
/* Unit roundoff of the arithmetic that precision: permits. strict: f32's, since narrower types only store, or f64's where it is in
 * doubles. tensor: that of ACC. */
double spec_roundoff_sums(const struct spec *spec, bool doubles);
/* All floating arrays are f64. */
bool spec_is_double(const struct spec *spec);
/* precision: permits products of narrow operands on matrix units, which truncate the sums that they keep in f32. */
bool spec_sums_truncate(const struct spec *spec);
/* Unit roundoff to which an operand of a product may be rounded that is kept in `type` (tensor: that of IN, when `type` is finer;
 * else 0), and the largest of all inputs but arrays of `except`, bit k for array k below 64. */
double spec_roundoff_operand(const struct spec *spec, enum dtype type);
double spec_roundoff_inputs(const struct spec *spec, uint64_t except);
/* The largest of the smallest normal numbers of its floating inputs, below which devices may flush to zero, and of f16 matrix units
 * alone; 0: it has none. */
double spec_flushed_inputs(const struct spec *spec);

/* requires: entries that mention the device (facts NULL: none do), and those about input sizes alone (the domain):
 * true when all of that kind hold for `params`. On false *ret_why (may be NULL; owned by the caller) names the
 * entry. */
bool spec_device_ok(const struct spec *spec, const struct facts *facts, const struct params *params, char **ret_why);
bool spec_domain_ok(const struct spec *spec, const struct params *params, char **ret_why);

/* For context.c: makes the typed form of a parsed front matter. `file` names it in messages. */
int spec_new(const char *file, const struct front_matter *front, struct spec **ret_spec, struct err *e);
void spec_free(struct spec *spec);
/* For spec_new (spec_reader.c): fills an empty specification that has a scope; after a failure it is half filled, and
 * spec_free frees it. Messages name file, line and field. */
int spec_reader_fill(const char *file, const struct front_matter *front, struct spec *spec, struct err *e);

#endif
