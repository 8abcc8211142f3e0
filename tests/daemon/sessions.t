#!/bin/sh
# Sessions of the older protocol on the real daemon: other clients' sessions and lost connections cancel no job, while
# notifications/cancelled does. Integers above 2^53 arrive as they were sent.
. "$(dirname "$0")/lib.sh"
cat >"$T/sessions.py" <<'PY'
import http.client, json, sqlite3, subprocess, sys, threading, time
port, source, db, peakd = int(sys.argv[1]), open(sys.argv[2]).read(), sys.argv[3], sys.argv[4]
big = source.replace("BX: {32, 64}", "BX: {32, 64, 128, 256}\n  K: i for i = 1, 200")
INIT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

def ask(text, path="/mcp", session=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    c.request("POST" if text else "GET", path, text, headers)
    r = c.getresponse()
    return r.status, r.getheader("Mcp-Session-Id"), r.read().decode()

def message(method, params, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

def call(session, tool, **arguments):
    return json.loads(ask(message("tools/call", {"name": tool, "arguments": arguments}), session=session)[2])["result"]

def jobs():
    """State and request of each job, the newest first."""
    c = sqlite3.connect(db)
    rows = c.execute("SELECT state, request FROM job WHERE kind = 'tune' ORDER BY created_ms DESC, rowid DESC").fetchall()
    c.close()
    return rows

def wait(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()

def open_calls():
    return next(float(line.split()[1]) for line in ask(None, "/metrics")[2].splitlines() if line.startswith("peakd_mcp_calls "))

mine = ask(message("initialize", INIT))[1]
call(mine, "context_create", source=big, name="big")
call(mine, "context_create", source=source, name="small")
long_tune = {"name": "tune", "arguments": {"at": "big", "device": "hlsl:0", "budget": 700, "wait_s": 45}}
tune = threading.Thread(target=ask, args=(message("tools/call", long_tune, 5), "/mcp", mine), daemon=True)
tune.start()
running = lambda: jobs() and jobs()[0][0] == "running"
print("running", wait(running))
statuses = {ask(message("initialize", INIT))[0] for _ in range(300)}
print("others", statuses == {200})
print("session", ask(message("ping", {}), session=mine)[0])
print("job", jobs()[0][0])
ask(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}), session=mine)
print("asked", wait(lambda: jobs()[0][0] == "cancelled"))

# A client on standard input and output that is killed.
client = subprocess.Popen([peakd, "stdio", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
client.stdin.write(message("initialize", INIT) + "\n" + message("tools/call", long_tune, 2) + "\n")
client.stdin.flush()
print("again", wait(lambda: len(jobs()) == 2 and running()))
client.kill()
print("gone", wait(lambda: open_calls() == 0))
print("outlives", jobs()[0][0])
other = ask(message("initialize", INIT))[1]
job = json.loads(ask(message("tools/call", {"name": "job", "arguments": {"action": "list"}}), session=other)[2])
number = sqlite3.connect(db).execute("SELECT id FROM job WHERE state = 'running'").fetchone()[0]
call(other, "job_control", action="cancel", id=number)
print("cancelled", wait(lambda: jobs()[0][0] == "cancelled"))

for seed in (1152921504606846976, 9007199254740993):
    call(other, "tune", at="small", device="hlsl:0", budget=1, seed=seed, wait_s=45)
    print("seed", str(seed) in jobs()[0][1])
PY
serve_http "$T/a.db"
if timeout 120 "$peakd" devices --db "$T/a.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null; then
	small_context >"$T/scale.peak.md"
	timeout 300 python3 "$T/sessions.py" "$port" "$T/scale.peak.md" "$T/a.db" "$peakd" >"$T/said" 2>"$T/err"
	is $? 0 "the client finishes without an error" "$(cat "$T/err")"
	said() # said LINE TEXT
	{
		grep -qx "$1" "$T/said"
		ok $? "$2" "$(cat "$T/said")"
	}
	said "running True" "a tune runs for a session"
	said "others True" "300 other clients open sessions"
	said "session 200" "300 other sessions do not evict a session with a running call"
	said "job running" "300 other sessions do not end the job of a running call"
	said "asked True" "notifications/cancelled ends the job"
	said "again True" "a tune runs for a client on stdio"
	said "gone True" "the client on stdio is killed"
	said "outlives running" "the job outlives its killed client"
	said "cancelled True" "another client can cancel the job of a killed client"
	is "$(grep -c '^seed True' "$T/said")" 2 "a seed above 2^53 is stored as it was sent"
else
	skip 11 "no device hlsl:0"
fi
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon ends with status 0" "$(cat "$T/log")"
done_testing
