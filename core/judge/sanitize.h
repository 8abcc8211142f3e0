/* sanitize: NVIDIA's compute-sanitizer in front of a device worker finds what no comparison of outputs can show. It sees reads and
 * writes out of bounds, data races, uninitialised reads, and barriers that not all threads reach. Called for the validate tool's
 * `sanitizer`.
 *
 * The tool is only a launcher prefix: the worker behind it prepares and executes a few configurations of the smallest input size,
 * and ends by itself. The tool's log file says what it saw (docs.nvidia.com/compute-sanitizer, "Compute Sanitizer CLI"). Kernels
 * are compiled with line information, so that findings name lines of the context's regions. */
#ifndef PEAKD_CORE_JUDGE_SANITIZE_H
#define PEAKD_CORE_JUDGE_SANITIZE_H

#include "base/buf.h"
#include "core/context/context.h"
#include "core/workers/eval.h"

struct db;

/* The same thing at the same line, however many threads did it. */
struct sanitize_finding {
	char *what;   /* "Invalid __global__ write of size 4 bytes" */
	char *region; /* "device", "macros", or a file's name; "" when the log names no place */
	long line;    /* of the region; 0 unknown */
	char *kernel; /* "" unknown */
	char *detail; /* which thread and what about the address, of the first; "" */
	size_t count; /* how often the log reports it */
};

struct sanitize_log {
	struct sanitize_finding *at;
	size_t count;
	bool complete; /* it ends with a summary */
	char *failure; /* why the tool could not do its work, in its own words; NULL */
};

/* Reads a log file's text and adds what it says. Knows the forms of memcheck, racecheck, initcheck and synccheck, versions 2021 to
 * 2025. */
void sanitize_log_add(struct sanitize_log *log, const char *text);
void sanitize_log_fini(struct sanitize_log *log);
/* The first `max` findings as lines with their source lines, the most frequent first. */
void sanitize_log_show(const struct sanitize_log *log, const struct context *ctx, size_t max, struct buf *out);

struct sanitize_request {
	const struct context *ctx;
	const struct facts *facts;
	const char *tool; /* "memcheck", "racecheck", "initcheck", "synccheck" */
	unsigned samples; /* configurations; 0: 2 */
	uint64_t seed;    /* of the sampling */
};

struct sanitize_result {
	bool passed;   /* ran on at least one configuration and found nothing */
	bool skipped;  /* could not run: the summary says why */
	char *summary; /* one line */
	char *details; /* findings with source lines, at most three; NULL */
	size_t configurations;
};

/* True for a name of the tools above. */
bool sanitize_known(const char *tool);
/* 0 with a result whatever it is; negative when cancelled or the record cannot be written. With `db` and a checkpoint > 0 every
 * configuration becomes a row of evidence whose validator is the tool's name. */
int sanitize_run(const struct eval *ev, const struct sanitize_request *request, struct db *db, int64_t checkpoint, const char *job,
		 struct sanitize_result *ret_result, struct err *e);
void sanitize_result_fini(struct sanitize_result *r);

#endif
