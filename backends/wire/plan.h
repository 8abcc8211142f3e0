/* plan: what a context's host code asks for under one set of execution parameters, as data. core/context/host records
 * it, the wire carries it, backends check it against the compiled kernels and replay it. A plan holds no pointer,
 * stream, timer or device address: what cannot be named cannot be abused. */
#ifndef PEAKD_BACKENDS_WIRE_PLAN_H
#define PEAKD_BACKENDS_WIRE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/dtype.h"
#include "backends/wire/plan_buffer.h"
#include "backends/wire/wire_table.h"
#include "base/buf.h"
#include "base/err.h"

enum plan_arg_kind { PLAN_ARG_BUFFER, PLAN_ARG_SCALAR, PLAN_ARG_MAP };

struct plan_arg {
	char *name; /* for bindings by name (HLSL); "" when it has none */
	enum plan_arg_kind kind;
	unsigned index;  /* of the buffer or tensor map */
	enum dtype type; /* scalar: its type */
	int64_t i;       /* scalar of an integer type */
	double f;        /* scalar of a floating type */
};

struct plan_launch {
	char *kernel;               /* entry point in the device code */
	uint32_t grid[3], block[3]; /* ≥ 1 each; grid in blocks */
	uint32_t cluster[3];        /* {1,1,1} when not a cluster launch */
	uint32_t shared;            /* dynamic shared memory, bytes */
	bool cooperative;
	struct plan_arg *args;
	size_t arg_count;
};

struct plan_memset {
	unsigned buffer;
	uint64_t offset, bytes;
	uint8_t value;
};
struct plan_copy {
	unsigned dst, src;
	uint64_t dst_offset, src_offset, bytes;
};

/* The vendor library's matrix product c = a·b of row-major matrices: a context's library baseline, which host code
 * cannot ask for. c is m × n; a is m × k, or k × m when a_transposed; b is k × n, or n × k when b_transposed. Leading
 * dimensions are the buffers'. */
struct plan_gemm {
	unsigned a, b, c; /* buffers of rank 2; a and b of one type */
	bool a_transposed, b_transposed;
	bool tf32; /* f32 operands may be rounded to TF32; else no narrower arithmetic than the types */
};

enum plan_op_kind { PLAN_OP_LAUNCH, PLAN_OP_MEMSET, PLAN_OP_COPY, PLAN_OP_GEMM };

/* One timed operation. They run in order, each after the previous one has finished. */
struct plan_op {
	enum plan_op_kind kind;
	union {
		struct plan_launch launch;
		struct plan_memset memset;
		struct plan_copy copy;
		struct plan_gemm gemm;
	};
};

/* A CUDA tensor map (cuTensorMapEncodeTiled's arguments), passed by value as a __grid_constant__ parameter. */
struct plan_map {
	unsigned buffer;
	enum dtype type;
	unsigned rank;                   /* 1…5 */
	uint64_t dims[PLAN_RANK_MAX];    /* innermost first, elements */
	uint64_t strides[PLAN_RANK_MAX]; /* bytes, of dimensions 1…rank-1 (index 0 unused) */
	uint32_t box[PLAN_RANK_MAX];     /* innermost first, elements */
	unsigned swizzle;                /* bytes: 0, 32, 64 or 128 */
	bool fill_nan;                   /* out-of-bounds elements read as NaN instead of zero */
};

struct plan {
	struct plan_buffer *buffers;
	size_t buffer_count;
	struct plan_map *maps;
	size_t map_count;
	struct plan_op *ops;
	size_t op_count;
};

/* For the wire. A plan that was read passes plan_check. plan_op_tables: by enum plan_op_kind. */
extern const struct wire_table plan_table, plan_op_tables[];

struct plan *plan_new(void);
void plan_free(struct plan *plan);
/* Consistency, whatever the device: indices in range, sizes positive and without overflow, memset and copy inside their
 * buffers, at least one launch or gemm. Tensor maps must keep the hardware's rules (CUDA driver API,
 * cuTensorMapEncodeTiled). -ERR_INPUT. */
int plan_check(const struct plan *plan, struct err *e);
/* What a compiler sees of a plan that launches kernels: names, types, roles, blocks, shared memory.
 * core/workers/variant.c sends it instead of the plan, so that one answer serves all input sizes whose launches look
 * alike. Extents, values and other operations are left out. Grids, too, unless a check could refuse them: beyond what
 * every device allows, in a cluster launch, or with_grids, which is for device code that may ask for clusters itself.
 * Passes plan_check. plan_free. */
struct plan *plan_form(const struct plan *plan, bool with_grids);
/* True for a plan whose operations all belong to the vendor's library: it has no binary. */
bool plan_is_library(const struct plan *plan);
/* Checks the buffers of a gemm: that they exist, their roles, types and extents. plan_check does it for operations.
 * -ERR_INPUT. */
int plan_check_gemm(const struct plan *plan, const struct plan_gemm *g, struct err *e);
/* Whether such values differ from the declared ones at all in this buffer, by its type, fill and domain. */
bool plan_values_apply(const struct plan_buffer *b, enum plan_values values);
/* The same of a buffer that may be no input. */
static inline bool plan_takes(const struct plan_buffer *b, enum plan_values values)
{
	return plan_is_input(b) && plan_values_apply(b, values);
}
/* Whether PLAN_SPECIAL puts NaN into an input. */
bool plan_takes_nan(const struct plan *plan);
/* The largest unit roundoff of its floating arrays; 0: there are none. */
double plan_roundoff(const struct plan *plan);
/* The same of arrays that may be stored and read again: those that begin with values, and all but inputs that
 * several launches take, if only to write. */
double plan_stored_roundoff(const struct plan *plan);
/* Elements of the shape (product of dims). */
uint64_t plan_buffer_logical(const struct plan_buffer *b);
/* Bytes of all buffers. */
static inline uint64_t plan_bytes(const struct plan *plan)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < plan->buffer_count; i++)
		bytes += plan->buffers[i].bytes;
	return bytes;
}
/* Whether all of it is one row. */
static inline bool plan_is_one_row(const struct plan_buffer *b)
{
	return plan_buffer_logical(b) == (uint64_t)b->dims[b->rank - 1];
}

#endif
