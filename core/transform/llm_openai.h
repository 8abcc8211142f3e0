/* llm_openai: the OpenAI-compatible wire format, /chat/completions (OpenAI API reference; spoken by llama.cpp, vLLM,
 * Ollama and most gateways). Exports llm_openai_wire only. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_OPENAI_H
#define PEAKD_CORE_TRANSFORM_LLM_OPENAI_H

#include "core/transform/llm_wire.h"

extern const struct llm_wire llm_openai_wire;

#endif
