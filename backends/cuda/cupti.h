/* cupti: NVIDIA's profiling library, opened at run time by workers that read hardware counters (counters.c, stalls.c). Names,
 * numbers and layouts are those of CUPTI 13.0: docs.nvidia.com/cupti, "CUPTI Profiler Host API", "Range Profiling API", "PC
 * Sampling API". Every parameter struct begins with its own size, up to and with its last member; `priv` stays NULL. */
#ifndef PEAKD_BACKENDS_CUDA_CUPTI_H
#define PEAKD_BACKENDS_CUDA_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/gpu/api.h"
#include "base/err.h"

enum {
	CUPTI_SUCCESS = 0,
	CUPTI_OUT_OF_MEMORY = 8, /* PC sampling: the device's buffer ran full */
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_VIRTUAL_PRIVILEGES = 40,
};
#define CUPTI_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* --- the profiler's host side: metrics, and the passes that they take --------------------------------------------------------- */
struct cupti_plain { /* cuptiProfilerInitialize, cuptiProfilerDeInitialize */
	size_t size;
	void *priv;
};
struct cupti_of { /* every function whose only other parameter is an object or a context */
	size_t size;
	void *priv;
	void *object;
};
struct cupti_chip { /* cuptiDeviceGetChipName */
	size_t size;
	void *priv;
	size_t device;
	const char *name;
};
struct cupti_available { /* cuptiProfilerGetCounterAvailability */
	size_t size;
	void *priv;
	gpu_context context;
	size_t image_size;
	uint8_t *image;
};
enum { CUPTI_RANGE_PROFILER = 0 };
struct cupti_host { /* cuptiProfilerHostInitialize */
	size_t size;
	void *priv;
	int profiler;
	const char *chip;
	const uint8_t *available;
	void *host;
};
struct cupti_metrics { /* cuptiProfilerHostConfigAddMetrics */
	size_t size;
	void *priv;
	void *host;
	const char **names;
	size_t count;
};
struct cupti_config { /* cuptiProfilerHostGetConfigImageSize (up to bytes) and GetConfigImage */
	size_t size;
	void *priv;
	void *host;
	size_t bytes;
	uint8_t *image;
};
struct cupti_evaluate { /* cuptiProfilerHostEvaluateToGpuValues */
	size_t size;
	void *priv;
	void *host;
	const uint8_t *data;
	size_t data_size;
	size_t range;
	const char **names;
	size_t count;
	double *values;
};

/* --- the profiler's device side: ranges around launches --------------------------------------------------------------------- */
struct cupti_range_enable { /* cuptiRangeProfilerEnable */
	size_t size;
	void *priv;
	gpu_context context;
	void *range;
};
struct cupti_range_push { /* cuptiRangeProfilerPushRange */
	size_t size;
	void *priv;
	void *range;
	const char *name;
};
struct cupti_range_stop { /* cuptiRangeProfilerStop */
	size_t size;
	void *priv;
	void *range;
	size_t pass, level;
	uint8_t whole; /* 1: that was the last pass */
};
struct cupti_range_decode { /* cuptiRangeProfilerDecodeData */
	size_t size;
	void *priv;
	void *range;
	size_t dropped;
};
struct cupti_range_data_size { /* cuptiRangeProfilerGetCounterDataSize */
	size_t size;
	void *priv;
	void *range;
	const char **names;
	size_t count;
	size_t ranges;
	uint32_t nodes; /* >= ranges */
	size_t bytes;
};
struct cupti_range_data { /* cuptiRangeProfilerCounterDataImageInitialize */
	size_t size;
	void *priv;
	void *range;
	size_t bytes;
	uint8_t *data;
};
enum { CUPTI_USER_RANGE = 2, CUPTI_USER_REPLAY = 3 };
struct cupti_range_config { /* cuptiRangeProfilerSetConfig */
	size_t size;
	void *priv;
	void *range;
	size_t config_size;
	const uint8_t *config;
	size_t data_size;
	uint8_t *data;
	int ranges, replay;
	size_t most; /* ranges in a pass */
	uint16_t levels, least_level;
	size_t pass;
	uint16_t level;
};
struct cupti_range_count { /* cuptiRangeProfilerGetCounterDataInfo */
	size_t size;
	void *priv;
	const uint8_t *data;
	size_t data_size;
	size_t count;
};
struct cupti_range_name { /* cuptiRangeProfilerCounterDataGetRangeInfo */
	size_t size;
	void *priv;
	const uint8_t *data;
	size_t data_size;
	size_t range;
	const char *delimiter;
	const char *name;
};

/* --- PC sampling ------------------------------------------------------------------------------------------------------------ */
struct cupti_stall {
	uint32_t reason, samples;
};
struct cupti_pc {
	size_t size;
	uint64_t crc, offset;
	uint32_t function_index, pad;
	char *function; /* shared by all records of it */
	size_t stall_count;
	struct cupti_stall *stalls;
	uint32_t correlation;
};
struct cupti_pcs {
	size_t size;
	size_t room; /* of `at` */
	uint64_t samples, dropped;
	size_t count, left;
	uint64_t range;
	struct cupti_pc *at;
	uint64_t others;
	uint8_t full;
};
enum {
	CUPTI_PC_PERIOD = 1, /* its logarithm, 5 to 31 */
	CUPTI_PC_REASONS = 2,
	CUPTI_PC_MODE = 5,
	CUPTI_PC_START_STOP = 6,
	CUPTI_PC_FORMAT = 7,
	CUPTI_PC_BUFFER = 8,
};
enum { CUPTI_PC_CONTINUOUS = 1, CUPTI_PC_PARSED = 1 };
struct cupti_pc_attribute {
	int attribute, status;
	union {
		uint32_t number;
		size_t bytes;
		void *pointer;
		struct {
			size_t count;
			uint32_t *at;
		} list;
		uint64_t room[3];
	} value;
};
struct cupti_pc_config { /* cuptiPCSamplingSetConfigurationAttribute */
	size_t size;
	void *priv;
	gpu_context context;
	size_t count;
	struct cupti_pc_attribute *at;
};
struct cupti_pc_reasons { /* cuptiPCSamplingGetNumStallReasons */
	size_t size;
	void *priv;
	gpu_context context;
	size_t *count;
};
struct cupti_pc_names { /* cuptiPCSamplingGetStallReasons; names have 128 bytes each */
	size_t size;
	void *priv;
	gpu_context context;
	size_t count;
	uint32_t *reasons;
	char **names;
};
struct cupti_pc_data { /* cuptiPCSamplingGetData */
	size_t size;
	void *priv;
	gpu_context context;
	struct cupti_pcs *data;
};
struct cupti_line { /* cuptiGetSassToSourceCorrelation */
	size_t size;
	const void *binary;
	const char *function;
	size_t binary_len;
	uint32_t line;
	uint64_t offset;
	char *file, *folder; /* free() */
};

/* --- functions -------------------------------------------------------------------------------------------------------------- */
/* X(member, symbol, parameters) */
#define CUDA_CUPTI_LIST(X)                                                                                                         \
	X(text, cuptiGetResultString, (int result, const char **text))                                                             \
	X(initialize, cuptiProfilerInitialize, (struct cupti_plain *))                                                             \
	X(deinitialize, cuptiProfilerDeInitialize, (struct cupti_plain *))                                                         \
	X(chip, cuptiDeviceGetChipName, (struct cupti_chip *))                                                                     \
	X(available, cuptiProfilerGetCounterAvailability, (struct cupti_available *))                                              \
	X(host, cuptiProfilerHostInitialize, (struct cupti_host *))                                                                \
	X(host_free, cuptiProfilerHostDeinitialize, (struct cupti_of *))                                                           \
	X(metrics, cuptiProfilerHostConfigAddMetrics, (struct cupti_metrics *))                                                    \
	X(config_size, cuptiProfilerHostGetConfigImageSize, (struct cupti_config *))                                               \
	X(config, cuptiProfilerHostGetConfigImage, (struct cupti_config *))                                                        \
	X(evaluate, cuptiProfilerHostEvaluateToGpuValues, (struct cupti_evaluate *))                                               \
	X(range_enable, cuptiRangeProfilerEnable, (struct cupti_range_enable *))                                                   \
	X(range_disable, cuptiRangeProfilerDisable, (struct cupti_of *))                                                           \
	X(range_start, cuptiRangeProfilerStart, (struct cupti_of *))                                                               \
	X(range_stop, cuptiRangeProfilerStop, (struct cupti_range_stop *))                                                         \
	X(range_push, cuptiRangeProfilerPushRange, (struct cupti_range_push *))                                                    \
	X(range_pop, cuptiRangeProfilerPopRange, (struct cupti_of *))                                                              \
	X(range_decode, cuptiRangeProfilerDecodeData, (struct cupti_range_decode *))                                               \
	X(range_data_size, cuptiRangeProfilerGetCounterDataSize, (struct cupti_range_data_size *))                                 \
	X(range_data, cuptiRangeProfilerCounterDataImageInitialize, (struct cupti_range_data *))                                   \
	X(range_config, cuptiRangeProfilerSetConfig, (struct cupti_range_config *))                                                \
	X(range_count, cuptiRangeProfilerGetCounterDataInfo, (struct cupti_range_count *))                                         \
	X(range_name, cuptiRangeProfilerCounterDataGetRangeInfo, (struct cupti_range_name *))                                      \
	X(pc_enable, cuptiPCSamplingEnable, (struct cupti_of *))                                                                   \
	X(pc_disable, cuptiPCSamplingDisable, (struct cupti_of *))                                                                 \
	X(pc_start, cuptiPCSamplingStart, (struct cupti_of *))                                                                     \
	X(pc_stop, cuptiPCSamplingStop, (struct cupti_of *))                                                                       \
	X(pc_config, cuptiPCSamplingSetConfigurationAttribute, (struct cupti_pc_config *))                                         \
	X(pc_reasons, cuptiPCSamplingGetNumStallReasons, (struct cupti_pc_reasons *))                                              \
	X(pc_names, cuptiPCSamplingGetStallReasons, (struct cupti_pc_names *))                                                     \
	X(pc_data, cuptiPCSamplingGetData, (struct cupti_pc_data *))                                                               \
	X(line, cuptiGetSassToSourceCorrelation, (struct cupti_line *))

#define CUDA_CUPTI_MEMBER(member, symbol, parameters) int(*member) parameters;
struct cuda_cupti {
	CUDA_CUPTI_LIST(CUDA_CUPTI_MEMBER)
	char pc_closed[256]; /* why PC sampling could not be enabled when the device was opened; "" */
};

/* Opens libcupti. -ERR_UNSUPPORTED: there is none, or it is too old; names the package. */
int cuda_cupti_open(struct cuda_cupti *ret_cupti, struct err *e);
/* Puts "WHAT: the library's words" into *e, and for missing privileges what grants them. Returns -ERR_UNSUPPORTED. */
int cuda_cupti_fail(const struct cuda_cupti *c, int result, const char *what, struct err *e);

#endif
