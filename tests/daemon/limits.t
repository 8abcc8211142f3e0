#!/bin/sh
# Under tight limits the cause is named: every client over HTTP is answered with few descriptors, a worker that runs out of memory
# refutes no kernel, nor does a process that cannot be started, and the last crash of a worker is kept.
. "$(dirname "$0")/lib.sh"
need_hlsl 14 "$T/d.db"
small_context >"$T/scale.peak.md"

# --- 64 descriptors and 120 clients at once
(ulimit -n 64 && exec "$peakd" serve --listen 127.0.0.1:0 --db "$T/few.db") 2>"$T/few" &
daemon=$!
wait_for 60 grep -q serving "$T/few"
cat >"$T/clients.py" <<'PYTHON'
import collections, socket, sys, threading
port, hello, count = int(sys.argv[1]), sys.argv[2], 120
answers, barrier = collections.Counter(), threading.Barrier(count)
request = ("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
           "Content-Length: %d\r\n\r\n%s" % (len(hello), hello)).encode()
def ask():
    try:
        s = socket.create_connection(("127.0.0.1", port), 60)
        barrier.wait()
        s.sendall(request)
        answers[s.recv(4096)[:12].decode()] += 1
    except OSError as why:
        answers[str(why)] += 1
threads = [threading.Thread(target=ask) for _ in range(count)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(n for a, n in answers.items() if a in ("HTTP/1.1 200", "HTTP/1.1 503")), answers["HTTP/1.1 200"] > 0, answers)
PYTHON
timeout 120 python3 "$T/clients.py" "$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)/mcp.*,\1,p' "$T/few")" "$HELLO" >"$T/answers" 2>&1
is "$(cut -d' ' -f1,2 "$T/answers")" "120 True" "with 64 descriptors each of 120 clients has an HTTP answer" "$(cat "$T/answers")"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon with 64 descriptors ends with status 0"

# --- too little memory for a worker
(ulimit -v 400000 && timeout 120 "$peakd" run "$T/scale.peak.md" --db "$T/small.db" --samples 1 --budget 1) >"$T/out" 2>&1
has "$(cat "$T/out")" "of memory here (ulimit -v)" "a worker that runs out of memory says so"
is "$(sqlite3 "$T/small.db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 \
	"a worker that runs out of memory leaves no evidence against the kernel"

# --- no further process can be started: the C library's function for it fails while a file is there
cat >"$T/spawn.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		 char *const argv[], char *const environment[])
{
	int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]) =
		dlsym(RTLD_NEXT, "posix_spawnp");
	return access(getenv("NO_SPAWN"), F_OK) == 0 ? EAGAIN : real(pid, file, actions, attributes, argv, environment);
}
C
${CC:-cc} -shared -fPIC -o "$T/spawn.so" "$T/spawn.c" -ldl
rm "$T/few" # else the first daemon's log may be read
touch "$T/nospawn"
NO_SPAWN=$T/nospawn LD_PRELOAD=$T/spawn.so "$peakd" serve --listen none --db "$T/spawn.db" 2>"$T/few" &
daemon=$!
wait_for 60 grep -q serving "$T/few"
"$peakd" workflow create "$T/scale.peak.md" scale --db "$T/spawn.db" >"$T/out" 2>&1
has "$("$peakd" devices --db "$T/spawn.db" 2>&1)" "Resource temporarily unavailable" \
	"devices says why a backend could not be asked"
rm "$T/nospawn"
has_device() { "$peakd" devices --db "$T/spawn.db" | grep -q '^hlsl:0'; }
wait_for 60 has_device
is $? 0 "a backend whose worker gave no answer is asked again" "$("$peakd" devices --db "$T/spawn.db" 2>&1)"
touch "$T/nospawn"
timeout 120 "$peakd" validate scale --db "$T/spawn.db" >"$T/out" 2>&1
is $? 1 "a job without a worker fails" "$(cat "$T/out")"
has "$(cat "$T/out")" "Resource temporarily unavailable" "it names the cause" "$(cat "$T/few")"
is "$(sqlite3 "$T/spawn.db" "SELECT (SELECT count(*) FROM validation WHERE verdict = 'failed'), status FROM checkpoint")" \
	"0|draft" \
	"a worker that cannot be started leaves no evidence against the kernel"
rm "$T/nospawn"
timeout 120 "$peakd" validate scale --db "$T/spawn.db" >"$T/out" 2>&1
is $? 0 "the same daemon goes on when processes can be started again" "$(cat "$T/out")"
kill "$daemon"
wait "$daemon"

# --- a fault in a worker
"$peakd" workflow create "$T/scale.peak.md" scale --db "$T/crash.db" >"$T/out" 2>&1
is $? 0 "a workflow is created" "$(cat "$T/out")"
"$peakd" devices --db "$T/crash.db" >"$T/out" 2>&1 # else the worker that looks for them is faulted
ticks=5 killed=0
is_kept() # faults the workers until a job has written down the crash of a kernel
{
	"$peakd" tune scale --db "$T/crash.db" >"$T/out" 2>&1 &
	client=$!
	while ! gone "$client"; do
		for worker in $(pgrep -P "$(holder "$T/crash.db")"); do
			[ $(($(sed 's/.*) //' "/proc/$worker/stat" 2>/dev/null | cut -d' ' -f12) + 0)) -gt $ticks ] &&
				kill -SEGV "$worker" && killed=5
		done
		sleep 0.05
	done
	wait "$client"
	ticks=$((ticks + killed)) killed=0
	[ "$(sqlite3 "$T/crash.db" "SELECT count(*) FROM fact WHERE key = 'last_crash'")" = 1 ]
}
wait_for 300 is_kept
"$peakd" devices --db "$T/crash.db" >"$T/devices" 2>&1
has "$(cat "$T/devices")" "last crash: scale (checkpoint 1), n=4096 BX=" "devices names kernel and configuration of the last crash"
has "$(cat "$T/devices")" "signal 11" "devices names the signal of the last crash"
has "$("$peakd" devices --db "$T/crash.db" --json | jq -r '.devices[] | select(.id == "hlsl:0") | .last_crash')" "scale" \
	"the last crash is in the structured answer"
done_testing
