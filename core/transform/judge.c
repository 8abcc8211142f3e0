/* judge: findings as data; see judge.h. */
#include "core/transform/judge.h"

#include <stdlib.h>

#include "base/mem.h"

void judge_verdict_fini(struct judge_verdict *v)
{
	for (size_t i = 0; i < v->error_count; i++)
		free(v->errors[i].text);
	for (size_t i = 0; i < v->mismatch_count; i++)
		free(v->mismatches[i].output);
	for (size_t i = 0; i < v->config_count; i++) {
		free(v->configs[i].params);
		free(v->configs[i].why);
	}
	mem_free_texts(v->hints, v->hint_count);
	free(v->errors);
	free(v->mismatches);
	free(v->configs);
	free(v->summary);
	free(v->params);
	free(v->log);
	*v = (struct judge_verdict)JUDGE_VERDICT_INIT;
}

void judge_verdict_error(struct judge_verdict *v, enum region region, unsigned line, const char *text)
{
	if (v->error_count < JUDGE_LIST_MAX)
		*MEM_PUSH(v->errors, v->error_count) =
			(struct judge_error){ .region = region, .line = line, .text = mem_str(text) };
}

void judge_verdict_mismatch(struct judge_verdict *v, const char *output, int64_t row, int64_t column, double got, double want)
{
	if (v->mismatch_count < JUDGE_LIST_MAX)
		*MEM_PUSH(v->mismatches, v->mismatch_count) = (struct judge_mismatch){
			.output = mem_str(output), .row = row, .column = column, .got = got, .want = want
		};
}

void judge_verdict_config(struct judge_verdict *v, const char *params, bool passed, const char *why)
{
	if (v->config_count < JUDGE_LIST_MAX)
		*MEM_PUSH(v->configs, v->config_count) =
			(struct judge_config){ .params = mem_str(params), .passed = passed, .why = mem_str(why) };
}

void judge_verdict_hint(struct judge_verdict *v, const char *text)
{
	if (v->hint_count < JUDGE_LIST_MAX)
		*MEM_PUSH(v->hints, v->hint_count) = mem_str(text);
}

const char *judge_result_name(enum judge_result r)
{
	switch (r) {
	case JUDGE_PASS: return "pass";
	case JUDGE_COMPILE: return "compile";
	case JUDGE_WRONG: return "wrong";
	case JUDGE_CRASH: return "crash";
	case JUDGE_NARROW: return "narrow";
	}
	return "?";
}
