#!/bin/sh
# A worker that somebody else kills (an administrator, the kernel for lack of memory) says nothing about the kernel that it ran: a fresh worker
# judges again, the cause is told, and nothing is refuted.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
need_hlsl 7 "$db"
cp "$root/tests/adversary/09-drifts-slow.good.peak.md" "$T/slow.peak.md"
"$peakd" workflow create "$T/slow.peak.md" slow --db "$db" >"$T/create" 2>&1
is $? 0 "a workflow of a slow kernel" "$(cat "$T/create")"

# Kills whichever child of the daemon has worked for half a second since it was first seen: compiling ends sooner.
cat >"$T/kill.py" <<'PY'
import os, signal, sys, time
daemon, wanted, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
first, killed = {}, []
end = time.monotonic() + 120
while len(killed) < wanted and time.monotonic() < end:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = open("/proc/%s/stat" % name).read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat[1]) != daemon or name in killed:
            continue
        ticks = int(stat[11]) + int(stat[12])
        if ticks - first.setdefault(name, ticks) >= 50:
            os.kill(int(name), signal.SIGKILL)
            killed.append(name)
            if len(killed) == wanted:
                break
    time.sleep(0.01)
open(path, "w").write("%d\n" % len(killed))
PY
validate() # validate KILLS: its answer goes to $T/out
{
	python3 "$T/kill.py" "$(holder "$db")" "$1" "$T/killed" &
	killer=$!
	timeout 200 "$peakd" validate slow --samples 1 --db "$db" >"$T/out" 2>&1
	status=$?
	kill "$killer" 2>/dev/null
	wait "$killer"
}
validate 1
is "$status:$(cat "$T/killed")" 0:1 "a kernel whose worker is killed once is validated" "$(cat "$T/out")"
has "$(sqlite3 "$db" "SELECT details FROM validation WHERE verdict = 'passed'")" "killed from outside by signal 9" "its evidence tells the cause"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "no evidence against it is recorded"

validate 100
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "where every worker is killed there is no evidence against it either" "$(cat "$T/out")"
has "$(cat "$T/out")" "killed from outside" "the answer tells why it was not judged"
is "$(sqlite3 "$db" "SELECT count(*) FROM checkpoint WHERE status = 'refuted'")" 0 "and the checkpoint is not refuted"
done_testing
