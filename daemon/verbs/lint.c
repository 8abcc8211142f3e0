/* lint: `peakd lint FILE…`: what can be known to be wrong with a context or a transformation without a daemon, a compiler or a
 * device. For editors and hooks: a mistake is FILE:LINE: MESSAGE on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/context/domain.h"
#include "core/transform/transformation.h"
#include "daemon/verbs/run_setup.h"
#include "daemon/verbs/verbs.h"

static int lint_context(const char *path, const char *text, char **ret_said, struct err *e)
{
	struct context *ctx = NULL;
	struct space *space = NULL;
	size_t good;
	int rc = context_parse(path, text, &ctx, e);
	if (rc == 0)
		rc = domain_try(ctx, text, NULL, &good, e);
	if (rc == 0)
		rc = space_new(ctx, NULL, NULL, &space, e);
	if (rc == 0)
		rc = domain_try(ctx, text, space, &good, e);
	if (rc == 0)
		*ret_said = mem_fmt("%s for %s, %zu execution parameters over %zu input size%s", context_kernel(ctx),
				    context_backend(ctx), space_count(space), space_size_count(space),
				    space_size_count(space) == 1 ? "" : "s");
	space_free(space);
	context_free(ctx);
	return rc;
}

static int lint_transformation(const char *path, const char *text, char **ret_said, struct err *e)
{
	struct transformation *t = NULL;
	int rc = transformation_parse(text, path, &t, e);
	if (rc == 0)
		*ret_said = mem_fmt("transformation %s, %zu pass%s", t->name, t->pass_count, t->pass_count == 1 ? "" : "es");
	transformation_free(t);
	return rc;
}

static int lint_run(const struct verb_line *line)
{
	int status = VERB_OK;
	json_t *files = json_array();
	for (size_t i = 0; i < line->word_count; i++) {
		const char *path = line->words[i];
		char *text = NULL, *said = NULL;
		struct err e = ERR_INIT;
		int rc = run_setup_read(path, &text, &e);
		/* A transformation has passes; all else is taken for a context. */
		if (rc == 0)
			rc = strstr(text, "\n## Pass ") ? lint_transformation(path, text, &said, &e)
							: lint_context(path, text, &said, &e);
		if (rc < 0)
			fprintf(stderr, "%s\n", e.text);
		else if (!verb_get(line, "json"))
			printf("%s: %s\n", path, said);
		json_array_append_new(
			files, json_pack("{s:s, s:b, s:s}", "file", path, "good", rc == 0, "message", rc < 0 ? e.text : said));
		status = rc < 0 ? VERB_FAILED : status;
		free(said);
		free(text);
	}
	int printed = verbs_answer(line, json_pack("{s:o}", "files", files), "%s", "");
	return status ? status : printed;
}

const struct verb lint_verb = { .name = "lint", .run = lint_run };
