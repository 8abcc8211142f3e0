/* work_ask: see work.h. */
#include "core/jobs/work.h"

#include <string.h>

#include "base/mem.h"
#include "core/record/exchange.h"

int work_record_exchange(struct engine_job *job, const struct model_request *request, const struct model_answer *answer,
			 struct exchange *row, struct err *e)
{
	struct buf prompt = BUF_INIT;
	prompt_render(request->prompt, &prompt);
	row->key.context = request->key.context.hex;
	row->key.transformation = request->key.transformation;
	row->key.pass = (int)request->key.pass;
	row->key.attempt = (int)request->key.attempt;
	row->model = answer->model ? answer->model : "";
	row->prompt = buf_text(&prompt);
	row->reply = answer->text;
	row->finish = reply_finish_name(answer->finish);
	row->tokens_in = answer->prompt_tokens ? (int64_t)answer->prompt_tokens : -1;
	row->tokens_out = answer->output_tokens ? (int64_t)answer->output_tokens : -1;
	row->tokens_cached = answer->cached_tokens ? (int64_t)answer->cached_tokens : -1;
	row->latency_ms = (int64_t)answer->elapsed_ms;
	row->job = job->id;
	int rc = exchange_add(job->db, row, e);
	buf_fini(&prompt);
	return rc < 0 ? rc : 0;
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
	struct exchange row = { .key = { .step = "device" }, .provider = rc == 0 ? open.model->name : NULL };
	if (rc == 0)
		rc = work_record_exchange(job, &request, &answer, &row, e);
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
