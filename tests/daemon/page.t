#!/bin/sh
# The page at / in a real headless Chromium (page.mjs): no console errors, its security policy, hostile texts, the keyboard, a
# phone, ten thousand checkpoints, actions, and the offline file.
. "$(dirname "$0")/lib.sh"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
	skip_rest 1 "no chromium: packages.sh install LOG browser"
db=$T/a.db
need_hlsl 1 "$T/d.db"

small_context >"$T/scale.peak.md"
sed 's/2\.0 \* A\[id\.x\]/A[id.x] + A[id.x]/' "$T/scale.peak.md" >"$T/sum.peak.md"
serve() # serve NAME OPTIONS…: starts a daemon of the database; sets url and daemon
{
	name=$1
	shift
	"$peakd" serve --db "$db" --listen 127.0.0.1:0 "$@" 2>"$T/$name.log" &
	daemon=$!
	wait_for 60 grep -q serving "$T/$name.log"
	url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*\)/mcp.*,\1,p' "$T/$name.log")
}
end()
{
	kill "$daemon"
	wait "$daemon"
}
serve first
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
timeout 120 "$peakd" tune scale --budget 2 --db "$db" >/dev/null
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
curl -s --max-time 120 "$url/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
	-H 'MCP-Protocol-Version: 2026-07-28' \
	-H 'Mcp-Method: tools/call' -H 'Mcp-Name: edit' \
	-d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"edit\",\"arguments\":{
	\"at\":\"scale\",\"source\":$(jq -Rs . <"$T/sum.peak.md"),\"device\":\"hlsl:0\",\"samples\":2,\"wait_s\":45},$meta}}" | sed -n 's/^data: //; /^{/p' >"$T/edited"
# On a loaded machine the answer is a job that still runs.
timeout 200 "$peakd" jobs wait "$(tail -n 1 "$T/edited" | jq -r .result.structuredContent.job)" --db "$db" >/dev/null
end

# A second workflow of ten thousand checkpoints, and texts as an enemy would write them.
sqlite3 "$db" <<'SQL'
INSERT INTO checkpoint (id, hash, context, kernel, backend, by_name, status, note, created_ms)
SELECT 1000 + value, printf('%064x', value), (SELECT context FROM checkpoint ORDER BY id LIMIT 1), 'scale', 'hlsl', 'step ' || value,
       CASE WHEN value % 7 = 3 THEN 'failed' ELSE 'accepted' END, CASE WHEN value % 7 = 3 THEN 'wrong <b>here</b>' END, 1700000000000 + value
FROM generate_series(1, 10000);
INSERT INTO checkpoint_parent (checkpoint_id, ord, parent_id)
SELECT 1000 + value, 0, 1000 + CASE WHEN value % 7 IN (3, 4) THEN value - value % 7 ELSE value - 1 END FROM generate_series(8, 10000)
UNION ALL SELECT 1000 + value, 0, 999 + value FROM generate_series(2, 7);
INSERT INTO workflow (name, root_id, head_id, created_ms, moved_ms) VALUES ('many', 1001, 11000, 1, 1);
INSERT INTO workflow (name, root_id, head_id, created_ms, moved_ms) VALUES ('<img src=x onerror=alert(1)>', 1, 1, 1, 1);
INSERT INTO blob (hash, data) VALUES (printf('%064x', 1), CAST('Make <u>it</u> faster.' AS BLOB)), (printf('%064x', 2), CAST('No.' AS BLOB));
INSERT INTO exchange (context, transformation, pass, step, attempt, model, provider, prompt, reply, outcome, tokens_in, tokens_out, job_id, created_ms)
SELECT context, 'unroll', 1, 'device', 1, 'planner', 'openai:planner', printf('%064x', 1), printf('%064x', 2), 'refused', 1234, NULL, 'jsearch', 1
FROM checkpoint WHERE id = 1;
INSERT INTO job (id, kind, request, state, created_ms, ended_ms, result) VALUES
('jsearch', 'optimize', '{"checkpoint":1,"price_in":3,"price_out":15}', 'interrupted', 1, 1, NULL),
('jprofile', 'profile', '{"checkpoint":1}', 'done', 1, 1, '{"sizes":[{"size":"n=4096","class":"memory","why":"<b>bytes</b>","load":"other processes used 1.0 of 2 CPUs meanwhile","cold_ns":2000,"pipe":"f32",
"guidance":[{"tool":"coalesce","evidence":"a load brings 4 of 16 bytes that are fetched",
"guidance":"Let neighbouring lanes read neighbouring addresses, and let each thread read four elements at once, so that whole lines are used","try":"wide-loads, coarsen"}],"probes":[{"free":"loads","ratio":1.5,"low":1.4,"high":1.6}],"figures":[
{"name":"gflops","value":2},{"name":"gbs","value":16},{"name":"intensity","value":0.125},{"name":"pipe_percent","value":1},{"name":"copy_percent","value":80}]}]}');
INSERT INTO decision (search, seq, policy, kind, checkpoint_id, transformation, reason, outcome, gain, low, high, created_ms)
VALUES ('jsearch', 1, 'greedy', 'experiment', 1, 'unroll', 'the fastest checkpoint', 'faster', 1.5, 1.4, 1.6, 1);
INSERT INTO pending (id, parent_id, transformation, text, pass, step, attempt, context, state, verdict, created_ms, updated_ms)
SELECT 'p1', 1, 'unroll', printf('%064x', 1), 1, 1, 4, context, 'given-up', 'it <i>refused</i>', 1, 1 FROM checkpoint WHERE id = 1;
UPDATE checkpoint SET note = '"><script>alert(2)</script>', by_name = '<svg onload=alert(3)>' WHERE id = 2;
SQL

# Another daemon asks for a token and changes nothing.
echo 'correct horse' >"$T/token"
many=$db db=$T/closed.db
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
wait_for 60 sh -c "! grep -qzx serve /proc/$(holder "$db")/cmdline 2>/dev/null"
serve closed --token-file "$T/token" --read-only
closed=$url closed_daemon=$daemon db=$many
serve page
hold_device "$db" # so that a job is running for as long as the page is looked at
timeout 60 "$peakd" workflow page scale --db "$db" --out "$T/scale.html"
timeout 200 node "$root/tests/daemon/page.mjs" "$chromium" "$T" "$url" "$closed" "$(cat "$T/token")"
status=$?
let_go
end
daemon=$closed_daemon
end
[ $status = 0 ]
