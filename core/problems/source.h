/* source: what a CUDA or HIP file says about its kernels: their parameters, how they are launched, and the host's variables that sizes
 * come from. It reads declarations and a few statements by their form and does not execute anything: what it cannot read is simply
 * missing, and draft asks for it. */
#ifndef PEAKD_CORE_PROBLEMS_SOURCE_H
#define PEAKD_CORE_PROBLEMS_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/problems/token.h"

/* A range of tokens [from, to). */
struct source_range { size_t from, to; };

struct source_param {
	char *name;
	int type;            /* enum dtype; -1: none that contexts know, see type_text */
	char *type_text;     /* as written, without const and __restrict__ */
	bool pointer, constant;
	bool read, written;  /* elements, as the body shows */
	bool handed_on;      /* used as a whole: to a function, or under another name; what happens to it there is not looked at */
};

struct source_kernel {
	char *name;
	struct source_param *params;
	size_t param_count;
	struct source_range body;
};

struct source_launch {
	size_t kernel;                  /* index */
	struct source_range grid, block, shared, args; /* empty when not given */
};

/* `int n = 1024;`, `#define N 1024`, `dim3 grid(a, b);`, `size_t bytes = n * n * sizeof(float);` */
struct source_variable {
	char *name;
	struct source_range value;      /* an expression; of dim3 the list of its arguments */
	bool dim3;
};

/* cudaMalloc(&name, bytes) and its like. */
struct source_buffer {
	char *name;
	struct source_range bytes;
};

struct source {
	char *text;
	struct tokens tokens;
	struct tokens defines;          /* values of #define lines, apart: ranges of such variables are in here */
	struct source_kernel *kernels;
	size_t kernel_count;
	struct source_launch *launches;
	size_t launch_count;
	struct source_variable *variables;
	size_t variable_count, define_count; /* the first define_count are #define lines */
	struct source_buffer *buffers;
	size_t buffer_count;
	struct buf device;              /* the file without what runs on the host; kernels as extern "C" */
};

/* -ERR_INPUT when there is no kernel, or one that is a template. */
int source_read(const char *text, struct source *ret_source, struct err *e);
void source_fini(struct source *s);
/* NULL when there is none of that name, or several with different values. */
const struct source_variable *source_variable(const struct source *s, const char *name);
/* NULL when there is none of that name. */
const struct source_buffer *source_buffer(const struct source *s, const char *name);
/* True for a token of a kernel's body. */
bool source_in_kernel(const struct source *s, size_t token);
/* The tokens that a variable's value is in. */
const struct tokens *source_tokens(const struct source *s, const struct source_variable *v);

#endif
