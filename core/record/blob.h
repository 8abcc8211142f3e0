/* blob: texts and bytes by their SHA-256. Contexts, sources, transformation texts, prompts, replies and binaries are
 * stored once, however many rows name them. Called by the other files of core/record. */
#ifndef PEAKD_CORE_RECORD_BLOB_H
#define PEAKD_CORE_RECORD_BLOB_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct db;

/* Stores n bytes unless they are there already; *ret_hash is their name. */
int blob_put(struct db *db, const void *bytes, size_t n, struct hash *ret_hash, struct err *e);
/* As blob_put for a NUL-terminated text. */
int blob_put_text(struct db *db, const char *text, struct hash *ret_hash, struct err *e);
/* Appends the content to `out`. ERR_NOT_FOUND when there is none, ERR_IO when it does not match its name. */
int blob_get(struct db *db, const char *hash, struct buf *out, struct err *e);
/* As blob_get, as NUL-terminated text that the caller frees. */
int blob_get_text(struct db *db, const char *hash, char **ret_text, struct err *e);
/* 1 when stored, 0 when not. */
int blob_has(struct db *db, const char *hash, struct err *e);

#endif
