/* pages: see pages.h. Figures come as rows (name, labels, value) from SQL and from this process; one table says what each name
 * means, in the order of the page. Prometheus text format 0.0.4. The page at / is the files of daemon/page/, which speak MCP to
 * /mcp. */
#include "daemon/pages.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/mem.h"
#include "core/judge/reference.h"
#include "core/record/job.h"
#include "core/record/metric.h"
#include "core/workers/pool.h"
#include "daemon/app.h"

/* Less free space than this fails the probe, while there is still room to stop in order. */
enum { FREE_MIN_MIB = 64 };

/* --- / ---------------------------------------------------------------------------------------------------------------------- */

static const char *const scripts[] = { "base", "charts", "views", "main" };

static void add_script(struct buf *out)
{
	for (size_t i = 0; i < MEM_COUNT(scripts); i++) {
		char path[64];
		snprintf(path, sizeof path, "daemon/page/%s.js", scripts[i]);
		buf_adds(out, embedded_file(path));
	}
}

static void page_home(void *user, struct mcp_http_page *page)
{
	(void)user;
	page->content_type = "text/html; charset=utf-8";
	page->policy =
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'";
	buf_adds(&page->body, embedded_file("daemon/page/index.html"));
}

static void page_style(void *user, struct mcp_http_page *page)
{
	(void)user;
	page->content_type = "text/css; charset=utf-8";
	buf_adds(&page->body, embedded_file("daemon/page/page.css"));
}

static void page_script(void *user, struct mcp_http_page *page)
{
	(void)user;
	page->content_type = "text/javascript; charset=utf-8";
	add_script(&page->body);
}

/* Style and script stand where the two files were named. A file has no headers, so its policy is an element. */
void pages_whole(const char *data, struct buf *out)
{
	static const char style[] = "<link rel=\"stylesheet\" href=\"page.css\">\n",
			  script[] = "<script src=\"page.js\" defer></script>\n", body_end[] = "</body>";
	const char *html = embedded_file("daemon/page/index.html"), *at = strstr(html, style), *end = strstr(html, body_end);
	buf_add(out, html, (size_t)(at - html));
	buf_addf(out,
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
		 "script-src 'unsafe-inline'; img-src data:\">\n<style>\n%s</style>\n",
		 embedded_file("daemon/page/page.css"));
	at = strstr(at, script) + sizeof script - 1;
	buf_add(out, at, (size_t)(end - at));
	if (data)
		buf_adds(out, "<script type=\"application/json\" id=\"data\">");
	for (const char *c = data; c && *c; c++)
		buf_addf(out, *c == '<' ? "\\u003c" : "%c", *c);
	if (data)
		buf_adds(out, "</script>\n");
	buf_adds(out, "<script>\n");
	add_script(out);
	buf_addf(out, "</script>\n%s", end);
}

/* --- /healthz --------------------------------------------------------------------------------------------------------------- */

/* Free bytes for the database; negative and why when it cannot be written. A write itself is not tried: a probe that waits for the
 * disk holds up every client. */
static int64_t free_bytes(const char *path, struct err *e)
{
	struct statvfs fs;
	if (access(path, R_OK | W_OK) < 0 || statvfs(path, &fs) < 0)
		return err_set(e, ERR_IO, "the database file is gone or not writable");
	if (fs.f_flag & ST_RDONLY)
		return err_set(e, ERR_IO, "the database's file system is read-only");
	int64_t free = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	if (free >> 20 < FREE_MIN_MIB)
		return err_set(e, ERR_IO, "only %lld MiB are free for the database", (long long)(free >> 20));
	return free;
}

static void page_health(void *user, struct mcp_http_page *page)
{
	struct app *app = user;
	struct job_counts jobs = { 0 };
	struct pool_figures workers = { 0 };
	struct err e = ERR_INIT;
	struct db *db = NULL;
	int64_t free = free_bytes(store_path(app->work.store), &e);
	int rc = free < 0 ? (int)free : store_take(app->work.store, &db, &e);
	if (rc >= 0)
		rc = job_count(db, clock_wall_ms() - 24 * 3600 * 1000LL, &jobs, &e);
	store_give(db);
	bool damaged = store_damaged(app->work.store);
	pool_figures(app->work.pool, &workers, NULL, NULL);
	page->status = rc < 0 || damaged ? 503 : 200;
	/* The probe needs no token, so it tells neither paths nor names. */
	if (damaged)
		buf_adds(&page->body, "failing\ndatabase: damaged; `peakd check` says where\n");
	else if (rc < 0)
		buf_addf(&page->body, "failing\ndatabase: %s\n", free < 0 ? e.text : "cannot be read");
	else
		buf_addf(&page->body, "ok\ndatabase: readable and writable, %lld MiB free\n", (long long)(free >> 20));
	buf_addf(&page->body, "workers: %u alive, %lu started, %lu lost\n", workers.alive, workers.started, workers.lost);
	if (rc >= 0)
		buf_addf(&page->body, "jobs: %lld running, %lld queued, %lld interrupted; of the last day: %lld failed\n",
			 (long long)jobs.running, (long long)jobs.queued, (long long)jobs.interrupted, (long long)jobs.failed);
}

/* --- /metrics --------------------------------------------------------------------------------------------------------------- */

/* Every figure, in the order of the page. Those of the record come from the query metric_totals. */
static const struct family {
	const char *name, *type, *help;
} families[] = {
	{ "peakd_uptime_seconds", "gauge", "Seconds since the start." },
	{ "peakd_jobs", "gauge", "Jobs that run or wait in this daemon." },
	{ "peakd_job_records", "gauge", "Jobs in the database by kind and state." },
	{ "peakd_job_failures", "gauge", "Failed jobs in the database by kind and error code." },
	{ "peakd_queue_seconds", "gauge", "Age of the oldest queued job." },
	{ "peakd_job_seconds", "counter", "Seconds that ended jobs ran, by kind." },
	{ "peakd_device_seconds", "counter", "Seconds for which ended jobs held a device, by kind." },
	{ "peakd_device_leased", "gauge", "1 while a job holds the device." },
	{ "peakd_device_waiting", "gauge", "Jobs that wait for the device." },
	{ "peakd_workers", "gauge", "Worker processes alive." },
	{ "peakd_workers_started_total", "counter", "Worker processes started." },
	{ "peakd_workers_lost_total", "counter", "Worker processes that crashed, hung or were killed during a call." },
	{ "peakd_model_calls", "counter", "Exchanges with models by provider and outcome." },
	{ "peakd_model_tokens", "counter", "Tokens by provider and direction; cached ones count as input too." },
	{ "peakd_model_seconds", "counter", "Seconds that models took to answer." },
	{ "peakd_model_cost", "counter", "Cost of searches with optimize, in the unit of their prices." },
	{ "peakd_verdicts", "counter", "Validations by validator, kind of size and verdict." },
	{ "peakd_configurations", "counter", "Configurations tried, by what became of them." },
	{ "peakd_checkpoints", "gauge", "Checkpoints by status." },
	{ "peakd_workflows", "gauge", "Workflows." },
	{ "peakd_database_bytes", "gauge", "Size of the database without its log." },
	{ "peakd_reference_bytes", "gauge", "Memory that cached reference outputs take." },
	{ "peakd_reference_limit_bytes", "gauge", "The most that they may take (PEAKD_REFERENCES_MB)." },
	{ "peakd_mcp_calls", "gauge", "Calls that are being answered." },
	{ "peakd_mcp_sessions", "gauge", "Sessions of clients of the older protocol." },
	{ "peakd_mcp_requests_total", "counter", "Requests received." },
	{ "peakd_mcp_errors_total", "counter", "Requests answered with a protocol error." },
	{ "peakd_mcp_cancelled_total", "counter", "Calls cancelled." },
	{ "process_resident_memory_bytes", "gauge", "Resident memory of the daemon, without its workers." },
	{ "process_open_fds", "gauge", "Open file descriptors." },
	{ "process_max_fds", "gauge", "The most file descriptors that may be open." },
	{ "process_cpu_seconds_total", "counter", "User and system CPU time." },
};

static void add(struct metric_total_list *all, const char *name, double value)
{
	*MEM_PUSH(all->at, all->count) = (struct metric_total){ .name = mem_str(name), .labels = mem_str(""), .value = value };
}

static void add_device(void *arg, const char *device, bool leased, unsigned waiting)
{
	struct metric_total_list *all = arg;
	const struct metric_total rows[] = { { .name = "peakd_device_leased", .value = leased },
					     { .name = "peakd_device_waiting", .value = waiting } };
	for (size_t i = 0; i < MEM_COUNT(rows); i++)
		*MEM_PUSH(all->at, all->count) = (struct metric_total){ .name = mem_str(rows[i].name),
									.labels = mem_fmt("device=\"%s\"", device),
									.value = rows[i].value };
}

static unsigned open_files(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n > 3 ? n - 3 : 0; /* ".", "..", and the folder itself */
}

static double resident_bytes(void)
{
	long long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%lld %lld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* What is true of this process. */
static void add_live(struct app *app, struct metric_total_list *all)
{
	struct mcp_server_stats mcp = mcp_server_stats(app->mcp);
	struct pool_figures workers;
	struct rlimit files = { .rlim_cur = 0 };
	struct rusage used = { .ru_maxrss = 0 };
	size_t limit;
	pool_figures(app->work.pool, &workers, add_device, all);
	getrlimit(RLIMIT_NOFILE, &files);
	getrusage(RUSAGE_SELF, &used);
	add(all, "peakd_uptime_seconds", (double)(clock_wall_ms() - app->started_ms) / 1e3);
	add(all, "peakd_jobs", engine_busy(app->engine));
	add(all, "peakd_workers", workers.alive);
	add(all, "peakd_workers_started_total", (double)workers.started);
	add(all, "peakd_workers_lost_total", (double)workers.lost);
	add(all, "peakd_reference_bytes", (double)references_bytes(app->work.references, &limit));
	add(all, "peakd_reference_limit_bytes", (double)limit);
	add(all, "peakd_mcp_calls", (double)mcp.running);
	add(all, "peakd_mcp_sessions", (double)mcp.sessions);
	add(all, "peakd_mcp_requests_total", (double)mcp.requests);
	add(all, "peakd_mcp_errors_total", (double)mcp.errors);
	add(all, "peakd_mcp_cancelled_total", (double)mcp.cancelled);
	add(all, "process_resident_memory_bytes", resident_bytes());
	add(all, "process_open_fds", open_files());
	add(all, "process_max_fds", (double)files.rlim_cur);
	add(all, "process_cpu_seconds_total", seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
}

static void page_metrics(void *user, struct mcp_http_page *page)
{
	struct app *app = user;
	struct metric_total_list all = { .count = 0 };
	struct err e = ERR_INIT;
	struct db *db = NULL;
	page->content_type = "text/plain; version=0.0.4; charset=utf-8";
	int rc = store_take(app->work.store, &db, &e);
	if (rc >= 0)
		rc = metric_totals(db, clock_wall_ms(), &all, &e);
	store_give(db);
	if (rc < 0) /* the rest still helps whoever looks for the reason */
		buf_addf(&page->body, "# the record cannot be read: %.*s\n", (int)strcspn(e.text, "\n"), e.text);
	add_live(app, &all);
	for (size_t f = 0; f < MEM_COUNT(families); f++) {
		const struct family *family = &families[f];
		buf_addf(&page->body, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name, family->type);
		for (size_t i = 0; i < all.count; i++) {
			const struct metric_total *t = &all.at[i];
			if (strcmp(t->name, family->name) == 0)
				buf_addf(&page->body, *t->labels ? "%s{%s} %.15g\n" : "%s%s %.15g\n", t->name, t->labels, t->value);
		}
	}
	metric_total_list_fini(&all);
}

const struct mcp_http_plain pages_table[] = {
	{ "/", page_home, 1 },          { "/page.css", page_style, 1 },  { "/page.js", page_script, 1 },
	{ "/healthz", page_health, 1 }, { "/metrics", page_metrics, 0 }, { NULL, NULL, 0 },
};
