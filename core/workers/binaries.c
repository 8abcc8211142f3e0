/* binaries: a folder of answers by hash; see binaries.h. A file's time of change is its last use. */
#include "core/workers/binaries.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

enum { FILE_BYTES_MAX = 256 << 20 };
#define LOOK_NS (100 * CLOCK_MS) /* how often a waiter looks whether it is cancelled */
#define KEEP 0.9                 /* of the bound, after the oldest were dropped */

struct binaries {
	struct lock lock;      /* guards the figures, the dropping and what is being made */
	struct lock_bell bell; /* something is no longer being made */
	struct hash *making;   /* keys of what is being made */
	size_t making_count;
	char *folder;
	uint64_t max_bytes;
	struct binaries_stats stats;
	uint64_t next; /* number of the next temporary file */
};

/* A file, while the oldest are searched for. */
struct kept {
	char name[HASH_SIZE];
	struct timespec used;
	uint64_t bytes;
};

static struct kept *list_files(const struct binaries *b, size_t *ret_count)
{
	struct kept *list = NULL;
	size_t count = 0;
	DIR *d = opendir(b->folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		struct stat st;
		if (!hash_valid(entry->d_name) || fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		struct kept *k = MEM_PUSH(list, count);
		*k = (struct kept){ .used = st.st_mtim, .bytes = (uint64_t)st.st_size };
		memcpy(k->name, entry->d_name, sizeof k->name);
	}
	if (d)
		closedir(d);
	*ret_count = count;
	return list;
}

static int oldest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->used, *y = &((const struct kept *)b)->used;
	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Counts the files, and drops the oldest when there are too many bytes. The folder is read again each time: others write there too.
 */
static void tidy_locked(struct binaries *b)
{
	size_t count;
	struct kept *list = list_files(b, &count);
	uint64_t bytes = 0, files = count;
	for (size_t i = 0; i < count; i++)
		bytes += list[i].bytes;
	if (bytes > b->max_bytes) {
		qsort(list, count, sizeof *list, oldest_first);
		for (size_t i = 0; i < count && (double)bytes > KEEP * (double)b->max_bytes; i++) {
			char *path = mem_fmt("%s/%s", b->folder, list[i].name);
			unlink(path);
			free(path);
			bytes -= list[i].bytes;
			files--;
		}
	}
	b->stats.bytes = bytes;
	b->stats.files = files;
	free(list);
}

/* Every folder of the path that is missing. */
static bool make_folders(const char *folder)
{
	char *path = mem_str(folder);
	bool good = true;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		good = mkdir(path, 0700) == 0 || errno == EEXIST;
		*slash = '/';
	}
	good = good && (mkdir(path, 0700) == 0 || errno == EEXIST) && access(path, R_OK | W_OK | X_OK) == 0;
	free(path);
	return good;
}

struct binaries *binaries_new(const char *folder, uint64_t max_bytes)
{
	if (max_bytes == 0 || !make_folders(folder))
		return NULL;
	struct binaries *b = MEM_NEW(struct binaries);
	lock_init(&b->lock, LOCK_LEAF);
	lock_bell_init(&b->bell);
	b->folder = mem_str(folder);
	b->max_bytes = max_bytes;
	lock_take(&b->lock);
	tidy_locked(b);
	lock_release(&b->lock);
	return b;
}

void binaries_free(struct binaries *b)
{
	if (b == NULL)
		return;
	lock_bell_fini(&b->bell);
	lock_fini(&b->lock);
	free(b->making);
	free(b->folder);
	free(b);
}

/* The content of an open file when it is whole. */
static bool read_whole(int fd, struct buf *out)
{
	char hash[HASH_HEX];
	struct stat st;
	size_t before = out->len;
	if (fstat(fd, &st) != 0 || st.st_size < HASH_HEX || st.st_size > FILE_BYTES_MAX || read(fd, hash, HASH_HEX) != HASH_HEX)
		return false;
	size_t want = (size_t)st.st_size - HASH_HEX, got = 0;
	char *room = buf_room(out, want);
	ssize_t n;
	while (got < want && (n = read(fd, room + got, want - got)) > 0)
		got += (size_t)n;
	struct hash real = hash_bytes(out->data + before, got);
	if (got == want && memcmp(real.hex, hash, HASH_HEX) == 0)
		return true;
	out->len = before;
	return false;
}

int binaries_get(struct binaries *b, const struct hash *key, struct buf *out)
{
	if (b == NULL)
		return 0;
	char *path = mem_fmt("%s/%s", b->folder, key->hex);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool whole = fd >= 0 && read_whole(fd, out);
	if (whole)
		futimens(fd, NULL);
	else if (fd >= 0)
		unlink(path);
	if (fd >= 0)
		close(fd);
	free(path);
	lock_take(&b->lock);
	b->stats.hits += whole;
	b->stats.misses += !whole;
	lock_release(&b->lock);
	return whole;
}

static size_t find_making_locked(const struct binaries *b, const struct hash *key)
{
	size_t i = 0;
	while (i < b->making_count && strcmp(b->making[i].hex, key->hex) != 0)
		i++;
	return i;
}

int binaries_claim(struct binaries *b, const struct hash *key, const struct cancel *cancel, struct buf *out, struct err *e)
{
	int rc = 0;
	if (b == NULL)
		return 0;
	lock_take(&b->lock);
	while (find_making_locked(b, key) < b->making_count && (rc = cancel_check(cancel, e)) == 0)
		lock_bell_wait(&b->bell, &b->lock, clock_now() + LOOK_NS);
	if (rc == 0)
		*MEM_PUSH(b->making, b->making_count) = *key;
	lock_release(&b->lock);
	if (rc == 0 && (rc = binaries_get(b, key, out)) != 0)
		binaries_leave(b, key);
	return rc;
}

void binaries_leave(struct binaries *b, const struct hash *key)
{
	if (b == NULL)
		return;
	lock_take(&b->lock);
	size_t i = find_making_locked(b, key);
	assert(i < b->making_count);
	b->making[i] = b->making[--b->making_count];
	lock_bell_ring(&b->bell);
	lock_release(&b->lock);
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	while (n > 0) {
		ssize_t w = write(fd, at, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		at += w;
		n -= (size_t)w;
	}
	return true;
}

void binaries_put(struct binaries *b, const struct hash *key, const void *bytes, size_t n)
{
	if (b == NULL || n + HASH_HEX > b->max_bytes / 4)
		return;
	lock_take(&b->lock);
	uint64_t number = b->next++;
	lock_release(&b->lock);
	struct hash hash = hash_bytes(bytes, n);
	char *path = mem_fmt("%s/%s", b->folder, key->hex);
	char *fresh = mem_fmt("%s/new-%ld-%llu", b->folder, (long)getpid(), (unsigned long long)number);
	int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write_all(fd, hash.hex, HASH_HEX) && write_all(fd, bytes, n);
	if (fd >= 0)
		close(fd);
	good = good && rename(fresh, path) == 0;
	if (!good)
		unlink(fresh);
	lock_take(&b->lock);
	b->stats.bytes += good ? n + HASH_HEX : 0;
	b->stats.files += good;
	if (b->stats.bytes > b->max_bytes)
		tidy_locked(b);
	lock_release(&b->lock);
	free(path);
	free(fresh);
}

struct binaries_stats binaries_stats(struct binaries *b)
{
	struct binaries_stats none = { 0 };
	if (b == NULL)
		return none;
	lock_take(&b->lock);
	struct binaries_stats stats = b->stats;
	lock_release(&b->lock);
	return stats;
}
