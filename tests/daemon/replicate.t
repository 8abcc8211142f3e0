#!/bin/sh
# What tools rely on that replicate SQLite's log, such as Litestream, whose part this plays (litestream.t runs it itself): while a
# reader of theirs is open the log only grows, and all that was committed is in it. From the copy of the file and the log, taken
# piece by piece while the daemon writes, a whole database comes back with everything that was acknowledged before the last piece.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
serve_http "$db"
small_context >"$T/scale.peak.md"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
is $? 0 "a workflow is made" "$(cat "$T/out")"
cat >"$T/replicate.py" <<'PYTHON'
import http.client, json, os, sqlite3, subprocess, sys, threading
db, port, folder, peakd = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
acknowledged, over, broken = [], threading.Event(), []
def write(kind):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    n = 0
    while not over.is_set():
        name = "%s%d" % (kind, n)
        n += 1
        c.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "workflow_change",
            "arguments": {"action": kind, "name": name, "at": "scale"}, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}}), {"Content-Type": "application/json", "Mcp-Method": "tools/call",
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": "workflow_change"})
        if b'"checkpoint"' not in c.getresponse().read():
            broken.append("a call failed")
            return
        acknowledged.append((kind, name))
# As Litestream does: a table of its own, a write to it so that there is a log, and a reader that stays.
keeper = sqlite3.connect(db, isolation_level=None, timeout=60)
keeper.execute("PRAGMA wal_autocheckpoint = 0")
keeper.execute("CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)")
keeper.execute("INSERT INTO _litestream_seq (seq) VALUES (1)")
keeper.execute("BEGIN")
keeper.execute("SELECT count(*) FROM _litestream_seq").fetchone()
writers = [threading.Thread(target=write, args=(kind,)) for kind in ("tag", "branch")]
for w in writers: w.start()
shadow, head, pieces = open(folder + "/restored.db-wal", "wb"), None, 0
with open(db, "rb") as f: snapshot = f.read() # pages may be written back meanwhile: the log has them all
sure = 0
while (len(acknowledged) < 300 or sure <= 100) and not broken:
    sure = len(acknowledged)
    with open(db + "-wal", "rb") as f:
        start = f.read(32)
        head = head or start
        f.seek(shadow.tell())
        piece = f.read()
    if start != head or os.path.getsize(db + "-wal") < shadow.tell():
        broken.append("the log began anew under a reader")
    shadow.write(piece)
    over.wait(0.002)
    pieces += 1
    if pieces == 3: # what else an operator does meanwhile
        for verb in (["vacuum"], ["backup", folder + "/backup.db"], ["check"]):
            if subprocess.run([peakd, *verb, "--db", db], capture_output=True).returncode: broken.append(" ".join(verb))
over.set()
for w in writers: w.join()
shadow.close()
open(folder + "/restored.db", "wb").write(snapshot)
restored = sqlite3.connect(folder + "/restored.db")
there = {("tag", n) for n, in restored.execute("SELECT name FROM workflow_tag")} | {("branch", n) for n, in restored.execute("SELECT name FROM workflow")}
lost = [one for one in acknowledged[:sure] if one not in there]
print(len(broken), len(lost), restored.execute("PRAGMA integrity_check").fetchone()[0], sure > 100, broken, lost[:3], sure, pieces, os.path.getsize(folder + "/restored.db-wal"))
PYTHON
timeout 120 python3 "$T/replicate.py" "$db" "$port" "$T" "$peakd" >"$T/replica" 2>&1
is "$(cut -d' ' -f1-4 "$T/replica")" "0 0 ok True" \
	"the log only grows, and the copy has all that was acknowledged before the last piece" "$(cat "$T/replica")"
echo "# $(cat "$T/replica")"
timeout 60 "$peakd" check --db "$T/restored.db" >"$T/out" 2>&1
is $? 0 "peakd check finds nothing wrong with the copy" "$(cat "$T/out")"
timeout 60 "$peakd" workflow log scale --db "$T/restored.db" >"$T/out" 2>&1
is $? 0 "a daemon works with the copy" "$(cat "$T/out")"
kill "$daemon"
wait "$daemon"
is "$? $(grep -c ' error: ' "$T/log")" "0 0" "the daemon ends well and logged no error" "$(cat "$T/log")"
done_testing
