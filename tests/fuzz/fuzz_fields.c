/* A job's fields as the database keeps them: what parses is rendered, and that parses to the same render. */
#include "base/fields.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct fields f = FIELDS_INIT, again = FIELDS_INIT;
	struct err e = ERR_INIT;
	if (fields_parse(text, &f, &e) == 0) {
		char *render = fields_render(&f);
		assert(fields_parse(render, &again, &e) == 0 && again.count == f.count);
		for (size_t i = 0; i < f.count; i++) {
			assert(strcmp(fields_get(&again, f.at[i].name), f.at[i].value) == 0);
			fields_int(&f, f.at[i].name, 0);
			fields_number(&f, f.at[i].name, 0);
		}
		fields_fini(&again);
		free(render);
		fields_fini(&f);
	}
	free(text);
	return 0;
}
