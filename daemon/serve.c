/* serve: see serve.h. It takes the database's lock, wires the daemon together, and serves until a signal comes or nobody needs it.
 */
#include "daemon/serve.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "core/jobs/engine.h"
#include "core/record/store.h"
#include "core/workers/child.h"
#include "daemon/app.h"
#include "daemon/pages.h"
#include "daemon/service.h"
#include "daemon/socket.h"
#include "daemon/successor.h"
#include "mcp/http.h"

enum {
	FILE_MAX = 1 << 20,
	PORT = 7325,
	FILES = 8192,
	ARENAS = 4,         /* of malloc: each keeps what its threads freed, and by default there are eight for each core */
	MAPPED = 256 << 10, /* bytes of a block from which malloc maps it alone, and unmaps it when it is freed */
	TRIM_MS = 10000,    /* between two times that freed memory goes back to the system */
	NAME_TELLS = 5,     /* letters of a name before it may look like another one's mistake */
	PATIENCE_MS = 10000
};

/* What HTTP needs of files: their texts; NULL when not given. */
struct secrets {
	char *token, *cert, *key;
};

struct serve {
	const struct verb_line *line;
	struct app *app;
	struct sockets *sockets;
	struct mcp_http *http; /* NULL with --listen none */
	char *socket;          /* path */
	char *address;         /* to listen on; NULL: none */
	int port;
	struct secrets secrets;
	char **hosts, **origins; /* NULL-terminated */
	struct store_claim claim;
	struct service_sockets lent; /* by systemd */
	int signals;                 /* signalfd */
	char *successor;             /* the binary that takes over; NULL: none does */
	int64_t idle_ns;             /* --idle-exit; 0: never */
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
		return err_set(e, ERR_INPUT, "--listen: '%s' is not ADDRESS:PORT, PORT or none (for example 127.0.0.1:%d)", text,
			       PORT);
	s->port = (int)port;
	if (colon && *text == '[' && colon[-1] == ']')
		s->address = mem_strn(text + 1, (size_t)(colon - text) - 2);
	else
		s->address = colon ? mem_strn(text, (size_t)(colon - text)) : mem_str("127.0.0.1");
	return 0;
}

/* A file's text without trailing white space; `what` names the option for messages. */
static int read_text(const char *what, const char *path, char **ret_text, struct err *e)
{
	struct buf text = BUF_INIT;
	int rc = buf_add_file(&text, path, FILE_MAX, e);
	while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]))
		text.len--;
	if (rc == 0 && text.len == 0)
		rc = err_set(e, ERR_INPUT, "%s is empty", path);
	*ret_text = rc == 0 ? mem_strn(text.data, text.len) : NULL;
	buf_fini(&text);
	return rc < 0 ? err_wrap(e, "%s", what) : 0;
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
static int read_credential(char **io_token, struct err *e)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char *path = folder ? mem_fmt("%s/token", folder) : NULL;
	int rc = 0;
	if (*io_token == NULL && path && access(path, F_OK) == 0)
		rc = read_text("the credential \"token\"", path, io_token, e);
	free(path);
	return rc;
}

static int read_secrets(const struct verb_line *line, struct secrets *ret_secrets, struct err *e)
{
	int rc = read_option(line, "token-file", &ret_secrets->token, e);
	if (rc == 0)
		rc = read_credential(&ret_secrets->token, e);
	if (rc == 0)
		rc = read_option(line, "tls-cert", &ret_secrets->cert, e);
	if (rc == 0)
		rc = read_option(line, "tls-key", &ret_secrets->key, e);
	if (rc == 0 && (ret_secrets->cert == NULL) != (ret_secrets->key == NULL))
		rc = err_set(e, ERR_INPUT, "--tls-cert and --tls-key need each other: give both");
	return rc;
}

static void secrets_fini(struct secrets *s)
{
	free(s->token);
	free(s->cert);
	free(s->key);
	*s = (struct secrets){ NULL, NULL, NULL };
}

/* A database that is named and not there is made, unless its folder has one whose name is one mistake away: a fresh database would
 * look like a loss of everything. Daemons that other verbs start have --idle-exit and are not asked. */
static int check_spelling(const struct verb_line *line, struct err *e)
{
	const char *path = verb_get(line, "db");
	if (path == NULL || access(path, F_OK) == 0 || verb_get(line, "new") || verb_get(line, "idle-exit"))
		return 0;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	char *folder = slash ? mem_strn(path, (size_t)(slash - path) + 1) : mem_str("./");
	DIR *d = (dot ? dot - name : (ptrdiff_t)strlen(name)) < NAME_TELLS ? NULL : opendir(folder);
	int rc = 0;
	for (struct dirent *entry; d && rc == 0 && (entry = readdir(d));) {
		const char *end = strrchr(entry->d_name, '.');
		/* not its -wal, .lock and .log */
		if (strcmp(end ? end : "", dot ? dot : "") == 0 && suggest_distance(name, entry->d_name) == 1)
			rc = err_set(e, ERR_NOT_FOUND, "there is no database %s; did you mean %s%s? --new makes a new one", path,
				     slash ? folder : "", entry->d_name);
	}
	if (d)
		closedir(d);
	free(folder);
	return rc;
}

static int read_options(struct serve *s, struct err *e)
{
	int rc = parse_listen(s, e);
	if (rc == 0)
		rc = check_spelling(s->line, e);
	if (rc == 0)
		rc = read_secrets(s->line, &s->secrets, e);
	s->idle_ns = verb_number(s->line, "idle-exit", 0) * CLOCK_S;
	s->hosts = all_of(s->line, "allow-host");
	s->origins = all_of(s->line, "allow-origin");
	return rc;
}

/* --- starting ------------------------------------------------------------------------------------------------------------ */

/* Called before any thread exists, so that all inherit the mask and signals arrive on the descriptor alone, and none inherits
 * capabilities for its children. */
static int take_signals(struct serve *s, struct err *e)
{
	sigset_t set;
	child_drop_capabilities();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is a failed write, as on a full disk */
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_sys(e, errno, "signalfd") : 0;
}

/* Each connection, worker and database handle needs a descriptor. The usual soft limit of 1024 is for programs that use select(2).
 */
static void raise_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES)
		return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("cannot raise the limit of open files: %s", strerror(errno));
}

/* `listener`: a socket that listens already; 0: none. */
static int start_http(struct serve *s, int listener, struct err *e)
{
	struct mcp_http_config config = {
		.address = s->address,
		.port = s->port,
		.listener = listener,
		.token = s->secrets.token,
		.tls_cert = s->secrets.cert,
		.tls_key = s->secrets.key,
		.allowed_hosts = (const char *const *)s->hosts,
		.allowed_origins = (const char *const *)s->origins,
		.plain = pages_table,
		.user = s->app,
	};
	if (s->address == NULL && listener == 0)
		return 0;
	int rc = mcp_http_start(s->app->mcp, &config, &s->http, e);
	if (rc == -ERR_INPUT && (s->secrets.token == NULL || s->secrets.cert == NULL))
		err_wrap(e, "addresses beyond loopback need --token-file, --tls-cert and --tls-key");
	return rc < 0 ? err_wrap(e, "--listen") : 0;
}

static int start(struct serve *s, struct err *e)
{
	char **models = all_of(s->line, "model");
	char **sets = all_of(s->line, "toolset"), **remotes = all_of(s->line, "remote");
	struct app_config config = { .db = s->line->db,
				     .models = (const char *const *)models,
				     .read_only = verb_get(s->line, "read-only") != NULL,
				     .remotes = (const char *const *)remotes,
				     .sets = (const char *const *)sets };
	int rc = take_signals(s, e);
	raise_files();
	struct service_patience *patience = service_patience_new(PATIENCE_MS);
	if (rc == 0)
		rc = service_sockets(&s->lent, e);
	if (rc == 0)
		rc = s->lent.local ? socket_path_of(s->lent.local, &s->socket, e) : socket_path(s->line->db, &s->socket, e);
	if (rc == 0 && s->lent.note)
		s->claim = (struct store_claim){ .note_fd = s->lent.note, .database_fd = s->lent.database };
	if (rc == 0)
		rc = store_lock(s->line->db, s->socket, &s->claim, e);
	if (rc == 0)
		rc = app_new(&config, &s->app, e);
	if (rc == 0)
		rc = sockets_start(s->app->mcp, s->socket, s->lent.local, s->lent.local && !s->lent.own, &s->sockets, e);
	if (rc == 0)
		rc = start_http(s, s->lent.inet, e);
	service_patience_free(patience);
	free(models);
	free(remotes);
	free(sets);
	return rc;
}

static void announce(const struct serve *s)
{
	char where[128] = "no HTTP";
	const char *address = s->http ? mcp_http_address(s->http) : "";
	if (s->http)
		snprintf(where, sizeof where, strchr(address, ':') ? "%s://[%s]:%d/mcp" : "%s://%s:%d/mcp",
			 s->secrets.cert ? "https" : "http", address, mcp_http_port(s->http));
	log_info("serving %s: %s, socket %s", s->line->db, where, s->socket);
	char *status = mem_fmt("Serving %s, %s", s->line->db, where);
	service_ready(status);
	free(status);
}

/* --- serving ------------------------------------------------------------------------------------------------------------- */

/* The time since which the daemon has had no client, job or request; now while it has one. */
static int64_t idle_since(struct serve *s, unsigned long *requests)
{
	struct mcp_server_stats stats = mcp_server_stats(s->app->mcp);
	int64_t since;
	bool busy = sockets_clients(s->sockets, &since) > 0 || engine_busy(s->app->engine) > 0 || stats.running > 0 ||
		    stats.requests != *requests;
	*requests = stats.requests;
	return busy ? clock_now() : since;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* HTTP starts anew with another token or certificate; clients wait at its socket meanwhile. On an error the old ones stay. */
static int change_secrets(struct serve *s, struct secrets *io_secrets, struct err *e)
{
	struct secrets old = s->secrets;
	int listener = mcp_http_pause(s->http);
	s->http = NULL;
	s->secrets = *io_secrets;
	*io_secrets = old;
	int rc = start_http(s, listener, e);
	if (rc < 0) {
		struct err again = ERR_INIT;
		*io_secrets = s->secrets;
		s->secrets = old;
		if (start_http(s, listener, &again) < 0)
			log_error("reload: %s: restart the daemon", again.text);
	}
	close(listener);
	return rc;
}

/* SIGHUP: reads the configuration file, models, token and certificate again. What has a mistake stays as it was. Keys of models,
 * transformations and validators are read whenever they are used. */
static void reload(struct serve *s)
{
	struct secrets fresh = { NULL, NULL, NULL };
	struct verb_line line = { .verb = NULL };
	struct err e = ERR_INIT;
	service_reloading();
	int rc = verb_reload(s->line, &line, &e);
	char **models = rc == 0 ? all_of(&line, "model") : NULL;
	if (rc == 0)
		rc = read_secrets(&line, &fresh, &e);
	if (rc == 0)
		rc = app_set_models(s->app, (const char *const *)models, &e);
	bool same = rc < 0 || s->http == NULL ||
		    (is_same(s->secrets.token, fresh.token) && is_same(s->secrets.cert, fresh.cert) &&
		     is_same(s->secrets.key, fresh.key));
	if (rc == 0 && !same)
		rc = change_secrets(s, &fresh, &e);
	if (rc < 0)
		log_error("reload: %s", e.text);
	else
		log_info(
			same ? "reloaded: models are read again; token and certificate are as before; other settings need a restart"
			     : "reloaded: models are read again; HTTP has a new token or certificate");
	secrets_fini(&fresh);
	free(models);
	verb_line_fini(&line);
	announce(s);
}

/* SIGUSR2: whether a new binary can take over. If not, this daemon goes on. */
static bool find_successor(struct serve *s)
{
	struct err e = ERR_INIT;
	if (successor_find(&s->successor, &e) < 0) {
		log_error("no new binary takes over: %s", e.text);
		return false;
	}
	log_info("%s takes over", s->successor);
	return true;
}

/* False when the daemon is to end. */
static bool take_signal(struct serve *s)
{
	struct signalfd_siginfo info = { .ssi_signo = 0 };
	if (read(s->signals, &info, sizeof info) == sizeof info && info.ssi_signo == SIGHUP &&
	    info.ssi_code != SI_KERNEL) { /* not when its terminal was closed */
		reload(s);
		return true;
	}
	if (info.ssi_signo == SIGUSR2)
		return !find_successor(s);
	log_info("ending: signal %u", info.ssi_signo);
	return false;
}

/* The watchdog is told that all is well on two conditions. idle_since has taken the locks of clients, jobs and calls, and HTTP's
 * thread has done something since the last time. So a daemon in a deadlock is restarted. */
static void serve_until_told(struct serve *s)
{
	struct pollfd fd = { .fd = s->signals, .events = POLLIN };
	int64_t needed = clock_now(), alive = needed, trimmed = needed, watchdog_ns = service_watchdog_ns();
	unsigned long requests = 0;
	for (;;) {
		int64_t until = trimmed + TRIM_MS * CLOCK_MS;
		if (s->idle_ns && needed + s->idle_ns < until)
			until = needed + s->idle_ns;
		if (watchdog_ns && alive + watchdog_ns < until)
			until = alive + watchdog_ns;
		if (poll(&fd, 1, clock_poll_ms(until)) > 0) {
			if (!take_signal(s))
				return;
			continue;
		}
		if (clock_now() - trimmed >= TRIM_MS * CLOCK_MS) {
			malloc_trim(0);
			trimmed = clock_now();
		}
		int64_t since = idle_since(s, &requests);
		needed = since > needed ? since : needed;
		if (watchdog_ns && clock_now() - alive >= watchdog_ns) {
			if (s->http == NULL || mcp_http_alive(s->http))
				service_alive();
			else
				log_error("the HTTP thread does not respond: the watchdog will restart the daemon");
			alive = clock_now();
		}
		bool unneeded = s->idle_ns && clock_now() - needed >= s->idle_ns;
		if (unneeded && sockets_retire(s->sockets)) {
			log_info("ending: there was no client and no job for %lld s", (long long)(s->idle_ns / CLOCK_S));
			return;
		}
		if (unneeded)
			needed = clock_now(); /* a client came: wait as long again */
	}
}

static void stop(struct serve *s)
{
	struct err e = ERR_INIT;
	if (s->successor) {
		service_reloading();
		app_end(s->app);
		s->lent.inet = mcp_http_pause(s->http);
		s->lent.own = s->lent.own || s->lent.local == 0;
		s->lent.local = sockets_pause(s->sockets);
	} else {
		service_stopping();
		app_end(s->app);
		mcp_http_stop(s->http);
		sockets_stop(s->sockets);
	}
	app_free(s->app);
	s->lent.note = s->claim.note_fd;
	s->lent.database = s->claim.database_fd;
	if (s->successor && successor_become(s->successor, &s->lent, &e) < 0)
		log_error("serve: %s", e.text);
	/* The lock is released last, because no other daemon may open the database before. */
	store_unlock(&s->claim);
	if (s->signals >= 0)
		close(s->signals);
	free(s->socket);
	free(s->address);
	secrets_fini(&s->secrets);
	free(s->hosts);
	free(s->origins);
}

static int serve_run(const struct verb_line *line)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, MAPPED); /* else it rises to 32 MiB with the blocks that are freed */
	struct serve s = { .line = line, .claim = STORE_CLAIM_INIT, .signals = -1 };
	struct err e = ERR_INIT;
	if (verb_get(line, "log-level") == NULL)
		log_set_level(LOG_LEVEL_INFO);
	int rc = read_options(&s, &e);
	rc = rc < 0 ? rc : verb_validators(line, &e);
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

const struct verb serve_verb = { .name = "serve", .run = serve_run };
