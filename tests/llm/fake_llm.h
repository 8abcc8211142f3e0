/* fake_llm: a model server for tests, inside the test's own process: one thread that answers each connection with the
 * next step of a script, and keeps what was asked. HTTP/1.1, one request a connection. */
#ifndef PEAKD_TESTS_LLM_FAKE_LLM_H
#define PEAKD_TESTS_LLM_FAKE_LLM_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

/* What one connection gets. */
struct fake_step {
	int status;          /* 200, 429, …; 0: closed without a byte */
	const char *headers; /* further header lines, each ending in \r\n; NULL none */
	const char *type;    /* content type; NULL: text/event-stream */
	const char *body;    /* sent as it stands; the connection is closed behind it */
	unsigned drip_ms;    /* pause after every 16 bytes */
	unsigned hang_ms;    /* pause before the body */
};

struct fake_llm {
	const struct fake_step *steps;
	size_t count;
	atomic_size_t served;
	struct buf requests[16]; /* head and body as they came */
	int listener, port;
	atomic_bool stop;
	pthread_t thread;
};

static void fake_send(struct fake_llm *f, int fd, const char *text, unsigned drip_ms)
{
	size_t n = strlen(text), step = drip_ms ? 16 : n;
	for (size_t at = 0; at < n && !atomic_load(&f->stop); at += step) {
		size_t len = n - at < step ? n - at : step;
		if (send(fd, text + at, len, MSG_NOSIGNAL) < 0)
			return;
		if (drip_ms)
			usleep(drip_ms * 1000);
	}
}

static void fake_receive(int fd, struct buf *out)
{
	for (;;) {
		const char *head = strstr(buf_text(out), "\r\n\r\n"),
			   *length = strcasestr(buf_text(out), "content-length:");
		if (head && (!length || out->len >= (size_t)(head + 4 - out->data) + strtoul(length + 15, NULL, 10)))
			return;
		char chunk[4096];
		ssize_t n = recv(fd, chunk, sizeof chunk, 0);
		if (n <= 0)
			return;
		buf_add(out, chunk, (size_t)n);
	}
}

static void fake_serve(struct fake_llm *f, int fd)
{
	size_t i = atomic_load(&f->served);
	const struct fake_step *s = &f->steps[i < f->count ? i : f->count - 1];
	if (i < 16)
		fake_receive(fd, &f->requests[i]);
	atomic_fetch_add(&f->served, 1);
	if (s->status) {
		char head[512];
		snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nConnection: close\r\n%s\r\n",
			 s->status, s->type ? s->type : "text/event-stream", s->headers ? s->headers : "");
		fake_send(f, fd, head, 0);
		for (unsigned ms = 0; ms < s->hang_ms && !atomic_load(&f->stop); ms += 10)
			usleep(10000);
		fake_send(f, fd, s->body ? s->body : "", s->drip_ms);
	}
	close(fd);
}

static void *fake_main(void *arg)
{
	struct fake_llm *f = arg;
	while (!atomic_load(&f->stop)) {
		struct pollfd p = { .fd = f->listener, .events = POLLIN };
		if (poll(&p, 1, 20) <= 0)
			continue;
		int fd = accept(f->listener, NULL, NULL);
		if (fd >= 0)
			fake_serve(f, fd);
	}
	return NULL;
}

__attribute__((unused)) static void fake_llm_start(struct fake_llm *f, const struct fake_step *steps, size_t count)
{
	memset(f, 0, sizeof *f);
	f->steps = steps;
	f->count = count;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(f->listener, (struct sockaddr *)&at, len) < 0 || listen(f->listener, 16) < 0 ||
	    getsockname(f->listener, (struct sockaddr *)&at, &len) < 0)
		abort();
	f->port = ntohs(at.sin_port);
	pthread_create(&f->thread, NULL, fake_main, f);
}

__attribute__((unused)) static void fake_llm_stop(struct fake_llm *f)
{
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	close(f->listener);
	for (size_t i = 0; i < 16; i++)
		buf_fini(&f->requests[i]);
}

#endif
