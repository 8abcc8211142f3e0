/* drafting: what the files of draft share: the file's tokens, what they say, and the draft while it is made. */
#ifndef PEAKD_CORE_PROBLEMS_DRAFTING_H
#define PEAKD_CORE_PROBLEMS_DRAFTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/context/value.h"
#include "core/problems/draft.h"

/* --- tokens of C, CUDA and HIP source (draft_source.c): comments are left out, nothing is understood ------------------------- */

enum token_kind {
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_TEXT,      /* string or character literal, quotes included */
	TOKEN_SIGN,      /* punctuation: one character, or one of <<< >>> << >> <= >= == != && || += -= *= /= %= -> :: ++ -- */
	TOKEN_DIRECTIVE, /* a whole preprocessor line, continuation lines included */
};

struct token {
	enum token_kind kind;
	const char *at; /* into the source; borrowed */
	size_t len;
};

struct tokens {
	struct token *at;
	size_t count;
};

/* `source` is borrowed for the list's life. Any text is accepted. */
void draft_tokens_read(const char *source, struct tokens *ret_tokens);
void draft_tokens_fini(struct tokens *t);
bool draft_token_is(const struct token *t, const char *text);
/* The token's text; free(). */
char *draft_token_text(const struct token *t);
/* The place behind the bracket that closes the one at `open` ((, [, { or <<<); `end` when none does. */
size_t draft_tokens_close(const struct tokens *t, size_t open, size_t end);
/* The first `sign` in [from, to) outside of brackets; `to` when there is none. */
size_t draft_tokens_find(const struct tokens *t, size_t from, size_t to, const char *sign);

/* --- what a file says (draft_source.c): declarations and a few statements, read by their form; what cannot be read is missing --
 */

/* A range of tokens [from, to). */
struct source_range {
	size_t from, to;
};

struct source_param {
	char *name;
	int type;        /* enum dtype; -1: none that contexts know, see type_text */
	char *type_text; /* as written, without const and __restrict__ */
	bool pointer, constant;
	bool read, written; /* elements, as the body shows */
	bool handed_on;     /* used as a whole: to a function, or under another name; what happens to it there is not looked at */
};

struct source_kernel {
	char *name;
	struct source_param *params;
	size_t param_count;
	struct source_range body;
};

struct source_launch {
	size_t kernel;                                 /* index */
	struct source_range grid, block, shared, args; /* empty when not given */
};

/* `int n = 1024;`, `#define N 1024`, `dim3 grid(a, b);`, `size_t bytes = n * n * sizeof(float);` */
struct source_variable {
	char *name;
	struct source_range value; /* an expression; of dim3 the list of its arguments */
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
	struct tokens defines; /* values of #define lines, apart: ranges of such variables are in here */
	struct source_kernel *kernels;
	size_t kernel_count;
	struct source_launch *launches;
	size_t launch_count;
	struct source_variable *variables;
	size_t variable_count, define_count; /* the first define_count are #define lines */
	struct source_buffer *buffers;
	size_t buffer_count;
	struct buf device; /* the file without what runs on the host; kernels as extern "C" */
};

/* -ERR_INPUT when there is no kernel, or one that is a template. */
int draft_source_read(const char *text, struct source *ret_source, struct err *e);
void draft_source_fini(struct source *s);
/* The line of the file that a token is on, from 1. */
unsigned draft_source_line(const struct source *s, size_t token);
/* NULL when there is none of that name, or several with different values. */
const struct source_variable *draft_source_variable(const struct source *s, const char *name);
/* NULL when there is none of that name. */
const struct source_buffer *draft_source_buffer(const struct source *s, const char *name);
/* True for a token of a kernel's body. */
bool draft_source_in_kernel(const struct source *s, size_t token);
/* The enum dtype that a type of C, CUDA or HIP is; -1: none that contexts know. */
int draft_source_type(const char *text);
/* The tokens that a variable's value is in. */
const struct tokens *draft_source_tokens(const struct source *s, const struct source_variable *v);

/* --- the file's C expressions in the words of a context (draft_expression.c) -------------------------------------------------- */

/* What a name of the host's code is called in the context: "d_A" is "A", "block.x" is "BX". */
struct expression_meaning {
	char *host, *context;
};
struct expression_names {
	struct expression_meaning *at; /* texts owned */
	size_t count;
};

void draft_expression_names_fini(struct expression_names *n);
/* The first meaning of a name stays. */
void draft_expression_name(struct expression_names *n, const char *host, const char *context);
/* NULL when it has none. */
const char *draft_expression_named(const struct expression_names *n, const char *host);
/* Appends the range as Lua: names by their meaning, the host's variables by their values, C's division of integers as //. False
 * when something in it has no meaning in a context; `out` then has what came before, and *ret_unknown (may be NULL; free()) the
 * word. */
bool draft_expression_lua(const struct source *s, const struct tokens *t, struct source_range range,
			  const struct expression_names *names, struct buf *out, char **ret_unknown);
/* The value of a range that is a constant; false when it is none. `numbers`: what names stand for, as numbers; NULL: the file's own
 * values alone. */
bool draft_expression_value(const struct source *s, const struct tokens *t, struct source_range range,
			    const struct expression_names *numbers, struct value *ret_value);

/* --- declared lines (draft.c) ------------------------------------------------------------------------------------------------- */

enum declared_kind { DECLARED_ENTRY, DECLARED_LOCAL, DECLARED_LAUNCH };

struct declared_line {
	enum declared_kind kind;
	char *name; /* "" of a launch */
	char *line; /* without blanks around it */
	bool used;
};

struct declared {
	struct declared_line *at;
	size_t count;
};

/* -ERR_INPUT for a line of no form, or of more than one line. A later line replaces an earlier one of the same kind and name. */
int draft_declared_read(const char *const *lines, size_t count, struct declared *ret_declared, struct err *e);
void draft_declared_fini(struct declared *d);
/* The line of that kind and name, which counts as used from now on; NULL when there is none. */
const char *draft_declared_take(struct declared *d, enum declared_kind kind, const char *name);
/* -ERR_INPUT names the first line that nothing used. */
int draft_declared_all_used(const struct declared *d, struct err *e);

/* --- the draft while it is made ----------------------------------------------------------------------------------------------- */

/* One entry of inputs:, or scratch. */
struct drafting_entry {
	char *name, *host; /* in the context; in the host's code ("" for a number in the launch) */
	bool array, read, written, scratch, declared;
	bool unsure; /* handed on by a kernel that could write it: its role is not to be seen */
	int type;
	char *type_text;           /* as the file has it */
	struct source_range value; /* of a scalar: its argument */
	char *line;                /* as it will stand below inputs:, or in host code */
};

/* One entry of tune:. */
struct drafting_tune {
	char *name;
	bool known; /* the file says its value */
	int64_t value;
	char *line; /* as it will stand; NULL while it is asked for */
};

struct drafting {
	struct source source;
	const char *backend;
	struct declared declared;
	struct expression_names names;
	struct drafting_entry *entries;
	size_t entry_count;
	struct drafting_tune *tune;
	size_t tune_count;
	struct buf locals, host; /* host code: what launches need, and the launches */
	char **dropped;          /* macros that became tuning parameters */
	size_t dropped_count;
	struct draft *out;
};

void draft_note(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void draft_question(struct drafting *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NULL when there is none of that name. */
struct drafting_entry *draft_entry(struct drafting *d, const char *name);
struct drafting_tune *draft_tune(struct drafting *d, const char *name);
/* The value that the file itself gives to a scalar; false when it gives none. */
bool draft_own_value(const struct drafting *d, const struct drafting_entry *x, struct value *ret_value);

/* draft_inputs.c: what stands under inputs:, and scratch memory. Sizes come from the host's variables and allocations, roles from
 * what the kernels do. Before the launches are read, names that only the host's code has ("rows: int = {1024}") become inputs. */
void draft_inputs_name(struct drafting *d);
/* After the launches: every entry's line, or a question. */
void draft_inputs_write(struct drafting *d);
/* The bytes of an allocation, looked up when a variable holds them (`size_t bytes = …`), and the tokens that they are in. */
struct source_range draft_inputs_bytes(const struct source *s, const struct source_buffer *b, const struct tokens **ret_tokens);

/* draft_launches.c: arguments become inputs, blocks become tuning parameters, grids become expressions of both. The parts of a grid
 * or block: the arguments of a dim3, else the one expression. Returns their number, and the tokens that they are in. */
size_t draft_launches_parts(const struct source *s, struct source_range range, const struct tokens **ret_tokens,
			    struct source_range parts[3]);
void draft_launches_write(struct drafting *d);

/* draft_original.c: runs the host code of a draft without questions at the file's own values, and compares its launches with the
 * file's: kernels, grids, blocks, shared memory, scalars, arrays and their bytes. Needs neither compiler nor device. A difference
 * is a question; what was compared, and what could not be, is a note. */
void draft_original_check(struct drafting *d);

/* draft_losses.c: notes with line numbers for what the draft cannot express: loops and conditions around launches, memsets, copies
 * to symbols, other ways to launch, library calls, kernels that are not launched; and for atomics, whose results depend on their
 * order. */
void draft_losses(struct drafting *d);

#endif
