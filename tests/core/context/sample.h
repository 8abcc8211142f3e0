/* sample: a small context for the tests of core/context, with places to put other text into. */
#ifndef PEAKD_TESTS_CORE_CONTEXT_SAMPLE_H
#define PEAKD_TESTS_CORE_CONTEXT_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/context.h"

#define SAMPLE_HOST "launch(\"k\", {cdiv(n,BX)}, {BX}, {A, C, n})\n"
#define SAMPLE_TUNE "tune:\n  BX: {16, 32}\n"

/* A context for `backend` with these further fields (whole lines, or "") and this host code. Owned by the caller. */
static inline char *sample_text(const char *backend, const char *fields, const char *host)
{
	return mem_fmt("---\nkernel: sample\nbackend: %s\ninputs:\n  n: int = {64, 128}\n  A: f32[n] = random\n  C: "
		       "out f32[n]\n%s---\n"
		       "```%s\nvoid k() {}\n```\n```lua host\n%s```\n",
		       backend, fields, backend, host);
}

/* The parsed context; ends the test program with the message when it does not parse. */
static inline struct context *sample_parse(const char *text)
{
	struct context *ctx = NULL;
	struct err e = ERR_INIT;
	if (context_parse("sample.peak.md", text, &ctx, &e) < 0) {
		printf("Bail out! %s\n", e.text);
		exit(1);
	}
	return ctx;
}

static inline struct context *sample_context(const char *backend, const char *fields, const char *host)
{
	char *text = sample_text(backend, fields, host);
	struct context *ctx = sample_parse(text);
	free(text);
	return ctx;
}

/* A device as an H100-class card would describe itself. */
static inline struct facts sample_facts(void)
{
	struct facts f = { .id = "cuda:0",
			   .backend = "cuda",
			   .name = "Sample",
			   .arch = "sm_90a",
			   .warp_size = 32,
			   .max_threads = 1024,
			   .shared_static = 49152,
			   .shared_optin = 232448,
			   .max_cluster = 8,
			   .units = 132 };
	return f;
}

#endif
