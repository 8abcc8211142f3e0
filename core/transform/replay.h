/* replay: a model whose answers are recordings, and the writing of recordings. One exchange is one Markdown file that
 * people can read and compare (format: docs/transformations.md), matched by model_key; different words of the prompt are
 * noted in the answer, never refused. A whole study may be one compressed file. */
#ifndef PEAKD_CORE_TRANSFORM_REPLAY_H
#define PEAKD_CORE_TRANSFORM_REPLAY_H

#include <stddef.h>

#include "base/err.h"
#include "core/transform/model.h"

struct replay;
/* Recordings of one independent try, from 1: every *.md of a folder (of try-N below it for N > 1), or those of that try
 * in a compressed file (bench/recordings.py). -ERR_NOT_FOUND when there are none, -ERR_INPUT naming the recording that is
 * bad or answers a question twice. */
int replay_new(const char *path, unsigned attempt, struct replay **ret_replay, struct err *e);
void replay_free(struct replay *r);
/* Asking for what was not recorded fails with ERR_NOT_FOUND, saying which of context, pass, step, attempt differs. */
const struct model *replay_model(struct replay *r);
size_t replay_count(const struct replay *r);

/* Writes one exchange to FOLDER/TRANSFORMATION-PASS-STEP-ATTEMPT-CONTEXT8.md, replacing one of the same key; makes
 * the folder. Written whole, then renamed. */
int replay_record(const char *folder, const struct model_request *request, const struct model_answer *answer, struct err *e);

/* A model that asks `inner` and records every answer in the folder; a question that is recorded there in the same words is
 * answered from it, so that an interrupted study resumes where it ended. `inner` is borrowed. */
struct replay_recorder;
struct replay_recorder *replay_recorder_new(const struct model *inner, const char *folder, unsigned attempt);
void replay_recorder_free(struct replay_recorder *r);
const struct model *replay_recorder_model(struct replay_recorder *r);

#endif
