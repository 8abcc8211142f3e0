/* remote: what happens on another machine before a worker can start there: reaching it, copying peakd, taking the device; see
 * remote.h. The hold speaks lines on its standard streams: "peakd have JOB" or "peakd need JOB", then "peakd held". */
#include "core/workers/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/workers/child.h"
#include "core/workers/pool.h"

#define LOOK_NS (200 * CLOCK_MS)  /* how often a waiter looks whether it is cancelled */
#define ANSWER_NS (10 * CLOCK_S)  /* for a hold to say that it lives */
#define SEND_NS (600 * CLOCK_S)   /* for the bundle, over a slow line */
#define ENDING_NS (2 * CLOCK_S)   /* for the other steps of a job that is cancelled */
#define RELEASE_NS (2 * CLOCK_S)  /* for a hold to end by itself */
#define CANCEL_NS (3 * CLOCK_S)   /* for scancel */
#define DEVICES_NS (60 * CLOCK_S) /* a first driver start on a cold machine */
enum { SAID_MAX = 64 << 10 };

/* Runs behind any shell: no single quotes, no newline. No database is looked for there, since $HOME may be unset. $1: the bundle's
 * hash, $2: its bytes, $3: the lock. What arrives is used only if its hash is right. It appears under its name in one step, so that
 * two copies at the same time do no harm. */
static const char hold_script[] =
	"d=\"${XDG_CACHE_HOME:-$HOME/.cache}/peakd/$1\"; if [ -x \"$d/peakd\" ]; then echo \"peakd have ${SLURM_JOB_ID-}\"; else "
	"umask 077; mkdir -p \"${d%/*}\" && t=$(mktemp -d \"$d.XXXXXX\") || exit 3; echo \"peakd need ${SLURM_JOB_ID-}\"; "
	"head -c \"$2\" >\"$t/bundle\" && [ \"$(sha256sum <\"$t/bundle\" | cut -c 1-64)\" = \"$1\" ] && tar -xzf \"$t/bundle\" -C "
	"\"$t\" "
	"&& rm \"$t/bundle\" && { mv -T \"$t\" \"$d\" 2>/dev/null || [ -x \"$d/peakd\" ]; }; s=$?; [ -d \"$t\" ] && rm -rf \"$t\"; "
	"[ $s = 0 ] || { echo \"peakd could not be unpacked in ${d%/*}\" >&2; exit 3; }; fi; exec \"$d/peakd\" worker --hold "
	"\"$3\" --db none";

/* $1: the hash; behind it, what stands in front of the worker. */
static const char worker_script[] =
	"h=$1; shift; exec \"$@\" \"${XDG_CACHE_HOME:-$HOME/.cache}/peakd/$h/peakd\" worker --guarded --db none";

/* --- the bundle ------------------------------------------------------------------------------------------------------------- */

struct bundle {
	void *bytes;
	size_t len;
};

/* `make bundle` writes it beside the program, and an installation has it in lib/peakd. */
static char *find_bundle(void)
{
	const char *named = getenv("PEAKD_BUNDLE");
	char own[4096], *end;
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	if (named && *named)
		return mem_str(named);
	own[n > 0 ? n : 0] = '\0';
	if ((end = strrchr(own, '/')))
		*end = '\0';
	char *path = mem_fmt("%s/bundle.tar.gz", own);
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return mem_fmt("%s/../lib/peakd/bundle.tar.gz", own);
}

static int map_bundle(struct bundle *b, struct err *e)
{
	char *path = find_bundle();
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	struct stat st = { .st_size = 0 };
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "%s: the copy of peakd for other machines is missing; `make bundle` or `make install` writes it, and "
			     "PEAKD_BUNDLE names "
			     "another",
			     path);
	b->len = (size_t)st.st_size;
	b->bytes = rc == 0 ? mmap(NULL, b->len, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (rc == 0 && b->bytes == MAP_FAILED)
		rc = err_sys(e, errno, "%s cannot be read", path);
	child_close(&fd);
	free(path);
	return rc;
}

/* --- waiting ---------------------------------------------------------------------------------------------------------------- */

/* A hold that is being made. */
struct making {
	struct remote_hold *hold;
	const struct remote *remote;
	const struct remote_wait *wait;
	struct buf heard; /* lines of its standard output, from the last one taken on */
	struct buf told;  /* what the waiting one was told last */
};

/* The last line that launcher or hold wrote to stderr, such as "srun: job 7 queued and waiting for resources". */
static void tell(struct making *m)
{
	const char *said = buf_text(&m->hold->process.said);
	size_t len = m->hold->process.said.len;
	while (len > 0 && (unsigned char)said[len - 1] <= ' ')
		len--;
	size_t from = len;
	while (from > 0 && said[from - 1] != '\n')
		from--;
	if (len == from || m->wait->waiting == NULL ||
	    (m->told.len == len - from && memcmp(m->told.data, said + from, len - from) == 0))
		return;
	buf_clear(&m->told);
	buf_add(&m->told, said + from, len - from);
	m->wait->waiting(m->wait->arg, utf8_clean(m->told.data));
}

/* Appends what is there. False at the end of the stream. */
static bool hear(int fd, struct buf *to)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof text);
	if (n > 0)
		buf_add(to, text, (size_t)n);
	if (to->len > SAID_MAX)
		buf_drop(to, to->len - SAID_MAX);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* It ended before it held anything. */
static int unreachable(struct making *m, struct err *e)
{
	struct process *p = &m->hold->process;
	int64_t until = clock_now() + ANSWER_NS;
	while (!child_has_ended(p->pid) && clock_now() < until)
		clock_sleep(10 * CLOCK_MS);
	/* What it said last may still be in the pipe, which another process may hold open. */
	while (poll(&(struct pollfd){ .fd = p->complaints, .events = POLLIN }, 1, 0) > 0 && hear(p->complaints, &p->said))
		;
	int status = child_end(p->pid);
	p->pid = 0;
	char *words = child_last_words(&p->said);
	err_set(e, ERR_IO, "%s cannot be reached: %s with %d%s", remote_name(m->remote),
		WIFEXITED(status) ? "its launcher exits" : "its launcher was ended by a signal,",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), words);
	free(words);
	return -(int)ERR_IO;
}

/* Waits for the line that begins with the word, and takes it on with all lines before it: shells greet. ret_rest: what follows the
 * word, REMOTE_JOB bytes. 1: another of the two words came. */
static int await_line(struct making *m, const char *word, const char *other, char *ret_rest, struct err *e)
{
	struct process *p = &m->hold->process;
	for (;;) {
		char *line = m->heard.data, *end;
		for (; line && (end = strchr(line, '\n')); line = end + 1) {
			bool first = strncmp(line, word, strlen(word)) == 0,
			     second = other && strncmp(line, other, strlen(other)) == 0;
			if (!first && !second)
				continue;
			const char *rest = line + strlen(first ? word : other);
			snprintf(ret_rest, REMOTE_JOB, "%.*s", (int)strspn(rest, "0123456789"), rest);
			buf_drop(&m->heard, (size_t)(end + 1 - m->heard.data));
			return second;
		}
		struct pollfd fds[] = { { .fd = p->wire, .events = POLLIN }, { .fd = p->complaints, .events = POLLIN } };
		int64_t look = clock_now() + LOOK_NS;
		poll(fds, 2, clock_poll_ms(look < m->wait->deadline ? look : m->wait->deadline));
		if (fds[1].revents)
			hear(p->complaints, &p->said);
		if (fds[0].revents && !hear(p->wire, &m->heard))
			return unreachable(m, e);
		if (m->wait->check && m->wait->check(m->wait->arg, e) < 0)
			return -(int)e->code;
		tell(m);
		if (clock_now() >= m->wait->deadline) {
			char *words = child_last_words(&p->said);
			err_set(e, ERR_IO, "%s did not answer in time%s", remote_name(m->remote), words);
			free(words);
			return -(int)ERR_IO;
		}
	}
}

static int send_bundle(struct making *m, const struct bundle *b, struct err *e)
{
	int64_t until = clock_now() + SEND_NS;
	log_info("%s: copying peakd there (%zu MiB, once for this build)", remote_name(m->remote), b->len >> 20);
	for (size_t sent = 0; sent < b->len;) {
		ssize_t n = send(m->hold->process.wire, (const char *)b->bytes + sent, b->len - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (errno != EAGAIN && errno != EINTR)
			return unreachable(m, e);
		if (m->wait->check && m->wait->check(m->wait->arg, e) < 0)
			return -(int)e->code;
		if (clock_now() >= until)
			return err_set(e, ERR_IO, "%s: copying peakd there took too long", remote_name(m->remote));
		if (n < 0)
			poll(&(struct pollfd){ .fd = m->hold->process.wire, .events = POLLOUT }, 1, (int)(LOOK_NS / CLOCK_MS));
	}
	return 0;
}

/* --- holds ------------------------------------------------------------------------------------------------------------------ */

static int make(struct making *m, struct starter *starter, const char *lock, const struct bundle *b, struct err *e)
{
	char size[24], rest[REMOTE_JOB];
	const char *command[] = { "sh", "-c", hold_script, "peakd", m->hold->bundle.hex, size, lock, NULL };
	snprintf(size, sizeof size, "%zu", b->len);
	char **words = remote_words(m->remote, NULL, command);
	int rc = process_start(&m->hold->process, starter, NULL, words, e);
	m->hold->process.remote = true;
	remote_words_free(words);
	if (rc == 0)
		rc = await_line(m, "peakd have ", "peakd need ", m->hold->job, e);
	if (rc == 1)
		rc = send_bundle(m, b, e);
	if (rc == 0)
		rc = await_line(m, "peakd held", NULL, rest, e);
	return rc;
}

int remote_hold(struct remote_hold *hold, const struct remote *remote, struct starter *starter, const char *lock,
		const struct remote_wait *wait, struct err *e)
{
	struct making m = { .hold = hold, .remote = remote, .wait = wait };
	struct bundle b = { .len = 0 };
	*hold = (struct remote_hold){ .process = PROCESS_INIT, .remote = remote, .lost = hold->lost };
	int rc = map_bundle(&b, e);
	if (rc < 0)
		return rc;
	hold->bundle = hash_bytes(b.bytes, b.len);
	rc = make(&m, starter, lock, &b, e);
	munmap(b.bytes, b.len);
	buf_fini(&m.heard);
	buf_fini(&m.told);
	if (rc < 0)
		remote_release(hold);
	return rc;
}

static bool is_held(const struct remote_hold *hold)
{
	return hold->process.pid > 0 && !child_has_ended(hold->process.pid);
}

bool remote_answers(struct remote_hold *hold)
{
	struct process *p = &hold->process;
	while (hold->lost && is_held(hold) && clock_now() < hold->lost + ENDING_NS)
		clock_sleep(20 * CLOCK_MS);
	int64_t until = clock_now() + ANSWER_NS;
	struct pollfd fds = { .fd = p->wire, .events = POLLIN };
	struct buf heard = BUF_INIT;
	bool answers = false, open = is_held(hold) && send(p->wire, (const char[]){ REMOTE_ASK }, 1, MSG_NOSIGNAL) == 1;
	while (open && !answers && clock_now() < until) {
		poll(&fds, 1, clock_poll_ms(until));
		open = hear(p->wire, &heard);
		answers = heard.len > 0;
	}
	buf_fini(&heard);
	return answers;
}

void remote_rest(struct remote_hold *hold)
{
	if (is_held(hold) && send(hold->process.wire, (const char[]){ REMOTE_REST }, 1, MSG_NOSIGNAL) == 1)
		return;
	remote_release(hold);
}

/* The launcher that was to end the job is gone, or hangs as its node does. */
static void cancel_job(const struct remote_hold *hold)
{
	const struct child_input none = { .bytes = "" };
	const struct child_bounds bounds = { .timeout_ns = CANCEL_NS };
	char *argv[] = { (char *)remote_cancel(hold->remote), (char *)hold->job, NULL };
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	if (child_filter(argv, &none, &bounds, &out, &e) < 0)
		log_warning("%s: job %s may still run: %s", remote_name(hold->remote), hold->job, e.text);
	buf_fini(&out);
}

void remote_release(struct remote_hold *hold)
{
	struct process *p = &hold->process;
	int64_t until = clock_now() + RELEASE_NS;
	/* The end of its input ends it, and a batch system's job with it. */
	child_close(&p->wire);
	while (p->pid > 0 && !child_has_ended(p->pid) && clock_now() < until)
		clock_sleep(5 * CLOCK_MS);
	if (p->pid > 0 && hold->job[0] && !child_has_ended(p->pid) && remote_cancel(hold->remote))
		cancel_job(hold);
	process_end(p);
	hold->job[0] = '\0';
}

char **remote_worker_words(const struct remote *remote, const struct remote_hold *hold, const char *const *tool)
{
	const char **command = NULL;
	size_t count = 0;
	const char *const first[] = { "sh", "-c", worker_script, "peakd", hold->bundle.hex };
	for (size_t i = 0; i < MEM_COUNT(first); i++)
		*MEM_PUSH(command, count) = first[i];
	for (; tool && *tool; tool++)
		*MEM_PUSH(command, count) = *tool;
	*MEM_PUSH(command, count) = NULL;
	char **words = remote_words(remote, hold->job, command);
	free(command);
	return words;
}

/* --- which devices ---------------------------------------------------------------------------------------------------------- */

static int ask_backend(struct process *p, const char *backend, struct facts **io_facts, size_t *io_count, struct err *e)
{
	struct buf body = BUF_INIT;
	struct wire_devices list;
	uint8_t *answer = NULL;
	size_t len = 0;
	wire_name_encode(&(struct wire_name){ .id = (char *)backend }, &body);
	struct process_request q = { .type = WIRE_DEVICES, .body = &body, .deadline = clock_now() + DEVICES_NS };
	int rc = process_call(p, &q, &answer, &len, e);
	buf_fini(&body);
	struct wire_in in = { .at = answer, .end = answer + len };
	if (rc == 0)
		rc = wire_devices_decode(&in, &list, e);
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		*MEM_PUSH(*io_facts, *io_count) = list.at[i];
	if (rc == 0)
		wire_devices_fini(&list);
	free(answer);
	return rc;
}

int remote_ask_devices(const struct remote *remote, struct starter *starter, const struct remote_wait *wait,
		       struct facts **ret_facts, size_t *ret_count, char **ret_notes, struct err *e)
{
	struct process p = PROCESS_INIT;
	struct remote_hold hold = { .lost = 0 };
	struct buf notes = BUF_INIT;
	*ret_facts = NULL;
	*ret_count = 0;
	int rc = remote_hold(&hold, remote, starter, "", wait, e);
	if (rc < 0)
		return rc;
	char **words = remote_worker_words(remote, &hold, NULL);
	rc = process_start(&p, starter, NULL, words, e);
	p.remote = true;
	if (rc == 0)
		rc = process_greet(&p, NULL, e);
	for (size_t i = 0; rc == 0 && i < POOL_BACKENDS; i++) {
		struct err why = ERR_INIT;
		if (ask_backend(&p, pool_backends[i], ret_facts, ret_count, &why) < 0)
			buf_addf(&notes, "%s/%s: %s\n", remote_name(remote), pool_backends[i], why.text);
		if (p.pid == 0)
			rc = err_set(e, ERR_IO, "%s", why.text);
	}
	if (rc == 0 && p.lacks[0])
		buf_addf(&notes, "sandbox: of %s: %s\n", remote_name(remote), p.lacks);
	if (rc == 0 && p.clock[0])
		buf_addf(&notes, "clock: of %s: %s\n", remote_name(remote), p.clock);
	process_end(&p);
	remote_release(&hold);
	remote_words_free(words);
	*ret_notes = rc == 0 ? buf_steal(&notes) : NULL;
	buf_fini(&notes);
	if (rc < 0) {
		free(*ret_facts);
		*ret_facts = NULL;
	}
	return rc;
}
