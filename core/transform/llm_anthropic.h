/* llm_anthropic: the Anthropic wire format, /messages, version 2023-06-01 (Anthropic API reference). Exports
 * llm_anthropic_wire only. */
#ifndef PEAKD_CORE_TRANSFORM_LLM_ANTHROPIC_H
#define PEAKD_CORE_TRANSFORM_LLM_ANTHROPIC_H

#include "core/transform/llm_wire.h"

extern const struct llm_wire llm_anthropic_wire;

#endif
