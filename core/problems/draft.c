/* draft: see draft.h. draft_read.py and draft.py, as one program, read the file and write the context; here its host code runs
 * once, at the file's own values, so that draft.py can compare the launches. */
#include "core/problems/draft.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/lex.h"
#include "base/mem.h"
#include "core/context/context.h"
#include "core/context/host.h"
#include "core/context/input.h"
#include "core/judge/oracle.h"
#include "core/workers/child.h"

#define READ_NS (30 * CLOCK_S)
#define READ_MEMORY ((size_t)2 << 30)

/* Nothing of the file is executed there, so no sandbox is needed. */
static int ask(const json_t *question, json_t **ret_answer, struct err *e)
{
	char *program = mem_fmt("%s%s", embedded_file("core/problems/draft_read.py"), embedded_file("core/problems/draft.py"));
	char *const argv[] = { (char *)oracle_python(), (char *)"-IBc", program, NULL };
	char *text = json_dumps(question, JSON_COMPACT | JSON_ENSURE_ASCII);
	struct buf out = BUF_INIT;
	int rc = child_filter(argv, &(struct child_input){ text, strlen(text) },
			      &(struct child_bounds){ .timeout_ns = READ_NS, .memory = READ_MEMORY }, &out, e);
	json_t *answer = rc == 0 ? json_loadb(out.data, out.len, 0, NULL) : NULL;
	if (rc < 0)
		rc = err_wrap(e, "files are read with Python (PEAKD_PYTHON)");
	else if (answer == NULL)
		rc = err_set(e, ERR_INTERNAL, "the answer of draft.py is not JSON");
	else if (json_object_get(answer, "error"))
		rc = err_set(e, ERR_INPUT, "%s", json_string_value(json_object_get(answer, "error")));
	if (rc < 0)
		json_decref(answer);
	else
		*ret_answer = answer;
	buf_fini(&out);
	free(text);
	free(program);
	return rc;
}

/* The words of the file that no input may be called. */
static json_t *taken_words(const char *source)
{
	json_t *words = json_array();
	enum lex_kind kind;
	for (size_t n; *source; source += n) {
		n = lex_c(source, &kind);
		char *word = kind == LEX_WORD ? mem_strn(source, n) : NULL;
		if (word && input_is_taken(word))
			json_array_append_new(words, json_string(word));
		free(word);
	}
	return words;
}

/* The file's own values, and the first declared value where the file has none. */
static int choose(const struct context *ctx, const json_t *own, struct params **ret_params, struct err *e)
{
	const struct spec *spec = context_spec(ctx);
	struct value *env = spec_env(spec, NULL, NULL);
	struct params *params = params_new();
	int rc = 0;
	for (size_t i = 0; i < spec->var_count && rc == 0; i++) {
		const struct spec_var *var = &spec->vars[i];
		const json_t *known = json_object_get(own, var->name);
		struct value *values = NULL, value = { .kind = VALUE_NONE };
		size_t count = 0;
		if (known)
			value = json_is_integer(known) ? value_of_int(json_integer_value(known))
						       : value_of_float(json_real_value(known));
		else if ((rc = expr_set_values(var->set, env, &values, &count, NULL, e)) == 0 && count == 0)
			rc = err_set(e, ERR_INPUT, "%s has no value", var->name);
		if (rc == 0)
			env[var->slot] = value_normal(count ? values[0] : value);
		free(values);
		if (rc == 0 && env[var->slot].kind == VALUE_INT)
			params_set_int(params, var->name, var->tuning, env[var->slot].i);
		else if (rc == 0)
			params_set_float(params, var->name, var->tuning, value_double(env[var->slot]));
	}
	free(env);
	if (rc == 0)
		*ret_params = params;
	else
		params_free(params);
	return rc;
}

static json_t *launch_json(const struct plan_launch *l)
{
	json_t *args = json_array();
	for (size_t i = 0; i < l->arg_count; i++) {
		const struct plan_arg *a = &l->args[i];
		/* Infinities are no numbers in JSON. */
		char *value = dtype_is_float(a->type) ? mem_fmt("%.17g", a->f) : mem_fmt("%lld", (long long)a->i);
		json_array_append_new(args, a->kind == PLAN_ARG_BUFFER ? json_pack("{s:I}", "buffer", (json_int_t)a->index)
					    : a->kind == PLAN_ARG_SCALAR
						    ? json_pack("{s:s, s:s}", "type", dtype_name(a->type), "value", value)
						    : json_object());
		free(value);
	}
	const uint32_t *g = l->grid, *b = l->block;
	return json_pack("{s:s, s:[III], s:[III], s:I, s:o}", "kernel", l->kernel, "grid", (json_int_t)g[0], (json_int_t)g[1],
			 (json_int_t)g[2], "block", (json_int_t)b[0], (json_int_t)b[1], (json_int_t)b[2], "shared",
			 (json_int_t)l->shared, "args", args);
}

static json_t *plan_json(const struct plan *plan, const struct params *params)
{
	char *at = params_text(params);
	json_t *ops = json_array(), *buffers = json_array(), *values = json_object();
	for (size_t i = 0; i < plan->op_count; i++)
		json_array_append_new(ops, plan->ops[i].kind == PLAN_OP_LAUNCH ? launch_json(&plan->ops[i].launch) : json_null());
	for (size_t i = 0; i < plan->buffer_count; i++)
		json_array_append_new(buffers, json_pack("[s, I]", plan->buffers[i].name ? plan->buffers[i].name : "",
							 (json_int_t)plan->buffers[i].bytes));
	for (size_t i = 0; i < params->count; i++) {
		struct buf text = BUF_INIT;
		param_value(&params->at[i], &text);
		json_object_set_new(values, params->at[i].name, json_string(buf_text(&text)));
		buf_fini(&text);
	}
	json_t *all = json_pack("{s:s, s:o, s:o, s:o}", "at", at, "params", values, "ops", ops, "buffers", buffers);
	free(at);
	return all;
}

/* Runs the host code of a draft without questions and adds what it launches, or why it does not run. */
static void add_plan(const json_t *answer, json_t *question)
{
	struct context *ctx = NULL;
	struct params *params = NULL;
	struct plan *plan = NULL;
	struct err e = ERR_INIT;
	int rc = context_parse("draft", json_string_value(json_object_get(answer, "text")), &ctx, &e);
	if (rc == 0)
		rc = host_check(ctx, &e);
	if (rc == 0)
		rc = choose(ctx, json_object_get(answer, "own"), &params, &e);
	if (rc == 0)
		rc = host_run(ctx, params, NULL, &plan, &e);
	if (rc == 0)
		json_object_set_new(question, "plan", plan_json(plan, params));
	else
		json_object_set_new(question, "refused", json_string(e.text));
	plan_free(plan);
	params_free(params);
	context_free(ctx);
}

static char **texts_of(const json_t *list, size_t *ret_count)
{
	char **texts = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		*MEM_PUSH(texts, *ret_count) = mem_str(json_string_value(json_array_get(list, i)));
	return texts;
}

int draft_make(const char *source, const char *backend, const char *const *declared, size_t declared_count, struct draft *ret_draft,
	       struct err *e)
{
	json_t *lines = json_array(), *answer = NULL, *compared = NULL;
	for (size_t i = 0; i < declared_count; i++)
		json_array_append_new(lines, json_string(declared[i]));
	json_t *question = json_pack("{s:s, s:s, s:o, s:o}", "source", source, "backend", backend, "declared", lines, "taken",
				     taken_words(source));
	int rc = question ? ask(question, &answer, e) : err_set(e, ERR_INPUT, "the file is not UTF-8 text");
	if (rc == 0 && json_array_size(json_object_get(answer, "questions")) == 0) {
		add_plan(answer, question);
		rc = ask(question, &compared, e);
	}
	if (rc == 0) {
		const json_t *a = compared ? compared : answer;
		*ret_draft = (struct draft){ .text = mem_str(json_string_value(json_object_get(a, "text"))) };
		ret_draft->questions = texts_of(json_object_get(a, "questions"), &ret_draft->question_count);
		ret_draft->notes = texts_of(json_object_get(a, "notes"), &ret_draft->note_count);
	}
	json_decref(question);
	json_decref(answer);
	json_decref(compared);
	return rc;
}

void draft_fini(struct draft *d)
{
	mem_free_texts(d->questions, d->question_count);
	mem_free_texts(d->notes, d->note_count);
	free(d->text);
	*d = (struct draft){ 0 };
}
