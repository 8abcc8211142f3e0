#!/bin/sh
# SIGUSR2: a new binary takes the daemon's place in the same process, with its sockets and the locks of its database. Clients that
# connect all the time, over TCP and the Unix socket, are never refused, and no other daemon gets the database. A binary that does
# not run takes over nothing. SIGTERM then ends the new daemon as any.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
cp "$peakd" "$T/peakd"
echo 'PEAKD_REFERENCES_MB = 100' >"$T/conf"
"$T/peakd" serve --config "$T/conf" --listen 127.0.0.1:0 --db "$db" 2>"$T/log" &
daemon=$!
wait_for 60 grep -q serving "$T/log"
port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)/mcp.*,\1,p' "$T/log")
path=$(sed -n 's/.*socket \(.*\)$/\1/p' "$T/log")
limit() # the figure that the configuration file decides
{
	curl -s --max-time 60 "http://127.0.0.1:$port/metrics" | sed -n 's/^peakd_reference_limit_bytes //p'
}
is "$(limit)" 104857600 "the configuration file is read"

# Counts what clients see until its input ends; then prints failures, and answers of each kind.
cat >"$T/clients.py" <<'PYTHON'
import collections, http.client, json, socket, sys, threading
port, path, hello = int(sys.argv[1]), sys.argv[2], sys.argv[3]
seen, failed, over = collections.Counter(), [], threading.Event()
lock = threading.Lock()
def page():
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("GET", "/healthz")
    return "page %d" % c.getresponse().status
def session():
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", "/mcp", hello, {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
    return "session %d" % c.getresponse().status
def local():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(path)
    try:
        s.sendall(hello.encode() + b"\n")
        return "line %s" % ("answered" if s.recv(65536) else "cut")
    except (BrokenPipeError, ConnectionResetError):
        return "line cut" # accepted, and gone before it had said anything: as when any daemon ends
def go(ask):
    while not over.is_set():
        try:
            what = ask()
            with lock: seen[what] += 1
        except Exception as why:
            with lock: failed.append("%s: %r" % (ask.__name__, why))
threads = [threading.Thread(target=go, args=(ask,)) for ask in (page, session, local) for _ in range(2)]
for t in threads: t.start()
for line in sys.stdin:
    with lock: before = dict(seen)
    # Each kind of client was answered again.
    while any(seen[k] < before.get(k, 0) + 5 for k in ("page 200", "session 200", "line answered")) and not failed: over.wait(0.02)
    print("served", flush=True)
over.set()
for t in threads: t.join()
print(len(failed), failed[:3], dict(seen), flush=True)
PYTHON
mkfifo "$T/words"
timeout 300 python3 "$T/clients.py" "$port" "$path" "$HELLO" <"$T/words" >"$T/clients" 2>&1 &
clients=$!
exec 9>"$T/words"
served() # waits until all kinds of clients are answered again
{
	lines=$(($(grep -c served "$T/clients") + 1))
	echo >&9
	wait_for 120 sh -c "[ \$(grep -c served '$T/clients') -ge $lines ]"
}
served
ok $? "clients are served before" "$(cat "$T/clients")"
for round in 1 2 3; do
	echo 'PEAKD_REFERENCES_MB = 20'$round >"$T/conf"
	cp "$peakd" "$T/new"
	mv "$T/new" "$T/peakd"
	kill -USR2 $daemon
	wait_for 60 sh -c "[ \$(grep -c 'info: serving' '$T/log') -gt $round ]"
	is $? 0 "round $round: the daemon serves again in the same process" "$(tail -3 "$T/log")"
	is "$(stat -L -c %i "/proc/$daemon/exe")" "$(stat -c %i "$T/peakd")" "round $round: it runs the new binary"
	served
	ok $? "round $round: clients are served after" "$(tail -3 "$T/clients")"
	is "$(limit)" "$((20$round << 20))" "round $round: it reads the new configuration file"
done
is "$(holder "$db")" "$daemon" "the process still holds the database"
exec 9>&-
wait $clients
is "$(sed -n '$s/ .*//p' "$T/clients")" 0 "no client was refused or cut off without an answer" "$(tail -1 "$T/clients")"
echo "# $(tail -1 "$T/clients")"
printf '#!/bin/sh\nexit 3\n' >"$T/new"
chmod +x "$T/new"
mv "$T/new" "$T/peakd"
kill -USR2 $daemon
wait_for 60 grep -q 'no new binary takes over: .* ended with status 3' "$T/log"
is $? 0 "a binary that does not run is refused with its status" "$(tail -2 "$T/log")"
is "$(limit)" "$((203 << 20))" "the daemon goes on"
timeout 60 "$peakd" jobs --db "$db" >"$T/out" 2>&1
is $? 0 "a verb finds the daemon" "$(cat "$T/out")"
kill -TERM $daemon
wait $daemon
is "$? $(test -e "$path"; echo $?)" "0 1" "SIGTERM ends the daemon and removes its socket"
is "$(grep -c 'error: ' "$T/log")" 1 "the log has no other error" "$(grep 'error: ' "$T/log")"

# --- compilers are a part of the binary, so another build of it has compiled kernels, and errors, of its own
if timeout 120 "$peakd" devices --db "$db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null; then
	small_context >"$T/scale.peak.md"
	compiled() # compiled PROGRAM: how many more answers of the compiler are kept
	{
		before=$(find "$XDG_CACHE_HOME" -type f | wc -l)
		timeout 60 "$1" workflow create "$T/scale.peak.md" --db "$T/$2.db" >"$T/out" 2>&1
		timeout 60 "$1" validate scale --samples 2 --db "$T/$2.db" >>"$T/out" 2>&1
		echo $(($(find "$XDG_CACHE_HOME" -type f | wc -l) - before))
	}
	cp "$peakd" "$T/rebuilt"
	first=$(compiled "$peakd" b)
	[ "$first" -gt 0 ]
	ok $? "a daemon keeps what its compiler answered" "$(cat "$T/out")"
	is "$(compiled "$peakd" c)" 0 "another daemon of the same build asks no compiler again" "$(cat "$T/out")"
	is "$(compiled "$T/rebuilt" d)" "$first" "another build asks its own" "$(cat "$T/out")"
else
	skip 3 "no device runs HLSL here"
fi
done_testing
