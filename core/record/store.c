/* store: opening, migrating, handles, transactions and the daemon's lock; see store.h. */
#include "core/record/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/record/event.h"
#include "core/record/query.h"

enum {
	STORE_APPLICATION = 0x5045414b, /* "PEAK", as in schema/0001-record.sql */
	STORE_BUSY_MS = 10000,          /* how long a statement waits for another writer */
	STORE_IDLE_MAX = 16,            /* handles kept open for the next taker */
	STORE_WAL_ROOM = 64 << 10,      /* bytes: what WAL's files need at least, and some */
	STORE_CHECK_STEPS = 100000,     /* of SQLite's machine between two looks at the clock */
};

struct store {
	char *path;           /* absolute */
	struct query_set set; /* read-only after store_open */
	bool frozen;          /* the disk is full, and the file is read without the files that WAL needs */
	atomic_bool damaged;  /* a damaged page was met; until the store is opened again */
	struct lock lock;     /* LOCK_STORE; guards what follows */
	struct db **idle;     /* handles that wait for a taker; room for STORE_IDLE_MAX */
	size_t idle_count;
	size_t out;             /* handles that are taken */
	struct event_bell bell; /* of job events; has its own lock */
};

static const char *migration(int number)
{
	char prefix[32];
	snprintf(prefix, sizeof prefix, "schema/%04d-", number);
	return embedded_file(prefix);
}

int store_version(void)
{
	int version = 0;
	while (migration(version + 1))
		version++;
	return version;
}

/* --- handles ----------------------------------------------------------------------------------------------------- */

static void close_handle(struct db *take_db)
{
	if (take_db == NULL)
		return;
	for (size_t i = 0; take_db->cache && i < take_db->set->count; i++)
		sqlite3_finalize(take_db->cache[i]);
	for (size_t i = 0; i < take_db->added_count; i++)
		sqlite3_finalize(take_db->added[i].stmt);
	free(take_db->added);
	free(take_db->cache);
	free(take_db->lost);
	free(take_db->unreadable);
	sqlite3_close(take_db->sql);
	free(take_db);
}

static int open_handle(struct store *s, struct db **ret_db, struct err *e)
{
	struct db *db = MEM_NEW(struct db);
	*db = (struct db){ .store = s, .set = &s->set, .cache = MEM_NEW_N(sqlite3_stmt *, s->set.count), .owner = pthread_self() };
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI;
	flags |= s->frozen ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct buf uri = BUF_INIT;
	buf_adds(&uri, "file:");
	buf_add_uri(&uri, s->path);
	buf_adds(&uri, s->frozen ? "?immutable=1" : "");
	int rc = sqlite3_open_v2(buf_text(&uri), &db->sql, flags, NULL);
	buf_fini(&uri);
	if (rc != SQLITE_OK) {
		rc = query_error(db, rc, "opening", e);
	} else {
		sqlite3_busy_timeout(db->sql, STORE_BUSY_MS);
		rc = query_exec(db, "store_open", e);
	}
	if (rc < 0)
		close_handle(db);
	else
		*ret_db = db;
	return rc;
}

int store_take(struct store *s, struct db **ret_db, struct err *e)
{
	struct db *db = NULL;
	lock_take(&s->lock);
	s->out++;
	if (s->idle_count > 0)
		db = s->idle[--s->idle_count];
	lock_release(&s->lock);
	if (db) {
		db->owner = pthread_self();
		*ret_db = db;
		return 0;
	}
	int rc = open_handle(s, ret_db, e);
	if (rc < 0) {
		lock_take(&s->lock);
		s->out--;
		lock_release(&s->lock);
	}
	return rc;
}

void store_give(struct db *take_db)
{
	if (take_db == NULL)
		return;
	assert(take_db->depth == 0 && "every store_begin has its store_end");
	struct store *s = take_db->store;
	free(take_db->unreadable);
	take_db->unreadable = NULL;
	lock_take(&s->lock);
	s->out--;
	bool keep = s->idle_count < STORE_IDLE_MAX;
	if (keep)
		s->idle[s->idle_count++] = take_db;
	lock_release(&s->lock);
	if (!keep)
		close_handle(take_db);
}

bool store_mine(const struct db *db)
{
	return pthread_equal(db->owner, pthread_self());
}

int store_readable(const struct db *db, struct err *e)
{
	return db->unreadable ? err_set(e, ERR_IO, "%s", db->unreadable) : 0;
}

void store_met_damage(struct store *s)
{
	atomic_store(&s->damaged, true);
}

bool store_damaged(const struct store *s)
{
	return atomic_load(&s->damaged);
}

struct store *store_of(const struct db *db)
{
	return db->store;
}

const char *store_path(const struct store *s)
{
	return s->path;
}

struct event_bell *store_bell(struct store *s)
{
	return &s->bell;
}

/* --- opening ----------------------------------------------------------------------------------------------------- */

/* The path without symbolic links, also when the file does not exist yet, so that two names of one database meet at
 * the same lock. A folder that is missing is a mistyped one. */
static int absolute_path(const char *path, char **ret_path, struct err *e)
{
	char *real = realpath(path, NULL), *copies[2] = { mem_str(path), mem_str(path) };
	const char *folder = dirname(copies[0]), *file = basename(copies[1]);
	int rc = 0;
	if (real == NULL && errno == ENOENT) {
		char *real_folder = realpath(folder, NULL);
		if (real_folder == NULL)
			rc = err_sys(e, errno,
				     "%s: the database's folder %s cannot be used (mkdir makes it, --db names another file)", path,
				     folder);
		if (real_folder)
			real = mem_fmt("%s/%s", strcmp(real_folder, "/") == 0 ? "" : real_folder, file);
		free(real_folder);
	}
	if (real)
		*ret_path = real;
	else if (rc == 0)
		rc = err_sys(e, errno, "%s: this path of the database cannot be followed: name another file with --db", path);
	free(copies[0]);
	free(copies[1]);
	return rc;
}

static int check_owner(struct db *db, int *ret_version, struct err *e)
{
	const char *path = db->store->path;
	struct query q;
	query_start(&q, db, "store_version", NULL);
	int rc = query_next(&q, e);
	int64_t version = 0, application = 0, tables = 0;
	if (rc > 0) {
		version = query_get_int(&q);
		application = query_get_int(&q);
		tables = query_get_int(&q);
	}
	query_fini(&q);
	if (rc < 0)
		return rc;
	if (application != STORE_APPLICATION && (version != 0 || application != 0 || tables != 0))
		return err_set(e, ERR_INPUT,
			       "%s: this is another program's database, and was not changed: name another file with --db", path);
	if (version > store_version())
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: written by a newer peakd (database version %d, this peakd knows up to %d). It was not "
			       "changed. Install that peakd, or name another file with --db",
			       path, (int)version, store_version());
	*ret_version = (int)version;
	return 0;
}

/* Applies the migrations that are missing, each with its new version number in one transaction. What an older peakd wrote is copied
 * first, so that it can be gone back to. */
static int migrate(struct db *db, struct err *e)
{
	int version = 0;
	int rc = check_owner(db, &version, e);
	if (rc == 0 && version > 0 && version < store_version()) {
		char *copy = mem_fmt("%s.v%d", db->store->path, version);
		rc = store_copy(db, copy, e);
		if (rc < 0)
			err_wrap(e, "copying the database before its migration from version %d to %d", version, store_version());
		free(copy);
	}
	while (rc == 0 && version < store_version()) {
		rc = store_begin(db, e);
		if (rc < 0)
			return rc;
		/* Another process may have been faster. */
		rc = check_owner(db, &version, e);
		if (rc == 0 && version < store_version())
			rc = query_exec_text(db, migration(version + 1), e);
		rc = store_end(db, rc, e);
		if (rc == 0)
			rc = check_owner(db, &version, e);
	}
	return rc;
}

/* Changing to WAL wants the file alone for a moment and does not wait by itself: tries for as long as others would. */
static int use_wal(struct db *db, struct err *e)
{
	int64_t deadline = clock_now() + STORE_BUSY_MS * CLOCK_MS;
	for (;;) {
		struct err why = ERR_INIT;
		int rc = query_exec(db, "store_wal", &why);
		if (rc == 0)
			return 0;
		if (rc != -ERR_TIMEOUT || clock_now() > deadline)
			return err_set(e, why.code, "%s", why.text);
		clock_sleep(10 * CLOCK_MS);
	}
}

static int new_store(const char *path, struct store **ret_store, struct err *e)
{
	char *absolute = NULL;
	int rc = absolute_path(path, &absolute, e);
	if (rc < 0)
		return rc;
	struct store *s = *ret_store = MEM_NEW(struct store);
	*s = (struct store){ .path = absolute, .idle = MEM_NEW_N(struct db *, STORE_IDLE_MAX) };
	query_set_init(&s->set, embedded_file("schema/queries.sql"));
	lock_init(&s->lock, LOCK_STORE);
	event_bell_init(&s->bell);
	return 0;
}

static int open_handles(struct store *s, bool as_is, struct err *e)
{
	struct db *db = NULL;
	int rc = store_take(s, &db, e);
	if (rc == 0)
		rc = check_owner(db, &(int){ 0 }, e);
	if (rc == 0 && !as_is && !s->frozen)
		rc = use_wal(db, e);
	if (rc == 0 && !as_is)
		rc = migrate(db, e);
	store_give(db);
	return rc;
}

/* A full disk has no room for the files beside the database that every connection needs. A database that was closed well is whole
 * without them, and then it can at least be read. */
static bool may_freeze(const struct store *s)
{
	char *wal = mem_fmt("%s-wal", s->path);
	struct stat at, log;
	struct statvfs disk;
	bool full = statvfs(s->path, &disk) == 0 && disk.f_bavail * disk.f_frsize < STORE_WAL_ROOM;
	bool whole = stat(s->path, &at) == 0 && at.st_size > 0 && (stat(wal, &log) != 0 || log.st_size == 0);
	free(wal);
	return full && whole;
}

static int open_with(const char *path, bool as_is, struct store **ret_store, struct err *e)
{
	struct store *s = NULL;
	int rc = new_store(path, &s, e);
	if (rc == 0)
		rc = open_handles(s, as_is, e);
	if (rc == -ERR_IO && s && may_freeze(s)) {
		log_warning("%s; the database can only be read until there is space and the daemon is started again", e->text);
		while (s->idle_count > 0)
			close_handle(s->idle[--s->idle_count]);
		s->frozen = true;
		rc = open_handles(s, as_is, e);
	}
	if (rc < 0)
		store_close(s);
	else
		*ret_store = s;
	return rc;
}

int store_open(const char *path, struct store **ret_store, struct err *e)
{
	return open_with(path, false, ret_store, e);
}

int store_open_one(const char *path, enum store_how how, struct db **ret_db, struct err *e)
{
	struct store *s = NULL;
	if (how == STORE_AS_IS && access(path, F_OK) != 0)
		return err_sys(e, errno, "%s: there is no such database", path);
	int rc = open_with(path, how == STORE_AS_IS, &s, e);
	if (rc == 0 && (rc = store_take(s, ret_db, e)) < 0)
		store_close(s);
	return rc;
}

void store_close_one(struct db *take_db)
{
	struct store *s = take_db ? store_of(take_db) : NULL;
	store_give(take_db);
	store_close(s);
}

void store_close(struct store *take_store)
{
	if (take_store == NULL)
		return;
	assert(take_store->out == 0 && "all handles were given back");
	for (size_t i = 0; i < take_store->idle_count; i++)
		close_handle(take_store->idle[i]);
	event_bell_fini(&take_store->bell);
	lock_fini(&take_store->lock);
	query_set_fini(&take_store->set);
	free(take_store->idle);
	free(take_store->path);
	free(take_store);
}

/* --- checks and copies ------------------------------------------------------------------------------------------- */

static int damaged(struct db *db, const char *finding, struct err *e)
{
	return err_set(e, ERR_IO,
		       "%s: the database is damaged (%s): keep a copy and repair it with sqlite3's .recover, or restore a backup",
		       db->store->path, finding);
}

/* Each row of the statement is a finding, unless it says "ok". */
static int check_with(struct db *db, const char *name, store_finding *report, void *arg, struct err *e)
{
	struct query q;
	int rc, count = 0;
	query_start(&q, db, name, NULL);
	while ((rc = query_next(&q, e)) > 0) {
		char *finding = query_get_text(&q);
		if (finding == NULL || strcmp(finding, "ok") != 0) {
			count++;
			report(arg, finding ? finding : name);
		}
		free(finding);
	}
	query_fini(&q);
	return rc < 0 ? rc : count;
}

static int check_blobs(struct db *db, store_finding *report, void *arg, struct err *e)
{
	struct query q;
	struct buf data = BUF_INIT;
	int rc, count = 0;
	query_start(&q, db, "check_blobs", NULL);
	while ((rc = query_next(&q, e)) > 0) {
		char *name = query_get_text(&q);
		buf_clear(&data);
		query_get_bytes(&q, &data);
		if (strcmp(hash_bytes(buf_text(&data), data.len).hex, name) != 0) {
			char *finding = mem_fmt("the content of %s has another hash", name);
			count++;
			report(arg, finding);
			free(finding);
		}
		free(name);
	}
	query_fini(&q);
	buf_fini(&data);
	return rc < 0 ? rc : count;
}

int store_check_all(struct db *db, store_finding *report, void *arg, struct err *e)
{
	static const char *const own[] = { "check_evidence", "check_comparisons", "check_jobs",
					   "check_events",   "check_heads",       "check_lines" };
	int version = 0, count = 0;
	int rc = check_owner(db, &version, e);
	if (rc == 0)
		rc = count = check_with(db, "store_integrity", report, arg, e);
	if (rc >= 0 && (rc = check_with(db, "store_foreign_keys", report, arg, e)) >= 0)
		count += rc;
	if (rc >= 0 && (rc = check_blobs(db, report, arg, e)) >= 0)
		count += rc;
	/* These know the newest schema alone. */
	for (size_t i = 0; rc >= 0 && version == store_version() && i < MEM_COUNT(own); i++)
		if ((rc = check_with(db, own[i], report, arg, e)) >= 0)
			count += rc;
	return rc < 0 ? rc : count;
}

static void keep_first(void *arg, const char *finding)
{
	char **first = arg;
	if (*first == NULL)
		*first = mem_str(finding);
}

int store_check(struct db *db, struct err *e)
{
	char *first = NULL;
	int rc = store_check_all(db, keep_first, &first, e);
	if (rc > 0)
		rc = damaged(db, first, e);
	free(first);
	return rc;
}

static int is_late(void *arg)
{
	return clock_now() > *(int64_t *)arg;
}

int store_check_pages(struct db *db, int64_t deadline, struct err *e)
{
	char *first = NULL;
	sqlite3_progress_handler(db->sql, STORE_CHECK_STEPS, is_late, &deadline);
	int rc = check_with(db, "store_quick_check", keep_first, &first, e);
	sqlite3_progress_handler(db->sql, 0, NULL, NULL);
	if (rc > 0)
		rc = damaged(db, first, e);
	free(first);
	return rc;
}

static int check_copy(const char *path, struct err *e)
{
	struct db *db = NULL;
	int rc = store_open_one(path, STORE_AS_IS, &db, e);
	if (rc == 0)
		rc = store_check(db, e);
	store_close_one(db);
	return rc;
}

int store_copy(struct db *db, const char *to, struct err *e)
{
	char *part = mem_fmt("%s.%d.part", to, (int)getpid()), *copy = mem_str(to);
	int fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), folder = open(dirname(copy), O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 || folder < 0 ? err_sys(e, errno, "%s cannot be written", part) : 0;
	if (rc == 0)
		rc = query_do(db, "store_copy", QUERY(QUERY_TEXT(part)), NULL, e);
	if (rc == 0)
		rc = check_copy(part, e);
	/* The copy is on the disk before it has its name, and its name before anybody relies on it. */
	if (rc == 0 && (fsync(fd) != 0 || rename(part, to) != 0 || fsync(folder) != 0))
		rc = err_sys(e, errno, "%s cannot be written", to);
	if (rc < 0)
		unlink(part);
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	free(part);
	free(copy);
	return rc;
}

/* --- transactions ------------------------------------------------------------------------------------------------ */

int store_begin(struct db *db, struct err *e)
{
	int rc = query_do(db, db->depth == 0 ? "store_begin" : "store_savepoint", NULL, NULL, e);
	if (rc == 0)
		db->depth++;
	return rc;
}

/* Takes back what the innermost transaction did; SQLite may have taken back everything already. */
static void take_back(struct db *db)
{
	if (sqlite3_get_autocommit(db->sql))
		return;
	if (db->depth == 1) {
		query_do(db, "store_rollback", NULL, NULL, NULL);
	} else {
		query_do(db, "store_rollback_inner", NULL, NULL, NULL);
		query_do(db, "store_release", NULL, NULL, NULL);
	}
}

int store_end(struct db *db, int rc, struct err *e)
{
	assert(db->depth > 0);
	if (rc >= 0) {
		int done = query_do(db, db->depth == 1 ? "store_commit" : "store_release", NULL, NULL, e);
		rc = done < 0 ? done : rc;
	}
	if (rc < 0)
		take_back(db);
	db->depth--;
	if (db->depth == 0) {
		bool ring = db->ring && rc >= 0;
		db->ring = false;
		free(db->lost);
		db->lost = NULL;
		if (ring)
			event_bell_ring(&db->store->bell);
	}
	return rc;
}

/* --- one daemon per database ------------------------------------------------------------------------------------- */

/* *ret_fd is -1 when the file does not exist and `flags` do not make it. */
static int open_beside(const char *path, const char *suffix, int flags, int *ret_fd, struct err *e)
{
	char *absolute = NULL;
	int rc = absolute_path(path, &absolute, e);
	if (rc < 0)
		return rc;
	char *name = mem_fmt("%s%s", absolute, suffix);
	*ret_fd = open(name, flags | O_CLOEXEC, *suffix ? 0600 : 0644);
	if (*ret_fd < 0 && (errno != ENOENT || (flags & O_CREAT)))
		rc = err_sys(e, errno, "%s: %s cannot be opened: make it and its folder writable, or name another file with --db",
			     name, *suffix ? "the lock file beside the database" : "the database");
	free(name);
	free(absolute);
	return rc;
}

/* The lock file holds "PID NOTE\n". */
static void read_holder(int fd, int *ret_pid, char **ret_note)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	char *end = text;
	*ret_pid = (int)strtol(text, &end, 10);
	end += *end == ' ';
	end[strcspn(end, "\n")] = '\0';
	*ret_note = mem_str(end);
}

/* A full disk takes no note; clients then try the socket where a daemon of their own would listen. */
static int write_holder(int fd, const char *path, const char *note, struct err *e)
{
	char *text = mem_fmt("%d %s\n", (int)getpid(), note ? note : "");
	size_t n = strlen(text);
	bool written = ftruncate(fd, 0) == 0 && pwrite(fd, text, n, 0) == (ssize_t)n;
	int rc = written || errno == ENOSPC || errno == EDQUOT ? 0 : err_sys(e, errno, "%s.lock: cannot be written", path);
	free(text);
	return rc;
}

/* Locks of open file descriptions (fcntl(2), F_OFD_*) rather than flock(2): these can be asked about without taking
 * them, so that looking never gets into a starting daemon's way. Both end with the process. In the database they are far behind the
 * bytes that SQLite locks (sqlite.org/lockingv3.html). */
static struct flock claimed_bytes(bool database)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = database ? (off_t)1 << 62 : 0, .l_len = database
	};
}

static int lock_file(const char *path, int fd, bool database, struct err *e)
{
	struct flock want = claimed_bytes(database);
	if (fcntl(fd, F_OFD_SETLK, &want) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return err_sys(e, errno, "%s: cannot be locked: the database must be on a file system with locks", path);
	int pid = 0;
	char *other = NULL;
	if (database)
		return err_set(
			e, ERR_CONFLICT,
			"%s: another peakd serves this database, and somebody deleted its lock file %s.lock: end that peakd, or "
			"name another file with --db",
			path, path);
	read_holder(fd, &pid, &other);
	err_set(e, ERR_CONFLICT,
		"%s: another peakd (process %d%s%s) serves this database: use that one, end it, or name another file with --db",
		path, pid, *other ? ", " : "", other);
	free(other);
	return -ERR_CONFLICT;
}

int store_lock(const char *path, const char *note, struct store_claim *io_claim, struct err *e)
{
	struct store_claim c = *io_claim;
	int rc = c.note_fd < 0 ? open_beside(path, ".lock", O_RDWR | O_CREAT, &c.note_fd, e) : 0;
	if (rc == 0)
		rc = lock_file(path, c.note_fd, false, e);
	if (rc == 0 && c.database_fd < 0)
		rc = open_beside(path, "", O_RDWR | O_CREAT, &c.database_fd, e);
	if (rc == 0)
		rc = lock_file(path, c.database_fd, true, e);
	if (rc == 0)
		rc = write_holder(c.note_fd, path, note, e);
	if (rc < 0)
		store_unlock(&c);
	*io_claim = c;
	return rc;
}

void store_unlock(struct store_claim *claim)
{
	if (claim->note_fd >= 0)
		close(claim->note_fd);
	if (claim->database_fd >= 0)
		close(claim->database_fd);
	*claim = (struct store_claim)STORE_CLAIM_INIT;
}

/* 1 when somebody holds the file, else 0. */
static int look_at(const char *path, bool database, int *ret_pid, char **ret_note, struct err *e)
{
	int fd = -1;
	int rc = open_beside(path, database ? "" : ".lock", O_RDWR, &fd, e);
	if (rc < 0 || fd < 0)
		return rc;
	struct flock held = claimed_bytes(database);
	if (fcntl(fd, F_OFD_GETLK, &held) != 0) {
		rc = err_sys(e, errno, "%s: its lock cannot be looked at", path);
	} else if (held.l_type != F_UNLCK) {
		rc = 1;
		*ret_pid = 0;
		if (database)
			*ret_note = mem_str("");
		else
			read_holder(fd, ret_pid, ret_note);
	}
	close(fd);
	return rc;
}

int store_lock_holder(const char *path, int *ret_pid, char **ret_note, struct err *e)
{
	int rc = look_at(path, false, ret_pid, ret_note, e);
	return rc ? rc : look_at(path, true, ret_pid, ret_note, e);
}
