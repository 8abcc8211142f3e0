/* drain: jobs that wait for a device which this machine lacks travel to a machine that has it, and come back as results. A job that
 * was submitted with the field `later` stays queued (engine.h). drain_export writes such jobs, with all that they need, into a
 * folder. There `peakd drain run` carries them out. drain_merge takes what came of them into the database that they are from.
 * Called by daemon/verbs/drain.c; docs/drain.md describes the whole way.
 *
 * The folder ("bundle") holds a database of its own and a seal:
 *	jobs.peakdb      the jobs under their own ids, their checkpoints and all ancestors, contexts and texts by hash
 *	seal             fields: format, state (exported, running, stopped, ran), sha256 of jobs.peakdb (not while running)
 *
 * The seal finds copies that were cut off and files that were changed by accident; it is not a signature. Rows of the two databases
 * find each other by job ids and checkpoint hashes, never by row numbers. */
#ifndef PEAKD_CORE_JOBS_DRAIN_H
#define PEAKD_CORE_JOBS_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct db;
struct engine_kind;
struct job;
struct store;

/* DRAIN_RUNNING: or it was killed; DRAIN_STOPPED: it was ended in order before all jobs had ended. */
enum drain_state { DRAIN_EXPORTED, DRAIN_RUNNING, DRAIN_STOPPED, DRAIN_RAN };
enum { DRAIN_STATES = DRAIN_RAN + 1 };

/* "exported", … Static storage. */
const char *drain_state_name(enum drain_state state);

/* A job's request about the checkpoint of another number, as the text of a row; free(). */
char *drain_request(const struct engine_kind *kind, const struct job *job, int64_t checkpoint);
/* The path of the bundle's database; free(). */
char *drain_db(const char *folder);
/* Reads the seal and compares the database with it. -ERR_NOT_FOUND: no bundle; -ERR_IO: damaged; both say what to do. */
int drain_check(const char *folder, enum drain_state *ret_state, struct err *e);
/* Writes the seal for what the folder holds now. Nobody may have the bundle's database open, except for DRAIN_RUNNING. */
int drain_seal(const char *folder, enum drain_state state, struct err *e);

/* Writes the jobs that are kept for another machine (or the one named; NULL: all) into a new bundle, in the order in which they
 * were asked for, but all jobs of one baseline behind its first. `report` gets a line per job. Returns their number; 0: there is
 * none, and nothing was written. -ERR_CONFLICT: the folder holds something already. */
int drain_export(struct db *home, const char *folder, const char *only, struct buf *report, struct err *e);

/* What a merge did with the jobs of a bundle. */
struct drain_merged {
	unsigned merged;    /* results taken now */
	unsigned known;     /* it had ended here before, by this bundle or another one: nothing was done */
	unsigned cancelled; /* cancelled here meanwhile: their results stay outside */
	unsigned open;      /* did not end there: they stay queued here */
	unsigned rows;      /* of evidence */
};

/* Takes the results of the jobs that ended in a bundle into the database, all or nothing; a second time is harmless. The bundle is
 * only read. `report` gets a line per job. -ERR_CONFLICT: not run, running now, or of another database; -ERR_IO: damaged. */
int drain_merge(struct db *home, const char *folder, struct drain_merged *ret_merged, struct buf *report, struct err *e);

#endif
