/* A transformation's file, its front matter alone, and the same text as a sentence. */
#include "base/front_matter.h"
#include "core/transform/transformation.h"
#include "fuzz/fuzz.h"

static const char *const backends[] = { "cuda", "hlsl" };

static void use(const struct transformation *t)
{
	static const char *const applied[] = { "refactor" };
	struct err e = ERR_INIT;
	assert(t->pass_count > 0 && *t->name);
	for (size_t b = 0; b < MEM_COUNT(backends); b++) {
		transformation_calls(t, backends[b]);
		transformation_check(t, backends[b], applied, MEM_COUNT(applied), &e);
		for (size_t p = 0; p < t->pass_count; p++) {
			const struct transformation_pass *pass = &t->passes[p];
			assert(pass->step_count >= 1 && pass->step_count <= REGION_COUNT);
			for (size_t s = 0; s < pass->step_count; s++) {
				transformation_insert_for(&pass->steps[s], backends[b]);
				free(transformation_text_for(pass->steps[s].text, backends[b]));
			}
		}
	}
}

static void parse(const char *text)
{
	struct transformation *t = NULL, *again = NULL;
	struct err e = ERR_INIT;
	if (transformation_parse(text, "fuzz.md", &t, &e) < 0) {
		assert(e.code == ERR_INPUT && e.text[0]);
		return;
	}
	use(t);
	assert(transformation_parse(t->source, "fuzz.md", &again, &e) == 0);
	assert(strcmp(t->hash.hex, again->hash.hex) == 0 && t->pass_count == again->pass_count);
	transformation_free(t);
	transformation_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	static const struct front_matter_key keys[] = { { "name", FRONT_MATTER_TEXT },
							{ "adds", FRONT_MATTER_MAP },
							{ "where", FRONT_MATTER_LIST } };
	struct front_matter m = { .body = "" };
	struct transformation *t = NULL;
	struct err e = ERR_INIT;
	if (front_matter_parse("fuzz.md", text, keys, MEM_COUNT(keys), &m, &e) == 0) {
		assert(m.body >= text && m.body <= text + strlen(text));
		front_matter_fini(&m);
	}
	parse(text);
	if (transformation_of_text(text, &t, &e) == 0)
		use(t);
	transformation_free(t);
	free(text);
	return 0;
}
