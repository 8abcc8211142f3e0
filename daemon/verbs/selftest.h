/* selftest: `peakd selftest`: the adversarial suite, as far as this machine can run it. It needs no daemon and no database. */
#ifndef PEAKD_DAEMON_VERBS_SELFTEST_H
#define PEAKD_DAEMON_VERBS_SELFTEST_H

#include "daemon/verbs/verb.h"

extern const struct verb selftest_verb;

#endif
