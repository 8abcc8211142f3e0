/* module: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { TABLES_MAX = 64 << 10 }; /* bytes of initialised memory: printf's texts and tables of constants */

void gpu_module_fini(struct gpu_module *module)
{
	for (size_t i = 0; i < module->count; i++) {
		free(module->kernels[i].name);
		free(module->kernels[i].params);
	}
	free(module->kernels);
	free(module->kept);
	*module = (struct gpu_module){ .kernels = NULL };
}

const struct gpu_kernel *gpu_module_find(const struct gpu_module *module, const char *name)
{
	for (size_t i = 0; i < module->count; i++)
		if (strcmp(module->kernels[i].name, name) == 0)
			return &module->kernels[i];
	return NULL;
}

int gpu_module_missing(const struct gpu_module *module, const char *name, struct err *e)
{
	struct buf list = BUF_INIT;
	char *mangled = mem_fmt("%zu%s", strlen(name), name); /* Itanium C++ ABI: a name follows its length */
	bool forgotten = false;
	int rc;

	for (size_t i = 0; i < module->count; i++) {
		const char *other = module->kernels[i].name;
		buf_addf(&list, "%s%s", i ? ", " : "", other);
		if (strncmp(other, "_Z", 2) == 0 && strstr(other, mangled))
			forgotten = true;
	}
	if (forgotten)
		rc = err_set(e, ERR_INPUT,
			     "the device code's kernel \"%s\" has a C++ name (%s): declare it extern \"C\" __global__", name,
			     buf_text(&list));
	else if (module->count)
		rc = err_set(e, ERR_INPUT, "the host code launches kernel \"%s\", which the device code does not have; it has: %s",
			     name, buf_text(&list));
	else
		rc = err_set(e, ERR_INPUT,
			     "the host code launches kernel \"%s\", but the device code has no kernel: write extern \"C\" "
			     "__global__ void %s(…)",
			     name, name);
	free(mangled);
	buf_fini(&list);
	return rc;
}

int gpu_module_stateless(const struct gpu_module *module, struct err *e)
{
	if (module->allocates)
		return err_set(e, ERR_INPUT,
			       "the device code allocates memory (malloc, free, new or delete), which outlives an execution; take "
			       "scratch from "
			       "alloc() in host code");
	if (module->state == 0 && module->tables <= TABLES_MAX)
		return 0;
	if (module->kept)
		return err_set(e, ERR_INPUT,
			       "the device code may write to its variable %.100s (%llu bytes), and __device__ and static variables "
			       "outlive an execution. Take scratch from alloc() in host code; read a table by its own name, or "
			       "declare it __constant__",
			       module->kept, (unsigned long long)module->state);
	return err_set(e, ERR_INPUT,
		       "the device code has %llu bytes of __device__ or static variables, which outlive an execution. Take "
		       "scratch from alloc() in host code, constants from __constant__ or table()",
		       (unsigned long long)(module->state ? module->state : module->tables));
}
