/* page: the plain pages; see page.h. */
#include "daemon/page.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/jobs/engine.h"
#include "daemon/app.h"

void page_home(void *user, struct mcp_http_page *page)
{
	const struct app *app = user;
	char since[32];
	page->content_type = "text/html; charset=utf-8";
	buf_addf(&page->body,
	         "<!doctype html>\n<title>peakd</title>\n<h1>peakd %s</h1>\n"
	         "<p>Makes GPU kernels faster together with a language model; serving since %s.</p>\n"
	         "<p>MCP is at <code>/mcp</code> (Streamable HTTP): give this address to an MCP client, or let it start "
	         "<code>peakd stdio</code>.</p>\n"
	         "<p><a href=\"/metrics\">/metrics</a> has figures, <a href=\"/healthz\">/healthz</a> is for probes. "
	         "<code>peakd help</code> lists the commands.</p>\n",
	         PEAKD_VERSION, clock_iso(app->started_ms, since));
}

void page_health(void *user, struct mcp_http_page *page)
{
	(void)user;
	buf_adds(&page->body, "ok\n");
}

static void figure(struct buf *out, const char *name, const char *type, const char *help, double value)
{
	buf_addf(out, "# HELP peakd_%s %s\n# TYPE peakd_%s %s\npeakd_%s %.15g\n", name, help, name, type, name, value);
}

void page_metrics(void *user, struct mcp_http_page *page)
{
	struct app *app = user;
	struct mcp_server_stats stats = mcp_server_stats(app->mcp);
	struct buf *out = &page->body;
	page->content_type = "text/plain; version=0.0.4; charset=utf-8";
	figure(out, "uptime_seconds", "gauge", "Seconds since the start.", (double)(clock_wall_ms() - app->started_ms) / 1e3);
	figure(out, "jobs", "gauge", "Jobs that run or wait.", engine_busy(app->engine));
	figure(out, "mcp_calls", "gauge", "Calls that are being answered.", (double)stats.running);
	figure(out, "mcp_sessions", "gauge", "Sessions of clients of the older protocol.", (double)stats.sessions);
	figure(out, "mcp_requests_total", "counter", "Requests received.", (double)stats.requests);
	figure(out, "mcp_errors_total", "counter", "Requests answered with a protocol error.", (double)stats.errors);
	figure(out, "mcp_cancelled_total", "counter", "Calls cancelled.", (double)stats.cancelled);
}
