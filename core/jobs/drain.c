/* drain: a bundle's folder and its seal, and how one is made: jobs, their checkpoints and what these consist of, copied into a
 * database of its own; see drain.h. drain_merge.c takes the results back. */
#include "core/jobs/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "core/jobs/work.h"
#include "core/record/blob.h"
#include "core/record/checkpoint.h"
#include "core/record/job.h"
#include "core/record/measurement.h"
#include "core/record/store.h"
#include "core/record/validation.h"

enum { CHUNK = 1 << 16, SEAL_LINE_MAX = 200 };
#define FORMAT "peakd drain 1"

static const char *const state_names[DRAIN_STATES] = {
	[DRAIN_EXPORTED] = "exported",
	[DRAIN_RUNNING] = "running",
	[DRAIN_STOPPED] = "stopped",
	[DRAIN_RAN] = "ran",
};

const char *drain_state_name(enum drain_state state)
{
	return state_names[state];
}

char *drain_db(const char *folder)
{
	return mem_fmt("%s/jobs.peakdb", folder);
}

static int hash_file(const char *path, struct hash *ret_hash, struct err *e)
{
	char *chunk = MEM_NEW_N(char, CHUNK);
	struct hash_state *state = hash_new();
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0 && (n = read(fd, chunk, CHUNK)) > 0)
		hash_add(state, chunk, (size_t)n);
	if (n < 0)
		rc = err_sys(e, errno, "%s cannot be read", path);
	*ret_hash = hash_end(state);
	if (fd >= 0)
		close(fd);
	free(chunk);
	return rc;
}

/* A seal: lines "name: value". */
struct seal {
	char format[40], state[20], sha256[HASH_SIZE];
};

static int read_seal(const char *folder, struct seal *ret_seal, struct err *e)
{
	char *path = mem_fmt("%s/seal", folder), line[SEAL_LINE_MAX];
	FILE *f = fopen(path, "re");
	int errnum = errno, rc = 0;
	*ret_seal = (struct seal){ .format = "" };
	if (f == NULL && errnum == ENOENT)
		rc = err_set(e, ERR_NOT_FOUND, "%s holds no bundle (no file `seal`): name a folder that `peakd drain export` made",
			     folder);
	else if (f == NULL)
		rc = err_sys(e, errnum, "%s cannot be read", path);
	while (rc == 0 && fgets(line, sizeof line, f))
		if (sscanf(line, "format: %39[^\n]", ret_seal->format) != 1 &&
		    sscanf(line, "state: %19[^\n]", ret_seal->state) != 1 &&
		    sscanf(line, "sha256: %64[^\n]", ret_seal->sha256) != 1)
			rc = err_set(e, ERR_IO, "%s is damaged: copy the bundle again", path);
	if (f)
		fclose(f);
	free(path);
	return rc;
}

static int check_hash(const char *folder, const char *want, struct err *e)
{
	char *db = drain_db(folder), *wal = mem_fmt("%s-wal", db);
	struct hash hash;
	int rc = hash_file(db, &hash, e);
	if (rc == 0 && access(wal, F_OK) == 0)
		rc = err_set(e, ERR_IO, "%s is in use, or was left by a process that died: run the bundle again", db);
	else if (rc == 0 && strcmp(hash.hex, want) != 0)
		rc = err_set(e, ERR_IO,
			     "%s does not match its seal: the copy was cut off or the file was changed; copy the bundle again", db);
	free(db);
	free(wal);
	return rc;
}

int drain_check(const char *folder, enum drain_state *ret_state, struct err *e)
{
	struct seal seal;
	int rc = read_seal(folder, &seal, e), state = 0;
	if (rc < 0)
		return rc;
	while (state < DRAIN_STATES && strcmp(state_names[state], seal.state) != 0)
		state++;
	if (strcmp(seal.format, FORMAT) != 0 || state == DRAIN_STATES)
		rc = err_set(e, ERR_UNSUPPORTED, "%s is not a bundle that this peakd can read (\"%s\"): use the peakd that made it",
			     folder, *seal.format ? seal.format : "no format");
	else if (state != DRAIN_RUNNING)
		rc = check_hash(folder, seal.sha256, e);
	if (rc == 0)
		*ret_state = (enum drain_state)state;
	return rc;
}

int drain_seal(const char *folder, enum drain_state state, struct err *e)
{
	char *db = drain_db(folder), *path = mem_fmt("%s/seal", folder), *fresh = mem_fmt("%s/seal.new", folder);
	struct hash hash = { .hex = "" };
	int rc = state == DRAIN_RUNNING ? 0 : hash_file(db, &hash, e);
	if (rc == 0) {
		/* Written beside and renamed, so that there is always a whole one. */
		FILE *f = fopen(fresh, "we");
		bool good = f && fprintf(f, "format: %s\nstate: %s\n", FORMAT, state_names[state]) > 0 &&
			    (*hash.hex == '\0' || fprintf(f, "sha256: %s\n", hash.hex) > 0) && fflush(f) == 0 &&
			    fsync(fileno(f)) == 0;
		if (f)
			good = fclose(f) == 0 && good;
		good = good && rename(fresh, path) == 0;
		rc = good ? 0 : err_sys(e, errno, "%s cannot be written", path);
	}
	free(db);
	free(path);
	free(fresh);
	return rc;
}

/* The fields of a table that have this name, also those of its parts. */
static const struct layout_field *find_field(const struct layout *l, const char *name, size_t *ret_offset)
{
	for (const struct layout_field *f = l->fields; f->name; f++) {
		const struct layout_field *inner = f->type == LAYOUT_PART ? find_field(f->of, name, ret_offset) : NULL;
		if (inner || strcmp(f->name, name) == 0) {
			*ret_offset += inner ? f->offset : 0;
			return inner ? inner : f;
		}
	}
	return NULL;
}

char *drain_request(const struct engine_kind *kind, const struct job *job, int64_t checkpoint)
{
	struct err ignored = ERR_INIT;
	size_t offset = 0;
	void *request = layout_new(kind->request);
	const struct layout_field *f = find_field(kind->request, "checkpoint", &offset);
	char *text = NULL;
	if (f && layout_read_text(kind->request, job->request, request, &ignored) == 0) {
		layout_set_int(f, (char *)request + offset, checkpoint);
		text = layout_write(kind->request, request);
	}
	layout_free(kind->request, request);
	return text ? text : mem_str(job->request);
}

/* --- a bundle is made ----------------------------------------------------------------------------------------------------------
 */

static int copy_text(struct db *from, struct db *to, const char *hash, struct err *e)
{
	struct buf text = BUF_INIT;
	struct hash same;
	int rc = blob_get(from, hash, &text, e);
	if (rc == 0)
		rc = blob_put(to, buf_text(&text), text.len, &same, e);
	buf_fini(&text);
	return rc;
}

/* One checkpoint whose parents are there already. */
static int copy_one(struct db *from, struct db *to, const struct checkpoint *c, int64_t *ret_id, struct err *e)
{
	struct checkpoint copy = *c, parent;
	char *canonical = NULL;
	int rc = c->text ? copy_text(from, to, c->text, e) : 0;
	copy.parents = MEM_NEW_N(int64_t, c->parent_count);
	for (size_t i = 0; rc == 0 && i < c->parent_count; i++) {
		rc = checkpoint_get(from, c->parents[i], &parent, e);
		if (rc == 0) {
			rc = checkpoint_find(to, parent.hash.hex, &copy.parents[i], e);
			checkpoint_fini(&parent);
		}
	}
	if (rc == 0)
		rc = checkpoint_context(from, c->id, &canonical, e);
	if (rc == 0)
		rc = checkpoint_add(to, &copy, canonical, ret_id, e);
	free(copy.parents);
	free(canonical);
	return rc < 0 ? rc : 0;
}

/* A checkpoint and its ancestors; *ret_id is its number there. */
static int copy_line(struct db *from, struct db *to, int64_t head, int64_t *ret_id, struct err *e)
{
	struct checkpoint_list line;
	int rc = checkpoint_log(from, head, 0, &line, e);
	if (rc < 0)
		return rc;
	rc = line.count ? 0 : err_set(e, ERR_NOT_FOUND, "checkpoint %lld is not in this database", (long long)head);
	/* Newest first, and parents have smaller numbers: from the end, every parent comes before its children. */
	for (size_t i = line.count; rc == 0 && i > 0; i--)
		rc = copy_one(from, to, &line.at[i - 1], ret_id, e);
	checkpoint_list_fini(&line);
	return rc;
}

/* The evidence of a time; rows keep their job and time, by which a merge knows them again. Returns 1 where it was copied. */
static int copy_evidence(struct db *from, struct db *to, int64_t there, const struct measurement *m, int64_t *ret_id, struct err *e)
{
	struct validation_list all;
	int found = 0, rc = validation_list(from, m->checkpoint, m->device, 0, &all, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < all.count && rc == 0 && !found; i++)
		if (all.at[i].id == m->validation) {
			struct validation v = all.at[i];
			v.checkpoint = there;
			rc = validation_add(to, &v, e);
			*ret_id = v.id;
			found = 1;
		}
	validation_list_fini(&all);
	return rc < 0 ? rc : found;
}

/* The best known configuration of each size, by cold and by warm times, which the job uses where it does not tune. */
static int copy_best(struct db *from, struct db *to, int64_t here, int64_t there, struct err *e)
{
	struct measurement_list best, known;
	int rc = measurement_best_each(to, &(struct measurement_query){ .checkpoint = there }, &known, e);
	if (rc < 0)
		return rc;
	bool copied = known.count > 0; /* for another job */
	measurement_list_fini(&known);
	if (copied)
		return 0;
	for (int warm = 0; warm < 2 && rc >= 0; warm++) {
		rc = measurement_best_each(from, &(struct measurement_query){ .checkpoint = here, .warm = warm }, &best, e);
		if (rc < 0)
			break;
		for (size_t i = 0; i < best.count && rc == 0; i++) {
			struct measurement m = best.at[i];
			int found = copy_evidence(from, to, there, &best.at[i], &m.validation, e);
			m.checkpoint = there;
			m.run = 0;
			m.job = NULL; /* it is no result of the bundle's */
			rc = found > 0 ? measurement_add(to, &m, e) : found;
		}
		measurement_list_fini(&best);
	}
	return rc < 0 ? rc : 0;
}

static int copy_job(struct db *from, struct db *to, const struct job *job, struct buf *report, struct err *e)
{
	const struct engine_kind *kind = work_kind(job->kind);
	struct work_subject subject;
	struct checkpoint c;
	int64_t id = 0;
	if (kind == NULL)
		return err_set(e, ERR_UNSUPPORTED, "job %s: this peakd has no job of kind '%s'", job->id, job->kind);
	layout_init(&work_subject_layout, &subject);
	int rc = layout_read_text(&work_subject_layout, job->request, &subject, e);
	if (rc == 0)
		rc = copy_line(from, to, subject.checkpoint, &id, e);
	if (rc == 0 && strcmp(job->kind, "tune") != 0)
		rc = copy_best(from, to, subject.checkpoint, id, e);
	if (rc == 0)
		rc = checkpoint_get(to, id, &c, e);
	if (rc == 0) {
		char *request = drain_request(kind, job, id);
		rc = job_adopt(to, job->id, job->kind, request, e);
		buf_addf(report, "%s %s %s of checkpoint %.12s, device %s\n", job->id, job->kind, c.kernel, c.hash.hex,
			 subject.device ? subject.device : c.backend);
		free(request);
		checkpoint_fini(&c);
	}
	layout_fini(&work_subject_layout, &subject);
	return rc < 0 ? err_wrap(e, "job %s", job->id) : 0;
}

/* The baseline of the checkpoint that a job is about. */
static int find_root(struct db *db, const struct job *job, int64_t *ret_root, struct err *e)
{
	struct work_subject subject;
	layout_init(&work_subject_layout, &subject);
	int rc = layout_read_text(&work_subject_layout, job->request, &subject, e);
	if (rc == 0)
		rc = checkpoint_root(db, subject.checkpoint, ret_root, e);
	layout_fini(&work_subject_layout, &subject);
	return rc < 0 ? err_wrap(e, "job %s", job->id) : 0;
}

/* The jobs to be carried: oldest first, and one problem after the other, so that a run that is cut off has ended whole problems. */
static int sort_jobs(struct db *home, const struct job_list *jobs, const char *only, const struct job ***ret_sorted,
		     size_t *ret_count, struct err *e)
{
	const struct job **sorted = NULL;
	int64_t *roots = MEM_NEW_N(int64_t, jobs->count + 1);
	size_t count = 0;
	int rc = 0;
	for (size_t i = jobs->count; rc == 0 && i > 0; i--) /* listed newest first */
		if (engine_is_later(&jobs->at[i - 1]) && (only == NULL || strcmp(only, jobs->at[i - 1].id) == 0))
			rc = find_root(home, &jobs->at[i - 1], &roots[i - 1], e);
	for (size_t i = jobs->count; rc == 0 && i > 0; i--) {
		int64_t root = roots[i - 1];
		for (size_t k = i; root && k > 0; k--)
			if (roots[k - 1] == root) {
				*MEM_PUSH(sorted, count) = &jobs->at[k - 1];
				roots[k - 1] = 0;
			}
	}
	free(roots);
	*ret_sorted = sorted;
	*ret_count = count;
	return rc;
}

static int copy_jobs(struct db *home, const struct job *const *jobs, size_t count, const char *db_path, struct buf *report,
		     struct err *e)
{
	struct db *to = NULL;
	int rc = store_open_one(db_path, STORE_NEWEST, &to, e);
	if (rc == 0)
		rc = store_begin(to, e);
	if (rc == 0) {
		for (size_t i = 0; rc == 0 && i < count; i++)
			rc = copy_job(home, to, jobs[i], report, e);
		rc = store_end(to, rc, e);
	}
	store_close_one(to);
	return rc < 0 ? rc : 0;
}

static int make_folder(const char *folder, struct err *e)
{
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return err_sys(e, errno, "%s cannot be made", folder);
	if (rmdir(folder) < 0)
		return errno == ENOTEMPTY || errno == EEXIST
			       ? err_set(e, ERR_CONFLICT, "%s is not empty and was not touched: name a new folder", folder)
			       : err_sys(e, errno, "%s cannot become a bundle", folder);
	return mkdir(folder, 0777) < 0 ? err_sys(e, errno, "%s cannot be made", folder) : 0;
}

static void remove_unfinished(const char *folder, const char *db_path)
{
	static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
	for (size_t i = 0; i < MEM_COUNT(tails); i++) {
		char *path = mem_fmt("%s%s", db_path, tails[i]);
		unlink(path);
		free(path);
	}
	rmdir(folder);
}

int drain_export(struct db *home, const char *folder, const char *only, struct buf *report, struct err *e)
{
	struct job_list jobs;
	const struct job **sorted = NULL;
	size_t count = 0;
	int rc = job_list(home, NULL, true, 0, &jobs, e);
	if (rc < 0)
		return rc;
	char *db_path = drain_db(folder);
	rc = sort_jobs(home, &jobs, only, &sorted, &count, e);
	if (rc == 0 && count > 0 && (rc = make_folder(folder, e)) == 0) {
		rc = copy_jobs(home, sorted, count, db_path, report, e);
		if (rc == 0)
			rc = drain_seal(folder, DRAIN_EXPORTED, e);
		if (rc < 0)
			remove_unfinished(folder, db_path);
	}
	free(sorted);
	job_list_fini(&jobs);
	free(db_path);
	return rc < 0 ? rc : (int)count;
}
