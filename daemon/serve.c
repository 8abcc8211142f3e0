/* serve: takes the database's lock, wires the daemon together, serves until a signal or until nobody needs it; see serve.h. */
#include "daemon/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/jobs/engine.h"
#include "core/record/store.h"
#include "daemon/app.h"
#include "daemon/page.h"
#include "daemon/socket.h"
#include "mcp/http.h"

enum { FILE_MAX = 1 << 20, PORT = 7325, FILES = 8192 };

struct serve {
	const struct verb_line *line;
	struct app *app;
	struct sockets *sockets;
	struct mcp_http *http;      /* NULL with --listen none */
	char *socket;               /* path */
	char *address;              /* to listen on; NULL: none */
	int port;
	char *token, *cert, *key;   /* texts of the files; NULL when not given */
	char **hosts, **origins;    /* NULL-terminated */
	int lock_fd, signals;       /* the claim on the database; signalfd */
	int64_t idle_ns;            /* --idle-exit; 0: never */
};

/* --- the command line ---------------------------------------------------------------------------------------------------- */

static int parse_listen(struct serve *s, struct err *e)
{
	const char *text = verb_get(s->line, "listen"), *colon, *digits;
	char *end;
	s->port = PORT;
	s->address = mem_str("127.0.0.1");
	if (text == NULL)
		return 0;
	free(s->address);
	s->address = NULL;
	if (strcmp(text, "none") == 0)
		return 0;
	colon = strrchr(text, ':');
	digits = colon ? colon + 1 : text;
	long port = strtol(digits, &end, 10);
	if (end == digits || *end || port < 0 || port > 65535 || colon == text)
		return err_set(e, ERR_INPUT, "--listen: '%s' is no ADDRESS:PORT, PORT or none (for example 127.0.0.1:%d)", text, PORT);
	s->port = (int)port;
	if (colon && *text == '[' && colon[-1] == ']')
		s->address = mem_strn(text + 1, (size_t)(colon - text) - 2);
	else
		s->address = colon ? mem_strn(text, (size_t)(colon - text)) : mem_str("127.0.0.1");
	return 0;
}

/* A file's text without the white space at its end; `what` asked for it. */
static int read_text(const char *what, const char *path, char **ret_text, struct err *e)
{
	struct buf text = BUF_INIT;
	*ret_text = NULL;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf_room(&text, FILE_MAX), 1, FILE_MAX, f) : 0;
	bool bad = f == NULL || ferror(f);
	int errnum = errno;
	if (f)
		fclose(f);
	while (n > 0 && strchr(" \t\r\n", text.data[n - 1]))
		n--;
	if (!bad && n > 0)
		*ret_text = mem_strn(text.data, n);
	buf_fini(&text);
	if (bad)
		return err_sys(e, errnum, "%s: %s cannot be read", what, path);
	return *ret_text ? 0 : err_set(e, ERR_INPUT, "%s: %s is empty", what, path);
}

/* The text of the file that an option names; NULL when it was not given. */
static int read_option(const struct verb_line *line, const char *option, char **ret_text, struct err *e)
{
	const char *path = verb_get(line, option);
	*ret_text = NULL;
	if (path == NULL)
		return 0;
	char *what = mem_fmt("--%s", option);
	int rc = read_text(what, path, ret_text, e);
	free(what);
	return rc;
}

static char **all_of(const struct verb_line *line, const char *option)
{
	char **list = NULL;
	size_t count = 0;
	for (const char *v = verb_get_nth(line, option, 0); v; v = verb_get_nth(line, option, count))
		*MEM_PUSH(list, count) = (char *)v;
	*MEM_PUSH(list, count) = NULL;
	return list;
}

/* Without --token-file: the systemd credential "token", if the unit was given one (systemd.exec(5), LoadCredential=). */
static int read_credential(struct serve *s, struct err *e)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char *path = folder ? mem_fmt("%s/token", folder) : NULL;
	int rc = 0;
	if (s->token == NULL && path && access(path, F_OK) == 0)
		rc = read_text("the credential \"token\"", path, &s->token, e);
	free(path);
	return rc;
}

static int read_options(struct serve *s, struct err *e)
{
	long long idle;
	int rc = parse_listen(s, e);
	if (rc == 0)
		rc = verb_int(s->line, "idle-exit", 1, 1000000000, 0, &idle, e);
	if (rc == 0)
		s->idle_ns = idle * CLOCK_S;
	if (rc == 0)
		rc = read_option(s->line, "token-file", &s->token, e);
	if (rc == 0)
		rc = read_credential(s, e);
	if (rc == 0)
		rc = read_option(s->line, "tls-cert", &s->cert, e);
	if (rc == 0)
		rc = read_option(s->line, "tls-key", &s->key, e);
	if (rc == 0 && (s->cert == NULL) != (s->key == NULL))
		rc = err_set(e, ERR_INPUT, "--tls-cert and --tls-key belong together: give both");
	s->hosts = all_of(s->line, "allow-host");
	s->origins = all_of(s->line, "allow-origin");
	return rc;
}

/* --- starting ------------------------------------------------------------------------------------------------------------ */

/* Before any thread exists, so that all of them inherit the mask and the signals arrive on the descriptor alone. */
static int take_signals(struct serve *s, struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failed write, as on a full disk, not the end of the daemon */
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_sys(e, errno, "signalfd") : 0;
}

/* Each connection, worker and database handle needs a descriptor; the usual soft limit of 1024 is for programs that use
 * select(2), which this one does not. */
static void raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES)
		return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("the limit of open files cannot be raised: %s", strerror(errno));
}

static int start_http(struct serve *s, struct err *e)
{
	static const struct mcp_http_plain pages[] = {
		{ "/", page_home, 1 }, { "/healthz", page_health, 1 }, { "/metrics", page_metrics, 0 }, { NULL, NULL, 0 },
	};
	struct mcp_http_config config = {
		.address = s->address, .port = s->port, .token = s->token, .tls_cert = s->cert, .tls_key = s->key,
		.allowed_hosts = (const char *const *)s->hosts, .allowed_origins = (const char *const *)s->origins, .plain = pages,
		.user = s->app,
	};
	if (s->address == NULL)
		return 0;
	int rc = mcp_http_start(s->app->mcp, &config, &s->http, e);
	if (rc == -ERR_INPUT && (s->token == NULL || s->cert == NULL || s->key == NULL))
		err_wrap(e, "beyond loopback with --token-file, --tls-cert and --tls-key only");
	return rc < 0 ? err_wrap(e, "--listen") : 0;
}

static int start(struct serve *s, struct err *e)
{
	char **models = all_of(s->line, "model");
	struct app_config config = { .db = s->line->db, .models = (const char *const *)models };
	int rc = take_signals(s, e);
	raise_files();
	if (rc == 0)
		rc = socket_path(s->line->db, &s->socket, e);
	if (rc == 0)
		rc = store_lock(s->line->db, s->socket, &s->lock_fd, e);
	if (rc == 0)
		rc = app_new(&config, &s->app, e);
	if (rc == 0)
		rc = sockets_start(s->app->mcp, s->socket, &s->sockets, e);
	if (rc == 0)
		rc = start_http(s, e);
	free(models);
	return rc;
}

static void announce(const struct serve *s)
{
	char where[128] = "no HTTP";
	if (s->http)
		snprintf(where, sizeof where, strchr(s->address, ':') ? "%s://[%s]:%d/mcp" : "%s://%s:%d/mcp",
		         s->cert ? "https" : "http", s->address, mcp_http_port(s->http));
	log_info("serving %s: %s, socket %s", s->line->db, where, s->socket);
	sd_notifyf(0, "READY=1\nSTATUS=Serving %s, %s", s->line->db, where);
}

/* --- serving ------------------------------------------------------------------------------------------------------------- */

/* Since when nobody needs the daemon: no client, no job, no request. The present time while somebody does. */
static int64_t idle_since(struct serve *s, unsigned long *requests)
{
	struct mcp_server_stats stats = mcp_server_stats(s->app->mcp);
	int64_t since;
	bool busy = sockets_clients(s->sockets, &since) > 0 || engine_busy(s->app->engine) > 0 || stats.running > 0 ||
	            stats.requests != *requests;
	*requests = stats.requests;
	return busy ? clock_now() : since;
}

static void serve_until_told(struct serve *s)
{
	struct pollfd fd = { .fd = s->signals, .events = POLLIN };
	int64_t needed = clock_now(), since;
	unsigned long requests = 0;
	for (;;) {
		/* While it is needed, looking once in a while is enough; without --idle-exit nothing is looked at. */
		int rc = poll(&fd, 1, s->idle_ns ? clock_poll_ms(needed + s->idle_ns) : -1);
		if (rc > 0) {
			struct signalfd_siginfo info;
			if (read(s->signals, &info, sizeof info) == sizeof info)
				log_info("ending: signal %u", info.ssi_signo);
			return;
		}
		since = s->idle_ns ? idle_since(s, &requests) : 0;
		needed = since > needed ? since : needed;
		if (s->idle_ns && clock_now() - needed >= s->idle_ns && sockets_retire(s->sockets)) {
			log_info("ending: nobody needed this daemon for %lld s", (long long)(s->idle_ns / CLOCK_S));
			return;
		}
		if (s->idle_ns && clock_now() - needed >= s->idle_ns)
			needed = clock_now(); /* it could not retire: not before the same time again */
	}
}

static void stop(struct serve *s)
{
	sd_notify(0, "STOPPING=1");
	app_end(s->app);
	mcp_http_stop(s->http);
	sockets_stop(s->sockets);
	app_free(s->app);
	/* The lock goes last: until then no other daemon may open the database. */
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	if (s->signals >= 0)
		close(s->signals);
	free(s->socket);
	free(s->address);
	free(s->token);
	free(s->cert);
	free(s->key);
	free(s->hosts);
	free(s->origins);
}

static int serve_run(const struct verb_line *line)
{
	struct serve s = { .line = line, .lock_fd = -1, .signals = -1 };
	struct err e = ERR_INIT;
	if (verb_get(line, "log-level") == NULL)
		log_set_level(LOG_LEVEL_INFO);
	int rc = read_options(&s, &e);
	int status = rc < 0 ? VERB_USAGE : VERB_OK;
	if (rc == 0 && start(&s, &e) < 0)
		status = VERB_FAILED;
	if (status == VERB_OK) {
		announce(&s);
		serve_until_told(&s);
	} else {
		log_error("serve: %s", e.text);
	}
	stop(&s);
	return status;
}

static const struct verb_option options[] = {
	{ "listen", "ADDR:PORT", "MCP over HTTP there (default 127.0.0.1:7325; port 0: any free one; none: socket only)" },
	{ "model", "NAME=SPEC", "a model to ask: replay:NAME, openai:URL?model=M or anthropic:URL?model=M; may be repeated" },
	{ "token-file", "FILE", "bearer token that HTTP clients must send; default: the systemd credential \"token\"" },
	{ "tls-cert", "FILE", "PEM certificate chain; needed to listen on anything but loopback" },
	{ "tls-key", "FILE", "its key" },
	{ "allow-host", "NAME", "a further Host that clients may name; may be repeated" },
	{ "allow-origin", "URL", "a further Origin whose pages may call; may be repeated" },
	{ "idle-exit", "SECONDS", "ends when there was no client and no job for so long" },
	{ NULL, NULL, NULL },
};

const struct verb serve_verb = {
	.name = "serve", .words = "", .summary = "the daemon: serves one database over MCP (Unix socket and HTTP)",
	.details = "Pages beside /mcp: /healthz, /metrics and /. Keys of models come from the environment variables or systemd\n"
	           "credentials that their specifications name. SIGTERM and SIGINT end it; unfinished jobs can be resumed.\n",
	.options = options, .min_words = 0, .max_words = 0, .run = serve_run,
};
