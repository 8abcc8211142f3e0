#!/bin/sh
# A worker that is killed from outside (by an administrator, or for lack of memory) is no evidence about the kernel that it ran. A
# fresh worker validates again, the cause is reported, and nothing is refuted.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
# The daemon tells of every signal that it sends: a process id whose process was waited for may be anybody's by now.
cat >"$T/kill.c" <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int kill(pid_t pid, int number)
{
	siginfo_t info;
	FILE *told = number ? fopen(getenv("PEAKD_TEST_SIGNALS"), "a") : NULL;
	if (told) {
		fprintf(told, "%s\n", waitid(P_PID, (id_t)abs(pid), &info, WEXITED | WNOHANG | WNOWAIT) ? "anybody" : "child");
		fclose(told);
	}
	return (int)syscall(SYS_kill, pid, number);
}
C
cc -shared -fPIC -o "$T/kill.so" "$T/kill.c" || echo "# cc makes no library"
export PEAKD_TEST_SIGNALS="$T/signals" LD_PRELOAD="$T/kill.so"
need_hlsl 9 "$db"
unset LD_PRELOAD
# A quarter of its wasted work is slow enough.
sed 's/40000/10000/' "$root/tests/adversary/09-drifts-slow.good.peak.md" >"$T/slow.peak.md"
"$peakd" workflow create "$T/slow.peak.md" slow --db "$db" >"$T/create" 2>&1
is $? 0 "a workflow of a slow kernel is created" "$(cat "$T/create")"

# Kills a child of the daemon each time that it has worked for half a second. The kernel is slow, so that only the workers of the
# candidate and of its reference ever do; no compiler works so long.
cat >"$T/kill.py" <<'PY'
import os, signal, sys, time
daemon, wanted, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
first, killed = {}, []
end = time.monotonic() + 120
while len(killed) < wanted and time.monotonic() < end:
    worked = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or name in killed:
            continue
        try:
            stat = open("/proc/%s/stat" % name).read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(stat[1]) == daemon:
            ticks = int(stat[11]) + int(stat[12])
            worked.append((ticks - first.setdefault(name, ticks), name))
    worked.sort(reverse=True)
    if worked and worked[0][0] >= 50:
        os.kill(int(worked[0][1]), signal.SIGKILL)
        killed.append(worked[0][1])
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
# Nobody notices when a worker is killed between two requests: then the next one is killed.
for _ in 1 2 3 4 5 6; do
	validate 1
	evidence=$(sqlite3 "$db" "SELECT details FROM validation WHERE verdict = 'passed'")
	case $status:$(cat "$T/killed"):$evidence in
	0:1:*"killed from outside"*) break ;;
	0:1:*) ;;
	*) break ;;
	esac
done
is "$status:$(cat "$T/killed")" 0:1 "a kernel whose worker is killed once is validated" "$(cat "$T/out")"
has "$evidence" "killed from outside by signal 9" "the evidence names the cause of the worker's end"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 \
	"a worker killed once leaves no evidence against the kernel"

validate 100
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 \
	"workers that are always killed leave no evidence against the kernel" "$(cat "$T/out")"
has "$(cat "$T/out")" "killed from outside" "the answer says why the kernel was not validated"
is "$(sqlite3 "$db" "SELECT count(*) FROM checkpoint WHERE status = 'refuted'")" 0 "killed workers do not refute the checkpoint"
is "$(sort -u "$T/signals" | head -1)" child "the daemon kills its workers, and what they started"
is "$(grep -c anybody "$T/signals")" 0 "the daemon sends no signal to a process or group after it was waited for"
done_testing
