/* drain: a bundle is made: jobs, their checkpoints and what these are made of, copied into a database of its own; see drain.h. */
#include "core/jobs/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fields.h"
#include "base/mem.h"
#include "core/record/blob.h"
#include "core/record/checkpoint.h"
#include "core/record/job.h"
#include "core/record/store.h"

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

static int copy_job(struct db *from, struct db *to, const struct job *job, struct buf *report, struct err *e)
{
	struct fields request = FIELDS_INIT;
	struct checkpoint c;
	int64_t id = 0;
	int rc = fields_parse(job->request, &request, e);
	if (rc == 0)
		rc = copy_line(from, to, fields_int(&request, "checkpoint", 0), &id, e);
	if (rc == 0)
		rc = checkpoint_get(to, id, &c, e);
	if (rc == 0) {
		fields_setf(&request, "checkpoint", "%lld", (long long)id);
		char *text = fields_render(&request);
		rc = job_adopt(to, job->id, job->kind, text, e);
		buf_addf(report, "%s %s %s of checkpoint %.12s, device %s\n", job->id, job->kind, c.kernel, c.hash.hex,
		         fields_text(&request, "device", c.backend));
		free(text);
		checkpoint_fini(&c);
	}
	fields_fini(&request);
	return rc < 0 ? err_wrap(e, "job %s", job->id) : 0;
}

static int copy_jobs(struct db *home, const struct job_list *jobs, const char *db_path, const char *only, struct buf *report,
                     struct err *e)
{
	struct store *store = NULL;
	struct db *to = NULL;
	int count = 0;
	int rc = store_open(db_path, &store, e);
	if (rc == 0)
		rc = store_take(store, &to, e);
	if (rc == 0)
		rc = store_begin(to, e);
	if (rc == 0) {
		/* Listed newest first; they keep their order. */
		for (size_t i = jobs->count; rc == 0 && i > 0; i--) {
			const struct job *j = &jobs->at[i - 1];
			if (!drain_is_later(j) || (only && strcmp(only, j->id) != 0))
				continue;
			rc = copy_job(home, to, j, report, e);
			count++;
		}
		rc = store_end(to, rc, e);
	}
	store_give(to);
	store_close(store);
	return rc < 0 ? rc : count;
}

static size_t count_later(const struct job_list *jobs, const char *only)
{
	size_t n = 0;
	for (size_t i = 0; i < jobs->count; i++)
		n += drain_is_later(&jobs->at[i]) && (only == NULL || strcmp(only, jobs->at[i].id) == 0);
	return n;
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
	char *db_path = drain_db(folder);
	int count = 0;
	int rc = job_list(home, NULL, true, 0, &jobs, e);
	if (rc < 0) {
		free(db_path);
		return rc;
	}
	if (count_later(&jobs, only) > 0) {
		rc = make_folder(folder, e);
		if (rc == 0) {
			rc = count = copy_jobs(home, &jobs, db_path, only, report, e);
			if (rc > 0)
				rc = drain_seal(folder, DRAIN_EXPORTED, e);
			if (rc < 0)
				remove_unfinished(folder, db_path);
		}
	}
	job_list_fini(&jobs);
	free(db_path);
	return rc < 0 ? rc : count;
}
