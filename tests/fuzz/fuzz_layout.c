/* A job's request or result as the database stores it, in JSON or in the older text form: what was read can be written, and reads
 * back as the same text. */
#include "base/layout.h"
#include "core/jobs/work.h"
#include "fuzz/fuzz.h"

static void read_as(const struct layout *l, const char *text)
{
	struct err e = ERR_INIT;
	void *object = layout_new(l), *again = layout_new(l);
	if (layout_read_text(l, text, object, &e) == 0) {
		char *written = layout_write(l, object);
		struct buf words = BUF_INIT;
		assert(layout_read_text(l, written, again, &e) == 0);
		char *same = layout_write(l, again);
		assert(strcmp(written, same) == 0);
		layout_text(l, object, &words);
		buf_fini(&words);
		free(written);
		free(same);
	}
	layout_free(l, object);
	layout_free(l, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	for (size_t i = 0; work_kinds[i]; i++) {
		read_as(work_kinds[i]->request, text);
		read_as(work_kinds[i]->result, text);
	}
	free(text);
	return 0;
}
