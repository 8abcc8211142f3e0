#!/bin/sh
# SIGTERM ends the daemon within five seconds, whatever runs, and jobs that ran can be resumed: a model that does not answer, a
# validator that ignores signals, a device that another process uses, an enumeration without end, clients that do not read, a
# database that another program locks.
. "$(dirname "$0")/lib.sh"
need_hlsl 19 "$T/probe.db"
small_context >"$T/scale.peak.md"
case_number=0
begin() # begin ENVIRONMENT…: starts a daemon on a new database with the workflow `scale`
{
	case_number=$((case_number + 1))
	db=$T/$case_number.db log=$T/$case_number.log
	env "$@" "$peakd" serve --listen 127.0.0.1:0 --db "$db" 2>"$log" &
	daemon=$!
	wait_for 60 grep -q serving $log
	port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)/mcp.*,\1,p' $log)
	timeout 60 "$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1 || cat "$T/out" >&2
	clients=
}
client() # client ARGUMENTS…: a verb in the background
{
	"$peakd" "$@" --db "$db" >"$T/out" 2>&1 &
	clients="$clients $!"
}
says() # says TEXT: an event of a job has the text
{
	sqlite3 "$db" "SELECT message FROM job_event" 2>/dev/null | grep -q "$1"
}
parks() # parks WHAT
{
	started=$(now_ms)
	kill -TERM "$daemon"
	wait "$daemon"
	is $? 0 "SIGTERM during $1 gives status 0" "$(tail -5 $log)"
	took=$(($(now_ms) - started))
	soon $took 5000
	ok $? "SIGTERM during $1 ends the daemon within five seconds ($took ms)" "$(tail -5 $log)"
	for pid in $clients; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

# A model that takes the question and never answers.
python3 -c 'import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
held = s.accept()
held[0].recv(100)
open(sys.argv[1], "w").close()
time.sleep(1000)' "$T/asked" >"$T/model" &
model=$!
trap 'kill $model $holding $locking 2>/dev/null; finish' EXIT
holding='' locking=''
wait_for 60 test -s "$T/model"
mkdir -p "$T/data/peakd/transforms"
printf -- '---\nname: add\nsummary: A sum.\n---\n## Pass 1: The sum\nexpect: valid\n\n### device\nAdd the element to itself.\n' >"$T/data/peakd/transforms/add.md"
begin "PEAKD_MODEL=openai:http://127.0.0.1:$(cat "$T/model")/v1?model=m"
client transform scale add
wait_for 60 test -e "$T/asked"
ok $? "the model is asked" "$(cat "$T/out")"
parks "a model's answer"
has "$(timeout 60 "$peakd" jobs --db "$db" 2>&1)" "transform interrupted" "the transformation can be resumed"

mkdir "$T/validators"
printf '#!/bin/sh\ntrap "" TERM INT HUP\necho $$ >"%s"\nwhile :; do sleep 1000; done\n' "$T/validates" >"$T/validators/slow"
chmod +x "$T/validators/slow"
begin "PEAKD_VALIDATORS=$T/validators" PEAKD_SANDBOX=off
client validate scale --device hlsl:0 --samples 1
wait_for 60 test -s "$T/validates"
ok $? "the validator runs" "$(cat "$T/out")"
parks "a validator that ignores signals"
gone "$(cat "$T/validates")"
ok $? "the validator is ended with the daemon"

hold_device "$T/probe.db"
begin A=B
client tune scale --device hlsl:0 --budget 2
wait_for 60 says 'waiting for hlsl:0'
parks "a wait for a device"
let_go

begin A=B
python3 - "$port" "$T/flooded" <<'PY' &
import http.client, socket, sys, time
port = int(sys.argv[1])
# One asks and does not read, one sends half a request, one keeps a stream open.
asks = socket.create_connection(("127.0.0.1", port))
asks.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
for _ in range(200):
    asks.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
half = socket.create_connection(("127.0.0.1", port))
half.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
open(sys.argv[2], "w").close()
time.sleep(1000)
PY
clients=$!
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
for i in range(20):
    s.sendall(b"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n" % i)
open(sys.argv[2], "w").close()
time.sleep(1000)' "$(sed -n 's/.*socket \([^ ]*\.sock\).*/\1/p' $log)" "$T/floods" &
clients="$clients $!"
wait_for 60 test -e "$T/floods" -a -e "$T/flooded"
parks "clients that do not read"

begin A=B
sed 's/BX: {32, 64}/BX: 1<<i for i = 5,6\n  P: i for i = 1,4000\n  Q: i for i = 1,4000/; s/^flops: n/where:\n  - (P*P + Q*Q*Q) % 1000003 == BX\nflops: n/' "$T/scale.peak.md" >"$T/large.peak.md"
client workflow create "$T/large.peak.md" large
client workflow create "$T/large.peak.md" large-2
client workflow create "$T/large.peak.md" large-3
computes() # succeeds once the daemon has used half a second
{
	[ "$(sed 's/.*) //' "/proc/$daemon/stat" | awk '{ print $12 }')" -gt 50 ]
}
wait_for 60 computes
parks "enumerations of large spaces"

begin A=B
hold_device "$db"
client tune scale --device hlsl:0 --budget 2
wait_for 60 says 'waiting for hlsl:0'
python3 -c 'import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
c.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
time.sleep(1000)' "$db" "$T/locked" &
locking=$!
wait_for 60 test -e "$T/locked"
parks "a lock of another program on the database"
kill $locking
wait $locking 2>/dev/null
locking=
let_go
has "$(timeout 60 "$peakd" jobs --db "$db" 2>&1)" "tune interrupted" "the job that could not be written is found interrupted at the next start"

# A start that takes long: here it waits for another program; a migration does as well.
db=$T/start.db log=$T/start.log clients=''
rm "$T/locked"
python3 -c 'import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA application_id = 0x5045414b")
c.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
time.sleep(1000)' "$db" "$T/locked" &
locking=$!
wait_for 60 test -e "$T/locked"
"$peakd" serve --listen none --db "$db" 2>"$log" &
daemon=$!
wait_for 60 sh -c "grep -q '^$daemon ' '$db.lock'"
started=$(now_ms)
kill -TERM "$daemon"
wait "$daemon"
is $? 143 "SIGTERM ends a daemon that still starts" "$(cat "$log")"
soon $(($(now_ms) - started)) 5000
ok $? "it does so within five seconds"
kill $locking
wait $locking 2>/dev/null
locking=
done_testing
