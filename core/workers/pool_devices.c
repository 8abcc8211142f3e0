/* pool: which devices there are, asked of compile workers and kept; see pool.h. */
#include "core/workers/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

#define DEVICES_NS (60 * CLOCK_S) /* a first driver start on a cold machine */

struct pool_known {
	struct lock lock;
	struct facts *facts;
	size_t count;
	char *notes; /* NULL: not asked yet */
	bool warned; /* that the workers' sandbox lacks something */
};

struct pool_known *pool_known_new(void)
{
	struct pool_known *known = MEM_NEW(struct pool_known);
	lock_init(&known->lock, LOCK_LEAF);
	return known;
}

void pool_known_free(struct pool_known *known)
{
	free(known->facts);
	free(known->notes);
	lock_fini(&known->lock);
	free(known);
}

const char *const pool_backends[POOL_BACKENDS] = { "cuda", "hip", "hlsl" };

bool pool_is_of_backend(const char *device, const char *backend)
{
	size_t n = strlen(backend);
	return strncmp(device, backend, n) == 0 && (device[n] == ':' || device[n] == '\0');
}

/* Asks one worker for the devices of a backend ("hlsl") or for one named architecture ("cuda:sm_90a"). lacks: set to what the
 * worker's sandbox cannot do, if a worker answered. */
static int ask_devices(struct pool *pool, const char *what, struct facts **io_facts, size_t *io_count, char lacks[WIRE_LACKS],
		       struct err *e)
{
	struct pool_known *known = pool_known(pool);
	struct pool_worker *w;
	struct wire_name name = { .id = (char *)what };
	struct wire_devices list;
	int rc = pool_take_compile(pool, NULL, &w, e);
	if (rc < 0)
		return rc;
	rc = pool_ask(w, WIRE_DEVICES, &name, DEVICES_NS, &list, e);
	/* A worker that has compiled cannot load a driver any more, and ends; the next is fresh. */
	if (rc == -ERR_CRASH)
		rc = pool_ask(w, WIRE_DEVICES, &name, DEVICES_NS, &list, e);
	snprintf(lacks, WIRE_LACKS, "%s", *pool_lacks(w) ? pool_lacks(w) : lacks);
	pool_give(w);
	lock_take(&known->lock);
	bool first = lacks[0] && !known->warned;
	known->warned |= first;
	lock_release(&known->lock);
	if (first)
		log_warning("the workers' sandbox: %s", lacks);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < list.count; i++)
		*MEM_PUSH(*io_facts, *io_count) = list.at[i];
	wire_devices_fini(&list);
	return rc;
}

static void learn_devices(struct pool *pool)
{
	struct pool_known *known = pool_known(pool);
	struct facts *facts = NULL;
	size_t count = 0;
	struct buf notes = BUF_INIT;
	char lacks[WIRE_LACKS] = "";
	for (size_t i = 0; i < POOL_BACKENDS; i++) {
		struct err e = ERR_INIT;
		if (ask_devices(pool, pool_backends[i], &facts, &count, lacks, &e) < 0)
			buf_addf(&notes, "%s: %s\n", pool_backends[i], e.text);
	}
	if (lacks[0])
		buf_addf(&notes, "sandbox: %s\n", lacks);
	lock_take(&known->lock);
	if (known->notes == NULL) {
		known->facts = facts;
		known->count = count;
		known->notes = buf_steal(&notes);
		facts = NULL;
	}
	lock_release(&known->lock);
	free(facts);
	buf_fini(&notes);
}

int pool_devices(struct pool *pool, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e)
{
	struct pool_known *known = pool_known(pool);
	(void)e;
	lock_take(&known->lock);
	bool asked = known->notes != NULL;
	lock_release(&known->lock);
	if (!asked)
		learn_devices(pool);
	lock_take(&known->lock);
	*ret_facts = mem_copy(known->facts, known->count * sizeof *known->facts);
	*ret_count = known->count;
	*ret_notes = mem_str(known->notes ? known->notes : "");
	lock_release(&known->lock);
	return 0;
}

void pool_forget_devices(struct pool *pool)
{
	struct pool_known *known = pool_known(pool);
	lock_take(&known->lock);
	free(known->facts);
	free(known->notes);
	known->facts = NULL;
	known->count = 0;
	known->notes = NULL;
	lock_release(&known->lock);
}

/* The note of one backend ("cuda: …"), a line; NULL when there is none. free() */
static char *note_of(const char *notes, const char *backend)
{
	size_t n = strlen(backend);
	for (const char *line = notes; *line;) {
		size_t len = strcspn(line, "\n");
		if (len > n && strncmp(line, backend, n) == 0 && line[n] == ':')
			return mem_strn(line, len);
		line += len + (line[len] == '\n');
	}
	return NULL;
}

static int unknown_device(const char *id, const struct facts *all, size_t count, const char *notes, struct err *e)
{
	struct buf text = BUF_INIT;
	buf_addf(&text, "no device '%s'; this machine has", id);
	for (size_t i = 0; i < count; i++)
		buf_addf(&text, "%s %s (%s)", i ? "," : "", all[i].id, all[i].name);
	if (count == 0)
		buf_adds(&text, " none");
	buf_adds(&text, "; for compiling alone, name an architecture as in cuda:sm_90a; for a machine that has it, queue the job "
			"with --later (peakd drain)");
	char *backend = mem_strn(id, strcspn(id, ":")), *note = note_of(notes, backend);
	if (note)
		buf_addf(&text, "; not available: %s", note);
	int rc = err_set(e, ERR_NOT_FOUND, "%s", buf_text(&text));
	free(backend);
	free(note);
	buf_fini(&text);
	return rc;
}

/* "cuda:sm_90a": something after the colon that is not a number. */
static bool names_architecture(const char *id)
{
	const char *colon = strchr(id, ':');
	return colon && colon[1] && strspn(colon + 1, "0123456789") != strlen(colon + 1);
}

int pool_device(struct pool *pool, const char *id, struct facts *ret_facts, struct err *e)
{
	struct facts *all = NULL;
	size_t count = 0;
	char *notes = NULL, lacks[WIRE_LACKS] = "";
	int rc;
	if (names_architecture(id)) {
		rc = ask_devices(pool, id, &all, &count, lacks, e);
		if (rc == 0 && count != 1)
			rc = err_set(e, ERR_NOT_FOUND, "no architecture '%s'", id);
		if (rc == 0)
			*ret_facts = all[0];
		free(all);
		return rc;
	}
	rc = pool_devices(pool, &all, &count, &notes, e);
	if (rc < 0)
		return rc;
	char *full = strchr(id, ':') ? mem_str(id) : mem_fmt("%s:0", id);
	rc = -1;
	for (size_t i = 0; i < count && rc < 0; i++)
		if (strcmp(all[i].id, full) == 0) {
			*ret_facts = all[i];
			rc = 0;
		}
	if (rc < 0)
		rc = unknown_device(id, all, count, notes, e);
	free(full);
	free(all);
	free(notes);
	return rc;
}

/* All devices of the backend that `id` begins with. */
static int all_of(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	char *notes = NULL;
	size_t count = 0, kept = 0, n = strcspn(id, ":") + 1;
	struct facts *all = NULL;
	int rc = pool_devices(pool, &all, &count, &notes, e);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (strncmp(all[i].id, id, n) == 0)
			all[kept++] = all[i];
	if (rc == 0 && kept == 0)
		rc = unknown_device(id, all, count, notes, e);
	free(notes);
	if (rc < 0) {
		free(all);
		return rc;
	}
	*ret_facts = all;
	*ret_count = kept;
	return 0;
}

/* "cuda:0,2": the numbers one by one. */
static int listed(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct facts *list = NULL;
	size_t count = 0, n = strcspn(id, ":") + 1;
	int rc = 0;
	for (const char *at = id + n; rc == 0 && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		char *one = mem_fmt("%.*s%.*s", (int)n, id, (int)strcspn(at, ","), at);
		struct facts f;
		rc = pool_device(pool, one, &f, e);
		for (size_t i = 0; rc == 0 && i < count; i++)
			if (strcmp(list[i].id, f.id) == 0)
				rc = err_set(e, ERR_INPUT, "%s is named twice in '%s'", f.id, id);
		if (rc == 0)
			*MEM_PUSH(list, count) = f;
		free(one);
	}
	if (rc < 0) {
		free(list);
		return rc;
	}
	*ret_facts = list;
	*ret_count = count;
	return 0;
}

int pool_device_set(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	const char *colon = strchr(id, ':');
	struct facts *list = NULL, one;
	size_t count = 1;
	int rc;
	if (colon && strcmp(colon, ":all") == 0) {
		rc = all_of(pool, id, &list, &count, e);
	} else if (colon && strchr(colon, ',')) {
		rc = listed(pool, id, &list, &count, e);
	} else {
		rc = pool_device(pool, id, &one, e);
		if (rc == 0)
			list = mem_copy(&one, sizeof one);
	}
	for (size_t i = 1; rc == 0 && i < count; i++)
		if (strcmp(list[i].name, list[0].name) != 0 || strcmp(list[i].arch, list[0].arch) != 0 || !list[i].runs)
			rc = err_set(
				e, ERR_INPUT,
				"%s is a %s and %s a %s: only devices of one kind share a tune, since their times must compare",
				list[0].id, list[0].name, list[i].id, list[i].name);
	if (rc < 0) {
		free(list);
		return rc;
	}
	*ret_facts = list;
	*ret_count = count;
	return 0;
}
