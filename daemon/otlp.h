/* otlp: sends spans (core/workers/span.h) to a collector of OpenTelemetry, in the background: OTLP over HTTP, in JSON. Made by
 * app.c where the environment names a collector. */
#ifndef PEAKD_DAEMON_OTLP_H
#define PEAKD_DAEMON_OTLP_H

#include "core/workers/span.h"

struct otlp;

/* By $OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or $OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces behind it; NULL: neither is set. */
struct otlp *otlp_new(void);
/* NULL for NULL. Valid until otlp_free. */
const struct span_sink *otlp_sink(const struct otlp *otlp);
/* Sends what is left, for two seconds at most. NULL is fine. */
void otlp_free(struct otlp *take_otlp);

#endif
