/* devices: what this machine can run on. */

#include <stdlib.h>
#include <string.h>

#include "core/record/fact.h"
#include "core/workers/pool.h"
#include "daemon/tools/tools.h"

json_t *devices_entry(const struct facts *f)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:I, s:f}", "id", f->id, "backend",
			 f->backend, "name", f->name, "uuid", f->uuid, "arch", f->arch, "driver", f->driver, "host", f->host,
			 "runs", f->runs, "shares_cpu", f->shares_cpu, "emulated", f->emulated, "warp_size", (int)f->warp_size,
			 "max_threads", (int)f->max_threads, "shared_bytes", (int)f->shared_optin, "units", (int)f->units,
			 "memory_bytes", (json_int_t)f->memory_bytes, "peak_gflops_f32", f->peak_f32 / 1e9);
}

/* What is told, as it grows. */
struct listing {
	struct db *db;
	json_t *devices, *notes;
	struct buf text;
};

static void add(struct listing *l, const struct facts *facts, size_t count, const char *notes)
{
	for (size_t i = 0; i < count; i++) {
		const struct facts *f = &facts[i];
		json_t *entry = devices_entry(f);
		char *crash = NULL;
		struct err ignored = ERR_INIT;
		json_array_append_new(l->devices, entry);
		buf_addf(&l->text, "%s: %s (%s)%s%s%s\n", f->id, f->name, f->driver, strchr(f->id, '/') ? " on " : "",
			 strchr(f->id, '/') ? f->host : "", f->shares_cpu ? ", shares the CPU" : "");
		if (fact_get(l->db, f->uuid, "last_crash", &crash, &ignored) == 0) {
			json_object_set_new(entry, "last_crash", json_string(crash));
			buf_addf(&l->text, "  last crash: %s\n", crash);
		}
		free(crash);
	}
	for (const char *at = notes; *at;) {
		size_t n = strcspn(at, "\n");
		json_array_append_new(l->notes, json_stringn(at, n));
		buf_addf(&l->text, "%s%.*s\n",
			 strncmp(at, "sandbox: ", 9) == 0 || strncmp(at, "clock: ", 7) == 0 ? "" : "not available: ", (int)n, at);
		at += n + (at[n] == '\n');
	}
}

/* Of other machines; one that cannot be reached is a note. */
static void add_remotes(struct listing *l, struct pool *pool)
{
	for (size_t i = 0;; i++) {
		struct err e = ERR_INIT;
		struct facts *facts = NULL;
		size_t count = 0;
		char *notes = NULL;
		int rc = pool_remote_devices(pool, i, &facts, &count, &notes, &e);
		if (rc == -ERR_NOT_FOUND)
			return;
		add(l, facts, count, rc < 0 ? e.text : notes);
		free(facts);
		free(notes);
	}
}

static const struct mcp_done *list(struct mcp_call *call, struct db *db)
{
	struct pool *pool = tools_app(call)->work.pool;
	struct listing l = { .db = db, .text = BUF_INIT };
	struct facts *facts;
	size_t count;
	char *notes;
	struct err e = ERR_INIT;
	if (tools_flag(call, "refresh"))
		pool_forget_devices(pool);
	if (pool_devices(pool, &facts, &count, &notes, &e) < 0)
		return tools_refuse(call, &e);
	l.devices = json_array();
	l.notes = json_array();
	add(&l, facts, count, notes);
	add_remotes(&l, pool);
	const struct mcp_done *done =
		tools_reply(call, db, json_pack("{s:o, s:o}", "devices", l.devices, "notes", l.notes), buf_text(&l.text));
	buf_fini(&l.text);
	free(facts);
	free(notes);
	return done;
}

const struct tool tool_devices = {
	.name = "devices",
	.title = "List devices",
	.description = "Where kernels can run here, with limits, and why a backend is missing: answers with the ids that other "
		       "tools take as `device`. Next: validate, tune.",
	.flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
	.answer = list,
};
