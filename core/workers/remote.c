/* remote: names of remotes, and the command lines behind them; see remote.h. Everything that comes from outside is checked here
 * against a narrow set of characters, and travels as one word. A shell sees it only behind ssh, quoted. */
#include "core/workers/remote.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/mem.h"

enum { KEYS = 14, WORDS = 14 };

/* One way to another machine. Words up to a NULL. Only what chooses a machine may be an option: others of srun and kubectl run
 * programs or write files. */
struct launcher {
	const char *name;
	const char *target;         /* what must be named, for messages; NULL: nothing, options alone */
	const char *keys[KEYS];     /* options, written KEY=VALUE and passed on as --KEY=VALUE */
	const char *hold[WORDS];    /* the program, and its words for the hold */
	const char *beside[WORDS];  /* for a worker: the same when empty. Ends before the job's number, where there is one */
	const char *before, *after; /* a word around the target; NULL */
	const char *cancel;         /* the program that ends a job by its number; NULL: there are no jobs */
	bool shell;                 /* a shell at the other end reads the command as one text */
};

/* The connection is noticed as dead within 15 seconds; nobody is there to type a password. */
#define SSH "ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5"
#define SRUN "srun", "--nodes=1", "--ntasks=1", "--unbuffered", "--kill-on-bad-exit"

static const struct launcher launchers[] = {
	{ .name = "ssh", .target = "a host", .hold = { SSH }, .before = "--", .shell = true },
	{ .name = "slurm",
	  .keys = { "partition", "account", "qos", "gres", "gpus", "constraint", "nodelist", "exclude", "time", "mem",
		    "cpus-per-task", "reservation" },
	  .hold = { SRUN, "--job-name=peakd" },
	  .beside = { SRUN, "--overlap", "--jobid" },
	  .cancel = "scancel" },
	{ .name = "kubectl",
	  .target = "a pod",
	  .keys = { "namespace", "container", "context" },
	  .hold = { "kubectl", "exec", "--stdin" },
	  .after = "--" },
};

struct remote {
	char *name; /* in front of the slash */
	char *spec; /* LAUNCHER:… */
	const struct launcher *launcher;
	char **options; /* "--partition=h200" */
	size_t option_count;
	char *target; /* NULL: none */
};

struct remotes {
	struct lock lock;
	struct remote **at; /* the operator's, then those that `any` let in */
	size_t count, named;
	bool any;
};

/* --- spelling ---------------------------------------------------------------------------------------------------------------- */

static bool is_plain(const char *text, size_t n, const char *also)
{
	if (n == 0 || text[0] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && (text[i] == '\0' || strchr(also, text[i]) == NULL))
			return false;
	return true;
}

/* How much of an id names the machine: up to the last slash; all of it where there is none. */
static size_t machine_length(const char *id)
{
	const char *slash = strrchr(id, '/');
	return slash ? (size_t)(slash - id) : strlen(id);
}

static const struct launcher *find_launcher(const char *spec)
{
	for (size_t i = 0; i < MEM_COUNT(launchers); i++) {
		size_t n = strlen(launchers[i].name);
		if (strncmp(spec, launchers[i].name, n) == 0 && spec[n] == ':')
			return &launchers[i];
	}
	return NULL;
}

char *remote_local(const char *id, char text[FACTS_TEXT])
{
	const char *slash = strrchr(id, '/'), *from = slash ? slash + 1 : find_launcher(id) ? "" : id;
	snprintf(text, FACTS_TEXT, "%.*s", (int)strcspn(from, "*"), from);
	return text;
}

static int refuse_key(const struct launcher *l, const char *text, size_t n, struct err *e)
{
	struct buf list = BUF_INIT;
	for (size_t i = 0; i < KEYS && l->keys[i]; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", l->keys[i]);
	int rc = err_set(e, ERR_INPUT, "'%.*s' is not an option of %s; options are KEY=VALUE with the keys %s", (int)n, text,
			 l->name, list.len ? buf_text(&list) : "(none)");
	buf_fini(&list);
	return rc;
}

/* One part between commas: an option, or the target in front of all options. */
static int read_part(struct remote *r, const char *text, size_t n, struct err *e)
{
	const struct launcher *l = r->launcher;
	const char *equals = memchr(text, '=', n);
	size_t key = equals ? (size_t)(equals - text) : n;
	bool known = false;
	if (equals == NULL && l->target && r->target == NULL && r->option_count == 0) {
		if (!is_plain(text, n, "._-@"))
			return err_set(
				e, ERR_INPUT,
				"'%.*s' cannot be %s: letters, digits, '.', '_', '-' and '@' are allowed, but no '-' at the front",
				(int)n, text, l->target);
		r->target = mem_strn(text, n);
		return 0;
	}
	for (size_t i = 0; i < KEYS && l->keys[i] && equals; i++)
		known = known || (strlen(l->keys[i]) == key && strncmp(l->keys[i], text, key) == 0);
	if (!known)
		return refuse_key(l, text, n, e);
	if (!is_plain(equals + 1, n - key - 1, "._-:@"))
		return err_set(e, ERR_INPUT, "'%.*s': a value has letters, digits, '.', '_', '-', ':' and '@', no '-' at the front",
			       (int)n, text);
	*MEM_PUSH(r->options, r->option_count) = mem_fmt("--%.*s", (int)n, text);
	return 0;
}

static void free_remote(struct remote *r)
{
	if (r == NULL)
		return;
	mem_free_texts(r->options, r->option_count);
	free(r->target);
	free(r->name);
	free(r->spec);
	free(r);
}

static int parse(const char *name, size_t name_len, const char *spec, size_t n, struct remote **ret_remote, struct err *e)
{
	struct remote *r = MEM_NEW(struct remote);
	int rc = 0;
	r->spec = mem_strn(spec, n);
	r->name = mem_strn(name, name_len);
	r->launcher = find_launcher(r->spec);
	if (r->launcher == NULL)
		rc = err_set(e, ERR_INPUT, "'%s' names no machine: write ssh:HOST, slurm:KEY=VALUE,… or kubectl:POD", r->spec);
	else if (strlen(r->name) > FACTS_TEXT / 2)
		rc = err_set(e, ERR_INPUT, "'%s' is too long (at most %d bytes): give it a short name, NAME=%s:…", r->spec,
			     FACTS_TEXT / 2, r->launcher->name);
	for (const char *at = rc < 0 ? "" : strchr(r->spec, ':') + 1; rc == 0 && *at;
	     at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		rc = read_part(r, at, strcspn(at, ","), e);
	if (rc == 0 && r->launcher->target && r->target == NULL)
		rc = err_set(e, ERR_INPUT, "'%s' does not name %s", r->spec, r->launcher->target);
	if (rc < 0)
		free_remote(r);
	else
		*ret_remote = r;
	return rc;
}

/* --- all of them ------------------------------------------------------------------------------------------------------------- */

/* "NAME=ssh:HOST": the name is what stands before an equals sign that comes before any colon. */
static int add_entry(struct remotes *all, const char *entry, struct err *e)
{
	size_t word = strcspn(entry, "=:");
	bool named = entry[word] == '=';
	const char *spec = named ? entry + word + 1 : entry;
	struct remote *r;
	if (strcmp(entry, "any") == 0) {
		all->any = true;
		return 0;
	}
	if (named && !is_plain(entry, word, "._-"))
		return err_set(e, ERR_INPUT, "'%.*s' cannot name a machine: letters, digits, '.', '_' and '-' are allowed",
			       (int)word, entry);
	int rc = strchr(spec, '/') ? err_set(e, ERR_INPUT, "'%s' names a device: name the machine alone", spec)
				   : parse(entry, named ? word : strlen(entry), spec, strlen(spec), &r, e);
	if (rc == 0)
		*MEM_PUSH(all->at, all->count) = r;
	return rc;
}

int remotes_new(const char *const *entries, struct remotes **ret_remotes, struct err *e)
{
	struct remotes *all = MEM_NEW(struct remotes);
	int rc = 0;
	lock_init(&all->lock, LOCK_LEAF);
	for (; rc == 0 && entries && *entries; entries++)
		rc = add_entry(all, *entries, e);
	all->named = all->count;
	if (rc < 0)
		remotes_free(all);
	else
		*ret_remotes = all;
	return rc;
}

void remotes_free(struct remotes *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->count; i++)
		free_remote(all->at[i]);
	free(all->at);
	lock_fini(&all->lock);
	free(all);
}

struct remote *remotes_at(struct remotes *all, size_t i)
{
	return all && i < all->named ? all->at[i] : NULL;
}

/* By its name or by its specification. The lock must be held. */
static struct remote *find_locked(const struct remotes *all, const char *text, size_t n)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct remote *r = all->at[i];
		if ((strlen(r->name) == n && strncmp(r->name, text, n) == 0) ||
		    (strlen(r->spec) == n && strncmp(r->spec, text, n) == 0))
			return all->at[i];
	}
	return NULL;
}

static int not_named(const struct remotes *all, const char *id, size_t n, struct err *e)
{
	struct buf list = BUF_INIT;
	for (size_t i = 0; all && i < all->named; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", all->at[i]->name);
	int rc = err_set(e, ERR_INPUT,
			 "this daemon may not use the machine '%.*s' (allowed: %s). Its operator names machines with `peakd serve "
			 "--remote`, or in the variable PEAKD_REMOTE",
			 (int)n, id, list.len ? buf_text(&list) : "none");
	buf_fini(&list);
	return rc;
}

int remotes_find(struct remotes *all, const char *id, struct remote **ret_remote, struct err *e)
{
	size_t n = machine_length(id);
	struct remote *found = NULL;
	int rc = 0;
	if (all)
		lock_take(&all->lock);
	found = all ? find_locked(all, id, n) : NULL;
	bool elsewhere = found || id[n] == '/' || find_launcher(id);
	if (found == NULL && elsewhere && !(all && all->any)) {
		rc = not_named(all, id, n, e);
	} else if (found == NULL && elsewhere) {
		rc = parse(id, n, id, n, &found, e);
		if (rc == 0)
			*MEM_PUSH(all->at, all->count) = found;
	}
	if (all)
		lock_release(&all->lock);
	*ret_remote = rc < 0 ? NULL : found;
	return rc;
}

const char *remote_name(const struct remote *remote)
{
	return remote->name;
}

bool remote_allocates(const struct remote *remote)
{
	return remote->launcher->cancel != NULL;
}

const char *remote_cancel(const struct remote *remote)
{
	return remote->launcher->cancel;
}

/* --- command lines ----------------------------------------------------------------------------------------------------------- */

static void add_quoted(struct buf *line, const char *word)
{
	buf_adds(line, line->len ? " '" : "'");
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(line, "'\\''");
		else
			buf_addc(line, *word);
	buf_addc(line, '\'');
}

static void add_words(char ***io_words, size_t *io_count, const char *const *from)
{
	for (; from && *from; from++)
		*MEM_PUSH(*io_words, *io_count) = mem_str(*from);
}

char **remote_words(const struct remote *r, const char *job, const char *const *command)
{
	const struct launcher *l = r->launcher;
	const char *around[] = { l->before, r->target, NULL, NULL };
	char **words = NULL;
	size_t count = 0;
	bool beside = job && l->beside[0];
	add_words(&words, &count, beside ? l->beside : l->hold);
	if (beside)
		*MEM_PUSH(words, count) = mem_str(job);
	for (size_t i = 0; i < r->option_count && !beside; i++)
		*MEM_PUSH(words, count) = mem_str(r->options[i]);
	if (l->before == NULL) {
		around[0] = r->target;
		around[1] = l->after;
	}
	add_words(&words, &count, around);
	if (l->shell) {
		struct buf line = BUF_INIT;
		buf_adds(&line, "exec");
		for (; *command; command++)
			add_quoted(&line, *command);
		*MEM_PUSH(words, count) = buf_steal(&line);
	} else {
		add_words(&words, &count, command);
	}
	*MEM_PUSH(words, count) = NULL;
	return words;
}

void remote_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
