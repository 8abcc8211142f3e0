/* engine_span: what a job is a part of, for traces (core/workers/span.h). Called by engine.c when a job begins. */
#include <stdlib.h>

#include "core/jobs/engine.h"
#include "core/record/event.h"

void engine_span_begin(struct engine_job *job, const struct span_sink *sink, const char *kind)
{
	char *trace = NULL;
	struct err ignored = ERR_INIT;
	if (job->parent) {
		span_begin(&job->span, &job->parent->span, kind);
	} else {
		if (sink)
			event_trace(job->db, job->id, &trace, &ignored);
		span_root(&job->span, sink, trace, kind);
	}
	span_note(&job->span, "peakd.job", job->id);
	job->cancel.span = &job->span;
	free(trace);
}
