/* store: opening, migrating, handles, transactions and the daemon's lock; see store.h. */
#include "core/record/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/record/event.h"
#include "core/record/query.h"

enum {
	STORE_APPLICATION = 0x5045414b, /* "PEAK", as in schema/0001-record.sql */
	STORE_BUSY_MS = 10000,          /* how long a statement waits for another writer */
	STORE_IDLE_MAX = 16,            /* handles kept open for the next taker */
};

struct store {
	char *path;           /* absolute */
	struct query_set set; /* read-only after store_open */
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
	free(take_db->cache);
	free(take_db->lost);
	sqlite3_close(take_db->sql);
	free(take_db);
}

static int open_handle(struct store *s, struct db **ret_db, struct err *e)
{
	struct db *db = MEM_NEW(struct db);
	*db = (struct db){ .store = s, .set = &s->set, .cache = MEM_NEW_N(sqlite3_stmt *, s->set.count), .owner = pthread_self() };
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	int rc = sqlite3_open_v2(s->path, &db->sql, flags, NULL);
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
 * the same lock. The last folder is made when missing. */
static int absolute_path(const char *path, char **ret_path, struct err *e)
{
	char *real = realpath(path, NULL), *copies[2] = { mem_str(path), mem_str(path) };
	const char *folder = dirname(copies[0]), *file = basename(copies[1]);
	int rc = 0;
	if (real == NULL && errno == ENOENT) {
		if (mkdir(folder, 0700) != 0 && errno != EEXIST)
			rc = err_sys(e, errno,
				     "%s: the folder %s of the database cannot be made: make it, or name another file with --db",
				     path, folder);
		char *real_folder = rc == 0 ? realpath(folder, NULL) : NULL;
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
			       "%s: this is a database of another program: name another file with --db, it was not changed", path);
	if (version > store_version())
		return err_set(e, ERR_UNSUPPORTED,
			       "%s: written by a newer peakd (database version %d, this peakd knows up to %d): install that peakd, "
			       "or name another file with --db; it was not changed",
			       path, (int)version, store_version());
	*ret_version = (int)version;
	return 0;
}

/* Applies the migrations that are missing, each with its new version number in one transaction. */
static int migrate(struct db *db, struct err *e)
{
	int version = 0;
	int rc = check_owner(db, &version, e);
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

int store_open(const char *path, struct store **ret_store, struct err *e)
{
	char *absolute = NULL;
	int rc = absolute_path(path, &absolute, e);
	if (rc < 0)
		return rc;
	struct store *s = MEM_NEW(struct store);
	*s = (struct store){ .path = absolute, .idle = MEM_NEW_N(struct db *, STORE_IDLE_MAX) };
	query_set_init(&s->set, embedded_file("schema/queries.sql"));
	lock_init(&s->lock, LOCK_STORE);
	event_bell_init(&s->bell);

	struct db *db = NULL;
	rc = store_take(s, &db, e);
	if (rc == 0)
		rc = check_owner(db, &(int){ 0 }, e);
	if (rc == 0)
		rc = use_wal(db, e);
	if (rc == 0)
		rc = migrate(db, e);
	store_give(db);
	if (rc < 0)
		store_close(s);
	else
		*ret_store = s;
	return rc;
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

static int check_with(struct db *db, const char *name, const char *good, struct err *e)
{
	char *finding = NULL;
	int rc = query_text(db, name, NULL, &finding, e);
	if (rc > 0 && (good == NULL || finding == NULL || strcmp(finding, good) != 0))
		rc = err_set(e, ERR_IO,
			     "%s: the database is damaged (%s: %s): keep a copy and repair it with sqlite3's .recover, or restore "
			     "a backup",
			     db->store->path, name, finding ? finding : "?");
	free(finding);
	return rc < 0 ? rc : 0;
}

int store_check(struct db *db, struct err *e)
{
	int rc = check_with(db, "store_integrity", "ok", e);
	return rc < 0 ? rc : check_with(db, "store_foreign_keys", NULL, e);
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
static int open_lock_file(const char *path, int flags, int *ret_fd, struct err *e)
{
	char *absolute = NULL;
	int rc = absolute_path(path, &absolute, e);
	if (rc < 0)
		return rc;
	char *name = mem_fmt("%s.lock", absolute);
	*ret_fd = open(name, flags | O_CLOEXEC, 0600);
	if (*ret_fd < 0 && (errno != ENOENT || (flags & O_CREAT)))
		rc = err_sys(e, errno,
			     "%s: the lock file beside the database cannot be opened: make its folder writable, or name another "
			     "file with --db",
			     name);
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

static int write_holder(int fd, const char *path, const char *note, struct err *e)
{
	char *text = mem_fmt("%d %s\n", (int)getpid(), note ? note : "");
	size_t n = strlen(text);
	bool written = ftruncate(fd, 0) == 0 && pwrite(fd, text, n, 0) == (ssize_t)n;
	int rc = written ? 0 : err_sys(e, errno, "%s.lock: the lock file cannot be written: free space there", path);
	free(text);
	return rc;
}

/* Locks of open file descriptions (fcntl(2), F_OFD_*) rather than flock(2): these can be asked about without taking
 * them, so that looking never gets into a starting daemon's way. Both end with the process. */
static struct flock whole_file(void)
{
	return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0 };
}

int store_lock(const char *path, const char *note, int *ret_fd, struct err *e)
{
	int fd = -1;
	int rc = open_lock_file(path, O_RDWR | O_CREAT, &fd, e);
	if (rc < 0)
		return rc;
	struct flock want = whole_file();
	if (fcntl(fd, F_OFD_SETLK, &want) == 0) {
		rc = write_holder(fd, path, note, e);
	} else if (errno == EAGAIN || errno == EACCES) {
		int pid = 0;
		char *other = NULL;
		read_holder(fd, &pid, &other);
		rc = err_set(e, ERR_CONFLICT,
			     "%s: another peakd (process %d%s%s) serves this database: use that one, end it, or name another file "
			     "with --db",
			     path, pid, *other ? ", " : "", other);
		free(other);
	} else {
		rc = err_sys(e, errno, "%s.lock: cannot be locked: the database must be on a file system with locks", path);
	}
	if (rc < 0)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

int store_lock_holder(const char *path, int *ret_pid, char **ret_note, struct err *e)
{
	int fd = -1;
	int rc = open_lock_file(path, O_RDWR, &fd, e);
	if (rc < 0 || fd < 0)
		return rc;
	struct flock held = whole_file();
	if (fcntl(fd, F_OFD_GETLK, &held) != 0) {
		rc = err_sys(e, errno, "%s.lock: cannot be looked at", path);
	} else if (held.l_type != F_UNLCK) {
		read_holder(fd, ret_pid, ret_note);
		rc = 1;
	}
	close(fd);
	return rc;
}
