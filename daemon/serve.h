/* serve: `peakd serve`, the daemon itself: one per database, on a Unix socket and, unless told otherwise, on HTTP. */
#ifndef PEAKD_DAEMON_SERVE_H
#define PEAKD_DAEMON_SERVE_H

#include "daemon/verbs/verb.h"

extern const struct verb serve_verb;

#endif
