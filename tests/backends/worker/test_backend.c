/* backends/worker/backend: where bytes of a buffer with its red zones are, and which offsets are outside. */
#include "backends/worker/backend.h"

#include "tap.h"

int main(void)
{
	enum { BYTES = 100, Z = BACKEND_RED_ZONE };
	static const struct { unsigned buffer; int64_t offset; size_t bytes; long long want; const char *what; } cases[] = {
		{ 0, 0, BYTES, Z, "all of it" },
		{ 0, -Z, BYTES + 2 * Z, 0, "with both red zones" },
		{ 0, BYTES, Z, Z + BYTES, "the red zone behind" },
		{ 0, BYTES + Z, 0, 2 * Z + BYTES, "nothing, at the end" },
		{ 0, -Z - 1, 1, -1, "a byte before" },
		{ 0, BYTES + Z, 1, -1, "a byte behind" },
		{ 0, 1, BYTES + Z, -1, "more than there is" },
		{ 0, 0, SIZE_MAX, -1, "more than there can be" },
		{ 0, INT64_MIN, 1, -1, "the lowest offset" },
		{ 0, INT64_MAX, 1, -1, "the highest" },
		{ 1, 0, 1, -1, "of a buffer that is not there" },
	};
	struct plan_buffer buffer = { .name = (char *)"A", .bytes = BYTES };
	struct plan plan = { .buffers = &buffer, .buffer_count = 1 };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err e = ERR_INIT;
		uint64_t at = 0;
		int rc = backend_place(&plan, cases[i].buffer, cases[i].offset, cases[i].bytes, &at, &e);
		ok(cases[i].want < 0 ? rc == -ERR_INPUT && e.text[0] : rc == 0 && at == (uint64_t)cases[i].want, "%s",
		   cases[i].what);
	}
	ok(backend_find("cuda") && backend_find("hip") && backend_find("hlsl") && !backend_find("metal"),
	   "backends are found by name");
	return tap_done();
}
