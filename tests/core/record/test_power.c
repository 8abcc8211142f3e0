/* core/record: a power cut at any step loses no checkpoint that was said to be committed, and leaves a sound database. A writer
 * commits checkpoints on a disk that notes each step (power.h). Its steps go from the first migration on, over checkpoints of the
 * WAL, a close and a second start. Then the disk is looked at as it may be after a cut before this or that step. */
#include "base/hash.h"
#include "core/record/job.h"
#include "fixture.h"
#include "power.h"
#include "tap.h"

enum { COMMITS = 90, CUTS = 160 };

/* All are cuts but `said`: checkpoints that had to be there. */
struct totals {
	int64_t cuts, said, lossy, unsound;
};

static void write_checkpoints(struct fixture *f, struct power *p, char **io_job, int64_t *io_head, int from)
{
	struct err e = ERR_INIT;
	int rc = 0;
	fixture_open(f);
	if (*io_job == NULL) {
		*io_head = fixture_checkpoint(f, "root", 0);
		rc = workflow_create(f->db, "line", *io_head, &e);
		if (rc >= 0)
			rc = job_create(f->db, "test", "x", io_job, &e);
	}
	for (int n = from; rc >= 0 && n < from + COMMITS; n++) {
		rc = fixture_commit(f->db, *io_job, n, io_head, &e);
		power_note(p, POWER_SAID, 0, *io_head);
	}
	ok(rc >= 0, "%d checkpoints are committed %s", COMMITS, rc < 0 ? e.text : "");
	fixture_close(f);
}

/* Puts the disk's files into the folder of the image, where nothing else is. */
static void write_image(const struct power *p, const struct power_disk *d, const char *path, struct fixture *image)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	for (size_t i = 0; i < MEM_COUNT(ends); i++) {
		char name[320];
		snprintf(name, sizeof name, "%s%s", image->path, ends[i]);
		unlink(name);
	}
	for (int i = 0; i < p->name_count; i++) {
		char name[320];
		if (!d->files[i].exists || strncmp(p->names[i], path, strlen(path)) != 0)
			continue;
		snprintf(name, sizeof name, "%s%s", image->path, p->names[i] + strlen(path));
		FILE *f = fopen(name, "we");
		size_t len = d->files[i].len;
		if (f == NULL || (len && fwrite(d->files[i].bytes, 1, len, f) != len) || fclose(f) != 0)
			abort();
	}
}

/* The disk's database has all that was said before the cut; the last checkpoint is in the line of the head. */
static int look_for(const struct power *p, size_t end, struct db *db, struct totals *t, struct err *e)
{
	int64_t head = 0, last = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < end; i++)
		if (p->steps[i].kind == POWER_SAID) {
			t->said++;
			rc = fixture_look(db, last = p->steps[i].at, e);
		}
	if (rc == 0 && last)
		rc = workflow_resolve(db, "line", &head, e);
	return rc == 0 && head < last ? err_set(e, ERR_NOT_FOUND, "the head is %lld, not %lld", (long long)head, (long long)last)
				      : rc;
}

static void look(const struct power *p, size_t end, struct fixture *image, struct totals *t)
{
	struct err e = ERR_INIT;
	t->cuts++;
	if (store_open(image->path, &image->store, &e) < 0 || store_take(image->store, &image->db, &e) < 0 ||
	    store_check(image->db, &e) < 0)
		t->unsound++;
	else if (look_for(p, end, image->db, t, &e) < 0)
		t->lossy++;
	if (*e.text)
		printf("# cut before step %zu: %s\n", end, e.text);
	if (image->store)
		fixture_close(image);
}

/* Cuts at steps all over the writer's work. deaf: the disk does not do what it is told by a sync. */
static void cut_often(const struct power *p, const char *path, struct fixture *image, uint64_t seed, bool deaf, struct totals *t)
{
	static const unsigned percents[] = { 0, 50, 90 };
	for (int i = 0; i < (deaf ? CUTS / 4 : CUTS); i++) {
		struct power_disk d;
		size_t end = power_random(&seed) % (p->count + 1);
		power_cut(p, end, percents[i % 3], seed, &d);
		write_image(p, &d, path, image);
		look(p, end, image, t);
		power_disk_fini(&d);
	}
}

int main(int argc, char **argv)
{
	struct fixture f, image;
	struct power p;
	struct totals t = { 0 }, deaf = { 0 };
	char *job = NULL;
	int64_t head = 0;
	uint64_t seed;
	hash_random(&seed, sizeof seed);
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
	printf("# seed %llu\n", (unsigned long long)seed);
	fixture_folder(&f);
	fixture_folder(&image);
	power_on(&p);
	write_checkpoints(&f, &p, &job, &head, 0);
	write_checkpoints(&f, &p, &job, &head, COMMITS);
	power_off(&p);
	int64_t writes = 0, syncs = 0;
	for (size_t i = 0; i < p.count; i++) {
		writes += p.steps[i].kind == POWER_WRITE;
		syncs += p.steps[i].kind == POWER_SYNC;
	}
	ok(writes > COMMITS && syncs > COMMITS, "the disk noted %lld writes and %lld syncs", (long long)writes, (long long)syncs);
	cut_often(&p, f.path, &image, seed, false, &t);
	ok(t.said > CUTS, "%lld checkpoints had to be there after %lld cuts", (long long)t.said, (long long)t.cuts);
	is_int(t.lossy, 0, "after each cut every checkpoint that was committed before is there, with its evidence");
	is_int(t.unsound, 0, "the database is sound after every cut");
	for (size_t i = 0; i < p.count; i++)
		if (p.steps[i].kind == POWER_SYNC)
			p.steps[i].file = -1;
	printf("# what follows is a disk that ignores syncs: its losses show that this test would see some\n");
	cut_often(&p, f.path, &image, seed, true, &deaf);
	ok(deaf.lossy > 0 && deaf.unsound > 0,
	   "on a disk that ignores syncs, of %lld cuts %lld lose checkpoints and %lld leave damage", (long long)deaf.cuts,
	   (long long)deaf.lossy, (long long)deaf.unsound);
	power_fini(&p);
	free(job);
	fixture_fini(&f);
	fixture_fini(&image);
	return tap_done();
}
