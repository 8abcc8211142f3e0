/* test_notify: calls that wait for jobs fail while the database cannot be opened, and later calls succeed once it can be opened
 * again. */
#include "daemon/notify.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/record/job.h"
#include "core/record/store.h"
#include "daemon/app.h"
#include "mcp/server.h"
#include "mcp/stdio.h"
#include "tests/tap.h"

static const struct mcp_done *answer(struct app *app, struct db *db, struct mcp_call *call, const struct job *job)
{
	(void)app, (void)db;
	return mcp_call_reply(call, NULL, "job %s", job->id);
}

static const struct mcp_done *wait_for_job(struct mcp_call *call)
{
	struct app *app = mcp_call_user(call);
	return notify_wait(app->notify, call, "j1", 0, CLOCK_NEVER, 0, answer);
}

static const struct mcp_tool TOOLS[] = {
	{ .name = "wait", .description = "Waits for a job.", .handler = wait_for_job },
	{ .name = NULL },
};

struct client {
	struct mcp_server *server;
	int fds[2];
};

static void *serve(void *arg)
{
	struct client *c = arg;
	struct err e = ERR_INIT;
	mcp_stdio_run(c->server, c->fds[1], c->fds[1], &e);
	return NULL;
}

/* The answer to a call of `wait`, "(none)" when there is none within a minute. Static storage. */
static const char *ask(struct client *c)
{
	static const char call[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"wait\",\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
	static char text[4096];
	struct pollfd p = { .fd = c->fds[0], .events = POLLIN };
	ssize_t n = write(c->fds[0], call, sizeof call - 1);
	n = n > 0 && poll(&p, 1, 60000) == 1 ? read(c->fds[0], text, sizeof text - 1) : 0;
	snprintf(text + (n > 0 ? n : 0), 16, "%s", n > 0 ? "" : "(none)");
	return text;
}

int main(void)
{
	char folder[] = "/tmp/peakd-notify.XXXXXX";
	struct app app = { .share = NULL };
	struct err e = ERR_INIT;
	struct db *taken;
	if (mkdtemp(folder) == NULL)
		return 1;
	char *db = mem_fmt("%s/x.db", folder), *wal = mem_fmt("%s-wal", db), *shm = mem_fmt("%s-shm", db),
	     *away = mem_fmt("%s.away", folder);
	is_int(store_open(db, &app.work.store, &e), 0, "a database %s", e.text);
	is_int(store_take(app.work.store, &taken, &e), 0, "the only handle of the database is in use %s", e.text);
	rename(folder, away); /* so that no other handle can be opened */
	is_int(notify_new(&app, &app.notify, &e), 0, "the notification thread starts %s", e.text);
	struct mcp_server_config config = { .name = "test", .version = "1", .tools = TOOLS, .user = &app };
	struct client c;
	pthread_t thread;
	is_int(mcp_server_new(&config, &c.server, &e), 0, "a server is made %s", e.text);
	is_int(socketpair(AF_UNIX, SOCK_STREAM, 0, c.fds), 0, "a client is connected");
	pthread_create(&thread, NULL, serve, &c);
	for (int i = 0; i < 2; i++)
		has_str(ask(&c), "its state cannot be read", "a waiting call fails while the database cannot be opened");
	rename(away, folder);
	store_give(taken);
	const char *said = ask(&c);
	for (int64_t end = clock_now() + 60 * CLOCK_S; strstr(said, "cannot be read") && clock_now() < end;
	     clock_sleep(50 * CLOCK_MS))
		said = ask(&c);
	has_str(said, "j1", "the next call is answered once the database can be opened");
	ok(strstr(said, "cannot be read") == NULL, "the answer comes from the database: %s", said);
	shutdown(c.fds[0], SHUT_WR);
	pthread_join(thread, NULL);
	notify_free(app.notify);
	mcp_server_free(c.server);
	store_close(app.work.store);
	close(c.fds[0]);
	close(c.fds[1]);
	unlink(db), unlink(wal), unlink(shm), rmdir(folder);
	free(db), free(wal), free(shm), free(away);
	return tap_done();
}
