/* core/record/store, query, blob: opening good and bad files, transactions, full disks, threads, the daemon's lock. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/fact.h"
#include "core/record/query.h"
#include "fixture.h"
#include "tap.h"

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		printf("# %s cannot be written\n", path);
}

/* Runs SQL from outside, as another program would. */
static void outside(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		printf("# %s\n", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void test_open(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	is_int(query_check(f.db, &e), 0, "every statement of schema/queries.sql can be prepared %s", e.text);
	is_int(store_check(f.db, &e), 0, "a new database is sound");
	is_int(fact_set(f.db, "gpu", "name", "H200", &e), 0, "a row is written");
	fixture_close(&f);
	fixture_open(&f);
	char *name = NULL;
	is_int(fact_get(f.db, "gpu", "name", &name, &e), 0, "and found after reopening");
	is_str(name, "H200", "with its value");
	free(name);
	fixture_fini(&f);
}

static void test_bad_files(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct store *s = NULL;
	fixture_folder(&f);
	write_file(f.path, "this is a letter to my aunt, long enough to be looked at as a header, which it is not; "
			   "this is a letter to my aunt, long enough to be looked at as a header, which it is not");
	is_int(store_open(f.path, &s, &e), -ERR_INPUT, "a text file is refused");
	has_str(e.text, "not a database", "with a reason");
	unlink(f.path);

	outside(f.path, "CREATE TABLE cookies (name TEXT)");
	is_int(store_open(f.path, &s, &e), -ERR_INPUT, "another program's database is refused");
	has_str(e.text, "another program", "with a reason");
	unlink(f.path);

	fixture_open(&f);
	fixture_close(&f);
	outside(f.path, "PRAGMA user_version = 9999");
	is_int(store_open(f.path, &s, &e), -ERR_UNSUPPORTED, "a newer database is refused");
	has_str(e.text, "newer peakd (database version 9999", "with its version");
	char *back = mem_fmt("PRAGMA user_version = %d", store_version());
	outside(f.path, back);
	free(back);
	fixture_open(&f);
	ok(f.store != NULL, "and was not changed");
	fixture_close(&f);

	char deep[400];
	snprintf(deep, sizeof deep, "%s/no/such/folder.db", f.folder);
	is_int(store_open(deep, &s, &e), -ERR_IO, "a path that leads nowhere is refused");
	has_str(e.text, "--db", "with what to do");
	is_int(store_open(f.folder, &s, &e), -ERR_IO, "a folder is refused");
	is_int(store_open("/proc/peakd.db", &s, &e), -ERR_IO, "a folder that cannot be written is refused");
	has_str(e.text, "writable", "with what to do");
	ok(s == NULL, "nothing was returned");
	fixture_fini(&f);
}

/* Pages of noise in the middle of the file. */
static void test_damage(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char noise[4096];
	fixture_init(&f);
	for (int i = 0; i < 200; i++) {
		struct hash hash;
		memset(noise, i, sizeof noise);
		blob_put(f.db, noise, sizeof noise, &hash, &e);
	}
	fixture_close(&f);
	int fd = open(f.path, O_WRONLY);
	memset(noise, 0xa5, sizeof noise);
	int written = 0;
	for (int page = 3; page < 200; page += 2)
		written += pwrite(fd, noise, sizeof noise, page * 4096L) == sizeof noise;
	close(fd);
	ok(written > 90, "pages are overwritten");
	int rc = store_open(f.path, &f.store, &e);
	if (rc == 0)
		rc = store_take(f.store, &f.db, &e);
	if (rc == 0)
		rc = store_check(f.db, &e);
	is_int(rc, -ERR_IO, "a damaged database is found out");
	has_str(e.text, "damaged", "and called so");
	fixture_fini(&f);
}

/* A database that may be read but not written; root, who may write everywhere, becomes nobody for it. */
static void test_read_only(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct store *s = NULL;
	int status = 0;
	fixture_init(&f);
	fixture_close(&f);
	chmod(f.path, 0444);
	chmod(f.folder, 0555);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		int rc = store_open(f.path, &s, &e);
		printf("# %s\n", e.text);
		store_close(s);
		fflush(stdout);
		_exit(rc != -ERR_IO || strstr(e.text, "writable") == NULL);
	}
	waitpid(child, &status, 0);
	is_int(status, 0, "a database that cannot be written is refused, with what to do");
	chmod(f.folder, 0700);
	fixture_fini(&f);
}

static int count_facts(struct fixture *f)
{
	struct err e = ERR_INIT;
	struct fact_list list = { .count = 0 };
	fact_list(f->db, NULL, &list, &e);
	int n = (int)list.count;
	fact_list_fini(&list);
	return n;
}

static void test_transactions(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	is_int(store_begin(f.db, &e), 0, "begin");
	fact_set(f.db, "gpu", "a", "1", &e);
	is_int(store_begin(f.db, &e), 0, "begin within");
	fact_set(f.db, "gpu", "b", "1", &e);
	is_int(store_end(f.db, -ERR_CONFLICT, &e), -ERR_CONFLICT, "the inner one fails");
	is_int(store_end(f.db, 7, &e), 7, "the outer one commits and passes its value on");
	is_int(count_facts(&f), 1, "what the outer one did is there, what the inner one did is not");
	store_begin(f.db, &e);
	fact_set(f.db, "gpu", "c", "1", &e);
	store_end(f.db, -ERR_IO, &e);
	is_int(count_facts(&f), 1, "a failed transaction leaves nothing");
	fixture_fini(&f);
}

/* SQLite ends a transaction by itself, and whoever met that goes on all the same: what comes next is refused with the first
 * reason. */
static void test_first_failure(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	sqlite3_exec(f.db->sql,
		     "CREATE TEMP TRIGGER broken BEFORE INSERT ON fact WHEN NEW.key = 'bad' "
		     "BEGIN SELECT RAISE(ROLLBACK, 'broken on purpose'); END",
		     NULL, NULL, NULL);
	store_begin(f.db, &e);
	fact_set(f.db, "gpu", "a", "1", &e);
	ok(fact_set(f.db, "gpu", "bad", "1", NULL) < 0 && sqlite3_get_autocommit(f.db->sql),
	   "a statement fails in a way that ends the transaction, and nobody asks why");
	is_int(store_begin(f.db, &e), -ERR_IO, "no other begins within it");
	is_int(fact_set(f.db, "gpu", "b", "1", &e), -ERR_IO, "and no statement follows");
	has_str(e.text, "rolled back", "since the transaction is gone");
	has_str(e.text, "broken on purpose", "with what had failed first");
	struct err last = ERR_INIT;
	ok(store_end(f.db, 0, &last) < 0, "nor can it be committed");
	has_str(last.text, "broken on purpose", "for the same reason");
	is_int(count_facts(&f), 0, "nothing of it is there");
	store_begin(f.db, &e);
	fact_set(f.db, "gpu", "c", "1", &e);
	is_int(store_end(f.db, 0, &e), 0, "the next transaction knows nothing of it");
	is_int(count_facts(&f), 1, "and is committed");
	fixture_fini(&f);
}

static void *take_and_give(void *arg)
{
	struct fixture *f = arg;
	struct err e = ERR_INIT;
	struct db *own = NULL;
	bool right = !store_mine(f->db) && store_take(f->store, &own, &e) == 0 && store_mine(own);
	store_give(own);
	return right ? f : NULL;
}

/* A handle that another thread uses is a bug that shows only under load: it ends the process, at once and always. */
static void test_owner(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct db *again = NULL;
	pthread_t thread;
	void *right = NULL;
	fixture_init(&f);
	ok(store_mine(f.db), "a handle is the thread's that took it");
	pthread_create(&thread, NULL, take_and_give, &f);
	pthread_join(thread, &right);
	ok(right != NULL, "and nobody else's, who takes one of his own");
	ok(store_take(f.store, &again, &e) == 0 && store_mine(again) && fact_set(again, "gpu", "a", "1", &e) == 0,
	   "which is the next one's when it was given back");
	store_give(again);
	fixture_fini(&f);
}

static void test_full_disk(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	struct hash small, big;
	is_int(blob_put_text(f.db, "small", &small, &e), 0, "a small text is stored");
	sqlite3_exec(f.db->sql, "PRAGMA max_page_count = 200", NULL, NULL, NULL);
	size_t n = 4 << 20;
	char *much = mem_new(n, 1);
	store_begin(f.db, &e);
	fact_set(f.db, "gpu", "a", "1", &e);
	int rc = blob_put(f.db, much, n, &big, &e);
	is_int(rc, -ERR_IO, "a text that does not fit is refused");
	has_str(e.text, "disk is full", "as a full disk");
	has_str(e.text, "free space", "with what to do");
	ok(fact_set(f.db, "gpu", "b", "1", &e) < 0 || !sqlite3_get_autocommit(f.db->sql),
	   "what follows in the transaction is not committed by itself");
	is_int(store_end(f.db, rc, &e), -ERR_IO, "the transaction fails");
	is_int(count_facts(&f), 0, "and nothing of it is there");
	is_int(blob_has(f.db, small.hex, &e), 1, "what was committed before is");
	sqlite3_exec(f.db->sql, "PRAGMA max_page_count = 1000000", NULL, NULL, NULL);
	is_int(blob_put(f.db, much, n, &big, &e), 0, "with space it works again");
	is_int(store_check(f.db, &e), 0, "and the database is sound");
	free(much);
	fixture_fini(&f);
}

/* On a file system of one megabyte: what a full disk really does. Exit status 0 good, 1 bad, 2 not possible here. */
static int fill_small_disk(const char *folder)
{
	char users[64], groups[64];
	snprintf(users, sizeof users, "0 %d 1", (int)geteuid());
	snprintf(groups, sizeof groups, "0 %d 1", (int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return 2;
	write_file("/proc/self/uid_map", users);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/gid_map", groups);
	if (mount("none", folder, "tmpfs", 0, "size=1m") != 0)
		return 2;
	struct fixture f = { .store = NULL };
	struct err e = ERR_INIT;
	snprintf(f.path, sizeof f.path, "%s/peakd.db", folder);
	fixture_open(&f);
	char part[20000];
	struct hash first, hash;
	int rc = 0, stored = 0;
	memset(part, 'x', sizeof part);
	for (; rc == 0 && stored < 1000; stored++) {
		memcpy(part, &stored, sizeof stored);
		rc = blob_put(f.db, part, sizeof part, stored ? &hash : &first, &e);
	}
	printf("# after %d: %s\n", stored, e.text);
	bool good = rc == -ERR_IO && strstr(e.text, "disk is full") && blob_has(f.db, first.hex, &e) == 1;
	good = good && blob_has(f.db, hash.hex, &e) == 1 && stored > 10;
	good = good && mount("none", folder, "tmpfs", MS_REMOUNT, "size=8m") == 0;
	good = good && blob_put(f.db, part, sizeof part, &hash, &e) == 0 && store_check(f.db, &e) == 0;
	fixture_close(&f);
	return !good;
}

static void test_small_disk(void)
{
	struct fixture f;
	int status = 0;
	fixture_folder(&f);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		int rc = fill_small_disk(f.folder);
		fflush(stdout);
		_exit(rc);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		SKIP(1, "a small file system cannot be mounted here");
	else
		is_int(status, 0,
		       "a disk that is really full: a clear error, nothing lost, and on when there is "
		       "space");
	fixture_fini(&f);
}

static void test_blobs(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct hash a, b;
	fixture_init(&f);
	is_int(blob_put(f.db, "a\0b", 3, &a, &e), 0, "bytes with a NUL are stored");
	is_str(a.hex, hash_bytes("a\0b", 3).hex, "under their SHA-256");
	is_int(blob_put(f.db, "a\0b", 3, &b, &e), 0, "twice is fine");
	struct buf out = BUF_INIT;
	is_int(blob_get(f.db, a.hex, &out, &e), 0, "and read");
	ok(out.len == 3 && memcmp(out.data, "a\0b", 3) == 0, "as they were");
	buf_fini(&out);
	is_int(blob_put_text(f.db, "", &b, &e), 0, "an empty text is stored");
	char *text = NULL;
	is_int(blob_get_text(f.db, b.hex, &text, &e), 0, "and read");
	is_str(text, "", "as empty");
	free(text);
	is_int(blob_get(f.db, hash_text("never").hex, &out, &e), -ERR_NOT_FOUND, "an unknown hash is not found");
	sqlite3_exec(f.db->sql, "UPDATE blob SET data = x'00' WHERE length(data) = 3", NULL, NULL, NULL);
	is_int(blob_get(f.db, a.hex, &out, &e), -ERR_IO, "damaged content is found out");
	buf_fini(&out);
	fixture_fini(&f);
}

enum { THREADS = 4, ROUNDS = 60 };

struct writer {
	struct store *store;
	int number;
};

static void *write_facts(void *arg)
{
	const struct writer *w = arg;
	struct err e = ERR_INIT;
	struct db *db = NULL;
	intptr_t failures = store_take(w->store, &db, &e) < 0;
	for (int i = 0; !failures && i < ROUNDS; i++) {
		char key[32];
		snprintf(key, sizeof key, "%d-%d", w->number, i);
		int rc = store_begin(db, &e);
		if (rc == 0) {
			rc = fact_set(db, "gpu", key, "1", &e);
			rc = store_end(db, rc, &e);
		}
		failures += rc < 0;
	}
	if (failures)
		printf("# %s\n", e.text);
	store_give(db);
	return (void *)failures;
}

static void test_threads(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_init(&f);
	pthread_t threads[THREADS];
	struct writer writers[THREADS];
	for (int i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ f.store, i };
		pthread_create(&threads[i], NULL, write_facts, &writers[i]);
	}
	intptr_t failures = 0;
	for (int i = 0; i < THREADS; i++) {
		void *ret;
		pthread_join(threads[i], &ret);
		failures += (intptr_t)ret;
	}
	is_int(failures, 0, "%d threads write through their own handles", THREADS);
	is_int(count_facts(&f), THREADS * ROUNDS, "and every row is there");
	is_int(store_check(f.db, &e), 0, "and the database is sound");
	fixture_fini(&f);
}

/* A daemon keeps many handles, and each has pages of its own. */
static void test_page_caches(void)
{
	enum { HANDLES = 8, BLOBS = 32, BLOB_BYTES = 128 << 10, HANDLE_BYTES = 1 << 20 };
	struct fixture f;
	struct err e = ERR_INIT;
	struct db *handles[HANDLES];
	char *noise = MEM_NEW_N(char, BLOB_BYTES);
	fixture_init(&f);
	for (int i = 0; i < BLOBS; i++) {
		struct hash hash;
		memset(noise, 'a' + i, BLOB_BYTES);
		blob_put(f.db, noise, BLOB_BYTES, &hash, &e);
	}
	sqlite3_int64 before = sqlite3_memory_used();
	int rc = 0;
	for (int i = 0; i < HANDLES; i++)
		rc |= store_take(f.store, &handles[i], &e);
	for (int i = 0; i < HANDLES && rc == 0; i++)
		rc = query_exec_text(handles[i], "SELECT sum(instr(data, x'00')) FROM blob", &e);
	for (int i = 0; i < HANDLES; i++)
		store_give(handles[i]);
	is_int(rc, 0, "%d handles read all of %d MiB", HANDLES, BLOBS * BLOB_BYTES >> 20);
	long long each = (sqlite3_memory_used() - before) / HANDLES;
	ok(each < HANDLE_BYTES, "each keeps less than 1 MiB of memory (%lld KiB)", each >> 10);
	free(noise);
	fixture_fini(&f);
}

/* Several processes make the same new database at once. */
static void test_race_to_create(void)
{
	struct fixture f;
	fixture_folder(&f);
	enum { PROCESSES = 4 };
	pid_t pids[PROCESSES];
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct err e = ERR_INIT;
			struct store *s = NULL;
			int rc = store_open(f.path, &s, &e);
			if (rc < 0)
				printf("# %s\n", e.text);
			store_close(s);
			fflush(stdout);
			_exit(rc < 0);
		}
	}
	int failures = 0;
	for (int i = 0; i < PROCESSES; i++) {
		int status = 0;
		waitpid(pids[i], &status, 0);
		failures += status != 0;
	}
	is_int(failures, 0, "%d processes create one database at the same time", PROCESSES);
	fixture_open(&f);
	fixture_fini(&f);
}

static void test_lock(void)
{
	struct fixture f;
	struct err e = ERR_INIT;
	fixture_folder(&f);
	int pid = 0, ready[2];
	struct store_claim claim = STORE_CLAIM_INIT;
	char *note = NULL;
	is_int(store_lock_holder(f.path, &pid, &note, &e), 0,
	       "nobody holds the lock of a database that does not "
	       "exist");
	if (pipe(ready) != 0)
		abort();
	pid_t child = fork();
	if (child == 0) {
		int rc = store_lock(f.path, "/run/peakd.sock", &claim, &e);
		if (write(ready[1], rc == 0 ? "y" : "n", 1) == 1)
			pause();
		_exit(1);
	}
	char answer = 0;
	ok(read(ready[0], &answer, 1) == 1 && answer == 'y', "one process takes it");
	is_int(store_lock(f.path, NULL, &claim, &e), -ERR_CONFLICT, "a second one is refused");
	char want[64];
	snprintf(want, sizeof want, "process %d, /run/peakd.sock", (int)child);
	has_str(e.text, want, "and told who has it");
	is_int(store_lock_holder(f.path, &pid, &note, &e), 1, "anybody may ask");
	is_int(pid, child, "who has it");
	is_str(note, "/run/peakd.sock", "and where");
	free(note);
	char other[300];
	snprintf(other, sizeof other, "%s/other.db", f.folder);
	fixture_open(&f);
	fixture_close(&f);
	ok(symlink(f.path, other) == 0 && store_lock(other, NULL, &claim, &e) == -ERR_CONFLICT,
	   "another name of the same database is the same lock");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is_int(store_lock_holder(f.path, &pid, &note, &e), 0, "the kernel gives it up when the process is killed");
	is_int(store_lock(f.path, NULL, &claim, &e), 0, "and the next one may have it");
	store_unlock(&claim);
	close(ready[0]);
	close(ready[1]);
	fixture_fini(&f);
}

int main(void)
{
	test_open();
	test_bad_files();
	test_damage();
	test_read_only();
	test_transactions();
	test_first_failure();
	test_owner();
	test_full_disk();
	test_small_disk();
	test_blobs();
	test_threads();
	test_page_caches();
	test_race_to_create();
	test_lock();
	return tap_done();
}
