/* app: see app.h. The constructor follows the order of dependence, and app_free the reverse. */
#include "daemon/app.h"
#include "daemon/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/judge/reference.h"
#include "core/workers/binaries.h"
#include "core/workers/remote.h"
#include "daemon/tools/tools.h"

enum { REFERENCES_MIB = 1024, BINARIES_MIB = 1024 };
#define CHECK_NS (5 * CLOCK_S) /* how long the start looks for damage */

enum { SLOW_THREADS = 2, SLOW_QUEUED = 64 };
#define LAST_CALLS_NS (10 * CLOCK_S) /* how long the end waits for running handlers */

static bool has_transforms(const char *folder)
{
	char *path = mem_fmt("%s/transforms", folder);
	bool has = access(path, R_OK | X_OK) == 0;
	free(path);
	return has;
}

char *app_share(void)
{
	static const char *const beside[] = { "/..", "/../share/peakd", "/../../share/peakd" };
	const char *set = getenv("PEAKD_SHARE");
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (set && *set)
		return mem_str(set);
	path[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < MEM_COUNT(beside); i++) {
		char *folder = mem_fmt("%s%s", path, beside[i]), *real;
		if (has_transforms(folder) && (real = realpath(folder, NULL)) != NULL) {
			free(folder);
			return real;
		}
		free(folder);
	}
	return mem_str("/usr/local/share/peakd");
}

static char *own_folder(const char *leaf)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	if (data && *data)
		return mem_fmt("%s/peakd/%s", data, leaf);
	return home && *home ? mem_fmt("%s/.local/share/peakd/%s", home, leaf) : NULL;
}

struct library *app_library(const char *share)
{
	char *own = own_folder("transforms"), *shipped = mem_fmt("%s/transforms", share);
	const char *folders[] = { own, shipped };
	struct library *all = library_new(folders, MEM_COUNT(folders));
	free(own);
	free(shipped);
	return all;
}

/* MiB from the environment. */
static uint64_t bytes_of(const char *variable, uint64_t mib)
{
	const char *set = getenv(variable);
	return (set && *set ? strtoull(set, NULL, 10) : mib) << 20;
}

struct binaries *app_binaries(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = cache && *cache ? mem_fmt("%s/peakd/binaries", cache)
		       : home && *home ? mem_fmt("%s/.cache/peakd/binaries", home)
				       : NULL;
	struct binaries *b = folder ? binaries_new(folder, bytes_of("PEAKD_BINARIES_MB", BINARIES_MIB)) : NULL;
	free(folder);
	return b;
}

/* The time limit of custom validators and evaluators; 0: the default. */
static int64_t external_seconds(void)
{
	const char *set = getenv("PEAKD_VALIDATOR_SECONDS");
	long long seconds = set ? strtoll(set, NULL, 10) : 0;
	return seconds > 0 && seconds <= 86400 ? seconds : 0;
}

static int add_models(struct app *app, const struct app_config *config, struct err *e)
{
	char *own = own_folder("recordings"), *shipped = mem_fmt("%s/examples/recordings", app->share);
	const char *folders[] = { own, shipped };
	app->work.models = models_new(folders, MEM_COUNT(folders));
	if (getenv("PEAKD_RECORD") && *getenv("PEAKD_RECORD"))
		models_record(app->work.models, getenv("PEAKD_RECORD"));
	free(own);
	free(shipped);
	return app_set_models(app, config->models, e);
}

int app_set_models(struct app *app, const char *const *models, struct err *e)
{
	const char *env = getenv("PEAKD_MODEL"), **all = NULL;
	size_t count = 0;
	if (env && *env)
		*MEM_PUSH(all, count) = env;
	for (; models && *models; models++)
		*MEM_PUSH(all, count) = *models;
	*MEM_PUSH(all, count) = NULL;
	int rc = models_replace(app->work.models, all, e);
	free(all);
	return rc < 0 ? err_wrap(e, "--model or PEAKD_MODEL") : 0;
}

/* Writing on a damaged database would spread the damage. */
static int check_pages(struct store *store, struct err *e)
{
	struct db *db = NULL;
	struct err why = ERR_INIT;
	int rc = store_take(store, &db, e);
	if (rc < 0)
		return rc;
	rc = store_check_pages(db, clock_now() + CHECK_NS, &why);
	store_give(db);
	if (rc != -ERR_TIMEOUT)
		return rc < 0 ? err_set(e, why.code, "%s", why.text) : 0;
	log_info("the database is too large to look for damage at each start: `peakd check` reads all of it");
	return 0;
}

/* PEAKD_REMOTE has them in a row, with spaces between. */
static int add_remotes(struct app *app, const char *const *named, struct err *e)
{
	char *text = mem_str(getenv("PEAKD_REMOTE") ? getenv("PEAKD_REMOTE") : ""), *rest = text, *word;
	const char **all = NULL;
	size_t count = 0;
	while ((word = strtok_r(rest, " ", &rest)))
		*MEM_PUSH(all, count) = word;
	for (; named && *named; named++)
		*MEM_PUSH(all, count) = *named;
	*MEM_PUSH(all, count) = NULL;
	int rc = remotes_new(all, &app->remotes, e);
	free(all);
	free(text);
	return rc < 0 ? err_wrap(e, "--remote or PEAKD_REMOTE") : 0;
}

static int fill(struct app *app, const struct app_config *config, struct err *e)
{
	struct pool_config pool = { 0 };
	int rc = store_open(config->db, &app->work.store, e);
	if (rc == 0)
		rc = check_pages(app->work.store, e);
	if (rc < 0)
		return rc;
	rc = add_remotes(app, config->remotes, e);
	if (rc < 0)
		return rc;
	pool.remotes = app->remotes;
	app->work.pool = pool_new(&pool);
	app->work.references = references_new(bytes_of("PEAKD_REFERENCES_MB", REFERENCES_MIB));
	app->work.binaries = app_binaries();
	app->work.library = app_library(app->share);
	app->work.external = (struct external_config){ .validators = getenv("PEAKD_VALIDATORS"),
						       .evaluators = getenv("PEAKD_EVALUATORS"),
						       .deadline_ns = external_seconds() * CLOCK_S };
	rc = add_models(app, config, e);
	if (rc < 0)
		return rc;
	struct engine_config engine = { .store = app->work.store,
					.pool = app->work.pool,
					.kinds = work_kinds,
					.user = &app->work,
					.spans = otlp_sink(app->otlp = otlp_new()),
					.threads = config->jobs,
					.later = config->later };
	rc = engine_new(&engine, &app->engine, e);
	if (rc == 0)
		rc = notify_new(app, &app->notify, e);
	if (rc == 0)
		rc = tools_server(app, config, &app->mcp, e);
	app->slow = mcp_pool_new(SLOW_THREADS, SLOW_QUEUED);
	return rc;
}

int app_new(const struct app_config *config, struct app **ret_app, struct err *e)
{
	struct app *app = MEM_NEW(struct app);
	app->share = config->share ? mem_str(config->share) : app_share();
	app->started_ms = clock_wall_ms();
	int rc = fill(app, config, e);
	if (rc < 0)
		app_free(app);
	else
		*ret_app = app;
	return rc;
}

void app_end(struct app *app)
{
	if (app == NULL)
		return;
	app->ending = true;
	engine_stop(app->engine);
	notify_hurry(app->notify);
}

/* Jobs end first, so that the calls waiting for them are answered. The transports are gone, so no new call comes; then the calls
 * end, and only after them what calls use. */
static void end_calls(struct app *app)
{
	int64_t deadline = clock_now() + LAST_CALLS_NS;
	app_end(app);
	while (app->mcp && mcp_server_stats(app->mcp).running > 0 && clock_now() < deadline)
		clock_sleep(5 * CLOCK_MS);
}

void app_free(struct app *app)
{
	if (app == NULL)
		return;
	end_calls(app);
	mcp_pool_free(app->slow);
	notify_free(app->notify);
	mcp_server_free(app->mcp);
	engine_free(app->engine);
	otlp_free(app->otlp);
	tools_free(app);
	models_free(app->work.models);
	library_free(app->work.library);
	references_free(app->work.references);
	binaries_free(app->work.binaries);
	pool_free(app->work.pool);
	remotes_free(app->remotes);
	store_close(app->work.store);
	free(app->share);
	free(app);
}
