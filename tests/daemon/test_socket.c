/* test_socket: one name for one database, a private folder, threads that come and go with clients, and retiring without losing one. */
#include "daemon/socket.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mcp/server.h"
#include "tests/tap.h"
#include "pace.h"

static char folder[] = "/tmp/peakd-socket.XXXXXX";

static void test_path(void)
{
	struct err e = ERR_INIT;
	char *a = NULL, *b = NULL, *c = NULL, *spelled = mem_fmt("%s/../%s/x.db", folder, strrchr(folder, '/') + 1);
	char *db = mem_fmt("%s/x.db", folder), *other = mem_fmt("%s/y.db", folder), *link = mem_fmt("%s/link.db", folder);
	is_int(socket_path(db, &a, &e), 0, "a path before the database exists %s", e.text);
	is_int(socket_path(spelled, &b, &e), 0, "spelled otherwise");
	is_str(b, a, "is the same");
	is_int(socket_path(other, &c, &e), 0, "another database");
	ok(strcmp(a, c) != 0, "has another");
	free(b);
	FILE *f = fopen(db, "w");
	fclose(f);
	ok(symlink(db, link) == 0 && socket_path(link, &b, &e) == 0, "through a symbolic link");
	is_str(b, a, "it is the same too");
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

/* A line in, a line out. */
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
	is_int(mcp_server_new(&config, &server, &e), 0, "a server %s", e.text);
	is_int(socket_connect(path, &one, &e), -ERR_NOT_FOUND, "nobody listens yet");
	FILE *stale = fopen(path, "w");
	fclose(stale);
	is_int(sockets_start(server, path, &s, &e), 0, "listens in place of what was left there %s", e.text);
	is_int(socket_connect(path, &one, &e), 0, "a client %s", e.text);
	is_int(socket_connect(path, &two, &e), 0, "and another %s", e.text);
	ok(answered(one) && answered(two), "both are answered");
	ok(clients_are(s, 2), "and counted");
	ok(!sockets_retire(s), "it does not retire while they are there");
	is_int(socket_connect(path, &late, &e), 0, "and can still be found %s", e.text);
	close(late);
	close(one);
	ok(clients_are(s, 1), "a client that leaves is forgotten");
	close(two);
	ok(clients_are(s, 0), "the last one too");
	ok(sockets_retire(s), "then it retires");
	is_int(socket_connect(path, &late, &e), -ERR_NOT_FOUND, "and nobody finds it");
	sockets_stop(s);

	is_int(sockets_start(server, path, &s, &e), 0, "starts again %s", e.text);
	is_int(socket_connect(path, &one, &e), 0, "a client that stays %s", e.text);
	ok(answered(one), "is answered");
	struct pace pace = pace_begin();
	sockets_stop(s);
	ok(pace_within(&pace, 6 * CLOCK_S), "stopping does not wait for it (%s)", pace_text(&pace));
	char c;
	ok(read(one, &c, 1) == 0, "it sees the end");
	ok(access(path, F_OK) != 0, "the socket is gone");
	close(one);
	mcp_server_free(server);
	free(path);
}

int main(void)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	setenv("XDG_RUNTIME_DIR", folder, 1);
	test_path();
	test_serving();
	char *command = mem_fmt("rm -rf %s", folder);
	ok(system(command) == 0, "cleans up");
	free(command);
	return tap_done();
}
