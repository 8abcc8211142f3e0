/* fixture: a folder with a database for the tests of core/record, and its removal. */
#ifndef PEAKD_TESTS_CORE_RECORD_FIXTURE_H
#define PEAKD_TESTS_CORE_RECORD_FIXTURE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/record/checkpoint.h"
#include "core/record/event.h"
#include "core/record/measurement.h"
#include "core/record/store.h"
#include "core/record/validation.h"
#include "core/record/workflow.h"

struct fixture {
	char folder[256];    /* fresh, removed by fixture_fini */
	char path[300];      /* of the database in it */
	struct store *store;
	struct db *db;       /* one handle */
};

__attribute__((unused))
static void fixture_folder(struct fixture *f)
{
	const char *tmp = getenv("TMPDIR");
	*f = (struct fixture){ .store = NULL };
	snprintf(f->folder, sizeof f->folder, "%s/peakd-record-XXXXXX", tmp ? tmp : "/tmp");
	if (mkdtemp(f->folder) == NULL) {
		perror(f->folder);
		exit(1);
	}
	snprintf(f->path, sizeof f->path, "%s/peakd.db", f->folder);
}

__attribute__((unused))
static void fixture_open(struct fixture *f)
{
	struct err e = ERR_INIT;
	if (store_open(f->path, &f->store, &e) < 0 || store_take(f->store, &f->db, &e) < 0) {
		printf("Bail out! %s\n", e.text);
		exit(1);
	}
}

__attribute__((unused))
static void fixture_init(struct fixture *f)
{
	fixture_folder(f);
	fixture_open(f);
}

__attribute__((unused))
static void fixture_close(struct fixture *f)
{
	store_give(f->db);
	store_close(f->store);
	f->db = NULL;
	f->store = NULL;
}

__attribute__((unused))
static void fixture_fini(struct fixture *f)
{
	fixture_close(f);
	DIR *d = opendir(f->folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		char name[600];
		snprintf(name, sizeof name, "%s/%s", f->folder, entry->d_name);
		if (entry->d_name[0] != '.')
			unlink(name);
	}
	closedir(d);
	rmdir(f->folder);
}

/* A checkpoint for a context of this text with one parent (0: a root); accepted. Returns its number. */
__attribute__((unused))
static int64_t fixture_checkpoint(struct fixture *f, const char *context, int64_t parent)
{
	struct err e = ERR_INIT;
	struct checkpoint c = { .kernel = "matmul", .backend = "cuda", .parents = &parent, .parent_count = parent != 0,
	                        .by = parent ? "edit" : "root", .status = CHECKPOINT_ACCEPTED };
	int64_t id = 0;
	if (checkpoint_add(f->db, &c, context, &id, &e) < 0)
		printf("# %s\n", e.text);
	return id;
}

/* As the daemon does, in one transaction: a further checkpoint on the workflow "line" with its evidence, the workflow's head and an
 * event of the job. *head becomes the checkpoint's number. */
__attribute__((unused))
static int fixture_commit(struct db *db, const char *job, int n, int64_t *head, struct err *e)
{
	char *context = mem_fmt("%d %0*d", n, 3000 + n % 5000, n);
	struct checkpoint c = { .kernel = "k", .backend = "cuda", .parents = head, .parent_count = 1, .by = "edit",
	                        .status = CHECKPOINT_ACCEPTED };
	struct validation v = { .validator = "outputs", .device = "gpu", .sizes = "n=1", .params = "n=1",
	                        .size_kind = "input", .verdict = VALIDATION_PASSED };
	struct measurement m = { .device = "gpu", .sizes = "n=1", .params = "n=1", .status = MEASUREMENT_OK,
	                         .median_ns = 1, .cold = true };
	int64_t id = 0;
	int rc = store_begin(db, e);
	if (rc == 0) {
		rc = checkpoint_add(db, &c, context, &id, e);
		v.checkpoint = m.checkpoint = id;
		if (rc >= 0)
			rc = validation_add(db, &v, e);
		m.validation = v.id;
		if (rc >= 0)
			rc = measurement_add(db, &m, e);
		if (rc >= 0)
			rc = workflow_append(db, "line", id, e);
		if (rc >= 0)
			rc = event_append(db, job, &(struct event){ .kind = "checkpoint", .progress = n }, NULL, e);
		rc = store_end(db, rc, e);
	}
	free(context);
	if (rc >= 0)
		*head = id;
	return rc;
}

/* 0 when a checkpoint that fixture_commit made is there with its context and evidence. */
__attribute__((unused))
static int fixture_look(struct db *db, int64_t id, struct err *e)
{
	char *context = NULL;
	struct measurement m;
	int rc = checkpoint_context(db, id, &context, e);
	if (rc >= 0)
		rc = measurement_best(db, &(struct measurement_query){ .checkpoint = id }, &m, e);
	if (rc >= 0)
		measurement_fini(&m);
	free(context);
	return rc < 0 ? rc : 0;
}

#endif
