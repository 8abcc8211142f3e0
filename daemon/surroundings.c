/* surroundings: see surroundings.h. /proc has the variables that a process was started with. */
#include "daemon/surroundings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/mem.h"

enum { ENVIRONMENT_MAX = 4 << 20 };

extern char **environ;

/* All of /proc/PID/environ: entries that end in NUL. False when it cannot be read, as of another user's process. */
static bool read_entries(int pid, struct buf *out)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	char *room = buf_room(out, ENVIRONMENT_MAX);
	out->len = fread(room, 1, ENVIRONMENT_MAX, f);
	fclose(f);
	return out->len > 0;
}

static bool has_entry(const struct buf *entries, const char *entry)
{
	for (size_t at = 0; at < entries->len; at += strnlen(entries->data + at, entries->len - at) + 1)
		if (strcmp(entries->data + at, entry) == 0)
			return true;
	return false;
}

/* The database is what it was found by. */
static bool matters(const char *entry)
{
	const char *equals = strchr(entry, '=');
	return strncmp(entry, "PEAKD_", 6) == 0 && strncmp(entry, "PEAKD_DB=", 9) != 0 && equals && equals[1];
}

char *surroundings_unseen(int fd, int *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	struct buf entries = BUF_INIT, names = BUF_INIT;
	*ret_pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !read_entries(peer.pid, &entries)) {
		buf_fini(&entries);
		return NULL;
	}
	*ret_pid = peer.pid;
	buf_addc(&entries, '\0');
	for (char **entry = environ; *entry; entry++)
		if (matters(*entry) && !has_entry(&entries, *entry))
			buf_addf(&names, "%s%.*s", names.len ? ", " : "", (int)strcspn(*entry, "="), *entry);
	buf_fini(&entries);
	return names.len ? buf_steal(&names) : NULL;
}
