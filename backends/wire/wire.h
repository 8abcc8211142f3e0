/* wire: the private protocol between the daemon (core/workers/process) and its workers (backends/worker/worker): frames
 * on a byte stream, one answer for each request. Every message is a struct here, and a table of its fields in
 * wire_message.c.
 *
 * A frame: u32 magic, u32 type, u32 id (of the request; its answer repeats it), u32 zero, u64 body length, body.
 * Little-endian. */
#ifndef PEAKD_BACKENDS_WIRE_WIRE_H
#define PEAKD_BACKENDS_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/bound_element.h"
#include "backends/wire/dtype.h"
#include "backends/wire/facts.h"
#include "backends/wire/judgement.h"
#include "backends/wire/plan.h"
#include "backends/wire/wire_table.h"
#include "base/buf.h"
#include "base/err.h"

enum { WIRE_VERSION = 32, WIRE_HEADER = 24 };
#define WIRE_MAGIC UINT32_C(0x4b414550) /* "PEAK" */
#define WIRE_BODY_MAX (UINT64_C(2) << 30)

/* Requests (daemon → worker) and answers (worker → daemon) share the numbers; a request that fails is answered
 * WIRE_FAILED. */
enum wire_type {
	WIRE_HELLO = 1, /* sent by the worker first, unasked: struct wire_hello */
	WIRE_FAILED,    /* struct err; the run or device that it concerned may be gone */
	WIRE_PING,      /* empty ↔ empty */
	WIRE_DEVICES,   /* struct wire_name, a backend or an architecture ("cuda:sm_90a") ↔ struct wire_devices */
	WIRE_COMPILE,   /* struct wire_compile ↔ struct wire_compiled */
	WIRE_OPEN,      /* struct wire_name, a device ↔ struct facts; a worker opens one device in its life */
	WIRE_PREPARE,   /* struct wire_prepare ↔ struct wire_prepared */
	WIRE_EXECUTE,   /* struct wire_execute ↔ struct wire_executed */
	WIRE_OUTPUT,    /* struct wire_output ↔ struct wire_content */
	WIRE_COMPARE,   /* struct wire_compare ↔ struct wire_compared */
	WIRE_MEASURE,   /* struct wire_measure ↔ struct wire_measured */
	WIRE_RELEASE,   /* struct wire_release ↔ empty */
	WIRE_PAIR,      /* struct wire_pair ↔ struct wire_paired */
	WIRE_ENERGY,    /* struct wire_energy ↔ struct wire_energised */
	WIRE_CEILINGS,  /* struct wire_target ↔ struct wire_ceilings */
	WIRE_RACES,     /* struct wire_races ↔ struct wire_raced */
	WIRE_COUNT,     /* struct wire_races ↔ struct wire_counted */
	WIRE_PRODUCT,   /* struct wire_product ↔ struct wire_product_found */
	WIRE_SHARE,     /* struct wire_release ↔ struct wire_shared: a run's buffers, for the judge's process */
	WIRE_KERNELS,   /* struct wire_kernels ↔ empty: the judge's own kernels, once per process */
	WIRE_SOURCE,    /* struct wire_name, a backend ↔ struct wire_name, the source of the judge's kernels; "": it has none */
	WIRE_ADOPT,     /* struct wire_adopt ↔ struct wire_prepared: a run on shared buffers, or one that is not launched */
	WIRE_TRUTH,     /* struct wire_truth ↔ struct wire_truth_found */
	WIRE_SPLIT,     /* struct wire_release ↔ struct wire_split */
	WIRE_COUNTERS,  /* struct wire_release ↔ struct wire_counters */
	WIRE_LAST = WIRE_COUNTERS,
};

/* clang-format off: short structs stay on one line */

/* What a request is called in logs, and the tables of both messages. NULL tables: no request (HELLO, FAILED). */
struct wire_call {
	const char *name;
	const struct wire_table *request, *answer;
};
extern const struct wire_call wire_calls[WIRE_LAST + 1];
/* "execute"; "?" for a number that has no type. Static storage. */
const char *wire_type_name(enum wire_type type);

/* clang-format on */

/* --- frames ------------------------------------------------------------------------------------------------------- */

struct wire_frame {
	enum wire_type type;
	uint32_t id;
	uint8_t *body; /* owned; free() */
	size_t room;   /* bytes that body has room for */
	size_t len;
};
/* Writes one whole frame before the monotonic deadline. The descriptor may be non-blocking. */
int wire_send(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, int64_t deadline, struct err *e);
/* The same with a tail behind the body. NULL: no body, no tail. */
int wire_send_tail(int fd, enum wire_type type, uint32_t id, const struct buf *body, const struct wire_tail *tail, int64_t deadline,
		   struct err *e);
/* Reads one whole frame before the deadline: -ERR_TIMEOUT, -ERR_CRASH at end of file, -ERR_NETWORK for garbage.
 * Meanwhile `also_fd`, the worker's stderr, is drained into `also`, which keeps the last 8 KiB; -1: none. */
int wire_receive(int fd, struct wire_frame *ret_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e);
/* The same into the memory of an earlier frame ({ 0 }: none). The caller keeps it, even on failure. */
int wire_receive_again(int fd, struct wire_frame *io_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e);

/* clang-format off */

/* --- messages ----------------------------------------------------------------------------------------------------- */

enum { WIRE_LACKS = 512 };
struct wire_hello {
	uint32_t version;
	uint32_t pid;
	uint64_t wall_ms;       /* its wall clock when it says so (clock_wall_ms) */
	char lacks[WIRE_LACKS]; /* which protections the worker's sandbox lacks (sandbox_lacks); "": none */
};

struct wire_name { char *id; };
struct wire_devices { struct facts *at; size_t count; };

struct wire_define { char *name, *value; };

/* What a kernel is rewritten to have for nothing, to see what it costs. Its results are wrong then. */
enum wire_probe { WIRE_PROBE_NONE, WIRE_PROBE_LOADS, WIRE_PROBE_STORES, WIRE_PROBE_BARRIERS, WIRE_PROBES };

struct wire_compile {
	char *backend;               /* "cuda" */
	char *arch;                  /* facts.arch */
	char *macros;                /* the macros region */
	char *device;                /* the device region; error lines refer to "macros" and "device" by #line */
	struct wire_define *defines; /* tuning parameters and constants, in front of everything */
	size_t define_count;
	char **options;              /* compiler options, which only people set */
	size_t option_count;
	struct plan *plan;           /* which kernels are launched, and which buffers they are bound to */
	uint32_t probe;              /* enum wire_probe */
	uint32_t disturbed;          /* 1: CUDA code is rewritten so that chance shows (cuda.h, disturb.c) */
};

struct wire_kernel {
	char *name;
	uint32_t registers;   /* per thread; WIRE_UNKNOWN, as below */
	uint32_t shared;      /* static shared memory, bytes */
	uint32_t spill;       /* bytes of spilled registers or local memory per thread */
	uint32_t max_threads; /* per block that this kernel can be launched with */
	uint32_t block[3];    /* thread group size fixed in the code (HLSL numthreads, reqntid); {0,0,0}: free */
};

/* The numbers that compiled code holds, each once, in ascending order. */
struct wire_immediates {
	double *floats;              /* of floating types */
	size_t float_count;
	double *others;              /* integers, and what the bits of integers mean as floats */
	size_t other_count;
};

struct wire_compiled {
	uint8_t *binary;             /* what PREPARE takes */
	size_t binary_len;
	char *log;                   /* warnings */
	struct wire_kernel *kernels; /* those that the plan launches */
	size_t kernel_count;
	uint64_t compile_ns;
	struct wire_immediates immediates;
};

struct wire_prepare { const uint8_t *binary; size_t binary_len; struct plan *plan; };
struct wire_prepared { uint32_t run; uint64_t prepare_ns; };
struct wire_release { uint32_t run; };

struct wire_execute {
	uint32_t run;
	uint64_t seed;   /* of the input values: one seed gives the same values on every backend */
	uint32_t poison; /* byte pattern for outputs and scratch (0xFF makes NaN in every floating type) */
	uint32_t values; /* enum plan_values */
	uint32_t keep;   /* WIRE_KEEP_…: what stays as the last execution left it */
	uint32_t perturbation; /* which stream of ξ moves floating inputs, x·(1 + amplitude·ξ); 0: none does */
	double amplitude;      /* -1 < amplitude < 1; the other sign moves the other way */
	uint64_t still;        /* bit i: buffer i moves by amplitude·share only */
	double share;          /* 0 to 1 */
	struct plan_immediates immediates; /* of two kinds of values */
};
/* WIRE_KEEP_RAW: the first execution, too, finds memory as the driver gave it, so that a tool notices reads of what was
 * never written. WIRE_LOOK: writes and executes nothing, and only examines
 * what the timed execution with this seed left (wire_measured.left), or else the last execution. */
enum { WIRE_KEEP_SCRATCH = 1, WIRE_KEEP_OUTPUTS = 2, WIRE_KEEP_RAW = 4, WIRE_LOOK = 8 };
/* Where buffers stay on the device (core/judge/resident.h). WIRE_RESIDENT: values are made and examined by the judge's kernels, and
 * outputs are not read back. WIRE_SET_UP, WIRE_LAUNCH and WIRE_EXAMINE: only that part of an execution; the candidate's process
 * launches, the judge's does the rest on the adopted run. */
enum { WIRE_STILL_MOST = 64 }; /* buffers that wire_execute.still tells apart */
enum { WIRE_TIMED_POISON = 0xFF }; /* what outputs and scratch hold before a timed execution */
enum { WIRE_RESIDENT = 16, WIRE_SET_UP = 32, WIRE_LAUNCH = 64, WIRE_EXAMINE = 128, WIRE_KEEP_ALL = 255 };
struct wire_executed {
	uint64_t device_ns;     /* of this one execution; 0 unknown */
	uint32_t changed_input; /* 1 + index of the first PLAN_IN buffer that was written to; 0 none */
	uint32_t broken_zone;   /* 1 + index of the first buffer whose red zone was written to; 0 none */
};

struct wire_output { uint32_t run, output; }; /* outputs are the plan's OUT and INOUT buffers, in order */
struct wire_content { const uint8_t *bytes; size_t len; }; /* of the output after the last execution, packed */

/* Compares the last execution's output with a reference, which the worker only sees now. */
struct wire_compare {
	uint32_t run, output;
	char reference_hash[65];  /* hash_array of `reference` */
	uint32_t poison;          /* as in the execution: wrong elements that still hold it count as untouched */
	enum dtype want_type;     /* of the right values: the output's type, or a wider one */
	struct judgement judgement;
	const uint8_t *reference; /* every element's right value, then every element's bound; NULL: use those kept by that hash.
	                             Bounds are f32, with values of f64 they are f64; no bounds at all: equality */
	size_t reference_len;
};
/* Bytes of one bound beside values of that type. */
static inline size_t wire_bound_size(enum dtype want_type) { return want_type == DTYPE_F64 ? 8 : 4; }

enum { WIRE_MISMATCHES = 64, WIRE_MAP = 8, WIRE_FINDING = 240, WIRE_POOLED = 128 /* executions */ };
struct wire_mismatch { int64_t index; double got, want, bound; }; /* index: row-major over the logical dims */

/* An element is judged unless its bound is infinite. It is right when |got-want| <= bound; a NaN or an infinity is wanted
 * exactly. Its ratio is |got-want| / bound. */
struct wire_compared {
	bool need_reference;       /* nothing was compared; ask again with the bytes */
	double error;              /* ‖out−ref‖₂/‖ref‖₂ over elements where both are finite; ‖out‖ if ‖ref‖ is 0 */
	double ref_norm;           /* ‖ref‖₂ */
	double max_abs;            /* largest |out−ref| */
	uint64_t elements;
	uint64_t judged;           /* those with a finite bound */
	uint64_t mismatched;       /* judged and not right */
	uint64_t nan;              /* wrong, and NaN or infinite */
	uint64_t spread;           /* of these, where a number is wanted */
	uint64_t untouched;        /* still hold the poison, and are wrong or not judged */
	int64_t first_untouched;   /* index of the first of those; -1: none */
	uint64_t ref_nan;          /* NaN or inf in the reference itself */
	double worst_ratio;        /* the largest ratio; infinite where got is not finite or the bound is 0 */
	struct wire_mismatch worst; /* the first element that has it */
	double mean_ratio;         /* over judged elements; ratios above 16 count as 16 */
	double signed_mean;        /* the same, negative where got < want, or where got is nearer to zero: the larger of both */
	uint32_t mismatch_count;   /* entries of the list below */
	struct wire_mismatch mismatch[WIRE_MISMATCHES];
	char finding[WIRE_FINDING]; /* what is wrong, in the terms of the output's kind; "" when figures say it all */
	float map[WIRE_MAP][WIRE_MAP]; /* share of mismatched elements per tile of the last two dims, 0…1 */
};

/* --- judging on the device ---------------------------------------------------------------------------------------- */

enum { WIRE_HANDLE = 64 }; /* bytes: CUipcMemHandle */
struct wire_share {
	uint8_t handle[WIRE_HANDLE];
	uint64_t offset;       /* of the first element in the allocation */
};
struct wire_shared { struct wire_share *at; size_t count; }; /* one for each buffer of the plan */
struct wire_kernels { const uint8_t *binary; size_t binary_len; };
struct wire_adopt { struct wire_share *at; size_t count; struct plan *plan; }; /* count: of the plan's buffers, or 0: own memory */

/* Truths stay in the judge's process, under a hash. They are made in steps, each after an execution of `run`. */
enum wire_truth_step {
	WIRE_TRUTH_KEEP,  /* y*: the output of the run, as doubles */
	WIRE_TRUTH_MOVED, /* the same run with perturbed inputs: sensitivity */
	WIRE_TRUTH_ABSORBED, /* the same run with large numbers in place of infinities and NaN */
	WIRE_TRUTH_DECIDED,  /* the same run with NaN in place of infinities; the last before BOUND */
	WIRE_TRUTH_BOUND, /* the bound of every element; run: the baseline's, or 0 where the baseline is the truth */
	WIRE_TRUTH_DROP,  /* forget it; no run */
	WIRE_TRUTH_LOOK,  /* is it there? no run; `elements` is 0 when it is not */
	WIRE_TRUTH_STEPS,
};
struct wire_truth {
	uint32_t run, output;
	uint32_t step;
	char hash[65];
	struct bound_limits limits; /* KEEP: shape.most; BOUND: all of them */
	uint32_t rough;             /* BOUND: the truth is no more exact than candidates are */
};
struct wire_truth_found {
	uint64_t elements;
	double most;              /* the largest finite |y*| that is at most limits.shape.most */
	uint64_t fractions;       /* KEEP: elements of y* that are no integers */
	uint32_t capped;          /* the baseline's errors were too large to be granted */
	struct bound_tally tally; /* BOUND */
};

/* The device beside one sample, as its monitoring library reports it (CUDA: NVML). Zero: not known. */
struct wire_condition {
	uint32_t core_mhz, memory_mhz; /* clocks */
	uint32_t milliwatts;
	uint32_t celsius;
	uint32_t throttle;  /* enum wire_throttle, or'ed: why clocks are lower than they could be */
	uint32_t foreign;   /* percent of the device that other processes use; WIRE_UNKNOWN */
	uint32_t disturbed; /* 1: the sample says more about the device than about the kernel */
};
enum wire_throttle {
	WIRE_THROTTLE_IDLE = 1, WIRE_THROTTLE_SETTING = 2, WIRE_THROTTLE_POWER_CAP = 4, WIRE_THROTTLE_HARDWARE = 8,
	WIRE_THROTTLE_SYNC = 16, WIRE_THROTTLE_HEAT = 32, WIRE_THROTTLE_HARDWARE_HEAT = 64,
	WIRE_THROTTLE_POWER_BRAKE = 128,
};
#define WIRE_UNKNOWN UINT32_MAX

/* What the last-level cache holds before an execution. */
enum wire_cache {
	WIRE_WARM,    /* what the execution before left; nothing else is touched either, so a kernel could reuse its results */
	WIRE_COLD,    /* none of it: overwritten, or the next of several sets of buffers is used */
	WIRE_FLUSHED, /* none of it: overwritten, without making more sets, which would take longer than a few samples */
	WIRE_HOT,     /* what an untimed execution left, before everything else that it left was reset */
	WIRE_UNRESET, /* what an untimed execution left, with all its results: shows kernels that reuse them */
};

struct wire_measure {
	uint32_t run;
	uint32_t min_samples;  /* ≥ 1 */
	uint32_t max_samples;
	double rse;            /* stop at this relative standard error of the mean, e.g. 0.005 */
	uint64_t cap_ns;       /* stop after this much time, whatever was reached */
	uint64_t hopeless_ns;  /* give up once the first samples are all slower than this; 0 never */
	uint64_t warm_up_ns;   /* how long the warm-up may take to become stable; it takes at least 2 ms */
	enum wire_cache cache; /* COLD, FLUSHED or HOT */
	uint32_t rests;        /* 1: for times to be quoted: a slowed or shared device gets time to recover */
	uint64_t *seeds;       /* of the values in the sets of buffers; the first must be the last execution's. Empty: the worker
	                          draws the others, and keeps only outputs of the first */
	size_t seed_count;
};
struct wire_measured {
	uint64_t *samples;     /* nanoseconds per execution; undisturbed ones unless `disturbed` */
	struct wire_condition *conditions; /* beside each sample */
	size_t sample_count;   /* of both */
	uint32_t launches;     /* executions in one sample */
	uint32_t hopeless;     /* 1: given up early */
	uint32_t discarded;    /* disturbed samples that were thrown away */
	uint32_t disturbed;    /* 1: too few were undisturbed, so these are all there are, and not to be quoted */
	char *note;            /* what could not be monitored, and why; "" */
	char *reset;           /* what was reset between timed executions, in words */
	uint64_t *left;        /* seeds of timed executions whose outputs the worker kept: WIRE_LOOK examines them */
	size_t left_count;
};

/* Times two prepared runs, A and B, in alternation. */
struct wire_pair {
	uint32_t a, b;         /* runs */
	uint32_t min_pairs, max_pairs;
	double margin;         /* "same" means within this factor (0.01: 1 % either way), or, if more, */
	uint64_t floor_ns;     /* within this much of an execution; 0: only the factor counts */
	double confidence;     /* of the interval, e.g. 0.95 */
	double width;          /* continue until the interval is no wider than this on either side, e.g. 0.01 */
	uint64_t cap_ns;       /* stop after this much time */
	uint64_t warm_up_ns;   /* as above, for each */
	uint32_t cold;
	uint32_t unreset;      /* 1: b = a; A is HOT and B is UNRESET: does the run reuse its results? 2: the same in processor
	                          time, where the device is the CPU */
	uint32_t exchanged;    /* of these two, A has B's buffers, and B has A's */
	uint64_t *seeds;       /* as above, for both */
	size_t seed_count;
};
enum { WIRE_RESET_CPU_NS = 50000 }; /* what a reset may cost an execution later on, where the device is an idle CPU */
enum wire_verdict { WIRE_FASTER, WIRE_SLOWER, WIRE_SAME, WIRE_UNCLEAR }; /* B relative to A */
struct wire_paired {
	uint64_t *a_ns, *b_ns; /* nanoseconds per execution, pair by pair */
	struct wire_condition *conditions; /* beside each pair */
	size_t pair_count;     /* of all three */
	uint32_t launches_a, launches_b; /* executions in one sample */
	uint32_t discarded;    /* disturbed pairs that were thrown away */
	uint32_t disturbed;    /* as in wire_measured */
	enum wire_verdict verdict;
	double margin;         /* that the verdict used: the requested one or more */
	double ratio, low, high; /* time of B / time of A, and its interval */
	char *note;
	char *reset;             /* as in wire_measured */
	uint64_t *left_a, *left_b;
	size_t left_a_count, left_b_count;
};

struct wire_energy { uint32_t run; uint64_t min_ns; /* of continuous execution, warm */ };
struct wire_energised {
	uint64_t executions;
	double seconds;        /* between the first and the last reading of the counter */
	double joules;         /* between them; 0: no counter, and `note` says why */
	struct wire_condition condition; /* at the end */
	char *note;
};

struct wire_target {
	char *backend, *arch;
	uint32_t units;        /* multiprocessors; 0 unknown */
	bool shares_cpu;       /* as in struct facts */
};
/* A kernel that does nothing but keep one pipe busy. */
struct wire_ceiling {
	char *name;            /* "f32", "tensor.f16", "copy" */
	char *unit;            /* "flop" or "byte" */
	double work;           /* units per execution */
	char *device;          /* source */
	struct plan *plan;
};
struct wire_ceilings { struct wire_ceiling *at; size_t count; };

/* How far outputs may depend on the order in which groups and waves run: at will, not at all, as sums of floats round. */
enum wire_order { WIRE_ORDER_ANY, WIRE_ORDER_FIXED, WIRE_ORDER_ROUNDS };
/* Interprets the kernels on such values and looks for races. */
struct wire_races {
	uint32_t run;
	uint64_t seed;
	enum wire_order ordered;
	enum plan_values values;
	struct plan_immediates immediates; /* of PLAN_IMMEDIATE_ROWS and PLAN_LABELS */
};
struct wire_raced {
	char *finding;    /* the first race; "" none */
	uint32_t settled; /* 1: on other values nothing else can be found */
};

/* Interprets the kernels and counts what they do: no figure depends on a device or its load. Of the groups that were counted;
 * sectors have 32 bytes, passes go over 32 banks of 4 bytes. 20 fields: one row of a profile. */
struct wire_launch_count {
	char *kernel;
	uint64_t groups, counted;     /* of the launch; interpreted */
	uint64_t threads;             /* in a group */
	uint64_t instructions, flops; /* of all counted threads: of SPIR-V; on floats, as a multiply-add counts two */
	uint64_t barriers, atomics;   /* of groups; of threads */
	uint64_t loads, load_bytes, load_requests, load_sectors; /* of buffers: by threads; by waves, and what those fetch */
	uint64_t read_once;           /* bytes of different sectors that were read */
	uint64_t stores, store_bytes, store_sectors;
	uint64_t shared, shared_requests, shared_passes; /* by threads; the fewest passes; passes with bank conflicts */
};
struct wire_counted { struct wire_launch_count *at; size_t count; };

/* Device time of each operation of the plan: medians over some cold executions. */
struct wire_split { uint64_t *ns; size_t count; };

/* What the vendor's profiler reads of the hardware; a closed view has no rows and says why. */
struct wire_counter { char *kernel, *name; double value; }; /* of one launch; names: backends/cuda/counters.c */
struct wire_stall { char *kernel, *region; uint32_t line; char *reason; uint64_t samples; }; /* line 0: not known */
struct wire_counters {
	struct wire_counter *counters;
	size_t counter_count;
	char *counters_closed;
	struct wire_stall *stalls;
	size_t stall_count;
	char *stalls_closed;
};

/* Is the last execution's c = a·b (backends/values/product.h)? a, b, c: buffers of the plan. */
struct wire_product { uint32_t run; struct plan_gemm gemm; double tolerance; uint64_t secret; };
struct wire_product_found {
	uint64_t rows, row; /* how many rows are wrong, and the first of them */
	double off, allowed; /* of that row */
};

/* clang-format on */

/* Each message has a table, and three functions with its type: append to a buffer; read a whole message (errors as
 * wire_decode's); free what the reader allocated. */
#define WIRE_MESSAGE(message, type)                                                                                                \
	extern const struct wire_table wire_##message##_table;                                                                     \
	static inline void wire_##message##_encode(const struct type *m, struct buf *out)                                          \
	{                                                                                                                          \
		wire_encode(&wire_##message##_table, m, out);                                                                      \
	}                                                                                                                          \
	static inline int wire_##message##_decode(struct wire_in *in, struct type *ret_m, struct err *e)                           \
	{                                                                                                                          \
		return wire_decode(&wire_##message##_table, in, ret_m, e);                                                         \
	}                                                                                                                          \
	static inline void wire_##message##_fini(struct type *m)                                                                   \
	{                                                                                                                          \
		wire_fini(&wire_##message##_table, m);                                                                             \
	}
WIRE_MESSAGE(name, wire_name)
WIRE_MESSAGE(facts, facts)
WIRE_MESSAGE(devices, wire_devices)
WIRE_MESSAGE(compile, wire_compile)
WIRE_MESSAGE(compiled, wire_compiled)
WIRE_MESSAGE(prepare, wire_prepare)
WIRE_MESSAGE(prepared, wire_prepared)
WIRE_MESSAGE(execute, wire_execute)
WIRE_MESSAGE(executed, wire_executed)
WIRE_MESSAGE(output, wire_output)
WIRE_MESSAGE(content, wire_content)
WIRE_MESSAGE(compare, wire_compare)
WIRE_MESSAGE(compared, wire_compared)
WIRE_MESSAGE(measure, wire_measure)
WIRE_MESSAGE(measured, wire_measured)
WIRE_MESSAGE(release, wire_release)
WIRE_MESSAGE(pair, wire_pair)
WIRE_MESSAGE(paired, wire_paired)
WIRE_MESSAGE(energy, wire_energy)
WIRE_MESSAGE(energised, wire_energised)
WIRE_MESSAGE(target, wire_target)
WIRE_MESSAGE(ceilings, wire_ceilings)
WIRE_MESSAGE(races, wire_races)
WIRE_MESSAGE(counted, wire_counted)
WIRE_MESSAGE(raced, wire_raced)
WIRE_MESSAGE(split, wire_split)
WIRE_MESSAGE(counters, wire_counters)
WIRE_MESSAGE(product, wire_product)
WIRE_MESSAGE(product_found, wire_product_found)
WIRE_MESSAGE(shared, wire_shared)
WIRE_MESSAGE(kernels, wire_kernels)
WIRE_MESSAGE(adopt, wire_adopt)
WIRE_MESSAGE(truth, wire_truth)
WIRE_MESSAGE(truth_found, wire_truth_found)
#undef WIRE_MESSAGE

/* The first message of a worker. Decoding refuses another version, whatever follows it. */
extern const struct wire_table wire_hello_table;
void wire_hello_encode(const struct wire_hello *m, struct buf *out);
int wire_hello_decode(struct wire_in *in, struct wire_hello *ret_m, struct err *e);
/* Decoding gives the worker's error back: *e holds it, and the result is -e->code. */
extern const struct wire_table wire_failed_table;
void wire_failed_encode(const struct err *failure, struct buf *out);
int wire_failed_decode(struct wire_in *in, struct err *e);

#endif
