#!/bin/sh
# Litestream itself beside a daemon that writes, and a drill: what was acknowledged a while ago is in what it restores, under load.
# `make clients` installs it from npm and names it in $LITESTREAM; replicate.t plays its part elsewhere.
. "$(dirname "$0")/lib.sh"
litestream=${LITESTREAM:-$(command -v litestream)}
[ -n "$litestream" ] && "$litestream" version >/dev/null 2>&1 || skip_rest 7 "no litestream here (make clients installs it)"
db=$T/a.db
serve_http "$db"
small_context >"$T/scale.peak.md"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
is $? 0 "a workflow is made" "$(cat "$T/out")"
printf 'dbs:\n  - path: %s\n    replicas:\n      - type: file\n        path: %s\n        sync-interval: 100ms\n' "$db" "$T/replica" >"$T/litestream.yml"
"$litestream" replicate -config "$T/litestream.yml" >"$T/replicate" 2>&1 &
replicating=$!
cat >"$T/write.py" <<'PYTHON'
import http.client, json, os, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
n = 0
while not os.path.exists(sys.argv[3]):
    n += 1
    c.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "workflow_change",
        "arguments": {"action": "tag", "name": "t%d" % n, "at": "scale"}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}}), {"Content-Type": "application/json", "Mcp-Method": "tools/call",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": "workflow_change"})
    if b'"checkpoint"' not in c.getresponse().read(): sys.exit("a call failed")
    with open(sys.argv[2], "a") as said: said.write("t%d\n" % n)
PYTHON
python3 "$T/write.py" "$port" "$T/said" "$T/over" 2>"$T/err" &
writer=$!
wait_for 60 test -s "$T/said"
sleep 2
for verb in vacuum check; do "$peakd" $verb --db "$db"; done >"$T/out" 2>&1
is $? 0 "the database is looked after meanwhile" "$(cat "$T/out")"
"$peakd" backup "$T/backup.db" --db "$db" >"$T/out" 2>&1
is $? 0 "and a backup is made" "$(cat "$T/out")"
sort "$T/said" >"$T/sure"
# Litestream copies the log ten times a second, and later on a busy machine.
restore()
{
	rm -f "$T"/restored.db*
	"$litestream" restore -config "$T/litestream.yml" -o "$T/restored.db" "$db" >"$T/out" 2>&1 &&
		sqlite3 "$T/restored.db" "SELECT name FROM workflow_tag" | sort >"$T/there" && [ -z "$(comm -23 "$T/sure" "$T/there")" ]
}
wait_for 10 restore
ok $? "a restored database has all $(wc -l <"$T/sure") tags that were acknowledged before" "$(cat "$T/out" "$T/replicate")"
is "$(wc -l <"$T/said" >"$T/then"; sleep 1; [ "$(wc -l <"$T/said")" -gt "$(cat "$T/then")" ] && echo writing)" writing "clients wrote all the time"
timeout 60 "$peakd" check --db "$T/restored.db" >"$T/out" 2>&1
is $? 0 "peakd check finds nothing wrong with it" "$(cat "$T/out")"
touch "$T/over"
wait "$writer"
written=$?
complaints=$(grep -ci 'level=error\|panic' "$T/replicate")
kill "$replicating"
wait "$replicating" # it may call it an error that it was ended in the middle of a copy
kill "$daemon"
wait "$daemon"
is "$written $? $(grep -c ' error: ' "$T/log") $complaints" "0 0 0 0" \
	"neither the clients, the daemon nor Litestream met an error" "$(cat "$T/err" "$T/log" "$T/replicate")"
done_testing
