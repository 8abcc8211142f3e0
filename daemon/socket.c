/* socket: see socket.h. One thread accepts clients, and one thread serves each. */
#include "daemon/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mcp/stdio.h"

#define STOP_NS (4 * CLOCK_S) /* longer than the two seconds that mcp/stdio gives to calls in flight */

enum { BACKLOG = 64, HASH_PART = 16, CLIENTS_MAX = 256 };

/* --- the path ------------------------------------------------------------------------------------------------------------ */

/* Anybody can make folders in /tmp, so an existing one must be ours and closed to others. */
static int private_folder(const char *path, struct err *e)
{
	struct stat st;
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return err_sys(e, errno, "%s: cannot make the folder of the daemon's socket", path);
	if (lstat(path, &st) != 0)
		return err_sys(e, errno, "%s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return err_set(e, ERR_INPUT,
			       "%s holds the daemon's socket, so it must be a folder of this user alone (mode 0700). Remove it, "
			       "or chmod 700 it, and try again",
			       path);
	return 0;
}

static int socket_folder(char **ret_folder, struct err *e)
{
	struct sockaddr_un address;
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *service = getenv("RUNTIME_DIRECTORY");
	char *folder = NULL;
	if (service && *service == '/') {
		*ret_folder = mem_strn(service, strcspn(service, ":")); /* the service manager made it */
		return 0;
	}
	if (runtime && *runtime == '/' && strlen(runtime) + sizeof "/peakd/.sock" + HASH_PART < sizeof address.sun_path)
		folder = mem_fmt("%s/peakd", runtime);
	if (folder == NULL || access(runtime, W_OK | X_OK) != 0) {
		free(folder);
		folder = mem_fmt("/tmp/peakd-%u", (unsigned)geteuid());
	}
	int rc = private_folder(folder, e);
	if (rc < 0)
		free(folder);
	else
		*ret_folder = folder;
	return rc;
}

/* One name for one database, however its path is written and before it exists. A folder that is missing is a mistyped one. */
static int real_name(const char *db, char **ret_name, struct err *e)
{
	char *copy = mem_str(db), *slash = strrchr(copy, '/'), *folder = NULL;
	int rc = 0;
	*ret_name = realpath(db, NULL);
	if (slash)
		*slash = '\0';
	const char *name = slash == copy ? "/" : slash ? copy : ".";
	if (*ret_name == NULL && (folder = realpath(name, NULL)) == NULL)
		rc = err_sys(e, errno, "%s: the database's folder %s cannot be used (mkdir makes it, --db names another file)", db,
			     name);
	if (folder)
		*ret_name = mem_fmt("%s/%s", folder, slash ? slash + 1 : db);
	free(folder);
	free(copy);
	return rc;
}

int socket_path(const char *db, char **ret_path, struct err *e)
{
	char *folder = NULL, *name;
	int rc = real_name(db, &name, e);
	if (rc == 0 && (rc = socket_folder(&folder, e)) < 0)
		free(name);
	if (rc < 0)
		return rc;
	struct hash hash = hash_text(name);
	*ret_path = mem_fmt("%s/%.*s.sock", folder, HASH_PART, hash.hex);
	free(name);
	free(folder);
	return 0;
}

int socket_path_of(int listener, char **ret_path, struct err *e)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t n = sizeof address;
	if (getsockname(listener, (struct sockaddr *)&address, &n) != 0 || address.sun_path[0] != '/')
		return err_set(e, ERR_INPUT, "the Unix socket that the service manager opened has no path: clients cannot find it");
	*ret_path = mem_fmt("%.*s", (int)sizeof address.sun_path, address.sun_path);
	return 0;
}

static int open_socket(const char *path, struct sockaddr_un *ret_address, int *ret_fd, struct err *e)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof ret_address->sun_path)
		return err_set(e, ERR_INPUT, "%s: the path of a socket may have at most %zu characters", path,
			       sizeof ret_address->sun_path - 1);
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return *ret_fd < 0 ? err_sys(e, errno, "socket") : 0;
}

int socket_connect(const char *path, int *ret_fd, struct err *e)
{
	struct sockaddr_un address;
	int fd, rc = open_socket(path, &address, &fd, e);
	if (rc < 0)
		return rc;
	while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		if (errno == EINTR)
			continue;
		rc = errno == ENOENT || errno == ECONNREFUSED ? err_set(e, ERR_NOT_FOUND, "%s: no daemon listens there", path)
							      : err_sys(e, errno, "%s: cannot connect", path);
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

/* --- serving ------------------------------------------------------------------------------------------------------------- */

struct peer {
	struct sockets *owner;
	int fd;
	bool over; /* its thread has ended and can be joined */
	pthread_t thread;
	struct peer *next;
};

struct sockets {
	struct mcp_server *server;
	char *path;
	bool is_lent; /* the socket belongs to the service manager, which goes on listening */
	int listen_fd, wake_fd;
	pthread_t thread;
	struct lock lock;      /* LOCK_LEAF, of all below */
	struct lock_bell bell; /* a client's thread is over */
	struct peer *peers;
	unsigned clients;
	int64_t last_ns; /* when the last client left */
	bool ending;
};

static void wake(struct sockets *s)
{
	uint64_t one = 1;
	while (write(s->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static void *serve_peer(void *arg)
{
	struct peer *p = arg;
	struct sockets *s = p->owner;
	struct err e = ERR_INIT;
	if (mcp_stdio_run(s->server, p->fd, p->fd, &e) < 0)
		log_info("a client on the socket: %s", e.text);
	shutdown(p->fd, SHUT_RDWR);
	lock_take(&s->lock);
	p->over = true;
	s->clients--;
	s->last_ns = clock_now();
	lock_bell_ring(&s->bell);
	lock_release(&s->lock);
	wake(s);
	return NULL;
}

static struct peer *take_over(struct sockets *s)
{
	struct peer *found = NULL;
	lock_take(&s->lock);
	for (struct peer **link = &s->peers; *link; link = &(*link)->next)
		if ((*link)->over) {
			found = *link;
			*link = found->next;
			break;
		}
	lock_release(&s->lock);
	return found;
}

static void join_finished(struct sockets *s)
{
	for (struct peer *p = take_over(s); p; p = take_over(s)) {
		pthread_join(p->thread, NULL);
		close(p->fd);
		free(p);
	}
}

/* Gives the descriptor a thread of its own, or closes it. */
static void add_peer_locked(struct sockets *s, int fd)
{
	struct peer *p = MEM_NEW(struct peer);
	p->owner = s;
	p->fd = fd;
	bool full = s->clients >= CLIENTS_MAX;
	/* The new thread's end needs the lock too, so it finds itself in the list. */
	if (!full && pthread_create(&p->thread, NULL, serve_peer, p) == 0) {
		p->next = s->peers;
		s->peers = p;
		s->clients++;
		return;
	}
	log_warning("a client was turned away: %u are connected already, or no thread could be started", s->clients);
	close(fd);
	free(p);
}

/* True when somebody was waiting. Accepting and counting are one step for sockets_retire. */
static bool accept_one(struct sockets *s)
{
	lock_take(&s->lock);
	int fd = -1, errnum = EAGAIN;
	if (!s->ending) { /* whoever waits at a socket that goes on listening is the next daemon's client */
		fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		errnum = errno;
	}
	if (fd >= 0)
		add_peer_locked(s, fd);
	lock_release(&s->lock);
	if (fd < 0 && errnum != EAGAIN && errnum != EINTR && errnum != ECONNABORTED)
		log_warning("accepting a client: %s", strerror(errnum));
	return fd >= 0;
}

static bool is_ending(struct sockets *s)
{
	lock_take(&s->lock);
	bool ending = s->ending;
	lock_release(&s->lock);
	return ending;
}

static void *accept_thread(void *arg)
{
	struct sockets *s = arg;
	struct pollfd fds[] = { { .fd = s->listen_fd, .events = POLLIN }, { .fd = s->wake_fd, .events = POLLIN } };
	while (!is_ending(s)) {
		uint64_t n;
		if (poll(fds, MEM_COUNT(fds), -1) < 0)
			continue;
		if (fds[1].revents && read(s->wake_fd, &n, sizeof n) < 0)
			log_debug("wake: %s", strerror(errno));
		/* Out of descriptors, accept fails and poll reports the client again at once; a short sleep keeps the loop from
		 * spinning. */
		if (fds[0].revents && !accept_one(s))
			clock_sleep(10 * CLOCK_MS);
		join_finished(s);
	}
	return NULL;
}

static int listen_on(struct sockets *s, struct err *e)
{
	struct sockaddr_un address;
	if (s->listen_fd >= 0) {
		/* Listening once more makes this process the peer that clients see. */
		if (listen(s->listen_fd, BACKLOG) != 0 || fcntl(s->listen_fd, F_SETFL, O_NONBLOCK) != 0)
			return err_sys(e, errno, "%s: the socket that listens already", s->path);
		return 0;
	}
	int rc = open_socket(s->path, &address, &s->listen_fd, e);
	if (rc < 0)
		return rc;
	unlink(s->path);
	if (bind(s->listen_fd, (struct sockaddr *)&address, sizeof address) != 0 || chmod(s->path, 0600) != 0 ||
	    listen(s->listen_fd, BACKLOG) != 0 || fcntl(s->listen_fd, F_SETFL, O_NONBLOCK) != 0)
		return err_sys(e, errno, "%s: cannot listen on the daemon's socket", s->path);
	return 0;
}

int sockets_start(struct mcp_server *server, const char *path, int listener, bool lent, struct sockets **ret_sockets, struct err *e)
{
	struct sockets *s = MEM_NEW(struct sockets);
	*s = (struct sockets){ .server = server,
			       .path = mem_str(path),
			       .is_lent = lent,
			       .listen_fd = listener > 0 ? listener : -1,
			       .last_ns = clock_now() };
	lock_init(&s->lock, LOCK_LEAF);
	lock_bell_init(&s->bell);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->wake_fd < 0 ? err_sys(e, errno, "eventfd") : listen_on(s, e);
	if (rc == 0 && pthread_create(&s->thread, NULL, accept_thread, s) != 0)
		rc = err_set(e, ERR_INTERNAL, "cannot start the thread that accepts clients");
	if (rc == 0) {
		*ret_sockets = s;
		return 0;
	}
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	lock_bell_fini(&s->bell);
	lock_fini(&s->lock);
	free(s->path);
	free(s);
	return rc;
}

unsigned sockets_clients(struct sockets *s, int64_t *ret_last_ns)
{
	lock_take(&s->lock);
	unsigned n = s->clients;
	*ret_last_ns = n ? clock_now() : s->last_ns;
	lock_release(&s->lock);
	return n;
}

bool sockets_retire(struct sockets *s)
{
	/* New clients do not find the socket under its other name, and poll sees those that found it before. */
	char *aside = mem_fmt("%s.old", s->path);
	struct pollfd fd = { .fd = s->listen_fd, .events = POLLIN };
	bool retired = !s->is_lent && rename(s->path, aside) == 0;
	/* Who comes to the service manager's socket later starts the daemon again. */
	bool gone = s->is_lent ||
		    (!retired && errno == ENOENT); /* somebody removed it: no new client finds it, and it has no name to restore */
	lock_take(&s->lock);
	bool wanted = poll(&fd, 1, 0) > 0 || s->clients > 0;
	lock_release(&s->lock);
	if (retired && wanted) {
		retired = false;
		if (rename(aside, s->path) != 0)
			log_error("%s: cannot restore the socket's name: %s", s->path, strerror(errno));
	}
	if (retired)
		unlink(aside);
	free(aside);
	return retired || (gone && !wanted);
}

static void shut_all_locked(struct sockets *s, int how)
{
	for (struct peer *p = s->peers; p; p = p->next)
		shutdown(p->fd, how);
}

int sockets_pause(struct sockets *s)
{
	int fd = s->listen_fd;
	lock_take(&s->lock);
	s->ending = true;
	/* Their threads see the end of input and finish the calls in flight; clients that do not read their answers are cut off. */
	shut_all_locked(s, SHUT_RD);
	int64_t deadline = clock_now() + STOP_NS;
	while (s->clients > 0 && lock_bell_wait(&s->bell, &s->lock, deadline) == 0)
		;
	shut_all_locked(s, SHUT_RDWR);
	lock_release(&s->lock);
	wake(s);
	pthread_join(s->thread, NULL);
	while (s->peers) {
		struct peer *p = s->peers;
		s->peers = p->next;
		pthread_join(p->thread, NULL);
		close(p->fd);
		free(p);
	}
	close(s->wake_fd);
	lock_bell_fini(&s->bell);
	lock_fini(&s->lock);
	free(s->path);
	free(s);
	return fd;
}

void sockets_stop(struct sockets *s)
{
	if (s == NULL)
		return;
	if (!s->is_lent)
		unlink(s->path);
	close(sockets_pause(s));
}
