/* fake_driver: a libcuda.so.1 that executes nothing and prints what an exported library asks of it; built and loaded by
 * test_export.c. Addresses that the user passed are printed as numbers, scratch and tables by name. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE = 1 << 20, SCRATCH = 2 << 20 };

int fake_loads; /* fake_user.h reads it */
static char context_of[16], *current = &context_of[7];

static const char *place(const void *at)
{
	static char text[4][32];
	static int next;
	char *to = text[next++ % 4];
	if (at == (void *)TABLE || at == (void *)SCRATCH)
		return at == (void *)TABLE ? "table" : "scratch";
	snprintf(to, 32, "%zu", (size_t)at);
	return to;
}

int cuInit(unsigned flags) { return flags != 0; }
int cuCtxGetCurrent(void **context) { *context = current; return 0; }
int cuCtxSetCurrent(void *context)
{
	current = context;
	if (context == &context_of[7])
		printf("context restored\n");
	return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	printf("context of device %d\n", device);
	*context = &context_of[device];
	return 0;
}
int cuModuleLoadData(void **module, const void *image)
{
	fake_loads++;
	printf("load %s\n", (const char *)image);
	*module = (void *)image;
	return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)name; return module == NULL; }
int cuFuncSetAttribute(void *function, int attribute, int value)
{
	printf("limit %s %d %d\n", (const char *)function, attribute, value);
	return 0;
}
int cuMemAlloc_v2(void **memory, size_t bytes) { *memory = (void *)TABLE; return bytes != 12; }
int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes)
{
	static const int wanted[] = { 2, 0, 1 };
	return to != (void *)TABLE || bytes != 12 || memcmp(from, wanted, 12) != 0;
}
int cuMemAllocAsync(void **memory, size_t bytes, void *stream)
{
	*memory = (void *)SCRATCH;
	return bytes != 1024 || stream == NULL;
}
int cuMemFreeAsync(void *memory, void *stream) { printf("free %s\n", place(memory)); return stream == NULL; }
int cuMemsetD8Async(void *to, unsigned char value, size_t bytes, void *stream)
{
	printf("set %s %d %zu\n", place(to), value, bytes);
	return stream == NULL;
}
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream)
{
	size_t base = (size_t)from / 4096 * 4096;
	printf("copy %s+0 from %zu+%zu %zu\n", place(to), base, (size_t)from - base, bytes);
	return stream == NULL;
}
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *dims, const uint64_t *strides,
			   const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill)
{
	printf("map type %d rank %u base %zu dims %zu %zu strides %zu box %u %u swizzle %d promotion %d fill %d\n", type, rank,
	       (size_t)base, (size_t)dims[0], (size_t)dims[1], (size_t)strides[0], box[0], box[1], swizzle, promotion, fill);
	memset(map, 0xab, 128);
	return steps[0] != 1 || steps[1] != 1 || interleave != 0 || (size_t)map % 128 != 0;
}

/* As CUDA's header lays them out. */
struct attribute {
	int id;
	char pad[4];
	union { char pad[64]; unsigned words[3]; } value;
};
struct config {
	unsigned gx, gy, gz, bx, by, bz, shared;
	void *stream;
	struct attribute *attributes;
	unsigned count;
};

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		   void *stream, void **arguments, void **extra)
{
	printf("plain launch %s\n", (const char *)function);
	return extra != NULL || !gx || !gy || !gz || !bx || !by || !bz || shared || stream == NULL || arguments == NULL;
}
int cuLaunchKernelEx(const struct config *c, void *function, void **arguments, void **extra)
{
	unsigned cluster[3] = { 0 }, cooperative = 0;
	for (unsigned i = 0; i < c->count; i++)
		if (c->attributes[i].id == 4)
			memcpy(cluster, c->attributes[i].value.words, sizeof cluster);
		else if (c->attributes[i].id == 2)
			cooperative = c->attributes[i].value.words[0];
	printf("launch %s grid %u %u %u block %u %u %u shared %u stream %zu cluster %u %u %u cooperative %u:",
	       (const char *)function, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, (size_t)c->stream, cluster[0],
	       cluster[1], cluster[2], cooperative);
	if (strcmp(function, "second") == 0) {
		printf(" %s\n", place(*(void **)arguments[0]));
		return extra != NULL;
	}
	printf(" %s", *(unsigned char *)arguments[0] == 0xab ? "map" : "no map");
	for (int i = 1; i < 5; i++)
		printf(" %s", place(*(void **)arguments[i]));
	printf(" %d %u\n", *(int *)arguments[5], *(unsigned short *)arguments[6]);
	return extra != NULL;
}
