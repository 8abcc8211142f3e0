#!/bin/sh
# The daemon uses no processor time when idle, answers its plain HTTP pages, and ends quickly and completely on a signal.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

"$peakd" serve --listen 127.0.0.1:0 --db "$db" 2>"$T/log" &
daemon=$!
wait_for 60 grep -q 'serving' "$T/log"
is $? 0 "the daemon logs the address that it serves"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*\)/mcp.*,\1,p' "$T/log")
is "$(curl -fsS --max-time 60 "$url/healthz" | head -1)" ok "/healthz says that all is well"
mv "$db" "$db.away"
is "$(curl -sS -w '%{http_code}' --max-time 60 "$url/healthz" | sed -n '1p;$p' | tr '\n' ' ')" "failing 503" \
	"/healthz fails when the database file is gone"
mv "$db.away" "$db"
is "$(curl -sS -o /dev/null -w '%{http_code}' --max-time 60 "$url/healthz")" 200 "and recovers with it"
small_context >"$T/scale.peak.md"
timeout 120 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
timeout 120 "$peakd" tune scale --device none:0 --db "$db" >/dev/null 2>&1
curl -fsS --max-time 60 "$url/metrics" >"$T/metrics"
is "$(grep -c '^peakd_jobs 0$' "$T/metrics") $(grep -c '^peakd_workflows 1$' "$T/metrics")" "1 1" \
	"/metrics counts jobs and workflows"
is "$(grep -v '^# \(HELP\|TYPE\) ' "$T/metrics" | grep -cvE '^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$')" 0 \
	"every line of /metrics is in Prometheus text format"
for figure in peakd_workers_started_total peakd_queue_seconds peakd_reference_limit_bytes process_resident_memory_bytes \
	process_open_fds; do
	has "$(cat "$T/metrics")" "
$figure " "/metrics has $figure"
done
has "$(curl -fsS --max-time 60 "$url/")" "/mcp" "/ tells where MCP is served"
has "$(curl -fsS --max-time 60 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
	-d "$HELLO" "$url/mcp")" '"serverInfo"' "/mcp answers"

timeout 120 "$peakd" devices --db "$db" >/dev/null
ticks() # prints the processor time used, in hundredths of a second
{
	for pid in "$daemon" $(pgrep -P "$daemon"); do
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null
	done | awk '{ n += $12 + $13 } END { print n }'
}
# On a loaded machine the start takes a while, so this waits until the daemon comes to rest.
for _ in $(seq 20); do
	before=$(ticks)
	sleep 1.5
	used=$(($(ticks) - before))
	[ "$used" -gt 2 ] || break
done
[ "$used" -le 2 ]
ok $? "an idle daemon and its workers use no processor time ($used ticks in 1.5 s)"

# This job takes much longer than the test.
small_context | sed 's/{4096}/{4194304, 8388608, 16777216}/; s/{32, 64}/1<<i for i = 0,8/' |
	create_request scale | asked "$db" "$T/created"
timeout 120 "$peakd" tune scale --db "$db" >/dev/null 2>&1 &
client=$!
wait_for 60 sh -c "timeout 120 '$peakd' jobs --db '$db' | grep -q 'tune running'"
workers=$(pgrep -P "$daemon")
begin=$(now_ms)
kill -TERM "$daemon"
wait "$daemon"
is $? 0 "SIGTERM during a job ends the daemon with status 0"
took=$(($(now_ms) - begin))
soon $took 5000
ok $? "SIGTERM during a job ends the daemon within five seconds ($took ms)"
left=
for worker in $workers; do
	gone "$worker" || left="$left $worker"
done
is "$left" "" "SIGTERM leaves no worker running"
is "$(ls "$T/run/peakd")" "" "SIGTERM removes the daemon's socket"
wait $client
[ $? -ne 0 ]
ok $? "a client that waits for a job fails when the daemon ends"

# The messages to systemd (sd_notify(3)).
python3 - "$T/notify" >"$T/heard" <<'PYTHON' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.settimeout(60)
s.bind(sys.argv[1])
said = ""
while "STOPPING=1" not in said:
    said += s.recv(4096).decode() + "\n"
print(said)
PYTHON
listener=$!
wait_for 60 test -S "$T/notify"
NOTIFY_SOCKET=$T/notify "$peakd" serve --listen none --db "$T/b.db" 2>/dev/null &
daemon=$!
wait_for 60 sh -c "ls '$T/run/peakd' | grep -q sock"
kill -INT "$daemon"
wait "$daemon"
is $? 0 "SIGINT ends the daemon with status 0"
wait $listener
has "$(tr '\n' ' ' <"$T/heard")" "READY=1 STATUS=Serving $T/b.db, no HTTP STOPPING=1" "systemd is told of the start and the end"
# The next command starts a new daemon.
has "$(timeout 120 "$peakd" jobs --db "$db")" "tune interrupted" "the job of the client that waited was interrupted, not cancelled, and can be resumed"
# A daemon with --idle-exit ends even if its socket was deleted.
"$peakd" serve --listen none --idle-exit 1 --db "$T/gone.db" 2>"$T/gone.log" &
lonely=$!
wait_for 60 grep -q 'serving' "$T/gone.log"
rm -f "$T"/run/peakd*/*.sock "$T"/run/peakd/*.sock $(sed -n 's/.*socket \([^ ]*\.sock\).*/\1/p' "$T/gone.log")
wait_for 60 gone "$lonely"
ok $? "a daemon with --idle-exit ends after its socket was deleted" "$(cat "$T/gone.log")"
kill "$lonely" 2>/dev/null

done_testing
