/* sandbox_scratch: see sandbox_scratch.h. The folder of the user stays when all processes are gone, empty. */
#include "backends/sandbox/sandbox_scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { DEEP_MAX = 8 };

static char *users_folder(void)
{
	const char *base = getenv("TMPDIR");
	return mem_fmt("%s/peakd-%u", base && *base == '/' ? base : "/tmp", (unsigned)geteuid());
}

/* Follows no links. */
static void empty(int folder, const char *name, int deep)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) != 0 && deep < DEEP_MAX)
			empty(fd, entry->d_name, deep + 1);
	}
	closedir(d);
	unlinkat(folder, name, AT_REMOVEDIR);
}

/* Processes that were killed leave theirs behind. */
static void remove_left(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
			empty(dirfd(d), entry->d_name, 0);
	}
	if (d)
		closedir(d);
}

bool sandbox_scratch_make(struct sandbox_files *f)
{
	char *users = users_folder(), *own = mem_fmt("%s/%ld", users, (long)getpid());
	struct stat st;
	bool made = (mkdir(users, 0700) == 0 || errno == EEXIST) && lstat(users, &st) == 0 && S_ISDIR(st.st_mode) &&
	            st.st_uid == geteuid() && (st.st_mode & 077) == 0;

	if (made) {
		remove_left(users);
		made = mkdir(own, 0700) == 0 || errno == EEXIST;
	}
	if (made) {
		/* So that the own one can be removed at the end. */
		sandbox_files_allow(f, users, SANDBOX_FILES_EMPTY);
		sandbox_files_allow(f, own, SANDBOX_FILES_SCRATCH);
		setenv("TMPDIR", own, 1);
	}
	free(own);
	free(users);
	return made;
}

void sandbox_scratch_remove(void)
{
	const char *own = getenv("TMPDIR");
	char *name = mem_fmt("/peakd-%u/%ld", (unsigned)geteuid(), (long)getpid());
	size_t n = strlen(name), len = own ? strlen(own) : 0;

	if (len > n && strcmp(own + len - n, name) == 0)
		empty(AT_FDCWD, own, 0);
	free(name);
}
