/* stdio_load: the load generator for stdio. It starts a server, keeps a number of echo calls outstanding for some seconds,
 * and prints the figures as one line of JSON. bench/mcp/run.py runs it:
 *     build/bench/mcp/stdio_load SECONDS WINDOW TEXT_BYTES COMMAND [ARGUMENT…] */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

enum { CHUNK = 1 << 16 };

struct load {
	pid_t pid;
	int to, from;
	struct buf out, in;
	int64_t *sent;      /* when each request was sent, by its number modulo the window */
	int64_t *latencies; /* of the answered requests */
	size_t window, next, count;
	const char *head, *tail; /* of a message, before and after its number */
	char chunk[CHUNK];
};

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static void start(struct load *l, char **command)
{
	int in[2], out[2];
	if (pipe(in) < 0 || pipe(out) < 0) {
		perror("pipe");
		exit(1);
	}
	l->pid = fork();
	if (l->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	l->to = in[1];
	l->from = out[0];
}

static void put(struct load *l)
{
	char number[24];
	snprintf(number, sizeof number, "%zu", l->next);
	buf_adds(&l->out, l->head);
	buf_adds(&l->out, number);
	buf_adds(&l->out, l->tail);
	l->sent[l->next++ % l->window] = clock_now();
}

/* Waits until the pipes can be read or written, and does so. False when the server has ended. */
static int turn(struct load *l)
{
	struct pollfd p[] = { { .fd = l->from, .events = POLLIN },
			      { .fd = l->out.len ? l->to : -1, .events = POLLOUT } };
	ssize_t n = 1;
	poll(p, 2, 5000);
	if (p[1].revents & (POLLOUT | POLLERR))
		n = write(l->to, l->out.data, l->out.len);
	if (n > 0 && (p[1].revents & POLLOUT))
		buf_drop(&l->out, (size_t)n);
	if (n > 0 && (p[0].revents & (POLLIN | POLLHUP)) && (n = read(l->from, l->chunk, CHUNK)) > 0)
		buf_add(&l->in, l->chunk, (size_t)n);
	return n > 0 && (p[0].revents || p[1].revents);
}

/* The number after a line's "id": peakd writes it at the beginning, the SDK at the end. */
static const char *number_of(const char *line, size_t n)
{
	static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":", last[] = "\"id\":";
	if (strncmp(line, first, sizeof first - 1) == 0)
		return line + sizeof first - 1;
	for (size_t i = n; i >= sizeof last - 1; i--)
		if (memcmp(line + i - (sizeof last - 1), last, sizeof last - 1) == 0)
			return line + i;
	return NULL;
}

/* Counts the complete answers. Each has its own number; at most one window of them is outstanding. */
static size_t take(struct load *l)
{
	size_t got = 0, from = 0;
	char *nl;
	while (l->in.len > from && (nl = memchr(l->in.data + from, '\n', l->in.len - from)) != NULL) {
		*nl = '\0';
		const char *id = number_of(l->in.data + from, (size_t)(nl - l->in.data) - from);
		if (id == NULL || strstr(l->in.data + from, "\"content\"") == NULL) {
			fprintf(stderr, "stdio_load: not an answer: %.200s\n", l->in.data + from);
			exit(1);
		}
		*MEM_PUSH(l->latencies, l->count) = clock_now() - l->sent[strtoul(id, NULL, 10) % l->window];
		got++;
		from = (size_t)(nl + 1 - l->in.data);
	}
	buf_drop(&l->in, from);
	return got;
}

static int64_t read_clock(clockid_t clock)
{
	struct timespec t = { 0, 0 };
	clock_gettime(clock, &t);
	return t.tv_sec * CLOCK_S + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct load l = { .out = BUF_INIT, .in = BUF_INIT };
	clockid_t server_clock;
	if (argc < 5) {
		fprintf(stderr, "usage: stdio_load SECONDS WINDOW TEXT_BYTES COMMAND [ARGUMENT...]\n");
		return 2;
	}
	size_t bytes = strtoul(argv[3], NULL, 10), way = 1;
	l.window = strtoul(argv[2], NULL, 10);
	l.sent = MEM_NEW_N(int64_t, l.window);
	char *text = mem_new(bytes + 1, 1);
	memset(text, 'x', bytes);
	l.head = "{\"jsonrpc\":\"2.0\",\"id\":";
	l.tail = mem_fmt(",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"%s\"},"
			 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
			 "\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":"
			 "{\"name\":\"stdio_load\",\"version\":\"1\"}}}}\n",
			 text);
	signal(SIGPIPE, SIG_IGN);
	int64_t launched = clock_now();
	start(&l, argv + 4);
	put(&l);
	while (take(&l) == 0)
		if (!turn(&l))
			return 1;
	clock_getcpuclockid(l.pid, &server_clock);
	int64_t cpu = read_clock(server_clock), first = clock_now(),
		end = first + (int64_t)(strtod(argv[1], NULL) * 1e9);
	l.count = 0;
	for (way = 0; way < l.window; way++)
		put(&l);
	while (clock_now() < end) {
		if (!turn(&l))
			return 1;
		for (size_t n = take(&l); n > 0; n--)
			put(&l);
	}
	double seconds = (double)(clock_now() - first) / 1e9;
	cpu = read_clock(server_clock) - cpu;
	kill(l.pid, SIGTERM);
	waitpid(l.pid, NULL, 0);
	qsort(l.latencies, l.count, sizeof *l.latencies, compare);
	printf("{\"requests\":%zu,\"seconds\":%.3f,\"per_s\":%.1f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"first_answer_ms\":%"
	       ".1f,"
	       "\"server_cpu_us_per_call\":%.3f}\n",
	       l.count, seconds, (double)l.count / seconds, (double)l.latencies[l.count / 2] / 1e3,
	       (double)l.latencies[l.count * 99 / 100] / 1e3, (double)(first - launched) / 1e6,
	       (double)cpu / 1e3 / (double)l.count);
	return 0;
}
