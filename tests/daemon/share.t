#!/bin/sh
# One daemon per database: clients share it, the first client starts it, it ends when idle, and a second daemon is refused.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

# Five clients start at once without a daemon: one of them starts it, and all get an answer.
pids=
for i in 1 2 3 4 5; do
	(printf '%s\n' "$HELLO"; wait_for 60 grep -q serverInfo "$T/out$i") |
		timeout 120 "$peakd" stdio --db "$db" >"$T/out$i" 2>"$T/err$i" &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid"
done
is "$(cat "$T"/out? | grep -c '"serverInfo"')" 5 "five clients that start at once are all answered"
# A client may be served before the log says so.
wait_for 60 grep -q 'info: serving' "$db.log"
is "$(grep -c 'info: serving' "$db.log")" 1 "five clients that start at once start one daemon"
first=$(holder "$db")
is "$(cat "$T"/err?)" "" "clients that start at once write nothing to stderr"

# Two IDE windows: each sees what the other makes.
mkfifo "$T/one" "$T/two"
timeout 120 "$peakd" stdio --db "$db" <"$T/one" >"$T/one.out" &
one=$!
timeout 120 "$peakd" stdio --db "$db" <"$T/two" >"$T/two.out" &
two=$!
exec 3>"$T/one" 4>"$T/two"
printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
printf '%s\n' "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&4
small_context | jq -Rsc '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:"context_create",arguments:{source:.,name:"shared"}}}' >&3
wait_for 60 grep -q '"id":2' "$T/one.out"
printf '%s\n' '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workflow","arguments":{"action":"list"}}}' >&4
wait_for 60 grep -q '"id":3' "$T/two.out"
has "$(grep '"id":3' "$T/two.out")" '"shared"' "a workflow of one window is seen in the other"
is "$(holder "$db")" "$first" "both windows use the first daemon"
is "$(jq -c 'has("jsonrpc")' "$T/one.out" "$T/two.out" | sort -u)" true "the relay writes only messages to standard output"
exec 3>&- 4>&-
wait $one
is $? 0 "closing standard input ends the relay with status 0"
wait $two

timeout 120 "$peakd" serve --listen none --db "$db" 2>"$T/second"
is $? 1 "a second daemon on the same database is refused"
has "$(cat "$T/second")" "process $first" "the refused daemon names the process that holds the database"
ln -s "$db" "$T/link.db"
timeout 120 "$peakd" serve --listen none --db "$T/link.db" 2>"$T/second"
is $? 1 "a second daemon is refused under another name of the same database"

# The daemon ends while a client is connected, and a new one starts.
kill "$first"
wait_for 60 gone "$first"
is $? 0 "SIGTERM ends the daemon"
has "$(timeout 120 "$peakd" workflow list --db "$db")" shared "a new daemon knows the workflows of the old one"

timeout 120 "$peakd" serve --listen none --idle-exit 1 --db "$T/b.db" 2>"$T/idle"
is $? 0 "--idle-exit ends a daemon without clients"
has "$(cat "$T/idle")" "no client and no job" "a daemon that ends when idle says so"

# A daemon that migrates a large database, or starts on a busy machine, listens late. The client says which process it waits for,
# and keeps waiting. The stand-in here releases the lock only after that.
cat >"$T/hold.py" <<'PY'
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK, as the daemon does
os.write(fd, b"%d /nowhere/yet\n" % os.getpid())
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.05)
PY
python3 "$T/hold.py" "$T/slow.db.lock" "$T/held" "$T/enough" &
slow=$!
wait_for 60 test -e "$T/held"
timeout 240 "$peakd" workflow list --db "$T/slow.db" >"$T/slow" 2>&1 &
client=$!
wait_for 120 grep -q "waiting for process $slow" "$T/slow"
is $? 0 "a client says which process it waits for while a daemon starts"
touch "$T/enough"
wait $client
is $? 0 "a client that waited for a daemon gets its answer: $(tail -n 1 "$T/slow")"
wait $slow

# The socket of a killed daemon does not stop a new one.
second=$(holder "$db")
kill -KILL "$second"
wait_for 60 gone "$second"
has "$(timeout 120 "$peakd" workflow list --db "$db")" shared "a new daemon takes over after SIGKILL"
chmod 755 "$T/run/peakd"
timeout 120 "$peakd" workflow list --db "$T/c.db" 2>"$T/open"
is $? 1 "a socket folder with open permissions is refused"
has "$(cat "$T/open")" "0700" "the refusal of a socket folder names the permissions that it needs"
chmod 700 "$T/run/peakd"
done_testing
