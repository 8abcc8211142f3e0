/* dtype: the element types of buffers and scalars, shared by contexts, plans and backends. */
#ifndef PEAKD_BACKENDS_WIRE_DTYPE_H
#define PEAKD_BACKENDS_WIRE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
	DTYPE_I8,
	DTYPE_I16,
	DTYPE_I32,
	DTYPE_I64,
	DTYPE_U8,
	DTYPE_U16,
	DTYPE_U32,
	DTYPE_U64,
	DTYPE_F16,
	DTYPE_BF16,
	DTYPE_F32,
	DTYPE_F64,
	DTYPE_E4M3,
	DTYPE_E5M2, /* the two fp8 formats of the OCP 8-bit floating point specification */
	DTYPE_COUNT
};

size_t dtype_size(enum dtype t);      /* bytes of one element */
const char *dtype_name(enum dtype t); /* "f32", "i64", "e4m3" */
/* Accepts dtype_name's names and "int" (i32), "float", "double", "half"; -1 for anything else. */
int dtype_parse(const char *name);
bool dtype_is_float(enum dtype t);
bool dtype_is_signed(enum dtype t);
/* Unit roundoff u: half the distance from 1 to the next number (f32: 2^-24); 0 for integers. */
double dtype_roundoff(enum dtype t);
/* The smallest positive number below which devices may flush to zero; 0 for integers. */
double dtype_smallest_normal(enum dtype t);
/* One element from and to double. Floats round to nearest even and overflow to infinity (e4m3, which has none: to NaN);
 * integers saturate. 64-bit integers above 2^53 lose bits: compare those as bytes. */
double dtype_load(enum dtype t, const void *element);
/* The same as dtype_load for n consecutive elements, quickly. */
void dtype_load_all(enum dtype t, const void *elements, double *to, size_t n);
void dtype_store(enum dtype t, void *element, double value);
/* How HLSL declares a StructuredBuffer of such elements; NULL: it has no such type, and the buffer is a ByteAddressBuffer. */
const char *dtype_hlsl_element(enum dtype t);
/* How HLSL declares a scalar argument: nothing narrower than 32 bits is passed. */
const char *dtype_hlsl_scalar(enum dtype t);

#endif
