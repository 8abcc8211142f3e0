/* store: the database of a daemon. One `struct store` per process holds the path, the parsed statements, the pool of handles and
 * the bell of the job events. A `struct db` is one SQLite connection that a thread takes, uses and gives back. Every other file of
 * core/record takes a `struct db *` first. The daemon opens the store once; job threads and tools take a handle each.
 *
 * Durability. The database is in WAL mode with synchronous=FULL: each commit is on the disk before it is reported, so neither a
 * SIGKILL nor a power cut loses a committed checkpoint. NORMAL would be faster per commit and survives a kill as well, but a power
 * cut could take the last commits back. An exchange with a model costs money and minutes. (Measured on a virtual disk: 1.5 ms a
 * commit with FULL, 0.03 ms with NORMAL: beside a compilation both are nothing.) Whoever writes much (tune) puts its rows into one
 * transaction instead, which costs one sync for all of them.
 *
 * Identity. Contexts, texts and binaries are blobs named by their SHA-256, and a checkpoint's hash is made of hashes
 * (checkpoint.h). So nothing that matters is named by a row number alone, and two databases can be merged.
 *
 * Usage:
 *	struct db *db;
 *	int rc = store_take(store, &db, e);
 *	…
 *	rc = store_begin(db, e);                      // only to make several calls one; each call alone is atomic
 *	if (rc == 0) {
 *		rc = checkpoint_add(db, &c, &id, e);
 *		if (rc >= 0)
 *			rc = workflow_append(db, "matmul", id, e);
 *		rc = store_end(db, rc, e);
 *	}
 *	store_give(db); */
#ifndef PEAKD_CORE_RECORD_STORE_H
#define PEAKD_CORE_RECORD_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct event_bell;
struct store;
struct db; /* one connection with its prepared statements; used by the thread that took it, and no other */

/* Opens the database, creates it when missing (with its last folder), and brings an older one up to date.
 * ERR_UNSUPPORTED: written by a newer peakd, nothing was changed. ERR_INPUT: not a database, or not peakd's.
 * ERR_IO: cannot be created or written, disk full, damaged. */
int store_open(const char *path, struct store **ret_store, struct err *e);
/* All handles must have been given back. NULL is fine. */
void store_close(struct store *take_store);
/* The version of the database's schema that this peakd writes: the number of the newest migration. */
int store_version(void);
/* The path as opened; owned by the store. */
const char *store_path(const struct store *s);

/* Taking and giving handles needs LOCK_STORE, the outermost store_end after an event LOCK_LEAF: hold neither then.
 * A handle for the calling thread; several may be out at once. Opens a new connection when the pool is empty. */
int store_take(struct store *s, struct db **ret_db, struct err *e);
/* Gives a handle back to its store. No transaction may be open. NULL is fine. */
void store_give(struct db *take_db);

/* For those who need one handle and no more: opens the database and takes it. STORE_AS_IS: it must exist and keeps its version, to
 * be copied and checked. store_close_one gives the handle back and closes the database. NULL is fine. */
enum store_how { STORE_NEWEST, STORE_AS_IS };
int store_open_one(const char *path, enum store_how how, struct db **ret_db, struct err *e);
void store_close_one(struct db *take_db);
/* Whether the calling thread is the one that took the handle; another one takes one of its own. */
bool store_mine(const struct db *db);
/* -ERR_IO with the first reading that failed since the handle was taken, whoever passed over it: what was read is not
 * everything. */
int store_readable(const struct db *db, struct err *e);

/* Remembers that a damaged page was met; whether one was since the store was opened. */
void store_met_damage(struct store *s);
bool store_damaged(const struct store *s);
/* The store that a handle belongs to. */
struct store *store_of(const struct db *db);

/* The bell of the store's job events, for event.c. */
struct event_bell *store_bell(struct store *s);

/* Starts a transaction (BEGIN IMMEDIATE: waits for other writers up to ten seconds, then ERR_TIMEOUT). May be nested:
 * an inner one is a savepoint. Keep it short, and call no model and no worker inside. */
int store_begin(struct db *db, struct err *e);
/* Ends the innermost transaction: commits it for rc >= 0, takes it back for rc < 0. Returns rc, or the error of the
 * commit, in which case nothing was written. Bells ring after the outermost commit. */
int store_end(struct db *db, int rc, struct err *e);

/* What makes a process the one daemon of a database: locks that the kernel releases when the process dies in whatever way. One is
 * on "PATH.lock" (beside the file that a symbolic link points to), which also says who it is; the other is on the database itself,
 * since people delete lock files. */
struct store_claim {
	int note_fd, database_fd; /* -1: none */
};
#define STORE_CLAIM_INIT                                                                                                           \
	{                                                                                                                          \
		.note_fd = -1, .database_fd = -1                                                                                   \
	}

/* Claims the database; makes an empty file where there is none. `note` is one line for those who find it claimed (the daemon's
 * socket), may be NULL. *io_claim is STORE_CLAIM_INIT, or the claim that this process inherited. Claim before store_open and unlock
 * after store_close: closing a descriptor of the file ends the locks that SQLite holds in this process. ERR_CONFLICT: another
 * process holds it, the message says which. */
int store_lock(const char *path, const char *note, struct store_claim *io_claim, struct err *e);
void store_unlock(struct store_claim *claim);
/* Who holds the lock: 1 and its pid (0: unknown) and note (free() it; "" when none), 0 when nobody does. Not while this process has
 * the database open. */
int store_lock_holder(const char *path, int *ret_pid, char **ret_note, struct err *e);

/* --- checks and copies: `peakd check`, `peakd backup`, and the start of a daemon -------------------------------------------- */

typedef void store_finding(void *arg, const char *finding);
/* Everything: SQLite's pages, indexes and references, each content's hash, and what peakd keeps to. Returns the number of
 * findings. */
int store_check_all(struct db *db, store_finding *report, void *arg, struct err *e);
/* The same; ERR_IO with the first finding. */
int store_check(struct db *db, struct err *e);
/* The pages alone. ERR_TIMEOUT when the deadline (clock_now's) came first: no damage was found by then. */
int store_check_pages(struct db *db, int64_t deadline, struct err *e);
/* Writes a checked copy of the database as it is now, one file, while others go on writing; replaces the file `to` when it is
 * whole. */
int store_copy(struct db *db, const char *to, struct err *e);

#endif
