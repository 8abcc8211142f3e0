/* glslang: see glslang.h. The library comes without run-time types, so UBSan builds of this file need
 * -fno-sanitize=vptr. No exception leaves this file: glslang is built without them, and bad_alloc ends the process
 * as everywhere else. */
#include "backends/hlsl/glslang.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <glslang/Public/ShaderLang.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>

bool hlsl_glslang(const char *source, const char *entry, bool half, struct glslang_output *ret_output)
{
	const bool ready = glslang::InitializeProcess(); /* counts its callers: only the first one does anything */
	int flags = EShMsgReadHlsl | EShMsgSpvRules | EShMsgVulkanRules | EShMsgHlslLegalization;
	if (half)
		flags |= EShMsgHlslEnable16BitTypes;
	EShMessages messages = static_cast<EShMessages>(flags);
	glslang::TShader shader(EShLangCompute);
	glslang::TProgram program;
	shader.setStrings(&source, 1);
	shader.setEntryPoint(entry);
	shader.setSourceEntryPoint(entry);
	shader.setEnvInput(glslang::EShSourceHlsl, EShLangCompute, glslang::EShClientVulkan, 110);
	shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
	shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
	bool good = ready && shader.parse(GetDefaultResources(), 450, false, messages);
	if (good) {
		program.addShader(&shader); /* which must live as long as the program */
		good = program.link(messages) && program.mapIO();
	}
	std::string log = std::string(shader.getInfoLog()) + program.getInfoLog();
	std::vector<unsigned> words;
	if (good) {
		spv::SpvBuildLogger logger;
		glslang::SpvOptions options;
		options.disableOptimizer = false;
		glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &logger, &options);
		log += logger.getAllMessages();
		good = !words.empty();
	}
	*ret_output = glslang_output{ nullptr, 0, strdup(log.c_str()) };
	if (ret_output->log == nullptr)
		abort();
	if (!good)
		return false;
	ret_output->words = static_cast<uint32_t *>(malloc(words.size() * sizeof(uint32_t)));
	if (ret_output->words == nullptr)
		abort();
	memcpy(ret_output->words, words.data(), words.size() * sizeof(uint32_t));
	ret_output->word_count = words.size();
	return true;
}

const char *hlsl_glslang_name(void)
{
#define TEXT_OF(x) #x
#define NUMBER_TEXT(x) TEXT_OF(x)
	return "glslang " NUMBER_TEXT(GLSLANG_VERSION_MAJOR) "." NUMBER_TEXT(GLSLANG_VERSION_MINOR) "."
	       NUMBER_TEXT(GLSLANG_VERSION_PATCH);
}
