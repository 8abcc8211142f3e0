#!/bin/sh
# The records of the database through the daemon: names that can be read back, exact integers, results written by an older peakd,
# events that a waiter gets once, one job for equal requests, deletion and retention.
. "$(dirname "$0")/lib.sh"
small_context >"$T/small.peak.md"
ready=no
timeout 120 "$peakd" devices --db "$T/a.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null && ready=yes
sql() { sqlite3 -cmd '.timeout 10000' "$T/a.db" "$1"; }
cat >"$T/client.py" <<'PYTHON'
import json, subprocess, sys

class Client:
    """A client over stdio; progress holds the messages that came with the last call."""
    def __init__(self, peakd, db):
        self.server = subprocess.Popen([peakd, "stdio", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})

    def request(self, method, params):
        self.number += 1
        self.progress = []
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.server.stdin.flush()
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("method") == "notifications/progress":
                self.progress.append(answer["params"]["message"])
            if answer.get("id") == self.number:
                return answer

    def call(self, tool, **arguments):
        answer = self.request("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": self.number + 1}})
        return answer.get("result") or answer
PYTHON
cat >"$T/names.py" <<'PYTHON'
import sys
from client import *
peakd, folder = sys.argv[1:3]
c = Client(peakd, folder + "/a.db")
source = open(folder + "/small.peak.md").read()
made = c.call("context_create", source=source, name="first")["structuredContent"]
c.call("context_create", source=source + "\n", name="second")
print("hash", c.call("workflow", action="show", at=made["hash"])["structuredContent"]["checkpoint"] == made["checkpoint"])
print("prefix", c.call("workflow", action="show", at=made["hash"][:8])["structuredContent"]["checkpoint"] == made["checkpoint"])
print("slash", c.call("context_create", source=source, name="a/b").get("isError"))
print("dots", c.call("workflow_change", action="tag", at="first", name="a/../../x").get("isError"))
PYTHON
PYTHONPATH="$T" timeout 120 python3 "$T/names.py" "$peakd" "$T" >"$T/names"
is "$(grep ^hash "$T/names")" "hash True" "the hash that context_create returns names a checkpoint"
is "$(grep ^prefix "$T/names")" "prefix True" "the beginning of a hash names a checkpoint"
is "$(grep ^slash "$T/names")" "slash True" "a workflow's name with a slash is refused"
is "$(grep ^dots "$T/names")" "dots True" "a tag's name with slashes is refused"

# --- names of an older database stay readable
sql "UPDATE workflow SET name = 'a/b' WHERE name = 'second'"
cat >"$T/address.py" <<'PYTHON'
import sys
from client import *
c = Client(sys.argv[1], sys.argv[2] + "/a.db")
listed = [r["uri"] for r in c.request("resources/list", {})["result"]["resources"] if "checkpoint" in r["uri"]]
address = [a for a in listed if "%2F" in a]
print(address[0] if address else listed)
print("read", "kernel:" in c.request("resources/read", {"uri": address[0]})["result"]["contents"][0]["text"])
PYTHON
PYTHONPATH="$T" timeout 120 python3 "$T/address.py" "$peakd" "$T" >"$T/address" 2>&1
is "$(head -1 "$T/address")" "peak://checkpoint/a%2Fb/source" "an old name with a slash is listed percent-encoded"
is "$(sed -n 2p "$T/address")" "read True" "the address of an old name with a slash can be read"
"$peakd" workflow rename a/b third --db "$T/a.db" >"$T/out" 2>&1
is $? 0 "a workflow is renamed" "$(cat "$T/out")"
is "$(sql "SELECT name FROM workflow ORDER BY name" | tr '\n' ' ')" "first third " "a renamed workflow has its new name"
"$peakd" workflow rename third first --db "$T/a.db" >"$T/out" 2>&1
is $? 1 "a workflow is not renamed to an existing name"

# --- integers and old rows
job=$(timeout 60 "$peakd" tune first --seed 1152921504606846976 --later --db "$T/a.db" --json | jq -r .job)
is "$(sql "SELECT json_extract(request, '\$.seed') FROM job WHERE id = '$job'")" 1152921504606846976 \
	"a seed of 61 bits is stored exactly"
sql "INSERT INTO job (id, kind, request, state, created_ms, started_ms, ended_ms, result) VALUES ('jold', 'tune', 'checkpoint: 1
budget: 3
seed: 1152921504606846976
workflow: first
', 'done', 1, 1, 2, 'size_0: n=64
best_0: BX=32
median_ns_0: 2500.5
evidence_0: 7
tried_0: 3
count: 1
leased_seconds: 1.500
')"
"$peakd" jobs get jold --db "$T/a.db" --json >"$T/old" 2>&1
is "$(jq -c '[.result.sizes[0].size, .result.sizes[0].best, .result.sizes[0].median_ns, .result.sizes[0].evidence, .result.leased_seconds]' "$T/old")" \
	'["n=64","BX=32",2500.5,7,1.5]' "a result that an older peakd wrote as lines of text is read"
has "$("$peakd" jobs list --db "$T/a.db")" "jold tune done (first, checkpoint 1)" "an older job's request can be read"

# --- a waiter gets only new events
events() # events N: adds N events
{
	sql "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO job_event (job_id, seq, created_ms, kind, progress, total, message)
	SELECT '$job', (SELECT max(seq) FROM job_event WHERE job_id = '$job') + i, 1, 'progress', 0, 0, 'event ' || i FROM n"
}
cat >"$T/wait.py" <<'PYTHON'
import sys
from client import *
c = Client(sys.argv[1], sys.argv[2] + "/a.db")
for line in sys.stdin:
    after = int(line)
    answer = c.call("job", action="wait", id=sys.argv[3], wait_s=0.2, **({"after": after} if after >= 0 else {}))
    print(len(c.progress), answer["structuredContent"]["event"], flush=True)
PYTHON
events 199
mkfifo "$T/questions"
PYTHONPATH="$T" timeout 120 python3 "$T/wait.py" "$peakd" "$T" "$job" <"$T/questions" >"$T/answers" 2>&1 &
waiting=$!
exec 3>"$T/questions"
answered() { [ "$(wc -l <"$T/answers")" -ge "$1" ]; }
answer() # answer AFTER NUMBER: the number-th answer, once it is there
{
	echo "$1" >&3
	wait_for 60 answered "$2"
	sed -n "$2p" "$T/answers"
}
is "$(answer -1 1)" "1 200" "the first wait gets the newest event, not the whole log"
is "$(answer -1 2)" "0 200" "a second wait gets no event twice"
events 3
is "$(answer -1 3)" "3 203" "a wait gets the events since the last answer"
is "$(answer 150 4)" "53 203" "a wait that names an event gets those since then"
exec 3>&-
wait $waiting

# --- equal requests at once
if [ $ready = yes ]; then
	hold_device "$T/a.db"
	cat >"$T/resume.py" <<'PYTHON'
import sys, threading
from client import *
clients = [Client(sys.argv[1], sys.argv[2] + "/a.db") for i in range(8)]
jobs, barrier = [], threading.Barrier(8)
def ask(c):
    barrier.wait()
    jobs.append(c.call("tune", at="third", device="hlsl:0", budget=2, resume=True, wait_s=0)["structuredContent"]["job"])
threads = [threading.Thread(target=ask, args=(c,)) for c in clients]
for t in threads: t.start()
for t in threads: t.join()
print(len(jobs), len(set(jobs)), jobs[0])
clients[0].call("workflow", action="list")
print(clients[0].call("workflow_change", action="delete", name="third")["content"][0]["text"])
print(clients[0].call("job_control", action="cancel", id=jobs[0])["structuredContent"]["job"])
PYTHON
	PYTHONPATH="$T" timeout 120 python3 "$T/resume.py" "$peakd" "$T" >"$T/resumed" 2>&1
	is "$(head -1 "$T/resumed" | cut -d' ' -f1,2)" "8 1" \
		"of eight equal resume calls at once one starts a job, which all wait for" "$(cat "$T/resumed")"
	has "$(sed -n 2p "$T/resumed")" "is working on workflow third" "a workflow with a running job is not deleted"
	let_go
	timeout 60 "$peakd" jobs wait "$(head -1 "$T/resumed" | cut -d' ' -f3)" --db "$T/a.db" >/dev/null 2>&1
fi

# --- deletion and retention
"$peakd" workflow rm third --db "$T/a.db" >"$T/out" 2>&1
is $? 0 "a workflow is deleted" "$(cat "$T/out")"
is "$(sql "SELECT count(*) FROM workflow")" 1 "deleting one workflow keeps the other"
"$peakd" vacuum --db "$T/a.db" >"$T/out" 2>&1
is $? 0 "vacuum runs beside the daemon" "$(cat "$T/out")"
has "$(cat "$T/out")" " 1 jobs, 0 checkpoints" "vacuum deletes the job of 1970 and no checkpoint of today"
is "$(sql "SELECT count(*) FROM job WHERE id = 'jold'")" 0 "the row of a vacuumed job is gone"
"$peakd" vacuum --compact --db "$T/a.db" >"$T/out" 2>&1
is $? 1 "vacuum --compact is refused while a daemon runs"
has "$(cat "$T/out")" "end the daemon before --compact" "the refused --compact says to end the daemon"
done_testing
