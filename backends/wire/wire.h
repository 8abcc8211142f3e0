/* wire: the private language between the daemon (core/workers/pool) and its workers (backends/worker/worker): frames on a byte
 * stream, each a request with one answer. Numbers are little-endian; text and bytes carry their length. Both ends treat the
 * other's bytes as hostile: every read is bounded, and the first bad one poisons the reader.
 *
 * A frame: u32 magic, u32 type, u32 id (of the request; echoed by its answer), u32 zero, u64 body length, body. */
#ifndef PEAKD_BACKENDS_WIRE_WIRE_H
#define PEAKD_BACKENDS_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/wire/dtype.h"
#include "backends/wire/facts.h"
#include "backends/wire/plan.h"
#include "base/buf.h"
#include "base/err.h"

enum { WIRE_VERSION = 7, WIRE_HEADER = 24 };
#define WIRE_MAGIC UINT32_C(0x4b414550) /* "PEAK" */
#define WIRE_BODY_MAX (UINT64_C(2) << 30)

/* Requests (daemon → worker) and answers (worker → daemon) share the numbers; a failed request is answered WIRE_FAILED. */
enum wire_type {
	WIRE_HELLO = 1, /* worker, unasked, first: struct wire_hello */
	WIRE_FAILED,    /* struct err (code, text); the run or device it concerned may be gone */
	WIRE_PING,      /* empty ↔ empty */
	WIRE_DEVICES,   /* backend name ↔ list of struct facts (also named architectures asked for by id) */
	WIRE_COMPILE,   /* struct wire_compile ↔ struct wire_compiled */
	WIRE_OPEN,      /* device id text ↔ struct facts; a worker opens one device in its life */
	WIRE_PREPARE,   /* struct wire_prepare ↔ struct wire_prepared */
	WIRE_EXECUTE,   /* struct wire_execute ↔ struct wire_executed */
	WIRE_OUTPUT,    /* run, output number ↔ bytes of the last execution's output */
	WIRE_COMPARE,   /* struct wire_compare ↔ struct wire_compared */
	WIRE_MEASURE,   /* struct wire_measure ↔ struct wire_measured */
	WIRE_RELEASE,   /* run ↔ empty */
	WIRE_PAIR,      /* struct wire_pair ↔ struct wire_paired */
	WIRE_ENERGY,    /* struct wire_energy ↔ struct wire_energised */
	WIRE_CEILINGS,  /* backend name, architecture, multiprocessors ↔ struct wire_ceilings */
	WIRE_RACES,     /* u32 run, u64 seed ↔ text: the first race that an interpreter finds, "" none */
	WIRE_PRODUCT,   /* u32 run, its buffers a, b, c, u32 transposed (1: a, 2: b), f64 tolerance, u64 secret ↔ u64 rows that are off, u64 the
	                 * first, f64 by how much, f64 allowed (product.h): is the last execution's c = a·b? */
	WIRE_LAST = WIRE_PRODUCT,
};
/* "execute", for logs; "?" for what is none. Static storage. */
const char *wire_type_name(enum wire_type type);

/* --- reading and writing bytes ---------------------------------------------------------------------------------------- */
struct wire_in {
	const uint8_t *at, *end; /* borrowed */
	bool bad;                /* something did not fit: all later reads give zeros and empty texts */
};

void wire_put_u32(struct buf *out, uint32_t v);
void wire_put_u64(struct buf *out, uint64_t v);
void wire_put_f64(struct buf *out, double v);
void wire_put_text(struct buf *out, const char *text);
void wire_put_bytes(struct buf *out, const void *bytes, size_t n);
uint32_t wire_get_u32(struct wire_in *in);
uint64_t wire_get_u64(struct wire_in *in);
double wire_get_f64(struct wire_in *in);
/* Fresh memory, never NULL; text has no NUL inside. */
char *wire_get_text(struct wire_in *in);
/* Borrowed from the frame. */
const void *wire_get_bytes(struct wire_in *in, size_t *ret_n);
/* A count for an array whose elements take at least `element_min` bytes each on the wire: bounded by what is left. */
size_t wire_get_count(struct wire_in *in, size_t element_min);
/* -ERR_NETWORK naming `what` when the reader is bad or bytes are left over. */
int wire_end(const struct wire_in *in, const char *what, struct err *e);

/* --- frames ----------------------------------------------------------------------------------------------------------- */
struct wire_frame {
	enum wire_type type;
	uint32_t id;
	uint8_t *body; /* owned; free() */
	size_t room;   /* bytes that body has room for */
	size_t len;
};
/* Writes one whole frame before the monotonic deadline. The descriptor may be non-blocking. */
int wire_send(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, int64_t deadline, struct err *e);
/* Megabytes that end a body, sent from where they are. Borrowed; NULL: none. */
struct wire_tail { const void *bytes; size_t len; };
int wire_send_tail(int fd, enum wire_type type, uint32_t id, const void *body, size_t len, const struct wire_tail *tail, int64_t deadline,
                   struct err *e);
/* Reads one whole frame before the deadline: -ERR_TIMEOUT, -ERR_CRASH at end of file, -ERR_NETWORK for garbage.
 * `also_fd` ≥ 0 is drained meanwhile into `also` (its last 8 KiB are kept): the worker's stderr. */
int wire_receive(int fd, struct wire_frame *ret_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e);
/* The same into the memory of an earlier frame ({ 0 } for none), which stays the caller's also on failure. */
int wire_receive_again(int fd, struct wire_frame *io_frame, int64_t deadline, int also_fd, struct buf *also, struct err *e);

/* --- messages --------------------------------------------------------------------------------------------------------- */
enum { WIRE_LACKS = 512 };
struct wire_hello {
	uint32_t version;
	uint32_t pid;
	char lacks[WIRE_LACKS]; /* what the worker's sandbox has to do without (sandbox_lacks); "" nothing */
};

struct wire_define { char *name, *value; };

struct wire_compile {
	char *backend;               /* "cuda" */
	char *arch;                  /* facts.arch */
	char *macros;                /* the macros region */
	char *device;                /* the device region; error lines refer to "macros" and "device" by #line */
	struct wire_define *defines; /* tuning parameters and constants, before everything */
	size_t define_count;
	char **options;              /* set by people in the context only */
	size_t option_count;
	struct plan *plan;           /* which kernels are launched, and which buffers bindings are made from */
};

struct wire_kernel {
	char *name;
	uint32_t registers;      /* per thread; UINT32_MAX unknown, as below */
	uint32_t shared;         /* static shared memory, bytes */
	uint32_t spill;          /* bytes spilled or local memory per thread */
	uint32_t max_threads;    /* per block that this kernel can be launched with */
	uint32_t block[3];       /* thread group size fixed in the code (HLSL numthreads, reqntid); {0,0,0} when free */
};

struct wire_compiled {
	uint8_t *binary;             /* what PREPARE takes back */
	size_t binary_len;
	char *log;                   /* warnings */
	struct wire_kernel *kernels; /* those that the plan launches */
	size_t kernel_count;
	uint64_t compile_ns;
};

struct wire_prepare { const uint8_t *binary; size_t binary_len; struct plan *plan; };
struct wire_prepared { uint32_t run; uint64_t prepare_ns; };

struct wire_execute {
	uint32_t run;
	uint64_t seed;      /* of the input values: same seed, same values, on every backend */
	uint32_t poison;    /* byte pattern for outputs and scratch (0xFF makes NaN in every floating type) */
	uint32_t values;    /* enum plan_values */
	uint32_t keep;      /* WIRE_KEEP_…: what stays as the last execution left it */
};
/* WIRE_KEEP_RAW: also the first execution finds what the driver gave, so that a tool sees what was never written. WIRE_LOOK: nothing is
 * written and nothing executed: the outputs, inputs and red zones are looked at as the last executions, timed ones among them, left them;
 * seed and values are those of the last one that was asked for. */
enum { WIRE_KEEP_SCRATCH = 1, WIRE_KEEP_OUTPUTS = 2, WIRE_KEEP_RAW = 4, WIRE_LOOK = 8 };
struct wire_executed {
	uint64_t device_ns;      /* of this one execution; 0 unknown */
	uint32_t changed_input;  /* 1 + index of the first PLAN_IN buffer that was written to; 0 none */
	uint32_t broken_zone;    /* 1 + index of the first buffer whose red zone was written to; 0 none */
};

struct wire_output { uint32_t run, output; }; /* outputs are the plan's OUT and INOUT buffers, in order */

/* The worker compares its last execution's output with a reference that it sees only now. */
struct wire_compare {
	uint32_t run, output;
	char reference_hash[65];
	const uint8_t *reference;  /* logical content in the output's type; NULL: "use the one you kept by that hash"; last in the message */
	size_t reference_len;
	double tolerance;          /* on ‖out−ref‖/‖ref‖; also decides which elements count as mismatches */
	uint32_t poison;           /* as in the execution: elements that still hold it are counted as untouched */
};

enum { WIRE_MISMATCHES = 8, WIRE_MAP = 8 };
struct wire_mismatch { int64_t index; double got, want; }; /* index: row-major over the logical dims */

struct wire_compared {
	uint32_t need_reference;   /* 1: nothing was compared; ask again with the bytes */
	double error;              /* ‖out−ref‖₂/‖ref‖₂ over elements where both are finite; ‖out‖ if ‖ref‖ is 0 */
	double ref_norm;           /* ‖ref‖₂ */
	double max_abs;            /* largest |out−ref| */
	uint64_t elements;
	uint64_t mismatched;       /* elements further off than 16·tolerance·(|want| + rms(ref)), or NaN/inf where ref is not */
	uint64_t nan;              /* NaN where the reference has none */
	uint64_t untouched;        /* still hold the poison where the reference does not */
	uint64_t ref_nan;          /* NaN or inf in the reference itself */
	uint32_t mismatch_count;   /* of the list below */
	struct wire_mismatch mismatch[WIRE_MISMATCHES];
	float map[WIRE_MAP][WIRE_MAP]; /* share of mismatched elements per tile of the last two dims, 0…1 */
};

/* The device beside one sample, as its monitoring library tells it (CUDA: NVML). Zero: not known. */
struct wire_condition {
	uint32_t core_mhz, memory_mhz; /* clocks */
	uint32_t milliwatts;
	uint32_t celsius;
	uint32_t throttle;             /* enum wire_throttle, or'ed: why clocks are lower than they could be */
	uint32_t foreign;              /* percent of the device that other processes use; WIRE_UNKNOWN */
	uint32_t disturbed;            /* 1: the sample says more about the device than about the kernel */
};
enum wire_throttle {
	WIRE_THROTTLE_IDLE = 1, WIRE_THROTTLE_SETTING = 2, WIRE_THROTTLE_POWER_CAP = 4, WIRE_THROTTLE_HARDWARE = 8,
	WIRE_THROTTLE_SYNC = 16, WIRE_THROTTLE_HEAT = 32, WIRE_THROTTLE_HARDWARE_HEAT = 64, WIRE_THROTTLE_POWER_BRAKE = 128,
};
#define WIRE_UNKNOWN UINT32_MAX

/* What the last-level cache holds before an execution. */
enum wire_cache {
	WIRE_WARM,    /* what the execution before left */
	WIRE_COLD,    /* nothing of it: overwritten, or the next of several copies of all buffers is taken */
	WIRE_FLUSHED, /* nothing of it: overwritten, and no copies are made, which costs more time than a few samples take */
};

struct wire_measure {
	uint32_t run;
	uint32_t min_samples;   /* ≥ 1 */
	uint32_t max_samples;
	double rse;             /* stop at this relative standard error of the mean, e.g. 0.005 */
	uint64_t cap_ns;        /* stop after this much time, with what there is */
	uint64_t hopeless_ns;   /* give up once the first samples are all slower than this; 0 never */
	uint64_t warm_up_ns;    /* the warm-up may take this long to become stable; at least 2 ms are used */
	enum wire_cache cache;
	uint32_t rests;         /* 1: for what is to be quoted: a device that is slowed down or shared gets time to recover (gpu_monitor_rest) */
};
struct wire_measured {
	uint64_t *samples;      /* nanoseconds per execution of the plan's timed operations; undisturbed ones unless `disturbed` */
	struct wire_condition *conditions; /* beside each sample */
	size_t sample_count;    /* of both */
	uint32_t launches;      /* executions inside one sample */
	uint32_t hopeless;      /* 1: given up early */
	uint32_t discarded;     /* disturbed samples that were thrown away */
	uint32_t disturbed;     /* 1: too few were undisturbed; these are what there was, and nothing to quote */
	char *note;             /* what could not be watched, and why; "" */
};

/* Two prepared runs, A and B, timed alternately. */
struct wire_pair {
	uint32_t a, b;          /* runs */
	uint32_t min_pairs, max_pairs;
	double margin;          /* "same" means within this factor: 0.01 is 1 % either way, */
	uint64_t floor_ns;      /* and within so much of an execution, whatever that factor; 0: only the factor counts */
	double confidence;      /* of the interval, e.g. 0.95 */
	double width;           /* go on until the interval is no wider than this on either side, e.g. 0.01 */
	uint64_t cap_ns;        /* stop after this much time */
	uint64_t warm_up_ns;    /* as above, for each */
	uint32_t cold;
};
enum wire_verdict { WIRE_FASTER, WIRE_SLOWER, WIRE_SAME, WIRE_UNCLEAR }; /* B relative to A */
struct wire_paired {
	uint64_t *a_ns, *b_ns;  /* nanoseconds per execution, pair by pair */
	struct wire_condition *conditions; /* beside each pair */
	size_t pair_count;      /* of all three */
	uint32_t launches_a, launches_b; /* executions inside one sample */
	uint32_t discarded;     /* disturbed pairs that were thrown away */
	uint32_t disturbed;     /* as in wire_measured */
	enum wire_verdict verdict;
	double margin;          /* that the verdict is by: the asked one, or more */
	double ratio, low, high; /* time of B / time of A, and its interval */
	char *note;
};

struct wire_energy { uint32_t run; uint64_t min_ns; /* of continuous execution, warm */ };
struct wire_energised {
	uint64_t executions;
	double seconds;         /* between the first and the last reading of the counter */
	double joules;          /* between them; 0: no counter, and `note` says why */
	struct wire_condition condition; /* at the end */
	char *note;
};

/* A kernel that does nothing but keep one pipe busy. */
struct wire_ceiling {
	char *name;             /* "f32", "tensor.f16", "copy" */
	char *unit;             /* "flop" or "byte" */
	double work;            /* units per execution */
	char *device;           /* source */
	struct plan *plan;
};
struct wire_ceilings { struct wire_ceiling *at; size_t count; };

/* Each message: append to a buffer; read back (errors -ERR_NETWORK); free what the reader allocated. */
#define WIRE_MESSAGE(name) \
	void wire_##name##_encode(const struct wire_##name *m, struct buf *out); \
	int wire_##name##_decode(struct wire_in *in, struct wire_##name *ret_m, struct err *e); \
	void wire_##name##_fini(struct wire_##name *m);
WIRE_MESSAGE(hello)
WIRE_MESSAGE(compile)
WIRE_MESSAGE(compiled)
WIRE_MESSAGE(prepare)
WIRE_MESSAGE(prepared)
WIRE_MESSAGE(execute)
WIRE_MESSAGE(executed)
WIRE_MESSAGE(output)
WIRE_MESSAGE(compare)
WIRE_MESSAGE(compared)
WIRE_MESSAGE(measure)
WIRE_MESSAGE(measured)
WIRE_MESSAGE(pair)
WIRE_MESSAGE(paired)
WIRE_MESSAGE(energy)
WIRE_MESSAGE(energised)
WIRE_MESSAGE(ceilings)
#undef WIRE_MESSAGE

/* A wire_compare without its last bytes, those of its reference: they follow as a tail. */
void wire_compare_begin(const struct wire_compare *m, struct buf *out);
/* WIRE_FAILED: reading gives back the worker's code and text as -e->code. */
void wire_failed_encode(const struct err *failure, struct buf *out);
int wire_failed_decode(struct wire_in *in, struct err *e);

/* WIRE_DEVICES: the request is a text, the answer a u64 count and so many facts. WIRE_OPEN: a text, one facts.
 * WIRE_OUTPUT: answered with wire_put_bytes. WIRE_RELEASE: a u32, nothing. */
void wire_facts_encode(const struct facts *f, struct buf *out);
void wire_facts_decode(struct wire_in *in, struct facts *ret_f);

#endif
