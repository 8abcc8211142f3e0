/* A stand-in for AMD's libraries, built by test_library.c with the layouts and names of one ROCm: LIB_RUNTIME,
 * LIB_RTC and LIB_COMGR say which of the libraries it is, R0600 whether the new property structure is there, OLD
 * whether the old one is. */
#include <stdlib.h>
#include <string.h>

#ifdef LIB_RUNTIME
int hipInit(unsigned flags) { (void)flags; return 0; }
int hipRuntimeGetVersion(int *version) { *version = VERSION; return 0; }
const char *hipGetErrorName(int r) { (void)r; return "STUB"; }
const char *hipGetErrorString(int r) { (void)r; return "of the stub"; }
int hipGetDeviceCount(int *count) { *count = DEVICES; return DEVICES ? 0 : 100; }
int hipSetDevice(int device) { return device ? 101 : 0; }
int hipDeviceGetName(char *name, int len, int device) { (void)len; (void)device; strcpy(name, "Stub MI"); return 0; }
int hipDeviceGetPCIBusId(char *name, int len, int device) { (void)len; (void)device; strcpy(name, "0000:c1:00.0"); return 0; }
int hipDeviceTotalMem(size_t *bytes, int device) { (void)device; *bytes = (size_t)64 << 30; return 0; }
int hipMemGetInfo(size_t *left, size_t *total) { *left = *total = 1; return 0; }

int hipDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 5                       ? 1700000
		 : attribute == 10                    ? 1
		 : attribute == 19                    ? 8 << 20
		 : attribute == 56                    ? 1024
		 : attribute == 59                    ? 4096
		 : attribute == 60                    ? 1600000
		 : attribute == 63                    ? 110
		 : attribute == 71                    ? 65536
		 : attribute == 74                    ? 65536
		 : attribute == 87                    ? 64
		 : attribute >= 26 && attribute <= 28 ? 1024
		 : attribute >= 29 && attribute <= 31 ? 2147483647
						      : 0;
	return 0;
}

/* Every byte that is not asked for is garbage, as a reader of the wrong offset would find. */
#ifdef R0600
int hipGetDevicePropertiesR0600(void *p, int device)
{
	(void)device;
	memset(p, 'x', 1472);
	strcpy((char *)p + 1160, "gfx942:sramecc+:xnack-");
	return 0;
}
#endif
#ifdef OLD
int hipGetDeviceProperties(void *p, int device)
{
	(void)device;
	memset(p, 'y', 792);
	strcpy((char *)p + 396, "gfx90a:sramecc+:xnack-");
	return 0;
}
#endif

int hipMalloc(void **p, size_t n) { *p = malloc(n); return *p ? 0 : 2; }
int hipFree(void *p) { free(p); return 0; }
int hipMemcpyHtoDAsync(void *to, void *from, size_t n, void *s) { (void)s; memcpy(to, from, n); return 0; }
int hipMemcpyDtoHAsync(void *to, void *from, size_t n, void *s) { (void)s; memcpy(to, from, n); return 0; }
int hipMemcpyDtoDAsync(void *to, void *from, size_t n, void *s) { (void)s; memcpy(to, from, n); return 0; }
int hipMemsetD8Async(void *to, unsigned char v, size_t n, void *s) { (void)s; memset(to, v, n); return 0; }
int hipModuleLoadData(void **m, const void *image) { (void)image; *m = &hipInit; return 0; }
int hipModuleUnload(void *m) { (void)m; return 0; }
int hipModuleGetFunction(void **f, void *m, const char *name) { (void)m; (void)name; *f = &hipInit; return 0; }
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int t, size_t s)
{
	(void)f;
	(void)t;
	(void)s;
	*n = 1;
	return 0;
}
int hipStreamCreateWithFlags(void **s, unsigned flags) { (void)flags; *s = &hipInit; return 0; }
int hipStreamDestroy(void *s) { (void)s; return 0; }
int hipStreamSynchronize(void *s) { (void)s; return 0; }
int hipEventCreateWithFlags(void **ev, unsigned flags) { (void)flags; *ev = &hipInit; return 0; }
int hipEventDestroy(void *ev) { (void)ev; return 0; }
int hipEventRecord(void *ev, void *s) { (void)ev; (void)s; return 0; }
int hipStreamBeginCapture(void *s, int mode) { (void)s; (void)mode; return 0; }
int hipStreamEndCapture(void *s, void **g) { (void)s; *g = &hipInit; return 0; }
int hipGraphDestroy(void *g) { (void)g; return 0; }
int hipGraphInstantiateWithFlags(void **x, void *g, unsigned long long flags) { (void)g; (void)flags; *x = &hipInit; return 0; }
/* The time tells how the plan was run: 2 ms where graphs were launched, else 1 ms. */
static int graphs;
int hipGraphLaunch(void *x, void *s) { (void)x; (void)s; graphs = 1; return 0; }
int hipEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; *ms = graphs ? 2 : 1; return 0; }
int hipGraphExecDestroy(void *x) { (void)x; return 0; }

/* C of "kern" (its first parameter) gets its second parameter, so that a whole run can be seen. */
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
			  void *s, void **args, void **extra)
{
	(void)f; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)s; (void)extra;
	memcpy(*(void **)args[0], args[1], 4);
	return 0;
}
#endif

#ifdef LIB_RTC
int hiprtcVersion(int *major, int *minor) { *major = RTC_MAJOR; *minor = 1; return 0; }
int hiprtcCreateProgram(void **p, const char *s, const char *n, int c, const char **h, const char **i)
{
	(void)p;
	(void)s;
	(void)n;
	(void)c;
	(void)h;
	(void)i;
	return 1;
}
int hiprtcDestroyProgram(void **p) { (void)p; return 0; }
/* As the real one does for an architecture that it does not know. */
int hiprtcCompileProgram(void *p, int n, const char **o) { (void)p; (void)n; (void)o; abort(); }
int hiprtcGetProgramLogSize(void *p, size_t *n) { (void)p; *n = 0; return 0; }
int hiprtcGetProgramLog(void *p, char *text) { (void)p; (void)text; return 0; }
int hiprtcGetCodeSize(void *p, size_t *n) { (void)p; *n = 0; return 0; }
int hiprtcGetCode(void *p, char *b) { (void)p; (void)b; return 0; }
#endif

#ifdef LIB_COMGR
int amd_comgr_get_isa_count(size_t *n) { *n = 2; return 0; }
int amd_comgr_get_isa_name(size_t i, const char **name)
{
	*name = i ? "amdgcn-amd-amdhsa--gfx90a" : "amdgcn-amd-amdhsa--gfx942";
	return 0;
}
#endif
