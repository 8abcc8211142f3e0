/* fixture: a folder with a database for the tests of core/record, and its removal. */
#ifndef PEAKD_TESTS_CORE_RECORD_FIXTURE_H
#define PEAKD_TESTS_CORE_RECORD_FIXTURE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/record/checkpoint.h"
#include "core/record/store.h"

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

#endif
