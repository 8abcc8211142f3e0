/* power: a disk that loses its power. A SQLite VFS notes every write, sync, creation and deletion on its way to the real file
 * system. It gives what can be on the disk after a power cut at any of these steps: all that was synced, and of the rest anything,
 * in any order. A write that was not synced may be there in part, by sectors, or as garbage within its own bytes. Its neighbours
 * stay whole: SQLite relies on that (sqlite.org/psow.html). A file that was created or deleted is so for sure only after its folder
 * was synced. */
#ifndef PEAKD_TESTS_CORE_RECORD_POWER_H
#define PEAKD_TESTS_CORE_RECORD_POWER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum { POWER_SECTOR = 512, POWER_FILES = 16 };

enum power_kind { POWER_WRITE, POWER_TRUNCATE, POWER_SYNC, POWER_CREATE, POWER_DELETE, POWER_SYNC_FOLDER, POWER_SAID };

struct power_step {
	enum power_kind kind;
	int file;
	int64_t at; /* offset of a write, size of a truncated file, or the number that was said */
	size_t len;
	unsigned char *bytes;
};

struct power {
	sqlite3_vfs vfs, *below;
	char *names[POWER_FILES];
	int name_count;
	struct power_step *steps;
	size_t count;
	bool recording;
};

struct power_file {
	sqlite3_file base;
	struct power *power;
	int number;           /* of its name; negative: it is not recorded */
	bool folder_unsynced; /* a new journal: SQLite's first sync of it syncs the folder, too */
	sqlite3_file *below;
};

static struct power_step *power_note(struct power *p, enum power_kind kind, int file, int64_t at)
{
	struct power_step *s = MEM_PUSH(p->steps, p->count);
	*s = (struct power_step){ .kind = kind, .file = file, .at = at };
	return s;
}

static int power_number(struct power *p, const char *name)
{
	for (int i = 0; i < p->name_count; i++)
		if (strcmp(p->names[i], name) == 0)
			return i;
	if (p->name_count == POWER_FILES)
		abort();
	p->names[p->name_count] = mem_str(name);
	return p->name_count++;
}

/* --- the VFS ---------------------------------------------------------------------------------------------------------------- */

#define POWER_BELOW(f) (((struct power_file *)(f))->below)

static int power_close(sqlite3_file *f)
{
	return POWER_BELOW(f)->pMethods ? POWER_BELOW(f)->pMethods->xClose(POWER_BELOW(f)) : SQLITE_OK;
}

static int power_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at)
{
	return POWER_BELOW(f)->pMethods->xRead(POWER_BELOW(f), out, n, at);
}

static int power_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at)
{
	struct power_file *pf = (struct power_file *)f;
	if (pf->number >= 0 && pf->power->recording) {
		struct power_step *s = power_note(pf->power, POWER_WRITE, pf->number, at);
		s->len = (size_t)n;
		s->bytes = MEM_NEW_N(unsigned char, s->len);
		memcpy(s->bytes, bytes, s->len);
	}
	return pf->below->pMethods->xWrite(pf->below, bytes, n, at);
}

static int power_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct power_file *pf = (struct power_file *)f;
	if (pf->number >= 0 && pf->power->recording)
		power_note(pf->power, POWER_TRUNCATE, pf->number, size);
	return pf->below->pMethods->xTruncate(pf->below, size);
}

static int power_sync(sqlite3_file *f, int flags)
{
	struct power_file *pf = (struct power_file *)f;
	if (pf->number >= 0 && pf->power->recording) {
		power_note(pf->power, POWER_SYNC, pf->number, 0);
		if (pf->folder_unsynced)
			power_note(pf->power, POWER_SYNC_FOLDER, pf->number, 0);
		pf->folder_unsynced = false;
	}
	return pf->below->pMethods->xSync(pf->below, flags);
}

static int power_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return POWER_BELOW(f)->pMethods->xFileSize(POWER_BELOW(f), size);
}

static int power_lock(sqlite3_file *f, int how)
{
	return POWER_BELOW(f)->pMethods->xLock(POWER_BELOW(f), how);
}

static int power_unlock(sqlite3_file *f, int how)
{
	return POWER_BELOW(f)->pMethods->xUnlock(POWER_BELOW(f), how);
}

static int power_reserved(sqlite3_file *f, int *is)
{
	return POWER_BELOW(f)->pMethods->xCheckReservedLock(POWER_BELOW(f), is);
}

static int power_control(sqlite3_file *f, int op, void *arg)
{
	return POWER_BELOW(f)->pMethods->xFileControl(POWER_BELOW(f), op, arg);
}

static int power_sector(sqlite3_file *f)
{
	return POWER_BELOW(f)->pMethods->xSectorSize(POWER_BELOW(f));
}

static int power_traits(sqlite3_file *f)
{
	return POWER_BELOW(f)->pMethods->xDeviceCharacteristics(POWER_BELOW(f));
}

static int power_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return POWER_BELOW(f)->pMethods->xShmMap(POWER_BELOW(f), page, size, extend, out);
}

static int power_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return POWER_BELOW(f)->pMethods->xShmLock(POWER_BELOW(f), at, n, flags);
}

static void power_shm_barrier(sqlite3_file *f)
{
	POWER_BELOW(f)->pMethods->xShmBarrier(POWER_BELOW(f));
}

static int power_shm_unmap(sqlite3_file *f, int is_last)
{
	return POWER_BELOW(f)->pMethods->xShmUnmap(POWER_BELOW(f), is_last);
}

/* Version 2: without mapped pages, whose writes nobody would see. */
static const sqlite3_io_methods power_methods = { 2,
						  power_close,
						  power_read,
						  power_write,
						  power_truncate,
						  power_sync,
						  power_size,
						  power_lock,
						  power_unlock,
						  power_reserved,
						  power_control,
						  power_sector,
						  power_traits,
						  power_shm_map,
						  power_shm_lock,
						  power_shm_barrier,
						  power_shm_unmap,
						  NULL,
						  NULL };

static int power_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
	struct power *p = v->pAppData;
	struct power_file *pf = (struct power_file *)f;
	bool is_new = p->recording && name && access(name, F_OK) != 0;
	*pf = (struct power_file){ .power = p,
				   .number = p->recording && name ? power_number(p, name) : -1,
				   .below = (sqlite3_file *)(pf + 1) };
	int rc = p->below->xOpen(p->below, name, pf->below, flags, out_flags);
	pf->base.pMethods = pf->below->pMethods ? &power_methods : NULL;
	if (rc == SQLITE_OK && is_new && access(name, F_OK) == 0) {
		power_note(p, POWER_CREATE, pf->number, 0);
		pf->folder_unsynced = (flags & SQLITE_OPEN_MAIN_DB) == 0;
	}
	return rc;
}

static int power_delete(sqlite3_vfs *v, const char *name, int sync_folder)
{
	struct power *p = v->pAppData;
	if (p->recording && access(name, F_OK) == 0) {
		power_note(p, POWER_DELETE, power_number(p, name), 0);
		if (sync_folder)
			power_note(p, POWER_SYNC_FOLDER, 0, 0);
	}
	return p->below->xDelete(p->below, name, sync_folder);
}

/* From now on every database that is opened is on this disk. */
static void power_on(struct power *p)
{
	sqlite3_initialize();
	*p = (struct power){ .below = sqlite3_vfs_find(NULL), .recording = true };
	p->vfs = *p->below;
	p->vfs.pNext = NULL;
	p->vfs.zName = "power";
	p->vfs.pAppData = p;
	p->vfs.szOsFile = (int)sizeof(struct power_file) + p->below->szOsFile;
	p->vfs.xOpen = power_open;
	p->vfs.xDelete = power_delete;
	sqlite3_vfs_register(&p->vfs, 1);
}

static void power_off(struct power *p)
{
	p->recording = false;
	sqlite3_vfs_unregister(&p->vfs);
}

static void power_fini(struct power *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->steps[i].bytes);
	free(p->steps);
	for (int i = 0; i < p->name_count; i++)
		free(p->names[i]);
}

/* --- what is on the disk ------------------------------------------------------------------------------------------------------ */

struct power_disk {
	struct {
		bool exists;
		unsigned char *bytes;
		size_t len, room;
	} files[POWER_FILES];
};

static void power_resize(struct power_disk *d, int file, size_t len)
{
	if (len > d->files[file].room) {
		d->files[file].room = 2 * len;
		d->files[file].bytes = realloc(d->files[file].bytes, 2 * len);
	}
	if (len > d->files[file].len)
		memset(d->files[file].bytes + d->files[file].len, 0, len - d->files[file].len);
	d->files[file].len = len;
}

static uint64_t power_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static bool power_chance(uint64_t *state, unsigned percent)
{
	return power_random(state) % 100 < percent;
}

/* Writes the pieces up to the sectors' ends that chance keeps; percent 100: everything, as it was meant. */
static void power_put(struct power_disk *d, const struct power_step *s, unsigned percent, uint64_t *state)
{
	for (size_t from = 0, n; from < s->len; from += n) {
		n = POWER_SECTOR - ((size_t)s->at + from) % POWER_SECTOR;
		n = n < s->len - from ? n : s->len - from;
		if (!power_chance(state, percent))
			continue;
		size_t at = (size_t)s->at + from;
		if (at + n > d->files[s->file].len)
			power_resize(d, s->file, at + n);
		memcpy(d->files[s->file].bytes + at, s->bytes + from, n);
		if (percent < 100 && power_chance(state, 5))
			for (size_t i = 0; i < n; i++)
				d->files[s->file].bytes[at + i] = (unsigned char)power_random(state);
	}
}

/* Lets the step reach the disk: with 100 percent wholly, else as chance has it. */
static void power_apply(struct power_disk *d, const struct power_step *s, unsigned percent, uint64_t *state)
{
	switch (s->kind) {
	case POWER_WRITE: power_put(d, s, percent, state); break;
	case POWER_TRUNCATE:
		if (power_chance(state, percent))
			power_resize(d, s->file, (size_t)s->at);
		break;
	case POWER_CREATE:
	case POWER_DELETE:
		if (power_chance(state, percent)) {
			d->files[s->file].exists = s->kind == POWER_CREATE;
			d->files[s->file].len = 0;
		}
		break;
	case POWER_SYNC:
	case POWER_SYNC_FOLDER:
	case POWER_SAID: break;
	}
}

/* Whether a later sync before `end` makes the step durable. */
static bool power_is_synced(const struct power *p, size_t at, size_t end)
{
	const struct power_step *s = &p->steps[at];
	bool of_folder = s->kind == POWER_CREATE || s->kind == POWER_DELETE;
	for (size_t i = at + 1; i < end; i++) {
		if (of_folder ? p->steps[i].kind == POWER_SYNC_FOLDER
			      : p->steps[i].kind == POWER_SYNC && p->steps[i].file == s->file)
			return true;
	}
	return false;
}

/* The disk after a cut before step `end`. percent: how much of what was not synced is there. */
static void power_cut(const struct power *p, size_t end, unsigned percent, uint64_t seed, struct power_disk *ret_disk)
{
	*ret_disk = (struct power_disk){ 0 };
	for (size_t i = 0; i < end; i++)
		power_apply(ret_disk, &p->steps[i], power_is_synced(p, i, end) ? 100 : percent, &seed);
}

static void power_disk_fini(struct power_disk *d)
{
	for (int i = 0; i < POWER_FILES; i++)
		free(d->files[i].bytes);
}

#endif
