/* dtype: element types and their conversions; see dtype.h. Used by contexts, plans and every backend. */
#include "backends/wire/dtype.h"

#include <string.h>

#include "backends/wire/dtype_element.h"

size_t dtype_size(enum dtype t)
{
	return dtype_layouts[t].size;
}

const char *dtype_name(enum dtype t)
{
	return dtype_layouts[t].name;
}

bool dtype_is_float(enum dtype t)
{
	return dtype_layouts[t].floating;
}

bool dtype_is_signed(enum dtype t)
{
	return dtype_layouts[t].is_signed;
}

double dtype_roundoff(enum dtype t)
{
	return dtype_layouts[t].roundoff;
}

double dtype_smallest_normal(enum dtype t)
{
	return dtype_element_normal(t);
}

int dtype_parse(const char *name)
{
	static const struct {
		const char *name;
		enum dtype type;
	} others[] = {
		{ "int", DTYPE_I32 },
		{ "float", DTYPE_F32 },
		{ "double", DTYPE_F64 },
		{ "half", DTYPE_F16 },
	};
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (strcmp(name, dtype_layouts[t].name) == 0)
			return t;
	for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
		if (strcmp(name, others[k].name) == 0)
			return others[k].type;
	return -1;
}

double dtype_load(enum dtype t, const void *element)
{
	return dtype_element_load(t, element);
}

/* The number is a constant and source and destination cannot overlap, so compilers make vectors of these loops. */
enum { MANY = 16 };

static void load_f16(const uint8_t *from, double *to)
{
	uint16_t half[MANY];
	float f[MANY];
	memcpy(half, from, sizeof half);
	for (size_t i = 0; i < MANY; i++)
		f[i] = f16_load(half[i]);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

static void load_bf16(const uint8_t *from, double *to)
{
	uint16_t half[MANY];
	uint32_t u[MANY];
	float f[MANY];
	memcpy(half, from, sizeof half);
	for (size_t i = 0; i < MANY; i++)
		u[i] = (uint32_t)half[i] << 16;
	memcpy(f, u, sizeof f);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

static void load_f32(const uint8_t *from, double *to)
{
	float f[MANY];
	memcpy(f, from, sizeof f);
	for (size_t i = 0; i < MANY; i++)
		to[i] = (double)f[i];
}

void dtype_load_all(enum dtype t, const void *elements, double *to, size_t n)
{
	void (*many)(const uint8_t *from, double *to) = t == DTYPE_F16    ? load_f16
							: t == DTYPE_BF16 ? load_bf16
							: t == DTYPE_F32  ? load_f32
									  : NULL;
	const uint8_t *from = elements;
	size_t size = dtype_layouts[t].size, i = 0;
	if (t == DTYPE_F64) {
		memcpy(to, from, n * size);
		return;
	}
	for (; many && i + MANY <= n; i += MANY)
		many(from + i * size, to + i);
	for (; i < n; i++)
		to[i] = dtype_load(t, from + i * size);
}

void dtype_store(enum dtype t, void *element, double value)
{
	dtype_element_store(t, element, value);
}

const char *dtype_hlsl_element(enum dtype t)
{
	switch (t) {
	case DTYPE_F32: return "float";
	case DTYPE_F64: return "double";
	case DTYPE_F16: return "half";
	case DTYPE_I32: return "int";
	case DTYPE_U32: return "uint";
	case DTYPE_I64:
	case DTYPE_U64: return "uint2";
	case DTYPE_I8:
	case DTYPE_I16:
	case DTYPE_U8:
	case DTYPE_U16:
	case DTYPE_BF16:
	case DTYPE_E4M3:
	case DTYPE_E5M2:
	case DTYPE_COUNT: return NULL;
	}
	return NULL;
}

const char *dtype_hlsl_scalar(enum dtype t)
{
	if (t == DTYPE_F64)
		return "double";
	if (dtype_is_float(t))
		return "float";
	return dtype_is_signed(t) ? "int" : "uint";
}
