/* gpu: what CUDA and HIP share besides running plans (run.h): looking for libraries, facts of devices, compiling, and checking
 * launches against compiled kernels. Called by backends/cuda/ and backends/hip/. */
#ifndef PEAKD_BACKENDS_GPU_GPU_H
#define PEAKD_BACKENDS_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/gpu/api.h"
#include "backends/timing/gpu_monitor.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "backends/wire/wire.h"
#include "base/buf.h"
#include "base/err.h"

/* --- library.c: looks for a vendor's libraries on this machine. */

/* Folders of installed toolkits, in the order of the search. */
struct gpu_places {
	char **list;
	size_t count;
};

/* The folder that the variable `only` names; without it those that other variables name, and those that match patterns, of each the
 * newest version first. Both lists end with NULL. */
struct gpu_places gpu_places_new(const char *only, const char *const *variables, const char *const *patterns);
void gpu_places_fini(struct gpu_places *p);
/* Appends "; looked below A, B". */
void gpu_places_describe(const struct gpu_places *p, struct buf *out);

/* An environment variable; NULL when it is unset or empty. */
const char *gpu_library_setting(const char *name);
/* dlopen of one file; the linker's message is appended to `tried` when it fails. Libraries stay loaded for the life of the
 * process, so opening one again is only a look-up. */
void *gpu_library_open(const char *file, struct buf *tried);
/* A library of the driver, from where ld.so, distributions and container runtimes keep it. When the environment variable is set, it
 * names the only candidate. NULL: none. */
void *gpu_library_open_driver(const char *variable, const char *name, struct buf *tried);
/* The next readable file below the places with one of the names, from *io_at on, which starts as 0. False at the end. */
bool gpu_library_next(const struct gpu_places *places, const char *const *names, size_t count, size_t *io_at, char file[GPU_PATH]);
/* The first library below the places that opens; with_linker: else the first that ld.so finds by its name. NULL: none. */
void *gpu_library_search(const struct gpu_places *places, const char *const *names, size_t count, bool with_linker,
			 struct buf *tried);
/* Fills the listed members of *ret from an opened library. NULL, or the first symbol that is needed and absent. */
const char *gpu_library_fill(void *handle, const struct gpu_symbol *list, size_t count, void *ret);
/* The file that a function's address comes from; ret_path is left alone when the linker does not know it. */
void gpu_library_path(void *function, char ret_path[GPU_PATH]);

/* --- facts.c: what CUDA and HIP ask of a device in the same way, each by its own numbers of attributes. */

/* A vendor's numbers of the attributes that both have. */
struct gpu_attributes {
	const char *vendor; /* "NVIDIA" */
#define GPU_ATTRIBUTE(member, ...) int member;
	GPU_ATTRIBUTE_LIST(GPU_ATTRIBUTE)
};

/* Multiply-adds per clock and unit at most; 0: none or not published. */
struct gpu_rates {
	uint32_t f32;                     /* matrix units included where they do fp32 */
	uint32_t tensor_f16, tensor_tf32; /* dense, fp32 accumulation */
};

/* 0 when the driver does not know the attribute. */
uint32_t gpu_facts_ask(const struct gpu_driver *d, int device, int attribute);
/* Finds the device with that index, and fills in its id, name, limits, sizes and clocks. What the driver does not tell stays as it
 * is. -ERR_NOT_FOUND when there are fewer. */
int gpu_facts_limits(const struct gpu_driver *d, uint32_t index, const struct gpu_attributes *a, int *ret_device,
		     struct facts *io_facts, struct err *e);
/* The peaks that follow from clocks and rates (NULL: not known). */
void gpu_facts_peaks(const struct gpu_driver *d, int device, const struct gpu_attributes *a, const struct gpu_rates *rates,
		     struct facts *io_facts);
/* Describes the device with that index: each vendor's own function. */
typedef int gpu_describe(const struct gpu_driver *d, uint32_t index, struct facts *ret_facts, struct err *e);
/* Every device of a driver. The list belongs to the caller. */
int gpu_facts_devices(const struct gpu_driver *d, gpu_describe *describe, struct facts **ret_facts, size_t *ret_count,
		      struct err *e);

/* --- module.c: what a compiled binary says about its kernels. cuda/object.c and hip/object.c read it from their vendor's
 * format. */

struct gpu_param {
	uint32_t offset, bytes;
};

struct gpu_kernel {
	char *name;            /* as the linker sees it */
	uint32_t registers;    /* per thread; AMD: vector registers, with those for accumulation where both share a file (gfx90a,
				  gfx94x) */
	uint32_t shared;       /* bytes of static shared memory (AMD: LDS), without what the hardware reserves */
	uint32_t local;        /* bytes of local memory per thread: spills, indexed arrays, stack */
	uint32_t bound;        /* threads per block from __launch_bounds__ (AMD: 1024 without); 0 none */
	uint32_t block[3];     /* block size that the code fixes; {0,0,0} none */
	uint32_t cluster[3];   /* CUDA: __cluster_dims__; {0,0,0} none */
	uint32_t agprs, sgprs; /* AMD: accumulation registers per lane; scalar registers per wave */
	uint32_t vgpr_spills, sgpr_spills; /* AMD: registers that did not fit */
	uint32_t wave;                     /* AMD: lanes per wave, 32 or 64 */
	struct gpu_param *params;          /* in order, without the compiler's hidden ones */
	size_t param_count;
	bool params_known; /* false: the binary describes its parameters in a form that peakd does not know */
};

struct gpu_module {
	struct gpu_kernel *kernels;
	size_t count;
	uint64_t state;  /* bytes of variables that begin as zeros; CUDA: of one that code may write */
	char *kept;      /* CUDA: its name; else NULL */
	uint64_t tables; /* AMD: bytes of those that begin with content, and of __constant__ ones */
	bool allocates;  /* CUDA: calls malloc(), free() or new */
};

void gpu_module_fini(struct gpu_module *module);
/* NULL when there is none of that name. */
const struct gpu_kernel *gpu_module_find(const struct gpu_module *module, const char *name);
/* -ERR_INPUT that lists the module's kernels, and says when extern "C" was forgotten. */
int gpu_module_missing(const struct gpu_module *module, const char *name, struct err *e);
/* -ERR_INPUT when the module has memory that outlives a launch, other than tables of at most 64 KiB: a kernel could keep
 * results there from one execution to the next; memory from malloc() in device code outlives a launch, too. (On AMD a __device__
 * const table looks like a variable with an initial value.) */
int gpu_module_stateless(const struct gpu_module *module, struct err *e);

/* --- check.c: whether a launch of a plan is possible at all, by an architecture's limits (compile.c) or a device's (run.c). */

enum { GPU_CLUSTER_PORTABLE = 8 }; /* blocks per cluster that need no opt-in */

/* x · y · z */
uint64_t gpu_check_volume(const uint32_t v[3]);
/* Threads per block that the kernel can be launched with, from its registers and launch bounds. */
uint32_t gpu_check_max_threads(const struct gpu_kernel *k, const struct facts *limits);
/* Names the limit, what was asked and what is allowed. -ERR_INPUT: arguments, or a fixed block or cluster size, do not fit
 * the kernel. -ERR_PRUNED: the device cannot launch it. -ERR_UNSUPPORTED: clusters and tensor maps on AMD. */
int gpu_check_launch(const struct plan_launch *launch, const struct gpu_kernel *k, const struct facts *limits, struct err *e);

/* --- compile.c: the source text, a run of NVRTC or hiprtc, its binary, and the check of a plan's launches. */

/* Small replacements for headers that kernels habitually include: the compilers have no include folder of their own, and a
 * host's headers do not compile as device code. They win over every folder. */
struct gpu_header {
	const char *name, *text;
}; /* "stdint.h"; a list ends with a NULL name */
#define GPU_HEADER_LIMITS                                                                                                          \
	"#pragma once\n"                                                                                                           \
	"#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295u\n"                               \
	"#define LLONG_MAX 9223372036854775807ll\n#define LLONG_MIN (-LLONG_MAX - 1)\n#define ULLONG_MAX "                         \
	"18446744073709551615ull\n"
#define GPU_HEADER_EMPTY "#pragma once\n"
/* The rows that both vendors have, with their own texts for three of them. */
#define GPU_HEADERS(stdint, float_, math)                                                                                          \
	{ "stdint.h", stdint }, { "cstdint", stdint }, { "float.h", float_ }, { "cfloat", float_ }, { "math.h", math },            \
		{ "cmath", math }, { "limits.h", GPU_HEADER_LIMITS }, { "climits", GPU_HEADER_LIMITS },                            \
		{ "stddef.h", GPU_HEADER_EMPTY }, { "cstddef", GPU_HEADER_EMPTY }, { "stdio.h", GPU_HEADER_EMPTY },                \
		{ "cstdio", GPU_HEADER_EMPTY }, { "stdlib.h", GPU_HEADER_EMPTY }, { "assert.h", GPU_HEADER_EMPTY },                \
		{ "cassert", GPU_HEADER_EMPTY },                                                                                   \
	{                                                                                                                          \
		"string.h", GPU_HEADER_EMPTY                                                                                       \
	}

/* One run of the compiler. */
struct gpu_attempt {
	int result;
	gpu_program program; /* NULL when the compiler could not even make one */
	char *log;           /* never NULL after a run */
};

/* One compilation, from the opened compiler to its answer. */
struct gpu_compilation {
	const struct wire_compile *request; /* borrowed */
	int64_t start;
	struct gpu_rtc rtc;
	struct facts limits; /* of the architecture */
	char **options;
	size_t option_count;
	struct buf source, log; /* the translation unit; what the answer says beside the binary */
	struct gpu_attempt attempt;
	struct gpu_module module;
	struct wire_compiled to;
};

/* Adds the translation unit: the parameters as macros, the macros region, the device region. #line makes messages read
 * macros(3) and device(12), the lines that the author wrote. -ERR_INPUT for a parameter that cannot become a macro. */
int gpu_compile_source(const struct wire_compile *request, struct buf *out, struct err *e);
/* Adds an option for the compiler. */
void gpu_compile_option(struct gpu_compilation *c, char *take_option);
/* Runs the compiler with the options, and then those of the context. */
struct gpu_attempt gpu_compile_attempt(const struct gpu_compilation *c, const struct gpu_header *headers);
/* -ERR_IO when the attempt failed for want of what a compiler needs, which says nothing of the code. compiler: "the X compiler (Y".
 */
int gpu_compile_able(const struct gpu_compilation *c, const char *compiler, struct err *e);
void gpu_attempt_fini(const struct gpu_rtc *rtc, struct gpu_attempt *a);
/* A text that the compiler hands out in two calls, fresh; "" when it does not, or without a program. */
char *gpu_attempt_text(gpu_program program, int (*size)(gpu_program, size_t *), int (*get)(gpu_program, char *));
/* Moves the binary of c->attempt to c->to. `compiler` and `other` are for the message: "NVRTC", "PTX or LTO". */
int gpu_compile_binary(struct gpu_compilation *c, const char *compiler, const char *other, struct err *e);
/* Checks every launch of the plan (gpu_check_launch, gpu_module_missing) and that the module keeps no state, and reports
 * each launched kernel once in c->to.kernels; without a plan, every kernel of the module. */
int gpu_compile_check(struct gpu_compilation *c, struct err *e);
/* Frees everything, and unless rc is an error hands out c->to with the log. Returns rc. */
int gpu_compile_end(struct gpu_compilation *c, int rc, struct wire_compiled *ret_compiled);

/* --- diagnostic.c: a compiler's messages, put into the order and form in which a person or a model reads them. cuda/, hip/ and
 * hlsl/ take their compiler's log apart; this prints what they found. */

/* CONTINUES: a quoted line or note that belongs to the message before it. */
enum gpu_severity { GPU_CONTINUES, GPU_ERROR, GPU_WARNING };

struct gpu_message {
	enum gpu_severity severity;
	char *text;
};
struct gpu_messages {
	struct gpu_message *list;
	size_t count;
};

/* The next line of a text as fresh memory, without its end; NULL at the end of the text. Moves *io_at. */
char *gpu_diagnostic_line(const char **io_at);
void gpu_diagnostic_add(struct gpu_messages *m, enum gpu_severity severity, char *take_text);
/* Appends the errors, then (unless errors_only) the warnings, each with its continuations. Control characters become '?'. */
void gpu_diagnostic_print(const struct gpu_messages *m, bool errors_only, struct buf *out);
void gpu_diagnostic_fini(struct gpu_messages *m);
/* Line `number` (from 1) of the region "macros" or "device" as fresh text; NULL when `file` is neither or has no such line. */
char *gpu_diagnostic_source(const struct wire_compile *request, const char *file, unsigned number);

/* --- nvml.c: NVIDIA's management library as a gpu_monitor (backends/timing/gpu_monitor.h): clocks, power, temperature,
 * throttling, other processes, the energy counter. Opened at run time: libnvidia-ml.so.1 comes with the driver;
 * PEAKD_CUDA_NVML names another file. For CUDA, and for NVIDIA devices of Vulkan. */

extern const struct gpu_monitor_source gpu_nvml_monitor;

#endif
