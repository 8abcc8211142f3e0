/* test_relay: every byte passes in both directions, and the end of one side ends the other in order. */
#include "daemon/relay.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/tap.h"

enum { MANY = 3 << 20 };

struct relay {
	int in, out, peer, rc;
	struct err e;
};

static void *relay_thread(void *arg)
{
	struct relay *r = arg;
	r->rc = relay_run(r->in, r->out, r->peer, &r->e);
	close(r->out);
	return NULL;
}

/* Plays the daemon: echoes all input until its end, then closes. */
static void *echo_thread(void *arg)
{
	int fd = *(int *)arg;
	char bytes[10000];
	ssize_t n;
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0, w; at < n; at += w)
			if ((w = write(fd, bytes + at, (size_t)(n - at))) <= 0)
				return NULL;
	close(fd);
	return NULL;
}

static void *write_thread(void *arg)
{
	int fd = *(int *)arg;
	char *bytes = mem_new(MANY, 1);
	for (size_t i = 0; i < MANY; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	for (size_t at = 0; at < MANY;) {
		ssize_t w = write(fd, bytes + at, MANY - at);
		if (w <= 0)
			break;
		at += (size_t)w;
	}
	close(fd);
	free(bytes);
	return NULL;
}

static void test_echo(void)
{
	int in[2], out[2], pair[2];
	pthread_t relay, echo, writer;
	struct relay r = { .e = ERR_INIT };
	size_t got = 0, wrong = 0;
	unsigned char bytes[5000];
	ssize_t n;
	if (pipe(in) || pipe(out) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	r.in = in[0];
	r.out = out[1];
	r.peer = pair[0];
	pthread_create(&relay, NULL, relay_thread, &r);
	pthread_create(&echo, NULL, echo_thread, &pair[1]);
	pthread_create(&writer, NULL, write_thread, &in[1]);
	while ((n = read(out[0], bytes, sizeof bytes)) > 0)
		for (ssize_t i = 0; i < n; i++, got++)
			wrong += bytes[i] != (unsigned char)(got * 7 + got / 251);
	pthread_join(writer, NULL);
	pthread_join(relay, NULL);
	pthread_join(echo, NULL);
	is_int(r.rc, 0, "the relay ends with status 0 %s", r.e.text);
	is_int(got, MANY, "every byte is relayed back");
	is_int(wrong, 0, "relayed bytes are unchanged");
	close(in[0]);
	close(out[0]);
	close(pair[0]);
}

/* Counts the bytes until the end. */
static void *count_thread(void *arg)
{
	int fd = *(int *)arg;
	char bytes[10000];
	size_t got = 0;
	ssize_t n;
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		got += (size_t)n;
	return (void *)got;
}

static void *flood_thread(void *arg)
{
	int fd = dup(*(int *)arg);
	/* Something small first: a pipe that is neither empty nor full is where a large write blocks. */
	if (write(fd, "small", 5) == 5)
		usleep(50000);
	write_thread(&fd);
	return NULL;
}

/* The client writes everything before it reads anything, and the daemon has much to say meanwhile. */
static void test_writes_first(void)
{
	int in[2], out[2], pair[2], input;
	pthread_t relay, flood, count;
	struct relay r = { .e = ERR_INIT };
	void *arrived;
	size_t got = 0;
	char bytes[5000];
	ssize_t n;
	if (pipe(in) || pipe(out) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	r.in = in[0];
	r.out = out[1];
	r.peer = pair[0];
	input = in[1];
	alarm(20);
	pthread_create(&relay, NULL, relay_thread, &r);
	pthread_create(&flood, NULL, flood_thread, &pair[1]);
	pthread_create(&count, NULL, count_thread, &pair[1]);
	write_thread(&input);
	pthread_join(count, &arrived);
	is_int((size_t)arrived, MANY, "input is relayed although nobody reads the answers");
	while (got < MANY + 5 && (n = read(out[0], bytes, sizeof bytes)) > 0)
		got += (size_t)n;
	is_int(got, MANY + 5, "unread answers are all relayed later");
	pthread_join(flood, NULL);
	shutdown(pair[1], SHUT_RDWR);
	pthread_join(relay, NULL);
	alarm(0);
	close(in[0]);
	close(out[0]);
	close(pair[0]);
	close(pair[1]);
}

static void test_daemon_gone(void)
{
	int in[2], out[2], pair[2];
	struct err e = ERR_INIT;
	if (pipe(in) || pipe(out) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	close(pair[1]);
	is_int(relay_run(in[0], out[1], pair[0], &e), -ERR_NETWORK, "a daemon that closes first is an error");
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	close(pair[0]);
}

int main(void)
{
	test_echo();
	test_writes_first();
	test_daemon_gone();
	return tap_done();
}
