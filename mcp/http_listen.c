/* http_listen: the socket that is listened on: a Unix socket with its permissions, or an address and port. Called by
 * mcp/http.c; mcp/http_loop.c accepts on it. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "mcp/http_inner.h"

enum { BACKLOG = 1024 };

static int on_unix(const struct mcp_http_config *c, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (strlen(c->unix_path) >= sizeof a.sun_path)
		return err_set(e, ERR_INPUT, "%s: the path of a Unix socket may have %zu bytes at most", c->unix_path,
			       sizeof a.sun_path - 1);
	strcpy(a.sun_path, c->unix_path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, errno, "%s", c->unix_path);
	unlink(c->unix_path);
	mode_t before = umask(0777 & ~(c->unix_mode ? c->unix_mode : 0600));
	int rc = bind(fd, (struct sockaddr *)&a, sizeof a);
	int why = errno;
	umask(before);
	if (rc < 0 || listen(fd, BACKLOG) < 0) {
		err_sys(e, rc < 0 ? why : errno, "listening on %s", c->unix_path);
		close(fd);
		return -ERR_NETWORK;
	}
	return fd;
}

/* The address as the kernel wants it; returns its length, or 0 for one that is not numeric. */
static socklen_t read_address(const struct mcp_http_config *c, struct sockaddr_storage *ret_a)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_a;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_a;
	const char *address = c->address ? c->address : "127.0.0.1";
	memset(ret_a, 0, sizeof *ret_a);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)c->port);
		return sizeof *v4;
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1)
		return 0;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)c->port);
	return sizeof *v6;
}

static int on_tcp(const struct mcp_http_config *c, struct err *e)
{
	struct sockaddr_storage a;
	socklen_t n = read_address(c, &a);
	if (n == 0 || c->port < 0 || c->port > 65535)
		return err_set(e, ERR_INPUT, "%s:%d is not an address; write it in numbers, e.g. 127.0.0.1 and 7325",
			       c->address, c->port);
	int on = 1, fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, errno, "listening on %s", c->address ? c->address : "127.0.0.1");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, BACKLOG) < 0) {
		char why[128];
		const char *text = strerror_r(errno, why, sizeof why);
		close(fd);
		return err_set(e, ERR_NETWORK, "listening on %s port %d: %s", c->address ? c->address : "127.0.0.1",
			       c->port, text);
	}
	return fd;
}

int http_listen_open(const struct mcp_http_config *c, struct err *e)
{
	return c->unix_path ? on_unix(c, e) : on_tcp(c, e);
}

int http_listen_port(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return 0;
	if (a.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&a)->sin_port);
	return a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&a)->sin6_port) : 0;
}
