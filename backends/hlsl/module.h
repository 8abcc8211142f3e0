/* module: the HLSL backend's binary: one SPIR-V module per entry point, by name. Written by compile.c, read by
 * run.c. */
#ifndef PEAKD_BACKENDS_HLSL_MODULE_H
#define PEAKD_BACKENDS_HLSL_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct module_kernel {
	char *name;        /* entry point */
	uint32_t *words;   /* SPIR-V */
	size_t count;
};

struct module {
	struct module_kernel *kernels;
	size_t count;
};

void hlsl_module_encode(const struct module *m, struct buf *out);
/* -ERR_INPUT when the bytes are no binary of this backend and version. */
int hlsl_module_decode(const void *bytes, size_t len, struct module *ret_module, struct err *e);
void hlsl_module_fini(struct module *m);
/* NULL when there is none of that name. */
const struct module_kernel *hlsl_module_find(const struct module *m, const char *name);

#endif
