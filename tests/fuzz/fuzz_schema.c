/* A hostile JSON schema and a hostile value to check: two JSON texts in a row. Checking twice gives the same verdict, and a
 * refused value gets a reason. */
#include "fuzz/fuzz.h"
#include "mcp/schema.h"

enum { SIZE_LIMIT = 16 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > SIZE_LIMIT)
		return -1;
	json_error_t where;
	const char *text = (const char *)data;
	const size_t flags = JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
	json_t *schema = json_loadb(text, size, flags, &where);
	if (!schema)
		return -1;
	size_t used = (size_t)where.position;
	json_t *value = json_loadb(text + used, size - used, flags, &where);
	struct err e = ERR_INIT;
	if (mcp_schema_validate(schema, "fuzz", &e) < 0) {
		assert(strncmp(e.text, "fuzz", 4) == 0);
	} else if (value) {
		struct err again = ERR_INIT;
		int rc = mcp_schema_check(schema, value, "arguments", &e);
		assert(rc == 0 || (rc == -ERR_INPUT && strncmp(e.text, "arguments", 9) == 0));
		assert(mcp_schema_check(schema, value, "arguments", &again) == rc && strcmp(e.text, again.text) == 0);
	}
	json_decref(value);
	json_decref(schema);
	return 0;
}
