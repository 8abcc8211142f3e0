/* test_socket: one socket per database, a private folder, a thread per client, and retiring without losing a client. */
#include "daemon/socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/server.h"
#include "pace.h"
#include "tests/tap.h"

static char folder[] = "/tmp/peakd-socket.XXXXXX";

static void test_path(void)
{
	struct err e = ERR_INIT;
	char *a = NULL, *b = NULL, *c = NULL, *spelled = mem_fmt("%s/../%s/x.db", folder, strrchr(folder, '/') + 1);
	char *db = mem_fmt("%s/x.db", folder), *other = mem_fmt("%s/y.db", folder), *link = mem_fmt("%s/link.db", folder);
	is_int(socket_path(db, &a, &e), 0, "socket_path works before the database exists %s", e.text);
	is_int(socket_path(spelled, &b, &e), 0, "socket_path accepts another spelling");
	is_str(b, a, "another spelling of a database has the same socket");
	is_int(socket_path(other, &c, &e), 0, "socket_path accepts another database");
	ok(strcmp(a, c) != 0, "another database has another socket");
	free(b);
	FILE *f = fopen(db, "w");
	fclose(f);
	ok(symlink(db, link) == 0 && socket_path(link, &b, &e) == 0, "socket_path accepts a symbolic link");
	is_str(b, a, "a symbolic link to a database has the same socket");
	char *run = mem_strn(a, (size_t)(strrchr(a, '/') - a));
	chmod(run, 0755);
	free(c);
	is_int(socket_path(db, &c, &e), -ERR_INPUT, "a folder that others can enter is refused");
	chmod(run, 0700);
	free(run);
	free(a);
	free(b);
	free(spelled);
	free(db);
	free(other);
	free(link);
}

/* Sends a request and reads whether it is answered. */
static bool answered(int fd)
{
	static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
	char text[4096];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return write(fd, ping, sizeof ping - 1) == sizeof ping - 1 && poll(&p, 1, 60000) == 1 && read(fd, text, sizeof text) > 0;
}

static bool clients_are(struct sockets *s, unsigned want)
{
	int64_t since;
	PACE_WAIT(sockets_clients(s, &since) == want);
	return sockets_clients(s, &since) == want;
}

static void test_serving(void)
{
	struct mcp_server_config config = { .name = "t", .version = "1" };
	struct mcp_server *server;
	struct sockets *s = NULL;
	struct err e = ERR_INIT;
	char *path = mem_fmt("%s/s.sock", folder);
	int one = -1, two = -1, late = -1;
	is_int(mcp_server_new(&config, &server, &e), 0, "a server is made %s", e.text);
	is_int(socket_connect(path, &one, &e), -ERR_NOT_FOUND, "connecting fails before the server listens");
	FILE *stale = fopen(path, "w");
	fclose(stale);
	is_int(sockets_start(server, path, 0, false, &s, &e), 0, "the server replaces a stale socket %s", e.text);
	is_int(socket_connect(path, &one, &e), 0, "a first client connects %s", e.text);
	is_int(socket_connect(path, &two, &e), 0, "a second client connects %s", e.text);
	ok(answered(one) && answered(two), "both clients are answered");
	ok(clients_are(s, 2), "both clients are counted");
	ok(!sockets_retire(s), "the server does not retire while it has clients");
	is_int(socket_connect(path, &late, &e), 0, "a server that did not retire accepts clients %s", e.text);
	ok(clients_are(s, 3), "a late client is counted, too");
	close(late);
	close(one);
	ok(clients_are(s, 1), "a client that leaves is no longer counted");
	close(two);
	ok(clients_are(s, 0), "the last client that leaves is no longer counted");
	ok(sockets_retire(s), "the server retires without clients");
	is_int(socket_connect(path, &late, &e), -ERR_NOT_FOUND, "connecting fails after the server retired");
	sockets_stop(s);

	is_int(sockets_start(server, path, 0, false, &s, &e), 0, "the server starts again %s", e.text);
	is_int(socket_connect(path, &one, &e), 0, "a client connects to the restarted server %s", e.text);
	ok(answered(one), "the restarted server answers");
	struct pace pace = pace_begin();
	sockets_stop(s);
	ok(pace_within(&pace, 6 * CLOCK_S), "stopping does not wait for a client (%s)", pace_text(&pace));
	char c;
	ok(read(one, &c, 1) == 0, "the client sees the end of its connection");
	ok(access(path, F_OK) != 0, "stopping removes the socket");
	close(one);
	mcp_server_free(server);
	free(path);
}

/* A service manager's socket keeps its name and goes on listening when the daemon ends. */
static void test_lent(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct mcp_server_config config = { .name = "t", .version = "1" };
	struct mcp_server *server = NULL;
	struct sockets *s = NULL;
	struct err e = ERR_INIT;
	char *path = NULL;
	is_int(mcp_server_new(&config, &server, &e), 0, "another server is made %s", e.text);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/lent.sock", folder);
	int lent = socket(AF_UNIX, SOCK_STREAM, 0), kept = -1, one, two;
	ok(bind(lent, (struct sockaddr *)&address, sizeof address) == 0 && listen(lent, 4) == 0, "a socket listens");
	kept = dup(lent);
	is_int(socket_path_of(lent, &path, &e), 0, "the path of a socket that listens is found %s", e.text);
	is_str(path, address.sun_path, "it is the path to which it was bound");
	is_int(sockets_start(server, path, lent, true, &s, &e), 0, "a socket of the service manager's is served %s", e.text);
	is_int(socket_connect(path, &one, &e), 0, "a client connects to it %s", e.text);
	ok(answered(one), "a client of it is answered");
	ok(!sockets_retire(s), "a daemon with a client does not retire");
	close(one);
	ok(clients_are(s, 0), "the client has left");
	ok(sockets_retire(s), "a daemon without a client retires");
	sockets_stop(s);
	is_int(socket_connect(path, &two, &e), 0, "a client may connect after the daemon's end %s", e.text);
	close(two);
	close(kept);
	free(path);
	mcp_server_free(server);
}

int main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	setenv("XDG_RUNTIME_DIR", folder, 1);
	test_path();
	test_serving();
	test_lent();
	char *command = mem_fmt("rm -rf %s", folder);
	ok(system(command) == 0, "the folder is removed");
	free(command);
	return tap_done();
}
