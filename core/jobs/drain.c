/* drain: a bundle's folder and its seal; see drain.h. */
#include "core/jobs/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fields.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/record/job.h"

enum { CHUNK = 1 << 16, SEAL_MAX = 1 << 12 };
#define FORMAT "peakd drain 1"

static const char *const state_names[DRAIN_STATES] = {
	[DRAIN_EXPORTED] = "exported",
	[DRAIN_RUNNING] = "running",
	[DRAIN_RAN] = "ran",
};

const char *drain_state_name(enum drain_state state)
{
	return state_names[state];
}

bool drain_is_later(const struct job *job)
{
	struct fields request = FIELDS_INIT;
	struct err ignored = ERR_INIT;
	bool later = job->state == JOB_QUEUED && fields_parse(job->request, &request, &ignored) == 0 &&
	             fields_flag(&request, "later");
	fields_fini(&request);
	return later;
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

static int read_seal(const char *folder, struct fields *ret_seal, struct err *e)
{
	char *path = mem_fmt("%s/seal", folder), text[SEAL_MAX];
	FILE *f = fopen(path, "re");
	int errnum = errno;
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = '\0';
	if (f)
		fclose(f);
	int rc;
	if (f == NULL && errnum == ENOENT)
		rc = err_set(e, ERR_NOT_FOUND, "%s holds no bundle (no file `seal`): name a folder that `peakd drain export` made", folder);
	else if (f == NULL)
		rc = err_sys(e, errnum, "%s cannot be read", path);
	else if (fields_parse(text, ret_seal, e) < 0)
		rc = err_set(e, ERR_IO, "%s is damaged: copy the bundle again", path);
	else
		rc = 0;
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
		rc = err_set(e, ERR_IO, "%s does not match its seal: the copy was cut off or the file was changed; copy the bundle again", db);
	free(db);
	free(wal);
	return rc;
}

int drain_check(const char *folder, enum drain_state *ret_state, struct err *e)
{
	struct fields seal = FIELDS_INIT;
	int rc = read_seal(folder, &seal, e), state = 0;
	if (rc < 0)
		return rc;
	while (state < DRAIN_STATES && strcmp(state_names[state], fields_text(&seal, "state", "")) != 0)
		state++;
	if (strcmp(fields_text(&seal, "format", ""), FORMAT) != 0 || state == DRAIN_STATES)
		rc = err_set(e, ERR_UNSUPPORTED, "%s is no bundle of a form that this peakd knows (\"%s\"): use the peakd that made it", folder,
		             fields_text(&seal, "format", "no format"));
	else if (state != DRAIN_RUNNING)
		rc = check_hash(folder, fields_text(&seal, "sha256", ""), e);
	fields_fini(&seal);
	if (rc == 0)
		*ret_state = (enum drain_state)state;
	return rc;
}

/* Written beside and renamed, so that there is always a whole one. */
static int write_seal(const char *folder, const struct fields *seal, struct err *e)
{
	char *path = mem_fmt("%s/seal", folder), *fresh = mem_fmt("%s/seal.new", folder), *text = fields_render(seal);
	FILE *f = fopen(fresh, "we");
	bool good = f && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
	if (f)
		good = fclose(f) == 0 && good;
	good = good && rename(fresh, path) == 0;
	int rc = good ? 0 : err_sys(e, errno, "%s cannot be written", path);
	free(path);
	free(fresh);
	free(text);
	return rc;
}

int drain_seal(const char *folder, enum drain_state state, struct err *e)
{
	struct fields seal = FIELDS_INIT;
	char *db = drain_db(folder);
	struct hash hash;
	int rc = 0;
	fields_set(&seal, "format", FORMAT);
	fields_set(&seal, "state", state_names[state]);
	if (state != DRAIN_RUNNING && (rc = hash_file(db, &hash, e)) == 0)
		fields_set(&seal, "sha256", hash.hex);
	if (rc == 0)
		rc = write_seal(folder, &seal, e);
	fields_fini(&seal);
	free(db);
	return rc;
}
