/* stdio: one message a line over two descriptors: standard input and output, or both ends of one socket. */
#ifndef PEAKD_MCP_STDIO_H
#define PEAKD_MCP_STDIO_H

#include "base/err.h"
#include "mcp/server.h"

/* Serves one client until in_fd ends; then calls in flight are given two seconds to finish, are cancelled and waited
 * for. Several may run at once on one server, on different descriptors. Neither descriptor is closed; writes to out_fd
 * never raise SIGPIPE. Returns 0 at the end of the input; fails when in_fd cannot be read. */
int mcp_stdio_run(struct mcp_server *server, int in_fd, int out_fd, struct err *e);

#endif
