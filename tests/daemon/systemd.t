#!/bin/sh
# systemd/peakd.service: its command line is run as systemd runs it, with the state folder in the environment, readiness
# notification and SIGTERM. (Containers have no systemd; `systemd-analyze verify` is in tests/install.)
. "$(dirname "$0")/lib.sh"
mkdir -m 700 "$T/state"
line=$(sed -n 's/^ExecStart=//p' "$root/systemd/peakd.service")
is "${line%% *}" /usr/local/bin/peakd "the unit runs the installed binary"
# A free port, which the daemon reports to systemd.
command=$(printf '%s' "$line" | sed "s|/usr/local/bin/peakd|$peakd|; s|127.0.0.1:[0-9]*|127.0.0.1:0|")
case $command in *--listen*) ;; *) command="$command --listen 127.0.0.1:0" ;; esac
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
STATE_DIRECTORY="$T/state" NOTIFY_SOCKET="$T/notify" JOURNAL_STREAM=1:1 sh -c "exec $command" 2>"$T/err" &
daemon=$!
wait_for 60 grep -q READY=1 "$T/said"
ok $? "the daemon tells systemd READY=1" "$(cat "$T/err")"
ok "$(ls "$T/state" | grep -q . ; echo $?)" "the database is in the state folder"
url=$(grep -o 'http://[0-9.:]*' "$T/said")
has "$(curl -s --max-time 60 "$url/healthz")" "ok" "the daemon answers at the address that it reports"
kill -TERM $daemon
wait $daemon
is $? 0 "SIGTERM ends the daemon with status 0" "$(cat "$T/err")"
wait $listener
has "$(cat "$T/said")" "STOPPING=1" "the daemon tells systemd STOPPING=1"
is "$(grep -vc '^<[3-7]>' "$T/err")" 0 "log lines carry the journal's priorities"
done_testing
