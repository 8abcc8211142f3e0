/* client: see client.h. One connection, one call at a time; messages are lines of JSON-RPC (MCP 2025-11-25). */
#include "daemon/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "daemon/start.h"

#define PROTOCOL "2025-11-25"
#define ANSWER_NS (60 * CLOCK_S) /* a tool answers within 45 s at the latest, a job's id included */
#define CANCEL_NS (10 * CLOCK_S) /* a second signal makes it shorter */

enum { READ_CHUNK = 64 * 1024, HELLO_TRIES = 5 };

struct client {
	int fd, signals; /* signalfd of SIGINT and SIGTERM */
	sigset_t before; /* the signal mask to go back to */
	struct buf in;
	long last_id;
	int signal;                       /* the signal received; 0: none */
	bool starting;                    /* the current call will be answered with a job's id at once */
	char *job;                        /* the current call's job, once known */
	double seen;                      /* number of the last progress passed on */
	const struct client_watch *watch; /* of the running call; NULL */
};

/* --- lines ---------------------------------------------------------------------------------------------------------------- */

static int gone(struct err *e)
{
	return err_set(e, ERR_NETWORK,
		       "the daemon ended the connection; committed results are kept: run the command again; "
		       "`peakd workflow list` shows the workflows");
}

static int send_message(struct client *c, json_t *take_message, struct err *e)
{
	char *text = json_dumps(take_message, JSON_COMPACT);
	json_decref(take_message);
	if (text == NULL)
		return err_set(e, ERR_INPUT, "an argument is not UTF-8 text: write it in UTF-8");
	struct buf line = BUF_INIT;
	buf_addf(&line, "%s\n", text);
	free(text);
	size_t at = 0;
	while (at < line.len) {
		ssize_t n = send(c->fd, line.data + at, line.len - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	int rc = at < line.len ? gone(e) : 0;
	buf_fini(&line);
	return rc;
}

/* Returns 1 with a message, 0 after a signal. */
static int receive(struct client *c, int64_t deadline, json_t **ret_message, struct err *e)
{
	for (;;) {
		char *end = c->in.len ? memchr(c->in.data, '\n', c->in.len) : NULL;
		if (end) {
			json_error_t why;
			*ret_message = json_loadb(c->in.data, (size_t)(end - c->in.data), JSON_ALLOW_NUL, &why);
			buf_drop(&c->in, (size_t)(end - c->in.data) + 1);
			return *ret_message ? 1 : err_set(e, ERR_NETWORK, "the daemon's answer is not JSON: %s", why.text);
		}
		struct pollfd fds[] = { { .fd = c->fd, .events = POLLIN },
					{ .fd = c->signal ? -1 : c->signals, .events = POLLIN } };
		int rc = poll(fds, MEM_COUNT(fds), clock_poll_ms(deadline));
		if (rc == 0)
			return err_set(e, ERR_TIMEOUT, "the daemon does not answer; its log (DATABASE.log) says what it does");
		if (rc > 0 && fds[1].revents)
			return 0;
		if (rc < 0 || fds[0].revents == 0)
			continue;
		char *room = buf_room(&c->in, READ_CHUNK);
		ssize_t n = read(c->fd, room, READ_CHUNK);
		c->in.len -= READ_CHUNK - (n > 0 ? (size_t)n : 0);
		if (n == 0 || (n < 0 && errno != EINTR))
			return gone(e);
	}
}

/* --- requests ------------------------------------------------------------------------------------------------------------- */

static json_t *message(const char *method, json_t *take_params)
{
	return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", take_params);
}

static void note_progress(struct client *c, const json_t *params)
{
	double number = json_number_value(json_object_get(params, "progress"));
	const char *text = json_string_value(json_object_get(params, "message"));
	/* Waiting for a job again may repeat its events. */
	if (number <= c->seen)
		return;
	c->seen = number;
	if (c->watch && text && *text)
		c->watch->progress(c->watch->arg, text);
}

/* Handles a message that is not the answer: progress, or a request of the server, of which this client supports only ping. */
static int attend(struct client *c, const json_t *m, struct err *e)
{
	const char *method = json_string_value(json_object_get(m, "method"));
	json_t *id = json_object_get(m, "id");
	if (method && id == NULL && strcmp(method, "notifications/progress") == 0)
		note_progress(c, json_object_get(m, "params"));
	if (method == NULL || id == NULL)
		return 0;
	if (strcmp(method, "ping") == 0)
		return send_message(c, json_pack("{s:s, s:O, s:{}}", "jsonrpc", "2.0", "id", id, "result"), e);
	return send_message(c,
			    json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error", "code", -32601, "message",
				      "not supported"),
			    e);
}

static int take_result(const json_t *m, json_t **ret_result, struct err *e)
{
	const json_t *error = json_object_get(m, "error");
	if (error) {
		const char *text = json_string_value(json_object_get(error, "message"));
		return err_set(e, ERR_INPUT, "%s", text ? text : "the daemon refused the request");
	}
	*ret_result = json_incref(json_object_get(m, "result"));
	return *ret_result ? 0 : err_set(e, ERR_NETWORK, "the daemon's answer has no result");
}

static const char *signal_name(int number)
{
	return number == SIGTERM ? "SIGTERM" : "SIGINT";
}

/* A second signal ends the process at once. */
static void take_signal(struct client *c)
{
	struct signalfd_siginfo info;
	c->signal = read(c->signals, &info, sizeof info) > 0 ? (int)info.ssi_signo : SIGINT;
	sigprocmask(SIG_SETMASK, &c->before, NULL);
}

static int give_up(struct client *c, long id, struct err *e)
{
	struct err ignored = ERR_INIT;
	send_message(
		c,
		message("notifications/cancelled", json_pack("{s:I, s:s}", "requestId", (json_int_t)id, "reason", "interrupted")),
		&ignored);
	return err_set(e, ERR_CANCELLED, "interrupted (%s)", signal_name(c->signal));
}

/* Sends a request and waits for its answer. */
static int request(struct client *c, const char *method, json_t *take_params, int64_t patience, json_t **ret_result, struct err *e)
{
	int64_t deadline = clock_now() + patience;
	json_t *m = message(method, take_params);
	long id = ++c->last_id;
	json_object_set_new(m, "id", json_integer(id));
	int rc = send_message(c, m, e);
	while (rc == 0) {
		rc = receive(c, deadline, &m, e);
		if (rc == 0) {
			take_signal(c);
			/* The answer will name the job to cancel. */
			if (!c->starting)
				return give_up(c, id, e);
			deadline = clock_now() + CANCEL_NS;
			continue;
		}
		if (rc < 0)
			return c->signal && c->starting ? give_up(c, id, e) : rc;
		const json_t *answered = json_object_get(m, "id");
		bool ours = json_is_integer(answered) && json_integer_value(answered) == id && json_object_get(m, "method") == NULL;
		rc = ours ? take_result(m, ret_result, e) : attend(c, m, e);
		json_decref(m);
		if (ours)
			break;
	}
	return rc;
}

static json_t *call_params(struct client *c, const char *tool, json_t *take_arguments)
{
	return json_pack("{s:s, s:o, s:{s:I}}", "name", tool, "arguments", take_arguments, "_meta", "progressToken",
			 (json_int_t)c->last_id + 1);
}

/* --- opening ---------------------------------------------------------------------------------------------------------------- */

static int hello(struct client *c, struct err *e)
{
	json_t *result = NULL;
	json_t *params = json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", PROTOCOL, "capabilities", "clientInfo", "name",
				   "peakd", "version", PEAKD_VERSION);
	int rc = request(c, "initialize", params, ANSWER_NS, &result, e);
	json_decref(result);
	return rc < 0 ? rc : send_message(c, message("notifications/initialized", json_object()), e);
}

/* Signals that the process was started to ignore (nohup, a shell's `&`) stay ignored. Before this point a signal ends the process,
 * which is safe because no job has been asked for. */
static void take_signals(struct client *c)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	sigset_t set;
	struct sigaction now;
	sigemptyset(&set);
	for (size_t i = 0; i < MEM_COUNT(numbers); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int client_open(const char *db, struct client **ret_client, struct err *e)
{
	struct client *c = MEM_NEW(struct client);
	struct err why = ERR_INIT;
	int rc = -ERR_NETWORK;
	*c = (struct client){ .fd = -1, .signals = -1, .in = BUF_INIT };
	sigprocmask(SIG_SETMASK, NULL, &c->before);
	/* A daemon that is ending may accept the connection and drop it: then a new one is started. */
	for (int i = 0; i < HELLO_TRIES && rc == -ERR_NETWORK; i++) {
		if (c->fd >= 0)
			close(c->fd);
		c->fd = -1;
		why = (struct err)ERR_INIT;
		rc = start_connect(db, &c->fd, &why);
		if (rc == 0)
			rc = hello(c, &why);
	}
	if (rc == 0) {
		take_signals(c);
		start_warn_environment(c->fd);
		*ret_client = c;
		return 0;
	}
	client_close(c);
	return err_set(e, why.code, "%s", why.text);
}

void client_close(struct client *c)
{
	if (c == NULL)
		return;
	if (c->fd >= 0)
		close(c->fd);
	if (c->signals >= 0)
		close(c->signals);
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	buf_fini(&c->in);
	free(c->job);
	free(c);
}

int client_interrupted(const struct client *c)
{
	return c ? c->signal : 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

/* The text blocks of a tool's result; free(). */
static char *result_text(const json_t *result)
{
	struct buf out = BUF_INIT;
	const json_t *block;
	size_t i;
	json_array_foreach(json_object_get(result, "content"), i, block)
	{
		const char *text = json_string_value(json_object_get(block, "text"));
		if (text && json_object_get(block, "type"))
			buf_addf(&out, "%s%s", out.len ? "\n" : "", text);
	}
	while (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return buf_steal(&out);
}

static bool runs_still(const json_t *structured)
{
	const char *state = json_string_value(json_object_get(structured, "state"));
	return state && (strcmp(state, "running") == 0 || strcmp(state, "queued") == 0);
}

/* What a tool answered as data; where it answered with a text alone, {"text": ...}. New reference. */
static json_t *result_data(const json_t *result, const char *text)
{
	json_t *structured = json_object_get(result, "structuredContent");
	return structured ? json_incref(structured) : json_pack("{s:s}", "text", text);
}

/* A refused call or a job that did not succeed, as an error; 0 otherwise. */
static int verdict(const json_t *result, const char *text, struct err *e)
{
	const json_t *structured = json_object_get(result, "structuredContent");
	const char *state = json_string_value(json_object_get(structured, "state"));
	const char *error = json_string_value(json_object_get(structured, "error"));
	if (state && strcmp(state, "failed") == 0)
		return err_set(e, ERR_WRONG, "%s", error && *error ? error : *text ? text : "the job failed");
	if (state && (strcmp(state, "cancelled") == 0 || strcmp(state, "interrupted") == 0))
		return err_set(e, ERR_CANCELLED, "%s", *text ? text : state);
	if (json_is_true(json_object_get(result, "isError")))
		return err_set(e, ERR_INPUT, "%s", *text ? text : "refused without a reason");
	return 0;
}

/* One tools/call. Keeps the job's id when the answer has one. */
static int call_once(struct client *c, const char *tool, json_t *take_arguments, json_t **ret_result, struct err *e)
{
	int rc = request(c, "tools/call", call_params(c, tool, take_arguments), ANSWER_NS, ret_result, e);
	if (rc < 0)
		return rc;
	const char *id = json_string_value(json_object_get(json_object_get(*ret_result, "structuredContent"), "job"));
	if (id && (c->job == NULL || strcmp(c->job, id) != 0)) {
		free(c->job);
		c->job = mem_str(id);
	}
	return 0;
}

static json_t *wait_arguments(const char *id)
{
	return json_pack("{s:s, s:s, s:i}", "action", "wait", "id", id, "wait_s", 45);
}

/* Tools whose work is a job. With wait_s = 0 they answer with its id at once. */
static bool starts_job(const char *tool)
{
	static const char *const tools[] = { "tune", "validate", "transform", "compare", "profile", "draft" };
	for (size_t i = 0; i < MEM_COUNT(tools); i++)
		if (strcmp(tools[i], tool) == 0)
			return true;
	return false;
}

/* After a signal: cancels the call's job if it is ours, and says what became of it. */
static int stop(struct client *c, bool ours, struct err *e)
{
	const char *name = signal_name(c->signal);
	struct err why = ERR_INIT;
	json_t *answer = NULL;
	if (c->job == NULL)
		return err_set(e, ERR_CANCELLED, "interrupted (%s)", name);
	if (!ours)
		return err_set(e, ERR_CANCELLED, "interrupted (%s): job %s continues; `peakd jobs cancel %s` ends it", name, c->job,
			       c->job);
	int rc = request(c, "tools/call", call_params(c, "job_control", json_pack("{s:s, s:s}", "action", "cancel", "id", c->job)),
			 CANCEL_NS, &answer, &why);
	if (rc == 0 && !json_is_true(json_object_get(answer, "isError")))
		err_set(e, ERR_CANCELLED, "interrupted (%s): job %s is cancelled", name, c->job);
	else
		err_set(e, ERR_CANCELLED,
			"interrupted (%s): job %s was not cancelled: it had ended, or the daemon does not answer; "
			"`peakd jobs get %s` "
			"shows it",
			name, c->job, c->job);
	json_decref(answer);
	return -ERR_CANCELLED;
}

/* Makes a call. When the answer is a running job, waits for the job's end. */
static int follow(struct client *c, const char *tool, json_t *take_arguments, const struct client_watch *watch, bool ours,
		  json_t **ret_result, struct err *e)
{
	const char *action = json_string_value(json_object_get(take_arguments, "action"));
	bool quiet = c->signal == 0;
	/* Questions about a job, and jobs for another machine, are not waited for. */
	bool to_end = (strncmp(tool, "job", 3) != 0 || (action && strcmp(action, "wait") == 0)) &&
		      !json_is_true(json_object_get(take_arguments, "later"));
	c->watch = watch;
	c->seen = -1;
	c->starting = to_end && starts_job(tool);
	if (c->starting)
		json_object_set_new(take_arguments, "wait_s", json_integer(0));
	int rc = call_once(c, tool, take_arguments, ret_result, e);
	c->starting = false;
	while (rc == 0 && to_end && !(quiet && c->signal) && runs_still(json_object_get(*ret_result, "structuredContent"))) {
		json_decref(*ret_result);
		*ret_result = NULL;
		rc = call_once(c, "job", wait_arguments(c->job), ret_result, e);
	}
	/* Late progress must not reach a caller that is gone. */
	c->watch = NULL;
	return quiet && c->signal ? stop(c, ours, e) : rc;
}

static void forget_job(struct client *c)
{
	free(c->job);
	c->job = NULL;
}

int client_read(struct client *c, const char *uri, char **ret_text, struct err *e)
{
	json_t *result = NULL;
	int rc = request(c, "resources/read", json_pack("{s:s}", "uri", uri), ANSWER_NS, &result, e);
	const char *text = json_string_value(json_object_get(json_array_get(json_object_get(result, "contents"), 0), "text"));
	if (rc == 0 && text == NULL)
		rc = err_set(e, ERR_NETWORK, "the daemon answered without a text for %s", uri);
	if (rc == 0)
		*ret_text = mem_str(text);
	json_decref(result);
	return rc;
}

int client_start(struct client *c, const char *tool, json_t *take_arguments, char **ret_id, struct err *e)
{
	json_t *result = NULL;
	json_object_set_new(take_arguments, "wait_s", json_integer(0));
	c->starting = true;
	int rc = call_once(c, tool, take_arguments, &result, e);
	c->starting = false;
	if (c->signal) {
		rc = stop(c, true, e);
	} else if (rc == 0 && c->job) {
		*ret_id = mem_str(c->job);
	} else if (rc == 0) {
		char *text = result_text(result);
		rc = verdict(result, text, e);
		if (rc == 0)
			rc = err_set(e, ERR_INTERNAL, "%s started no job", tool);
		free(text);
	}
	json_decref(result);
	forget_job(c);
	return rc;
}

int client_wait(struct client *c, const char *id, const struct client_watch *watch, json_t **ret_structured, struct err *e)
{
	json_t *result = NULL;
	c->job = mem_str(id);
	int rc = follow(c, "job", wait_arguments(id), watch, true, &result, e);
	json_t *structured = json_object_get(result, "structuredContent");
	char *text = rc == 0 ? result_text(result) : NULL;
	if (rc == 0 && json_object_get(structured, "state") == NULL)
		rc = verdict(result, text, e);
	if (rc == 0 && ret_structured)
		*ret_structured = result_data(result, text);
	free(text);
	json_decref(result);
	forget_job(c);
	return rc;
}

int client_call(struct client *c, const char *tool, json_t *take_arguments, const struct client_watch *watch,
		json_t **ret_structured, char **ret_text, struct err *e)
{
	json_t *result = NULL;
	/* The tool `job` looks at somebody else's job, so a signal must not cancel it. */
	bool ours = strncmp(tool, "job", 3) != 0;
	const char *id = ours ? NULL : json_string_value(json_object_get(take_arguments, "id"));
	if (id)
		c->job = mem_str(id);
	int rc = follow(c, tool, take_arguments, watch, ours, &result, e);
	char *text = rc == 0 ? result_text(result) : NULL;
	if (rc == 0)
		rc = verdict(result, text, e);
	/* The job was to be cancelled. */
	if (rc == -ERR_CANCELLED && strcmp(tool, "job_control") == 0 && !c->signal) {
		*e = (struct err)ERR_INIT;
		rc = 0;
	}
	/* A job that failed is shown as any other, and a job that somebody looks at, however it ended. */
	if (ret_structured &&
	    (rc == 0 || ((!ours || rc == -ERR_WRONG) && json_object_get(json_object_get(result, "structuredContent"), "state"))))
		*ret_structured = result_data(result, text);
	if (rc == 0 && ret_text) {
		*ret_text = text;
		text = NULL;
	}
	free(text);
	json_decref(result);
	forget_job(c);
	return rc;
}
