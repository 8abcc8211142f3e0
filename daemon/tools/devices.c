/* devices: what this machine can run on. */

#include <stdlib.h>
#include <string.h>

#include "core/record/fact.h"
#include "core/workers/pool.h"
#include "daemon/tools/tools.h"

json_t *devices_entry(const struct facts *f)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:I, s:f}", "id", f->id, "backend",
			 f->backend, "name", f->name, "uuid", f->uuid, "arch", f->arch, "driver", f->driver, "runs", f->runs,
			 "shares_cpu", f->shares_cpu, "emulated", f->emulated, "warp_size", (int)f->warp_size, "max_threads",
			 (int)f->max_threads, "shared_bytes", (int)f->shared_optin, "units", (int)f->units, "memory_bytes",
			 (json_int_t)f->memory_bytes, "peak_gflops_f32", f->peak_f32 / 1e9);
}

static const struct mcp_done *list(struct mcp_call *call, struct db *db)
{
	struct pool *pool = tools_app(call)->work.pool;
	struct facts *facts;
	size_t count;
	char *notes;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	if (tools_flag(call, "refresh"))
		pool_forget_devices(pool);
	if (pool_devices(pool, &facts, &count, &notes, &e) < 0)
		return tools_refuse(call, &e);
	json_t *rows = json_array(), *lines = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *entry = devices_entry(&facts[i]);
		char *crash = NULL;
		json_array_append_new(rows, entry);
		buf_addf(&text, "%s: %s (%s)%s\n", facts[i].id, facts[i].name, facts[i].driver,
			 facts[i].shares_cpu ? ", shares the CPU" : "");
		if (fact_get(db, facts[i].uuid, "last_crash", &crash, &e) == 0) {
			json_object_set_new(entry, "last_crash", json_string(crash));
			buf_addf(&text, "  last crash: %s\n", crash);
		}
		free(crash);
	}
	for (const char *at = notes; *at;) {
		size_t n = strcspn(at, "\n");
		json_array_append_new(lines, json_stringn(at, n));
		buf_addf(&text, "%s%.*s\n", strncmp(at, "sandbox: ", 6) == 0 ? "" : "not available: ", (int)n, at);
		at += n + (at[n] == '\n');
	}
	const struct mcp_done *done =
		tools_reply(call, db, json_pack("{s:o, s:o}", "devices", rows, "notes", lines), buf_text(&text));
	buf_fini(&text);
	free(facts);
	free(notes);
	return done;
}

static const struct mcp_done *handler(struct mcp_call *call)
{
	return tools_with_db(call, list);
}

const struct tool tool_devices = {
	.name = "devices",
	.title = "List devices",
	.description = "Where kernels can run here, with limits, and why a backend is missing: answers with the ids that other "
		       "tools take as `device`. Next: validate, tune.",
	.flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
	.handler = handler,
};
