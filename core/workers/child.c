/* child: see child.h. Uses posix_spawn, since the daemon has many threads. */
#include "core/workers/child.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/workers/environment.h"

extern char **environ;

int child_start(char *const *argv, int in, int out, int complaints, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	/* Ours all close themselves; a library's need not. */
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
	posix_spawnattr_init(&attr);
	/* A group of its own, so that a launcher and what it started die together. */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	char **environment = environment_new(environ);
	int rc = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, environment);
	free(environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

void child_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

char *child_last_words(const struct buf *said)
{
	const char *words = buf_text(said);
	size_t len = strlen(words);
	while (len > 0 && (unsigned char)words[len - 1] <= ' ')
		len--;
	if (len == 0)
		return mem_str("");
	size_t skipped = len > CHILD_WORDS_MAX ? len - CHILD_WORDS_MAX : 0;
	char *text = mem_fmt("; it last said: %.*s", (int)(len - skipped), words + skipped);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return utf8_clean(text);
}
