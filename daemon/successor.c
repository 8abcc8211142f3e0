/* successor: see successor.h. */
#include "daemon/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/workers/child.h"

extern char **environ;

enum { STRINGS_MAX = 4 << 20, ASIDE = 64 };

/* The strings of a file of /proc, which end in NUL; NULL-terminated. They are in `text`. free(). */
static char **strings_of(const char *path, struct buf *text)
{
	FILE *f = fopen(path, "re");
	char **list = NULL;
	size_t count = 0;
	if (f) {
		char *room = buf_room(text, STRINGS_MAX);
		text->len = fread(room, 1, STRINGS_MAX, f);
		fclose(f);
		buf_addc(text, '\0');
	}
	for (size_t at = 0; at + 1 < text->len; at += strlen(text->data + at) + 1)
		*MEM_PUSH(list, count) = text->data + at;
	*MEM_PUSH(list, count) = NULL;
	return list;
}

/* argv[0] if it is a path, so that a symbolic link is followed anew; else the path of this binary, where another may be by now. */
static char *find_path(void)
{
	static const char deleted[] = " (deleted)";
	struct buf text = BUF_INIT;
	char path[4096], **argv = strings_of("/proc/self/cmdline", &text);
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	char *end = n > 0 ? strstr(path, deleted) : NULL;
	if (end && end[sizeof deleted - 1] == '\0')
		*end = '\0';
	char *found = mem_str(argv[0] && strchr(argv[0], '/') ? argv[0] : path);
	free(argv);
	buf_fini(&text);
	return found;
}

int successor_find(char **ret_binary, struct err *e)
{
	char *binary = find_path(), version[] = "version", *argv[] = { binary, version, NULL };
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	int why = posix_spawn(&pid, binary, &actions, NULL, argv, environ), rc = 0;
	posix_spawn_file_actions_destroy(&actions);
	if (why)
		rc = err_sys(e, why, "%s cannot be started", binary);
	while (rc == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			rc = err_sys(e, errno, "waiting for %s", binary);
	if (rc == 0 && status != 0)
		rc = err_set(e, ERR_UNSUPPORTED, "`%s version` ended with status %d", binary,
			     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (rc == 0)
		*ret_binary = binary;
	else
		free(binary);
	return rc;
}

/* The environment that this process was started with, since the configuration file has added to the present one, and `own`
 * entries. */
static char **make_environment(struct buf *text, char *const own[3])
{
	char **list = strings_of("/proc/self/environ", text);
	size_t kept = 0, count = 0;
	for (; list[count]; count++)
		if (strncmp(list[count], "LISTEN_", 7) != 0)
			list[kept++] = list[count];
	list[kept] = NULL;
	char **all = MEM_NEW_N(char *, kept + 4);
	memcpy(all, list, kept * sizeof *all);
	memcpy(all + kept, own, 3 * sizeof *all);
	free(list);
	return all;
}

int successor_become(const char *binary, const struct service_sockets *given, struct err *e)
{
	const struct {
		int fd;
		const char *name;
	} all[] = {
		{ given->local, given->own ? SERVICE_OWN : "local" },
		{ given->inet, "inet" },
		{ given->note, SERVICE_NOTE },
		{ given->database, SERVICE_DATABASE },
	};
	int aside[MEM_COUNT(all)], count = 0;
	struct buf names = BUF_INIT, arguments = BUF_INIT, environment = BUF_INIT;
	buf_adds(&names, "LISTEN_FDNAMES=");
	for (size_t i = 0; i < MEM_COUNT(all); i++) {
		if (all[i].fd <= 0)
			continue;
		aside[count] = fcntl(all[i].fd, F_DUPFD_CLOEXEC, ASIDE); /* its present number may be another one's */
		buf_addf(&names, "%s%s", count++ ? ":" : "", all[i].name);
	}
	for (int i = 0; i < count; i++)
		dup2(aside[i], SD_LISTEN_FDS_START + i);
	char *own[] = { buf_steal(&names), mem_fmt("LISTEN_FDS=%d", count), mem_fmt("LISTEN_PID=%d", (int)getpid()) };
	char **argv = strings_of("/proc/self/cmdline", &arguments), **env = make_environment(&environment, own);
	child_lend_perfmon(true); /* a service with hardware counters keeps its capability */
	execve(binary, argv, env);
	int rc = err_sys(e, errno, "%s cannot be executed", binary);
	for (size_t i = 0; i < MEM_COUNT(own); i++)
		free(own[i]);
	free(argv);
	free(env);
	buf_fini(&arguments);
	buf_fini(&environment);
	return rc;
}
