/* library: see gpu.h. */
#include "backends/gpu/gpu.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Where toolkits keep their libraries. */
static const char *const folders[] = { "lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu" };

struct gpu_places gpu_places_new(const char *only, const char *const *variables, const char *const *patterns)
{
	struct gpu_places p = { .list = NULL };
	glob_t found;

	if (gpu_library_setting(only)) {
		*MEM_PUSH(p.list, p.count) = mem_str(gpu_library_setting(only));
		return p;
	}
	for (; *variables; variables++)
		if (gpu_library_setting(*variables))
			*MEM_PUSH(p.list, p.count) = mem_str(gpu_library_setting(*variables));
	for (; *patterns; patterns++) {
		if (glob(*patterns, GLOB_NOCHECK, NULL, &found) != 0)
			continue;
		for (size_t i = found.gl_pathc; i-- > 0;) /* glob sorts upwards, and the newest version is wanted first */
			*MEM_PUSH(p.list, p.count) = mem_str(found.gl_pathv[i]);
		globfree(&found);
	}
	return p;
}

void gpu_places_fini(struct gpu_places *p)
{
	mem_free_texts(p->list, p->count);
}

void gpu_places_describe(const struct gpu_places *p, struct buf *out)
{
	for (size_t i = 0; i < p->count; i++)
		buf_addf(out, "%s%s", i ? ", " : out->len ? "; looked below " : "looked below ", p->list[i]);
}

const char *gpu_library_setting(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

void *gpu_library_open(const char *file, struct buf *tried)
{
	/* NODELETE: a vendor's library does not survive being unloaded. */
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!handle)
		buf_addf(tried, "%s%s", tried->len ? "; " : "", dlerror());
	return handle;
}

void *gpu_library_open_driver(const char *variable, const char *name, struct buf *tried)
{
	static const char *const below[] = { "", "/usr/lib/x86_64-linux-gnu/", "/usr/local/nvidia/lib64/", "/usr/lib/wsl/lib/" };
	const char *named = gpu_library_setting(variable);
	void *handle = named ? gpu_library_open(named, tried) : NULL;

	for (size_t i = 0; !named && !handle && i < MEM_COUNT(below); i++) {
		char file[GPU_PATH];
		snprintf(file, sizeof file, "%s%s", below[i], name);
		handle = gpu_library_open(file, tried);
	}
	return handle;
}

bool gpu_library_next(const struct gpu_places *places, const char *const *names, size_t count, size_t *io_at, char file[GPU_PATH])
{
	for (size_t all = places->count * MEM_COUNT(folders) * count; *io_at < all;) {
		size_t at = (*io_at)++, name = at % count, folder = at / count % MEM_COUNT(folders),
		       place = at / count / MEM_COUNT(folders);

		snprintf(file, GPU_PATH, "%s/%s/%s", places->list[place], folders[folder], names[name]);
		if (access(file, R_OK) == 0)
			return true;
	}
	return false;
}

void *gpu_library_search(const struct gpu_places *places, const char *const *names, size_t count, bool with_linker,
			 struct buf *tried)
{
	char file[GPU_PATH];
	void *handle = NULL;
	size_t at = 0;

	while (!handle && gpu_library_next(places, names, count, &at, file))
		handle = gpu_library_open(file, tried);
	for (size_t i = 0; with_linker && !handle && i < count; i++)
		handle = gpu_library_open(names[i], tried);
	return handle;
}

void gpu_library_path(void *function, char ret_path[GPU_PATH])
{
	Dl_info where;

	if (dladdr(function, &where) && where.dli_fname)
		snprintf(ret_path, GPU_PATH, "%s", where.dli_fname);
}

const char *gpu_library_fill(void *handle, const struct gpu_symbol *list, size_t count, void *ret)
{
	const char *missing = NULL;

	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(handle, list[i].name);
		memcpy((char *)ret + list[i].member, &function, sizeof function);
		if (!function && list[i].needed && !missing)
			missing = list[i].name;
	}
	return missing;
}
