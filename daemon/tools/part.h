/* part: one aspect of a checkpoint as text: for the tool read and for the resources. */
#ifndef PEAKD_DAEMON_TOOLS_PART_H
#define PEAKD_DAEMON_TOOLS_PART_H

#include <stdint.h>

#include "core/record/store.h"

/* what: source, device, host, macros, best (its winning parameters as macros), tuning (what its newest tune
 * says beyond the winner: core/tune/insight), measurements (CSV), t4 (the same in the auto-tuning community's
 * JSON), validations (CSV), exchanges. *ret_text: free(). -ERR_INPUT for another word. */
int part_text(struct db *db, int64_t checkpoint, const char *what, char **ret_text, struct err *e);

#endif
