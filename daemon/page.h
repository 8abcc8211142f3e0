/* page: the plain pages beside /mcp, for people, probes and monitoring. `user` is the daemon's struct app; all are quick. */
#ifndef PEAKD_DAEMON_PAGE_H
#define PEAKD_DAEMON_PAGE_H

#include "mcp/http.h"

/* What this is and how to connect to it. */
void page_home(void *user, struct mcp_http_page *page);
/* "ok" while the daemon answers. */
void page_health(void *user, struct mcp_http_page *page);
/* Prometheus' text format. */
void page_metrics(void *user, struct mcp_http_page *page);

#endif
