/* external_answer: see external_answer.h. */
#include "core/judge/external_answer.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "core/judge/sanitize.h"

enum { NAME_MAX_LEN = 40, UNIT_MAX = 16, TEXT_MAX = 500, SHOWN = 16, METRICS_MAX = 32, SOURCE_MAX = 200 };

static bool is_word(const char *text, size_t max, const char *also)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
		    !(text[i] >= '0' && text[i] <= '9') && strchr(also, text[i]) == NULL)
			return false;
	return len > 0 && len <= max;
}

int external_answer_name(const char *name, struct err *e)
{
	if (!is_word(name, NAME_MAX_LEN, "-_"))
		return err_set(e, ERR_INPUT,
			       "its file's name is not 1 to %d letters, digits, '-' and '_' before the first dot: rename it",
			       NAME_MAX_LEN);
	if (strcmp(name, "outputs") == 0 || sanitize_known(name))
		return err_set(e, ERR_INPUT, "peakd has a validator '%s' of its own: rename the file", name);
	return 0;
}

static int parse(const char *text, size_t len, json_t **ret_document, struct err *e)
{
	json_error_t where;
	json_t *document = json_loadb(text ? text : "", len, JSON_REJECT_DUPLICATES, &where);
	if (document == NULL)
		return err_set(e, ERR_INPUT, "its answer is not one JSON document: line %d: %s", where.line, where.text);
	if (!json_is_object(document)) {
		json_decref(document);
		return err_set(e, ERR_INPUT, "its answer is not a JSON object");
	}
	*ret_document = document;
	return 0;
}

/* A member as one line of bounded length; NULL when it is not a text or empty. free() */
static char *line_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (text == NULL || *text == '\0')
		return NULL;
	char *line = mem_str(text);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	utf8_cut(line, TEXT_MAX);
	return line;
}

/* --- validators ------------------------------------------------------------------------------------------------------------------
 */

static int add_finding(const json_t *finding, const struct context *ctx, struct buf *out, struct err *e)
{
	const char *named = json_string_value(json_object_get(finding, "region")), *region = named ? named : "device";
	json_int_t line = json_integer_value(json_object_get(finding, "line"));
	char *message = line_of(finding, "message"), *source = context_line(ctx, region, (long)line);
	if (source) {
		utf8_cut(source, SOURCE_MAX);
		buf_addf(out, "%s:%lld: %s\n    %s\n", region, (long long)line, message ? message : "", source);
	} else if (message) {
		buf_addf(out, "%s\n", message);
	}
	int rc = message ? 0 : err_set(e, ERR_INPUT, "a finding of its answer has no message");
	free(message);
	free(source);
	return rc;
}

static int read_findings(const json_t *findings, const struct context *ctx, struct external_answer *answer, struct err *e)
{
	struct buf out = BUF_INIT;
	int rc = findings && !json_is_array(findings) ? err_set(e, ERR_INPUT, "findings in its answer is not a list") : 0;
	size_t count = json_array_size(findings);
	for (size_t i = 0; rc == 0 && i < count && i < SHOWN; i++)
		rc = add_finding(json_array_get(findings, i), ctx, &out, e);
	if (rc == 0 && count > SHOWN)
		buf_addf(&out, "%zu more\n", count - SHOWN);
	if (rc == 0 && count)
		answer->details = buf_steal(&out);
	buf_fini(&out);
	return rc;
}

/* A verdict needs its grounds: a pass has none, a failure a reason or findings, a skip its reason. */
static int read_verdict(const json_t *document, struct external_answer *answer, struct err *e)
{
	const char *verdict = json_string_value(json_object_get(document, "verdict"));
	size_t found = json_array_size(json_object_get(document, "findings"));
	if (verdict == NULL)
		return err_set(e, ERR_INPUT, "its answer has no verdict (passed, failed or skipped)");
	if (strcmp(verdict, "passed") == 0) {
		answer->verdict = VALIDATION_PASSED;
		return found ? err_set(e, ERR_INPUT, "its answer says passed and has %zu findings", found) : 0;
	}
	answer->reason = line_of(document, "reason");
	if (strcmp(verdict, "failed") == 0) {
		answer->verdict = VALIDATION_FAILED;
		if (answer->reason == NULL && answer->details)
			answer->reason = mem_fmt("%zu finding%s; %.*s", found, found == 1 ? "" : "s",
						 (int)strcspn(answer->details, "\n"), answer->details);
	} else if (strcmp(verdict, "skipped") == 0) {
		answer->verdict = VALIDATION_SKIPPED;
	} else {
		return err_set(e, ERR_INPUT, "its answer's verdict is not passed, failed or skipped");
	}
	return answer->reason ? 0 : err_set(e, ERR_INPUT, "its answer says %s without a reason", verdict);
}

int external_answer_read(const char *text, size_t len, const struct context *ctx, struct external_answer *answer, struct err *e)
{
	json_t *document = NULL;
	int rc = parse(text, len, &document, e);
	if (rc == 0)
		rc = read_findings(json_object_get(document, "findings"), ctx, answer, e);
	if (rc == 0)
		rc = read_verdict(document, answer, e);
	json_decref(document);
	if (rc < 0) {
		free(answer->reason);
		free(answer->details);
		answer->reason = answer->details = NULL;
	}
	return rc;
}

/* --- evaluators ------------------------------------------------------------------------------------------------------------------
 */

static int add_metric(const json_t *metric, const char *evaluator, struct external_metrics *m, struct err *e)
{
	const char *name = json_string_value(json_object_get(metric, "name")),
		   *unit = json_string_value(json_object_get(metric, "unit"));
	const json_t *value = json_object_get(metric, "value");
	if (name == NULL || !is_word(name, NAME_MAX_LEN, "-_."))
		return err_set(e, ERR_INPUT, "a metric of its answer has no name of 1 to %d letters, digits, '.', '-' and '_'",
			       NAME_MAX_LEN);
	if (!json_is_number(value) || !isfinite(json_number_value(value)))
		return err_set(e, ERR_INPUT, "metric %s of its answer has no number as its value", name);
	if (unit && *unit && !is_word(unit, UNIT_MAX, "%/^*.-_ "))
		return err_set(e, ERR_INPUT, "metric %s of its answer has no unit of at most %d letters, digits and %%/^*.-_", name,
			       UNIT_MAX);
	*MEM_PUSH(m->at, m->count) = (struct external_metric){ .name = mem_fmt("%s.%s", evaluator, name),
							       .value = json_number_value(value),
							       .unit = mem_str(unit ? unit : "") };
	return 0;
}

int external_answer_metrics(const char *text, size_t len, const char *evaluator, struct external_metrics *io_metrics, struct err *e)
{
	json_t *document = NULL;
	struct external_metrics m = { .count = 0 };
	int rc = parse(text, len, &document, e);
	if (rc == 0) {
		const json_t *list = json_object_get(document, "metrics");
		size_t count = json_array_size(list);
		char *why = line_of(document, "skipped");
		rc = 0;
		if (why)
			rc = err_set(e, ERR_INPUT, "skipped: %s", why);
		else if (count == 0 || count > METRICS_MAX)
			rc = err_set(e, ERR_INPUT, "its answer has neither 1 to %d metrics nor why it was skipped", METRICS_MAX);
		for (size_t i = 0; rc == 0 && i < count; i++)
			rc = add_metric(json_array_get(list, i), evaluator, &m, e);
		free(why);
	}
	for (size_t i = 0; rc == 0 && i < m.count; i++)
		*MEM_PUSH(io_metrics->at, io_metrics->count) = m.at[i];
	if (rc == 0)
		m.count = 0;
	external_metrics_fini(&m);
	json_decref(document);
	return rc;
}
