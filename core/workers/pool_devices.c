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
#include "core/workers/remote.h"

#define REACH_NS (60 * CLOCK_S)   /* for a remote to give its facts; a batch system may have a queue */
#define DEVICES_NS (60 * CLOCK_S) /* a first driver start on a cold machine */
/* How long a backend counts as missing: whose worker gave no answer, twice as long each time; whose library said no, perhaps
 * because a driver was still starting. */
#define LOST_NS (5 * CLOCK_S)
#define LOST_MOST_NS (80 * CLOCK_S)
#define MISSING_NS (300 * CLOCK_S)

/* The devices of a remote, as they are named here. */
struct known_remote {
	struct remote *remote;
	struct facts *facts;
	size_t count;
	char *notes;
};

enum { TIMES_MAX = 64 };

/* What is known of a backend of this machine. */
struct known_backend {
	struct facts *facts;
	size_t count;
	char *note;           /* "cuda: …"; NULL: there are devices */
	int64_t until, pause; /* asked again then (0: never), because it gave none; how long that was */
	bool asked;
};

struct pool_known {
	struct lock lock;
	struct lock_bell bell; /* rung when asking is over */
	struct known_backend backends[POOL_BACKENDS];
	char lacks[WIRE_LACKS]; /* what the workers' sandbox cannot do */
	bool asking;
	struct known_remote *remotes;
	size_t remote_count;
	bool warned; /* that the workers' sandbox lacks something */
};

struct pool_known *pool_known_new(void)
{
	struct pool_known *known = MEM_NEW(struct pool_known);
	lock_init(&known->lock, LOCK_LEAF);
	lock_bell_init(&known->bell);
	return known;
}

static void known_backend_fini(struct known_backend *b)
{
	free(b->facts);
	free(b->note);
	*b = (struct known_backend){ .count = 0 };
}

static void forget_remotes(struct pool_known *known)
{
	for (size_t i = 0; i < known->remote_count; i++) {
		free(known->remotes[i].facts);
		free(known->remotes[i].notes);
	}
	free(known->remotes);
	known->remotes = NULL;
	known->remote_count = 0;
}

void pool_known_free(struct pool_known *known)
{
	forget_remotes(known);
	for (size_t i = 0; i < POOL_BACKENDS; i++)
		known_backend_fini(&known->backends[i]);
	lock_bell_fini(&known->bell);
	lock_fini(&known->lock);
	free(known);
}

const char *const pool_backends[POOL_BACKENDS] = { "cuda", "hip", "hlsl" };

bool pool_is_of_backend(const char *id, const char *backend)
{
	char device[FACTS_TEXT];
	size_t n = strlen(backend);
	remote_local(id, device);
	return strncmp(device, backend, n) == 0 && (device[n] == ':' || device[n] == '\0');
}

int pool_wrong_backend(const char *device, const char *backend, struct err *e)
{
	return err_set(e, ERR_INPUT,
		       "device %s runs no %s code, which this context has: name a device of %s (`peakd devices` lists them)",
		       device, backend, backend);
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

static bool is_due(const struct known_backend *b)
{
	return !b->asked || (b->until && clock_now() >= b->until);
}

static void learn_backend(struct pool *pool, size_t i)
{
	struct pool_known *known = pool_known(pool);
	struct known_backend *b = &known->backends[i], found = { .asked = true };
	char lacks[WIRE_LACKS] = "";
	struct err e = ERR_INIT;
	int rc = ask_devices(pool, pool_backends[i], &found.facts, &found.count, lacks, &e);
	bool lost = rc == -ERR_CRASH || rc == -ERR_TIMEOUT || rc == -ERR_IO;
	lock_take(&known->lock);
	if (rc < 0) {
		found.note = mem_fmt("%s: %s", pool_backends[i], e.text);
		found.pause = !lost                     ? MISSING_NS
			      : b->pause < LOST_NS      ? LOST_NS
			      : b->pause < LOST_MOST_NS ? 2 * b->pause
							: LOST_MOST_NS;
		found.until = clock_now() + found.pause;
	}
	if (lacks[0])
		memcpy(known->lacks, lacks, sizeof lacks);
	known_backend_fini(b);
	*b = found;
	lock_release(&known->lock);
}

/* Asks for what is not known, or no more. One thread at a time; others go by what is known, if something is. */
static void learn_devices(struct pool *pool)
{
	struct pool_known *known = pool_known(pool);
	bool due[POOL_BACKENDS], any = false;
	lock_take(&known->lock);
	while (known->asking && !known->backends[POOL_BACKENDS - 1].asked)
		lock_bell_wait(&known->bell, &known->lock, CLOCK_NEVER);
	for (size_t i = 0; i < POOL_BACKENDS; i++)
		any |= due[i] = is_due(&known->backends[i]);
	bool asks = any && !known->asking;
	known->asking |= asks;
	lock_release(&known->lock);
	if (!asks)
		return;
	for (size_t i = 0; i < POOL_BACKENDS; i++)
		if (due[i])
			learn_backend(pool, i);
	lock_take(&known->lock);
	known->asking = false;
	lock_bell_ring(&known->bell);
	lock_release(&known->lock);
}

int pool_devices(struct pool *pool, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e)
{
	struct pool_known *known = pool_known(pool);
	struct buf notes = BUF_INIT;
	(void)e;
	learn_devices(pool);
	*ret_facts = NULL;
	*ret_count = 0;
	lock_take(&known->lock);
	for (size_t i = 0; i < POOL_BACKENDS; i++) {
		const struct known_backend *b = &known->backends[i];
		for (size_t k = 0; k < b->count; k++)
			*MEM_PUSH(*ret_facts, *ret_count) = b->facts[k];
		if (b->note)
			buf_addf(&notes, "%s\n", b->note);
	}
	if (known->lacks[0])
		buf_addf(&notes, "sandbox: %s\n", known->lacks);
	lock_release(&known->lock);
	*ret_notes = buf_steal(&notes);
	return 0;
}

void pool_forget_devices(struct pool *pool)
{
	struct pool_known *known = pool_known(pool);
	lock_take(&known->lock);
	for (size_t i = 0; i < POOL_BACKENDS; i++)
		known_backend_fini(&known->backends[i]);
	known->lacks[0] = '\0';
	forget_remotes(known);
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
	buf_addf(&text, "no device '%s'; %s has", id, strchr(id, '/') ? "that machine" : "this machine");
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

/* --- other machines --------------------------------------------------------------------------------------------------------- */

/* What a device of another machine is called here. Its code is compiled on this machine, so the compiler is this machine's. The
 * same software device of another machine is another one. Which one a batch system lends is known only during the lease; so its
 * devices count as one, unless they are CPUs of different models. */
static void adopt(struct pool *pool, const struct remote *remote, struct facts *f)
{
	char local[FACTS_TEXT], lacks[WIRE_LACKS] = "", *text;
	struct facts *compiler = NULL;
	size_t count = 0, host = strcspn(f->host, ",");
	struct err ignored = ERR_INIT;
	memcpy(local, f->id, sizeof local);
	snprintf(f->id, sizeof f->id, "%.70s/%.50s", remote_name(remote), local);
	const char *cpu = f->shares_cpu && f->host[host] ? f->host + host + 2 : NULL;
	text = remote_allocates(remote)           ? mem_fmt("%.72s%s%.54s", f->id, cpu ? "@" : "", cpu ? cpu : "")
	       : strncmp(f->uuid, "GPU-", 4) == 0 ? mem_str(f->uuid)
						  : mem_fmt("%.60s@%.*s", f->uuid, cpu ? FACTS_TEXT : (int)host, f->host);
	snprintf(f->uuid, sizeof f->uuid, "%.127s", text);
	free(text);
	text = mem_fmt("%s:%s", f->backend, f->arch);
	if (ask_devices(pool, text, &compiler, &count, lacks, &ignored) == 0 && count &&
	    strstr(f->driver, compiler->driver) == NULL) {
		size_t len = strlen(f->driver);
		snprintf(f->driver + len, sizeof f->driver - len, "; compiled by %s", compiler->driver);
	}
	free(text);
	free(compiler);
}

static struct known_remote *find_known(struct pool_known *known, const struct remote *remote)
{
	for (size_t i = 0; i < known->remote_count; i++)
		if (known->remotes[i].remote == remote)
			return &known->remotes[i];
	return NULL;
}

/* Two who ask at the same time may both contact the machine; the first answer stays. */
static int devices_of(struct pool *pool, struct remote *remote, struct facts **ret_facts, size_t *ret_count, char **ret_notes,
		      struct err *e)
{
	struct pool_known *known = pool_known(pool);
	const struct remote_wait wait = { .deadline = clock_now() + REACH_NS };
	struct known_remote found = { .remote = remote };
	lock_take(&known->lock);
	bool asked = find_known(known, remote) != NULL;
	lock_release(&known->lock);
	int rc = asked ? 0 : remote_ask_devices(remote, pool_starter(pool), &wait, &found.facts, &found.count, &found.notes, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < found.count; i++)
		adopt(pool, remote, &found.facts[i]);
	lock_take(&known->lock);
	struct known_remote *k = find_known(known, remote);
	if (k == NULL) {
		k = MEM_PUSH(known->remotes, known->remote_count);
		*k = found;
		found = (struct known_remote){ .count = 0 };
	}
	*ret_facts = mem_copy(k->facts, k->count * sizeof *k->facts);
	*ret_count = k->count;
	*ret_notes = mem_str(k->notes ? k->notes : "");
	lock_release(&known->lock);
	free(found.facts);
	free(found.notes);
	return 0;
}

int pool_remote_devices(struct pool *pool, size_t i, struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e)
{
	struct remote *remote = remotes_at(pool_remotes(pool), i);
	return remote ? devices_of(pool, remote, ret_facts, ret_count, ret_notes, e)
		      : err_set(e, ERR_NOT_FOUND, "no further machine");
}

int pool_is_same_kind(const struct facts *want, const struct facts *found, bool any_host, struct err *e)
{
	const char *want_host = any_host ? strchr(want->host, ',') : want->host,
		   *host = any_host ? strchr(found->host, ',') : found->host;
	/* The driver's text may go on with this machine's compiler. */
	bool same = strcmp(want->name, found->name) == 0 && strcmp(want->arch, found->arch) == 0 &&
		    strncmp(want->driver, found->driver, strlen(found->driver)) == 0 &&
		    (any_host && !want->shares_cpu ? true : strcmp(want_host ? want_host : "", host ? host : "") == 0);
	return same ? 0
		    : err_set(e, ERR_UNSUPPORTED,
			      "it was %s (%s) on %s, and is now %s (%s) on %s: end the daemon with `peakd stop`, so that the "
			      "next one looks again, and do not compare their times",
			      want->name, want->driver, want->host, found->name, found->driver, found->host);
}

/* "ssh:HOST/cuda:0", "ssh:HOST/cuda", and "ssh:HOST" for the first device there. */
static int remote_device(struct pool *pool, struct remote *remote, const char *id, struct facts *ret_facts, struct err *e)
{
	struct facts *all = NULL;
	size_t count = 0, found;
	char *notes = NULL, local[FACTS_TEXT];
	int rc = devices_of(pool, remote, &all, &count, &notes, e);
	if (rc < 0)
		return rc;
	remote_local(id, local);
	char *full =
		strchr(local, ':') ? mem_fmt("%s/%s", remote_name(remote), local) : mem_fmt("%s/%s:0", remote_name(remote), local);
	for (found = 0; found < count; found++)
		if (*local == 0 || strcmp(all[found].id, full) == 0)
			break;
	if (found < count)
		*ret_facts = all[found];
	else
		rc = unknown_device(id, all, count, notes, e);
	free(full);
	free(all);
	free(notes);
	return rc;
}

int pool_device(struct pool *pool, const char *id, struct facts *ret_facts, struct err *e)
{
	struct facts *all = NULL;
	struct remote *remote = NULL;
	size_t count = 0;
	char *notes = NULL, lacks[WIRE_LACKS] = "";
	int rc = remotes_find(pool_remotes(pool), id, &remote, e);
	if (rc < 0)
		return rc;
	if (remote)
		return remote_device(pool, remote, id, ret_facts, e);
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

/* --- sets --------------------------------------------------------------------------------------------------------------------- */

struct set {
	struct facts *at;
	size_t count;
};

static int add_one(struct set *set, const struct facts *f, struct err *e)
{
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->at[i].id, f->id) == 0)
			return err_set(e, ERR_INPUT, "%s is named twice", f->id);
	*MEM_PUSH(set->at, set->count) = *f;
	return 0;
}

/* All devices of the backend that `id` begins with. */
static int add_all(struct pool *pool, struct set *set, const char *id, struct err *e)
{
	struct remote *remote = NULL;
	char *notes = NULL;
	size_t count = 0, before = set->count;
	struct facts *all = NULL;
	char backend[FACTS_TEXT];
	int rc = remotes_find(pool_remotes(pool), id, &remote, e);
	if (rc == 0)
		rc = remote ? devices_of(pool, remote, &all, &count, &notes, e) : pool_devices(pool, &all, &count, &notes, e);
	if (rc < 0)
		return rc;
	remote_local(id, backend);
	backend[strcspn(backend, ":")] = '\0';
	for (size_t i = 0; i < count && rc == 0; i++)
		if (strcmp(all[i].backend, backend) == 0)
			rc = add_one(set, &all[i], e);
	if (rc == 0 && set->count == before)
		rc = unknown_device(id, all, count, notes, e);
	free(notes);
	free(all);
	return rc;
}

/* "cuda:0,2": the numbers one by one; they stand behind the last colon. */
static int add_listed(struct pool *pool, struct set *set, const char *id, struct err *e)
{
	size_t n = (size_t)(strrchr(id, ':') - id) + 1;
	int rc = 0;
	for (const char *at = id + n; rc == 0 && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		char *one = mem_fmt("%.*s%.*s", (int)n, id, (int)strcspn(at, ","), at);
		struct facts f;
		rc = pool_device(pool, one, &f, e);
		if (rc == 0)
			rc = add_one(set, &f, e);
		free(one);
	}
	return rc;
}

/* "slurm:partition=p/cuda:0*4": each of the four is an allocation of its own. */
static int add_times(struct pool *pool, struct set *set, const char *id, struct err *e)
{
	struct remote *remote = NULL;
	struct facts f;
	char *end;
	unsigned long times = strtoul(strchr(id, '*') + 1, &end, 10);
	int rc = remotes_find(pool_remotes(pool), id, &remote, e);
	if (rc == 0 && (remote == NULL || !remote_allocates(remote) || *end || times < 1 || times > TIMES_MAX))
		rc = err_set(e, ERR_INPUT,
			     "'%s': behind a device of a batch system, *N means at most N allocations at once (1 to %d)", id,
			     TIMES_MAX);
	if (rc == 0)
		rc = remote_device(pool, remote, id, &f, e);
	for (unsigned long i = 1; rc == 0 && i <= times; i++) {
		struct facts one = f;
		size_t len = strlen(one.id);
		if (i > 1)
			snprintf(one.id + len, sizeof one.id - len, "*%lu", i);
		rc = add_one(set, &one, e);
	}
	return rc;
}

static int add_part(struct pool *pool, struct set *set, const char *id, struct err *e)
{
	struct facts one;
	char local[FACTS_TEXT];
	remote_local(id, local);
	const char *colon = strchr(local, ':');
	if (strchr(id, '*'))
		return add_times(pool, set, id, e);
	if (colon && strcmp(colon, ":all") == 0)
		return add_all(pool, set, id, e);
	if (colon && strchr(colon, ','))
		return add_listed(pool, set, id, e);
	int rc = pool_device(pool, id, &one, e);
	return rc < 0 ? rc : add_one(set, &one, e);
}

/* Times of devices that are the CPU compare only on the same CPU. */
static bool are_alike(const struct facts *a, const struct facts *b)
{
	const char *cpu_a = strchr(a->host, ','), *cpu_b = strchr(b->host, ',');
	return strcmp(a->name, b->name) == 0 && strcmp(a->arch, b->arch) == 0 && b->runs &&
	       (!a->shares_cpu || strcmp(cpu_a ? cpu_a : "", cpu_b ? cpu_b : "") == 0);
}

int pool_device_set(struct pool *pool, const char *id, struct facts **ret_facts, size_t *ret_count, struct err *e)
{
	struct set set = { .count = 0 };
	int rc = 0;
	for (const char *at = id; rc == 0 && (*at || at == id); at += strcspn(at, "+") + (at[strcspn(at, "+")] == '+')) {
		char *part = mem_strn(at, strcspn(at, "+"));
		rc = add_part(pool, &set, part, e);
		free(part);
		if (*at == '\0')
			break;
	}
	for (size_t i = 1; rc == 0 && i < set.count; i++)
		if (!are_alike(&set.at[0], &set.at[i]))
			rc = err_set(
				e, ERR_INPUT,
				"%s is a %s on %s, and %s a %s on %s: only devices of one kind share a tune, since their times "
				"must compare",
				set.at[0].id, set.at[0].name, set.at[0].host, set.at[i].id, set.at[i].name, set.at[i].host);
	if (rc < 0) {
		free(set.at);
		return rc;
	}
	*ret_facts = set.at;
	*ret_count = set.count;
	return 0;
}
