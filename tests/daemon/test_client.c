/* test_client: which caller hears of a job's progress. A thread on the database's socket plays the daemon. */
#include "daemon/client.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/record/store.h"
#include "daemon/socket.h"
#include "tests/tap.h"

static char folder[] = "/tmp/peakd-client.XXXXXX";

/* Every call gets two progress notifications before its answer; the numbers continue from call to call as a job's do. */
static void *play_daemon(void *arg)
{
	int listener = *(int *)arg, fd = accept(listener, NULL, NULL), number = 0;
	FILE *in = fdopen(fd, "r");
	char line[4096];
	while (fgets(line, sizeof line, in)) {
		json_t *m = json_loads(line, 0, NULL);
		const char *method = json_string_value(json_object_get(m, "method"));
		json_int_t id = json_integer_value(json_object_get(m, "id"));
		if (strcmp(method, "initialize") == 0)
			dprintf(fd, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", (int)id);
		for (int i = 0; i < 2 && strcmp(method, "tools/call") == 0; i++)
			dprintf(fd,
				"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				"progress\",\"params\":{\"progress\":%d,\"message\":\"at work\"}}\n",
				++number);
		if (strcmp(method, "tools/call") == 0)
			dprintf(fd,
				"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[],\"structuredContent\":{\"job\":\"j1\","
				"\"state\":\"done\"}}}\n",
				(int)id);
		json_decref(m);
	}
	fclose(in);
	return NULL;
}

static void count(void *arg, const char *message)
{
	++*(int *)arg;
	is_str(message, "at work", "a progress notification carries its message");
}

int main(int argc, char **argv)
{
	if (argc > 1) /* client_open may start this program as a daemon, which must not start others */
		return argv[1] == NULL;
	struct err e = ERR_INIT;
	struct client *c = NULL;
	json_t *answer = NULL;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	pthread_t thread;
	char *path = NULL, *job = NULL;
	struct store_claim claim = STORE_CLAIM_INIT;
	int told = 0, listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ok(mkdtemp(folder) != NULL, "a folder is made");
	setenv("XDG_RUNTIME_DIR", folder, 1);
	char *db = mem_fmt("%s/a.db", folder);
	is_int(socket_path(db, &path, &e), 0, "the database has a socket path %s", e.text);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	ok(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0,
	   "the stand-in listens on the socket");
	is_int(store_lock(db, path, &claim, &e), 0, "the stand-in holds the database's lock %s", e.text);
	ok(pthread_create(&thread, NULL, play_daemon, &listener) == 0, "the stand-in for the daemon starts");
	is_int(client_open(db, &c, &e), 0, "a client connects %s", e.text);
	is_int(client_call(c, "devices", json_object(), &(struct client_watch){ count, &told }, NULL, NULL, &e), 0,
	       "a call is answered %s", e.text);
	is_int(told, 2, "a call's callback hears of its progress");
	is_int(client_start(c, "transform", json_object(), &job, &e), 0, "client_start succeeds %s", e.text);
	is_str(job, "j1", "client_start returns the job's id");
	is_int(told, 2, "client_start calls no callback of an earlier call");
	is_int(client_wait(c, "j1", &(struct client_watch){ count, &told }, &answer, &e), 0, "client_wait succeeds %s", e.text);
	is_int(told, 4, "client_wait's callback hears of the progress");
	is_int(client_wait(c, "j1", NULL, NULL, &e), 0, "client_wait succeeds without a callback %s", e.text);
	json_decref(answer);
	client_close(c);
	pthread_join(thread, NULL);
	close(listener);
	store_unlock(&claim);
	unlink(path);
	free(job);
	free(path);
	free(db);
	char *command = mem_fmt("rm -rf %s", folder);
	ok(system(command) == 0, "the folder is removed");
	free(command);
	return tap_done();
}
