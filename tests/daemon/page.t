#!/bin/sh
# The page at / in a real headless Chromium (page.mjs): no console errors, its security policy, hostile texts, the keyboard, a phone, ten
# thousand checkpoints, actions, and the offline file.
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
curl -s --max-time 120 "$url/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
	-H 'Mcp-Method: tools/call' -H 'Mcp-Name: edit' -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"edit\",\"arguments\":{
	\"at\":\"scale\",\"source\":$(jq -Rs . <"$T/sum.peak.md"),\"device\":\"hlsl:0\",\"samples\":2,\"wait_s\":45},$meta}}" >"$T/edited"
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
UPDATE checkpoint SET note = '"><script>alert(2)</script>', by_name = '<svg onload=alert(3)>' WHERE id = 2;
SQL

serve page
timeout 60 "$peakd" workflow page scale --db "$db" --out "$T/scale.html"
timeout 200 node "$root/tests/daemon/page.mjs" "$chromium" "$T" "$url"
status=$?
end
[ $status = 0 ]
