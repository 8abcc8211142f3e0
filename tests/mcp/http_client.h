/* http_client: the client's side of HTTP for tests of mcp/: raw sockets, so that a test says when a connection is closed. */
#ifndef PEAKD_TESTS_MCP_HTTP_CLIENT_H
#define PEAKD_TESTS_MCP_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

static int dial(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		perror("connect");
	return fd;
}

/* Sends a request on a new or given connection; headers end in \r\n each. */
static void request(int fd, const char *method, const char *path, const char *headers, const char *body)
{
	char *text = mem_fmt("%s %s HTTP/1.1\r\n%s%s%sContent-Length: %zu\r\n\r\n%s", method, path,
			     strstr(headers, "Host:") ? "" : "Host: localhost\r\n",
			     strstr(headers, "Content-Type:") || !*body ? "" : "Content-Type: application/json\r\n",
			     headers, strlen(body), body);
	for (size_t at = 0, n = strlen(text); at < n;) {
		ssize_t w = send(fd, text + at, n - at, MSG_NOSIGNAL);
		if (w <= 0)
			break;
		at += (size_t)w;
	}
	free(text);
}

/* Reads until the text has the part, the connection ends, or ms passed; appends to b. */
static int read_until(int fd, struct buf *b, const char *part, int ms)
{
	char chunk[65536];
	int64_t deadline = clock_now() + ms * CLOCK_MS;
	while (part == NULL || strstr(buf_text(b), part) == NULL) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (poll(&p, 1, clock_poll_ms(deadline)) <= 0)
			return -1;
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n <= 0)
			return part ? -1 : 0;
		buf_add(b, chunk, (size_t)n);
	}
	return 0;
}

/* One whole answer of known length or without a body. Static storage, two at a time. */
static const char *ask(int port, const char *method, const char *path, const char *headers, const char *body)
{
	static struct buf answers[2];
	static int turn;
	struct buf *b = &answers[turn++ % 2];
	char *with = mem_fmt("%sConnection: close\r\n", headers);
	int fd = dial(port);
	buf_clear(b);
	request(fd, method, path, with, body);
	read_until(fd, b, NULL, 60000);
	close(fd);
	free(with);
	return buf_text(b);
}

__attribute__((unused)) static int status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : -1;
}

/* Headers as a test's name. Static storage. */
__attribute__((unused)) static const char *one_line(const char *headers)
{
	static char text[80];
	snprintf(text, sizeof text, "%s", headers);
	for (char *p = text; *p; p++)
		if (*p == '\r' || *p == '\n')
			*p = ' ';
	return text;
}

#endif
