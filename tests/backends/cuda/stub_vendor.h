/* Stand-ins for cuBLASLt (LIB_BLAS), NVML (LIB_NVML) and CUPTI (LIB_CUPTI), built by test_gemm.c, test_nvml.c and test_counters.c
 * with the published names and layouts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LIB_BLAS
struct desc { int compute, scale, transposed[2]; };
struct layout { int type; uint64_t rows, columns; int64_t ld; };
struct result { uint64_t algo[8]; size_t workspace; int state; float waves; int reserved[4]; };
/* What was asked for last; the test looks here. */
int stub_last, stub_compute, stub_alive, stub_calls[8];
size_t stub_workspace;
uint32_t stub_schemes;

int cublasLtCreate(void **h) { *h = malloc(1); stub_alive++; return 0; }
int cublasLtDestroy(void *h) { free(h); stub_alive--; return 0; }
int cublasLtMatmulDescCreate(struct desc **d, int compute, int scale)
{
	*d = calloc(1, sizeof **d);
	(*d)->compute = stub_compute = compute;
	(*d)->scale = scale;
	stub_alive++;
	return 0;
}
int cublasLtMatmulDescDestroy(struct desc *d) { free(d); stub_alive--; return 0; }
int cublasLtMatmulDescSetAttribute(struct desc *d, int a, const void *v, size_t n)
{
	if (a < 3 || a > 4 || n != 4)
		return 7;
	memcpy(&d->transposed[a - 3], v, 4);
	return 0;
}
int cublasLtMatrixLayoutCreate(struct layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
	*l = malloc(sizeof **l);
	**l = (struct layout){ type, rows, columns, ld };
	stub_alive++;
	return 0;
}
int cublasLtMatrixLayoutDestroy(struct layout *l) { free(l); stub_alive--; return 0; }
int cublasLtMatmulPreferenceCreate(void **p) { *p = malloc(1); stub_alive++; return 0; }
int cublasLtMatmulPreferenceDestroy(void *p) { free(p); stub_alive--; return 0; }
int cublasLtMatmulPreferenceSetAttribute(void *p, int a, const void *v, size_t n)
{
	(void)p;
	if (a == 1 && n == sizeof stub_workspace)
		memcpy(&stub_workspace, v, n);
	else if (a == 3 && n == sizeof stub_schemes)
		memcpy(&stub_schemes, v, n);
	else
		return 7;
	return 0;
}
/* Five algorithms: the second is marked unusable, the fourth refuses when it is called. */
int cublasLtMatmulAlgoGetHeuristic(void *h, struct desc *d, struct layout *a, struct layout *b, struct layout *c, struct layout *o,
                                   void *p, int wanted, struct result *list, int *count)
{
	(void)h; (void)d; (void)a; (void)b; (void)c; (void)o; (void)p;
	*count = wanted < 5 ? wanted : 5;
	for (int i = 0; i < *count; i++) {
		memset(&list[i], 0, sizeof list[i]);
		list[i].algo[0] = (uint64_t)i;
		list[i].state = i == 1 ? 15 : 0;
	}
	return 0;
}
/* In columns, floats or doubles. */
static double get(const struct layout *l, const void *m, uint64_t row, uint64_t column, int transposed)
{
	size_t at = transposed ? (size_t)(column + row * (uint64_t)l->ld) : (size_t)(row + column * (uint64_t)l->ld);
	return l->type == 1 ? ((const double *)m)[at] : (double)((const float *)m)[at];
}
int cublasLtMatmul(void *h, struct desc *d, const void *alpha, const void *a, struct layout *la, const void *b, struct layout *lb,
                   const void *beta, const void *c, struct layout *lc, void *o, struct layout *lo, const uint64_t *algo, void *w,
                   size_t n, void *stream)
{
	(void)h; (void)alpha; (void)beta; (void)c; (void)lc; (void)w; (void)n; (void)stream;
	stub_last = (int)algo[0];
	stub_calls[algo[0]]++;
	if (algo[0] == 3)
		return 15;
	uint64_t k = d->transposed[0] ? la->rows : la->columns;
	for (uint64_t row = 0; row < lo->rows; row++)
		for (uint64_t column = 0; column < lo->columns; column++) {
			double sum = 0;
			for (uint64_t i = 0; i < k; i++)
				sum += get(la, a, row, i, d->transposed[0]) * get(lb, b, i, column, d->transposed[1]);
			if (lo->type == 1)
				((double *)o)[row + column * (uint64_t)lo->ld] = sum;
			else
				((float *)o)[row + column * (uint64_t)lo->ld] = (float)sum;
		}
	return 0;
}
#endif

#ifdef LIB_NVML
struct sample { unsigned pid; unsigned long long time; unsigned core, memory, encoder, decoder; };
struct process { unsigned pid; unsigned long long memory; unsigned instance, compute_instance; };
int stub_known = 1, stub_listed = 1; /* whether the UUID is known; whether this process is in the list */
unsigned stub_load;                  /* of somebody else */

int nvmlInit_v2(void) { return 0; }
const char *nvmlErrorString(int r) { return r == 6 ? "Not Found" : "?"; }
char stub_uuid[64];
int nvmlDeviceGetHandleByUUID(const char *uuid, void **d)
{
	strncpy(stub_uuid, uuid, sizeof stub_uuid - 1);
	*d = &stub_known;
	return stub_known ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void *d, int type, unsigned *mhz) { (void)d; *mhz = type == 1 ? 1755 : 2619; return 0; }
int nvmlDeviceGetMaxClockInfo(void *d, int type, unsigned *mhz) { (void)d; (void)type; *mhz = 1980; return 0; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { (void)d; *mw = 412345; return 0; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c) { (void)d; (void)sensor; *c = 61; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *r) { (void)d; *r = 4; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *mj) { (void)d; *mj = 123456; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *list)
{
	(void)d;
	*n = 1;
	list[0] = (struct process){ .pid = stub_listed ? (unsigned)getpid() : 4242 };
	return 0;
}
int nvmlDeviceGetProcessUtilization(void *d, struct sample *list, unsigned *n, unsigned long long since)
{
	(void)d;
	*n = 3;
	list[0] = (struct sample){ .pid = (unsigned)getpid(), .time = since + 1, .core = 99 };
	list[1] = (struct sample){ .pid = 77, .time = since + 1, .core = stub_load };
	list[2] = (struct sample){ .pid = 78, .time = since - 1, .core = 100 };
	return 0;
}
#endif

#ifdef LIB_CUPTI
#include "backends/cuda/cupti.h"
/* What the test decides: the answer of each entry point, and what was done. */
int stub_range_result, stub_sampling_result, stub_passes = 3, stub_range_alive, stub_host_alive, stub_pushed, stub_wrong;
static int passes_done, ranges, metrics, fetched;
static char range_names[8][24];
static struct cupti_pcs *pc_buffer;

int cuptiGetResultString(int r, const char **text)
{
	*text = r == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
	return 0;
}
int cuptiProfilerInitialize(struct cupti_plain *p) { stub_wrong += p->size != 16; return 0; }
int cuptiProfilerDeInitialize(struct cupti_plain *p) { stub_wrong += p->size != 16; return 0; }
int cuptiDeviceGetChipName(struct cupti_chip *p) { p->name = "GH100"; return 0; }
int cuptiProfilerGetCounterAvailability(struct cupti_available *p)
{
	p->image_size = 4;
	if (p->image)
		memset(p->image, 7, 4);
	return 0;
}
int cuptiProfilerHostInitialize(struct cupti_host *p)
{
	stub_wrong += p->available[3] != 7;
	p->host = &metrics;
	metrics = 0;
	stub_host_alive++;
	return 0;
}
int cuptiProfilerHostDeinitialize(struct cupti_of *p) { stub_wrong += p->object != &metrics; stub_host_alive--; return 0; }
/* This chip has no tensor cores. */
int cuptiProfilerHostConfigAddMetrics(struct cupti_metrics *p)
{
	if (strstr(p->names[0], "tensor"))
		return 17;
	metrics++;
	return 0;
}
int cuptiProfilerHostGetConfigImageSize(struct cupti_config *p) { p->bytes = 16; return 0; }
int cuptiProfilerHostGetConfigImage(struct cupti_config *p) { memset(p->image, 1, p->bytes); return 0; }
/* The value of a metric says which range and which metric it is. */
int cuptiProfilerHostEvaluateToGpuValues(struct cupti_evaluate *p)
{
	stub_wrong += (int)p->count != metrics;
	for (size_t i = 0; i < p->count; i++)
		p->values[i] = strncmp(p->names[i], "dram__bytes_read", 16) == 0   ? 1000.0 * (double)(p->range + 1)
			       : strcmp(p->names[i], "dram__bytes_write.sum") == 0 ? (double)stub_pushed
										   : 0.0 / 0.0;
	return 0;
}
int cuptiRangeProfilerEnable(struct cupti_range_enable *p)
{
	if (stub_range_result)
		return stub_range_result;
	p->range = &ranges;
	stub_range_alive++;
	passes_done = 0;
	return 0;
}
int cuptiRangeProfilerDisable(struct cupti_of *p) { stub_wrong += p->object != &ranges; stub_range_alive--; return 0; }
int cuptiRangeProfilerStart(struct cupti_of *p) { stub_wrong += p->object != &ranges; ranges = 0; return 0; }
int cuptiRangeProfilerStop(struct cupti_range_stop *p)
{
	p->pass = (size_t)++passes_done;
	p->level = 1;
	p->whole = passes_done == stub_passes;
	return 0;
}
int cuptiRangeProfilerPushRange(struct cupti_range_push *p) { strcpy(range_names[ranges++], p->name); stub_pushed++; return 0; }
int cuptiRangeProfilerPopRange(struct cupti_of *p) { (void)p; return 0; }
int cuptiRangeProfilerDecodeData(struct cupti_range_decode *p)
{
	stub_wrong += passes_done != stub_passes;
	p->dropped = 0;
	return 0;
}
int cuptiRangeProfilerGetCounterDataSize(struct cupti_range_data_size *p)
{
	stub_wrong += (int)p->count != metrics;
	p->bytes = 32;
	return 0;
}
int cuptiRangeProfilerCounterDataImageInitialize(struct cupti_range_data *p) { memset(p->data, 2, p->bytes); return 0; }
int cuptiRangeProfilerSetConfig(struct cupti_range_config *p)
{
	stub_wrong += p->ranges != 2 || p->replay != 3 || (int)p->pass != passes_done;
	return 0;
}
int cuptiRangeProfilerGetCounterDataInfo(struct cupti_range_count *p) { p->count = (size_t)ranges; return 0; }
int cuptiRangeProfilerCounterDataGetRangeInfo(struct cupti_range_name *p) { p->name = range_names[p->range]; return 0; }
int cuptiPCSamplingEnable(struct cupti_of *p) { (void)p; return stub_sampling_result; }
int cuptiPCSamplingDisable(struct cupti_of *p) { (void)p; return 0; }
int cuptiPCSamplingStart(struct cupti_of *p) { (void)p; fetched = 0; return 0; }
int cuptiPCSamplingStop(struct cupti_of *p) { (void)p; return 0; }
int cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_config *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->at[i].attribute == 8)
			pc_buffer = p->at[i].value.pointer;
	return 0;
}
int cuptiPCSamplingGetNumStallReasons(struct cupti_pc_reasons *p) { *p->count = 3; return 0; }
int cuptiPCSamplingGetStallReasons(struct cupti_pc_names *p)
{
	static const char *const names[] = { "smsp__pcsamp_warps_issue_stalled_wait",
					     "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
					     "smsp__pcsamp_warps_issue_stalled_wait_not_issued" };
	for (size_t i = 0; i < p->count; i++) {
		p->reasons[i] = (uint32_t)(10 + i);
		strcpy(p->names[i], names[i]);
	}
	return 0;
}
/* Two records of one function, which share its name: line 3 waits, line 4 waits for memory. */
int cuptiPCSamplingGetData(struct cupti_pc_data *p)
{
	static char name[] = "first";
	p->data->count = fetched++ ? 0 : 2;
	for (size_t i = 0; i < p->data->count; i++) {
		struct cupti_pc *pc = &p->data->at[i];
		pc->offset = i;
		pc->function = name;
		pc->stall_count = 2;
		pc->stalls[0] = (struct cupti_stall){ (uint32_t)(10 + i), 100 * (uint32_t)(i + 1) };
		pc->stalls[1] = (struct cupti_stall){ 12, 50 };
	}
	return 0;
}
int cuptiGetSassToSourceCorrelation(struct cupti_line *p)
{
	p->line = 3 + (uint32_t)p->offset;
	p->file = strdup("/folder/device");
	p->folder = strdup("/folder");
	return 0;
}
#endif
