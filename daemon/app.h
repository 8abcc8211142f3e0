/* app: all parts of one daemon, wired together at the start. Tools get it as their user pointer. */
#ifndef PEAKD_DAEMON_APP_H
#define PEAKD_DAEMON_APP_H

#include <stdatomic.h>

#include "core/jobs/work.h"
#include "daemon/notify.h"
#include "mcp/pool.h"
#include "mcp/server.h"

struct app {
	struct work work; /* store, pool, references, library, models */
	struct engine *engine;
	struct notify *notify;
	struct otlp *otlp; /* NULL: nobody collects spans */
	struct mcp_server *mcp;
	struct mcp_pool *slow;   /* threads for calls that compute for seconds, so that they hold up no others */
	atomic_bool ending;      /* what computes for long gives up */
	struct mcp_tool *tools;  /* the server's table, made from daemon/tools */
	struct remotes *remotes; /* machines whose devices may be used */
	char *share;             /* folder with transforms/ and examples/ */
	int64_t started_ms;      /* wall clock */
};

struct app_config {
	const char *db;             /* path of the database */
	const char *share;          /* NULL: found from the binary's place */
	const char *const *models;  /* NULL-terminated specifications, see core/transform/models.h */
	const char *const *remotes; /* NULL-terminated, see core/workers/remote.h; those of PEAKD_REMOTE are added; NULL */
	unsigned jobs;              /* at once; 0: default */
	bool read_only;             /* offers only tools that change nothing */
	const char *const *sets;    /* toolsets to offer beside the tools that read; NULL-terminated; NULL: all */
	bool later;                 /* the database is a bundle's: see core/jobs/drain.h */
};

int app_new(const struct app_config *config, struct app **ret_app, struct err *e);
/* Before the transports end: interrupts the jobs, which the next daemon can resume, and answers the calls that wait for them. NULL
 * is allowed. */
void app_end(struct app *app);
/* After the transports have ended: app_end, then ends the workers and closes the database. NULL is allowed. */
void app_free(struct app *app);

/* The models of --model, NULL-terminated, and of PEAKD_MODEL, in place of those that there were. On an error nothing changes. */
int app_set_models(struct app *app, const char *const *models, struct err *e);

/* The folder of transforms/ and examples/: $PEAKD_SHARE, the folder above the binary's (a source tree), or PREFIX/share/peakd.
 * free(). */
char *app_share(void);
/* The user's own transformations and tools, then those of the share folder. library_free. */
struct library *app_library(const char *share);
/* The cache of compiled kernels in the user's cache folder; binaries_free. PEAKD_BINARIES_MB bounds it; NULL where that is 0, and
 * where the folder cannot be used. */
struct binaries *app_binaries(void);

#endif
