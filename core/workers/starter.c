/* starter: processes are started by a thread that stays; see starter.h. */
#include "core/workers/starter.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"

/* A process to be started; on the stack of the thread that waits for it. */
struct start {
	struct process *process;
	const char *const *launcher;
	struct err *e;
	int rc;
	bool done;
};

struct starter {
	struct lock lock;
	struct lock_bell bell;
	char *binary;
	char **launcher;      /* ends with NULL */
	pthread_t thread;
	struct start *start;  /* the one to be served; NULL */
	bool ending;
};

static char *own_binary(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	return n > 0 ? mem_strn(path, (size_t)n) : mem_str("peakd");
}

static void *starter_thread(void *arg)
{
	struct starter *t = arg;
	lock_take(&t->lock);
	while (!t->ending) {
		struct start *s = t->start;
		if (s == NULL) {
			lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
			continue;
		}
		lock_release(&t->lock);
		s->rc = process_start(s->process, t->binary, s->launcher, s->e);
		lock_take(&t->lock);
		s->done = true;
		t->start = NULL;
		lock_bell_ring(&t->bell);
	}
	lock_release(&t->lock);
	return NULL;
}

struct starter *starter_new(const char *binary, const char *const *launcher)
{
	struct starter *t = MEM_NEW(struct starter);
	size_t words = 0;
	lock_init(&t->lock, LOCK_LEAF);
	lock_bell_init(&t->bell);
	t->binary = binary ? mem_str(binary) : own_binary();
	while (launcher && launcher[words])
		words++;
	t->launcher = MEM_NEW_N(char *, words + 1);
	for (size_t i = 0; i < words; i++)
		t->launcher[i] = mem_str(launcher[i]);
	int rc = pthread_create(&t->thread, NULL, starter_thread, t);
	assert(rc == 0);
	(void)rc;
	return t;
}

void starter_free(struct starter *t)
{
	if (t == NULL)
		return;
	lock_take(&t->lock);
	t->ending = true;
	lock_bell_ring(&t->bell);
	lock_release(&t->lock);
	pthread_join(t->thread, NULL);
	for (char **word = t->launcher; *word; word++)
		free(*word);
	free(t->launcher);
	free(t->binary);
	lock_bell_fini(&t->bell);
	lock_fini(&t->lock);
	free(t);
}

int starter_start(struct starter *t, const char *const *launcher, struct process *process, struct err *e)
{
	struct start s = { .process = process, .launcher = launcher ? launcher : (const char *const *)t->launcher, .e = e };
	lock_take(&t->lock);
	while (t->start)
		lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
	t->start = &s;
	lock_bell_ring(&t->bell);
	while (!s.done)
		lock_bell_wait(&t->bell, &t->lock, CLOCK_NEVER);
	lock_release(&t->lock);
	return s.rc;
}
