#!/bin/sh
# The files in systemd/, without a booted system (tests/install/service.t has one): the unit's command line is run as systemd runs
# it, with folders in the environment, readiness notification, SIGHUP and SIGTERM. The shell finds the service's socket, wherever it
# is.
. "$(dirname "$0")/lib.sh"
# A folder of the unit's own, and a short path: a socket's may have 107 characters.
mkdir -m 700 "$T/state" "$T/runtime"
line=$(sed -n 's/^ExecStart=//p' "$root/systemd/peakd.service")
is "${line%% *}" /usr/local/bin/peakd "the unit runs the installed binary"
# A free port, which the daemon reports to systemd.
{
	cat "$root/systemd/peakd.conf"
	echo "listen = 127.0.0.1:0"
} >"$T/peakd.conf"
command=$(printf '%s' "$line" | sed "s|/usr/local/bin/peakd|$peakd|; s|/etc/peakd/peakd.conf|$T/peakd.conf|")
cat >"$T/listen.py" <<'PY'
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(60)
while True:
    words = s.recv(4096).decode()
    print(words.replace("\n", " "), flush=True)
    if "STOPPING=1" in words:
        break
PY
python3 "$T/listen.py" "$T/notify" >"$T/said" &
listener=$!
wait_for 60 test -S "$T/notify"
STATE_DIRECTORY="$T/state" RUNTIME_DIRECTORY="$T/runtime" NOTIFY_SOCKET="$T/notify" WATCHDOG_USEC=400000 JOURNAL_STREAM=1:1 \
	sh -c "exec $command" 2>"$T/err" &
daemon=$!
wait_for 60 grep -q READY=1 "$T/said"
ok $? "the daemon tells systemd READY=1" "$(cat "$T/err")"
ok "$(ls "$T/state" | grep -q . ; echo $?)" "the database is in the state folder"
url=$(grep -o 'http://[0-9.:]*' "$T/said" | head -1)
has "$(curl -s --max-time 60 "$url/healthz")" "ok" "the daemon answers at the address that it reports"
ls "$T/runtime" | grep -q '\.sock$'
ok $? "the daemon's socket is in the runtime folder" "$(ls "$T/runtime")"
begin=$(now_ms)
timeout 60 "$peakd" jobs --db "$T/state/peakd.db" >"$T/out" 2>&1
is $? 0 "a verb finds the service's socket" "$(cat "$T/out")"
soon $(($(now_ms) - begin)) 2000
ok $? "a verb does not wait for the service's socket"
timeout 60 "$peakd" jobs --db "$T"/runtime/*.sock >"$T/out" 2>&1
is $? 0 "--db takes the socket in place of the database" "$(cat "$T/out")"
wait_for 60 sh -c "[ \$(grep -c WATCHDOG=1 '$T/said') -ge 2 ]"
ok $? "the daemon tells the watchdog that it is alive" "$(cat "$T/said")"
kill -HUP $daemon
wait_for 60 sh -c "grep -A9 RELOADING=1 '$T/said' | grep -q READY=1"
ok $? "SIGHUP is RELOADING=1 with a time, then READY=1" "$(cat "$T/said")"
has "$(grep RELOADING=1 "$T/said")" "MONOTONIC_USEC=" "RELOADING=1 comes with a time"
readies=$(grep -c READY=1 "$T/said")
reloads=$(grep -c RELOADING=1 "$T/said")
kill -USR2 $daemon
wait_for 60 sh -c "[ \$(grep -c READY=1 '$T/said') -gt $readies ] && [ \$(grep -c RELOADING=1 '$T/said') -gt $reloads ]"
ok $? "a binary that takes over says RELOADING=1 and READY=1" "$(cat "$T/said" "$T/err")"
alive=$(grep -c WATCHDOG=1 "$T/said")
wait_for 60 sh -c "[ \$(grep -c WATCHDOG=1 '$T/said') -gt $alive ]"
ok $? "and tells the watchdog that it is alive" "$(cat "$T/said" "$T/err")"
timeout 60 "$peakd" jobs --db "$T/state/peakd.db" >"$T/out" 2>&1
is $? 0 "a verb finds the daemon that took over" "$(cat "$T/out")"
kill -TERM $daemon
wait $daemon
is $? 0 "SIGTERM ends the daemon with status 0" "$(cat "$T/err")"
wait $listener
has "$(cat "$T/said")" "STOPPING=1" "the daemon tells systemd STOPPING=1"
is "$(grep -vc '^<[3-7]>' "$T/err")" 0 "log lines carry the journal's priorities"

python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/stale.sock"
timeout 60 "$peakd" jobs --db "$T/stale.sock" >"$T/out" 2>&1
is $? 1 "a socket without a daemon is an error at once"
has "$(cat "$T/out")" "no daemon listens there" "the error says that no daemon listens"

# Socket activation: the same two sockets serve one daemon after the other.
cat >"$T/activate.py" <<'PY'
import os, socket, subprocess, sys
peakd, path, db = sys.argv[1:]
local, inet = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)
local.bind(path), inet.bind(("127.0.0.1", 0))
local.listen(), inet.listen()
print(inet.getsockname()[1], flush=True)
for run in range(2):
    child = os.fork()
    if child == 0:
        keep = [os.dup(s.fileno()) for s in (local, inet)]
        for to, fd in zip((3, 4), [os.dup2(k, 20 + i) for i, k in enumerate(keep)]):
            os.dup2(fd, to)
        os.environ.update(LISTEN_FDS="2", LISTEN_PID=str(os.getpid()))
        os.execv(peakd, [peakd, "serve", "--db", db])
    print(child, flush=True)
    assert os.waitpid(child, 0)[1] == 0
PY
python3 "$T/activate.py" "$peakd" "$T/lent.sock" "$T/lent.db" >"$T/pids" 2>"$T/lent.err" &
manager=$!
wait_for 60 sh -c "[ \$(wc -l <'$T/pids') = 2 ]"
port=$(head -1 "$T/pids")
for nth in first second; do
	is "$(curl -s -o "$T/out" -w '%{http_code}' --max-time 60 "http://127.0.0.1:$port/healthz")" 200 \
		"the $nth daemon serves the TCP socket that it was given" "$(cat "$T/lent.err")"
	timeout 60 "$peakd" jobs --db "$T/lent.sock" >"$T/out" 2>&1
	is $? 0 "the $nth daemon serves the Unix socket that it was given" "$(cat "$T/out")"
	timeout 60 "$peakd" jobs --db "$T/lent.db" >"$T/out" 2>&1
	is $? 0 "a verb finds the $nth daemon by its database" "$(cat "$T/out")"
	kill "$(tail -1 "$T/pids")"
	[ $nth = second ] || wait_for 60 sh -c "[ \$(wc -l <'$T/pids') = 3 ]"
done
wait $manager
is $? 0 "both daemons end with status 0" "$(cat "$T/lent.err")"

# A daemon with a /tmp of its own, and somebody else's database.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	outside=$(mktemp -d /var/tmp/peakd-t.XXXXXX) # a private /tmp hides $T
	cp "$peakd" "$outside/peakd"
	XDG_RUNTIME_DIR=/nowhere unshare -m sh \
		-c "mount -t tmpfs tmpfs /tmp && exec '$outside/peakd' serve --listen none --db '$outside/private.db'" \
		2>"$T/private.err" &
	private=$!
	wait_for 60 grep -q serving "$T/private.err"
	is $? 0 "the daemon with a private /tmp serves" "$(cat "$T/private.err")"
	begin=$(now_ms)
	timeout 100 "$peakd" jobs --db "$outside/private.db" >"$T/out" 2>&1
	is $? 0 "a verb reaches a daemon whose /tmp is private" "$(cat "$T/out" "$T/private.err")"
	soon $(($(now_ms) - begin)) 2000
	ok $? "a verb does not wait for a socket in a private /tmp"
	kill $private
	wait $private
	rm -rf "$outside"
	cp "$T/lent.db" "$T/other.db"
	chown 65534 "$T/other.db"
	timeout 60 "$peakd" jobs --db "$T/other.db" >"$T/out" 2>&1
	is $? 1 "a verb starts no daemon for another user's database"
	has "$(cat "$T/out")" "belongs to user 65534" "the error names the owner"
	is "$(find "$T" -name 'other.db-*')" "" "another user's database gets no new files"
else
	skip 5 "only root has mount namespaces and other users"
fi

# The unit's rating by systemd, from 0 (closed) to 10.
if command -v systemd-analyze >/dev/null; then
	level=$(systemd-analyze security --offline=yes "$root/systemd/peakd.service" --no-pager 2>/dev/null |
		sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
	awk "BEGIN { exit !(\"$level\" != \"\" && $level <= 1.5) }"
	ok $? "systemd-analyze security rates the unit at most 1.5" "$level"
else
	skip 1 "no systemd-analyze here"
fi

# Every variable that the daemon reads can be in the configuration file, and so is in the help and the manual pages.
named=$(grep -rhoE 'getenv\("PEAKD_[A-Z_]+"\)|"PEAKD_(CUDA_DRIVER|ROCM|HIP_RUNTIME|NVDISASM|SANITIZER|REFERENCES_MB|BINARIES_MB|CUDA_TOOLKIT)"' \
	"$root"/base "$root"/core "$root"/backends "$root"/daemon --include=*.c --include=*.cc | grep -o 'PEAKD_[A-Z_]*' | sort -u |
	grep -v '^PEAKD_\(DB\|LOCK_SPACE\|COUNTERS_WORKER\)$')
"$peakd" help serve >"$T/help"
is "$(for v in $named; do grep -q "^  $v=" "$T/help" || echo "$v"; done)" "" \
	"peakd help serve lists every variable that the daemon reads"
done_testing
