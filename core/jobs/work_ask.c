/* work_ask: see work.h. */
#include "core/jobs/work.h"

#include <string.h>

#include "base/mem.h"
#include "core/record/exchange.h"

static int record(struct engine_job *job, const struct work_question *q, const struct model_answer *answer, const char *provider,
		  struct err *e)
{
	struct buf prompt = BUF_INIT;
	prompt_render(q->prompt, &prompt);
	struct exchange row = { .key = { q->about.hex, q->name, 1, "device", (int)q->attempt },
				.model = answer->model ? answer->model : "",
				.provider = provider,
				.prompt = buf_text(&prompt),
				.reply = answer->text,
				.finish = reply_finish_name(answer->finish),
				.tokens_in = answer->prompt_tokens ? (int64_t)answer->prompt_tokens : -1,
				.tokens_out = answer->output_tokens ? (int64_t)answer->output_tokens : -1,
				.tokens_cached = answer->cached_tokens ? (int64_t)answer->cached_tokens : -1,
				.latency_ms = (int64_t)answer->elapsed_ms,
				.job = job->id };
	int rc = exchange_add(job->db, &row, e);
	buf_fini(&prompt);
	return rc;
}

int work_ask(struct engine_job *job, const struct work_question *q, char **ret_answer, struct work_asked *io_asked, struct err *e)
{
	struct models_open open = { 0 };
	struct model_answer answer = { .text = NULL };
	struct model_request request = { .prompt = q->prompt,
					 .key = { .context = q->about, .pass = 1, .step = 1, .attempt = q->attempt },
					 .cancel = &job->cancel.asked };
	strncpy(request.key.transformation, q->name, sizeof request.key.transformation - 1);
	int rc = work_open_model(job, q->model, 1, &open, e);
	if (rc == 0)
		rc = open.model->ask(open.model->arg, &request, &answer, e);
	if (rc == 0)
		rc = record(job, q, &answer, open.model->name, e);
	if (rc == 0) {
		io_asked->calls++;
		io_asked->tokens_in += (int64_t)answer.prompt_tokens;
		io_asked->tokens_out += (int64_t)answer.output_tokens;
		*ret_answer = mem_str(answer.text);
	}
	model_answer_fini(&answer);
	models_close(&open);
	return rc;
}
