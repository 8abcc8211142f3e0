/* binaries: a folder of compilers' answers by the hash of their requests, so that a repeated tune compiles nothing. The key covers
 * all that the answer depends on: source, parameters, options, architecture, the plan's form (plan_form), compiler and peakd's
 * version. Refusals are kept, too. Bounded in size: the least recently used goes first. Used by variant.c; the daemon makes one.
 *
 * A file has the hash of its content in front, and is written beside and renamed. So a damaged file is not used, and several
 * daemons may share a folder. Workers cannot write there (sandbox.h). */
#ifndef PEAKD_CORE_WORKERS_BINARIES_H
#define PEAKD_CORE_WORKERS_BINARIES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "core/workers/cancel.h"

struct binaries;

struct binaries_stats {
	uint64_t hits, misses; /* of binaries_get since binaries_new */
	uint64_t bytes, files; /* in the folder, as far as this process knows */
};

/* The folder is made when missing, for its owner alone. NULL when it cannot be used (read-only home, full disk): then nothing is
 * kept. */
struct binaries *binaries_new(const char *folder, uint64_t max_bytes);
void binaries_free(struct binaries *take_binaries);
/* 1 with the bytes appended to out, 0 when no intact file has that key. `b` may be NULL. */
int binaries_get(struct binaries *b, const struct hash *key, struct buf *out);
/* The same for a caller that will make what is missing: waits while another thread of this process makes it. After 0 the caller
 * alone makes it, until binaries_leave. Else 1, or -ERR_CANCELLED. */
int binaries_claim(struct binaries *b, const struct hash *key, const struct cancel *cancel, struct buf *out, struct err *e);
/* Made (and put), or failed. `b` may be NULL. */
void binaries_leave(struct binaries *b, const struct hash *key);
/* Keeps bytes; on trouble (a full disk) they are not kept. `b` may be NULL. */
void binaries_put(struct binaries *b, const struct hash *key, const void *bytes, size_t n);
struct binaries_stats binaries_stats(struct binaries *b);

#endif
