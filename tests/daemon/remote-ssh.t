#!/bin/sh
# A device of another machine, behind Debian's real ssh and sshd on loopback: lavapipe there compiles nothing, runs, is compared and timed.
# Connections that die in the middle are no evidence about a kernel.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
tests=24
db=$T/a.db
need_hlsl $tests "$db"
kill "$(holder "$db")"
is_free()
{
	[ -z "$(holder "$db")" ]
}
wait_for 60 is_free
need_bundle $tests
start_sshd $tests
cache=$far/cache
export PEAKD_REMOTE="lab=ssh:far"
device=lab/hlsl:0

"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
is "$(jq -r '.devices[] | select(.id == "lab/hlsl:0") | .host' "$T/devices" | cut -d, -f1)" "$(uname -n)" "devices of another machine are listed with its name" "$(cat "$T/devices" "$db.log")"
is "$(ls "$far/cache/peakd")" "$(sha256sum "$PEAKD_BUNDLE" | cut -c1-64)" "peakd travels there, into a folder named by its hash"
is "$(jq -r '[.devices[] | select(.backend == "hlsl") | .uuid] | unique | length >= 2' "$T/devices")" true "a software device of another machine has an identity of its own"

small_context >"$T/scale.peak.md"
"$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
"$peakd" validate scale --device $device --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is validated there" "$(cat "$T/out")"
"$peakd" tune scale --device $device --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is tuned there" "$(cat "$T/out")"
is "$(sqlite3 "$db" "SELECT count(*) > 0 FROM measurement WHERE device LIKE '%@$(uname -n), %' AND status = 'ok'")" 1 "its times belong to the device of that machine"
is "$(grep -c 'copying peakd there' "$db.log")" 1 "peakd is copied once"

# The idle worker stays there; its sandbox is on, and its parent is the guard.
has "$(workers) " " 2 " "a worker there runs in its sandbox (seccomp filters)"

# --- names --------------------------------------------------------------------------------------------------------------------
refused() # refused DEVICE PART NAME
{
	"$peakd" validate scale --device "$1" --db "$db" >"$T/out" 2>&1 && echo "it was accepted" >"$T/out"
	has "$(cat "$T/out")" "$2" "$3"
}
calls=$(grep -c x "$far/calls")
refused ssh:elsewhere/hlsl:0 "this daemon may not use the machine" "a machine that the operator did not name is refused"
refused 'ssh:-oProxyCommand=x/hlsl:0' "may not use the machine" "an option in the place of a host is refused"
is "$(grep -c x "$far/calls")" "$calls" "a refused name starts nothing"
refused lab/hlsl:7 "no device 'lab/hlsl:7'; that machine has lab/hlsl:0" "a device that is not there is refused with those that are"
for spec in 'ssh:-oProxyCommand=x' 'ssh:a;b' 'ssh:' 'slurm:prolog=x' 'slurm:time=$(x)' 'kubectl:-x' 'telnet:far' 'a b=ssh:c' 'ssh:far/hlsl:0'; do
	PEAKD_REMOTE= timeout 20 "$peakd" serve --listen none --db "$T/b.db" --remote "$spec" >"$T/out" 2>&1
	[ $? = 1 ] && grep -q -- '--remote or PEAKD_REMOTE: ' "$T/out" || echo "$spec: $(cat "$T/out")"
done >"$T/wrong"
is "$(cat "$T/wrong")" "" "a daemon does not start with a machine that is misspelt"

# --- the lock -----------------------------------------------------------------------------------------------------------------
hold_device "$db"
"$peakd" validate scale --device $device --db "$db" >"$T/out" 2>"$T/err" &
validating=$!
waits()
{
	sqlite3 "$db" "SELECT message FROM job_event" | grep -q "waiting for lab/hlsl:0: process $holding uses it"
}
wait_for 60 waits
ok $? "a device that another process of that machine uses is waited for" "$(sqlite3 "$db" 'SELECT message FROM job_event' | tail -5)"
let_go
wait $validating
is $? 0 "it is used when that process lets it go" "$(cat "$T/err")"

# --- connections that die ------------------------------------------------------------------------------------------------------
# An execution of tens of milliseconds.
sed 's/C\[id.x\] = 2.0 \* A\[id.x\];/{ float x = A[id.x]; for (uint i = 0; i < 20000; i++) x = 2.0 * A[id.x] - x; C[id.x] = 2.0 * x; }/' \
	"$T/scale.peak.md" >"$T/slow.peak.md"
"$peakd" workflow create "$T/slow.peak.md" slow --db "$db" >"$T/out" 2>&1
# Ends the connection of the first worker that has worked for 0.3 s, as sshd's death does.
cut_one()
{
	session=$(busy_session sshd) && kill -9 "$session" && cut=0
}
cut_or_over() # cut_or_over CLIENT
{
	cut_one || gone "$1"
}
validate() # validate: cuts one connection meanwhile
{
	for idle in $(workers | cut -d' ' -f2); do kill "$idle"; done
	timeout 120 "$peakd" validate slow --device $device --db "$db" >"$T/out" 2>&1 &
	validating=$!
	cut=1
	wait_for 200 cut_or_over $validating
	wait $validating
	status=$?
}
for _ in 1 2 3 4 5; do
	validate
	evidence=$(sqlite3 "$db" "SELECT details FROM validation WHERE verdict = 'passed'")
	case $status:$cut:$evidence in
	0:0:*"connection to the worker was lost"*) break ;;
	0:*) ;;
	*) break ;;
	esac
done
is "$status:$cut" 0:0 "a kernel whose connection dies is validated over a fresh one" "$(cat "$T/out")"
has "$evidence" "the connection to the worker was lost: its launcher exited with status 255" "the evidence names the lost connection"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "a lost connection is no evidence against the kernel"

# A tune: its connections are cut all at once, hold included.
"$peakd" tune slow --device $device --db "$db" >"$T/out" 2>&1 &
tuning=$!
cut_all()
{
	cut_one || { gone $tuning; return; }
	for session in $(ps -o pid= --ppid "$sshd"); do kill -9 "$session" 2>/dev/null; done
	return 0
}
cut=1
wait_for 200 cut_all
wait $tuning
is "$?:$cut" 0:0 "a tune goes on when all its connections die" "$(cat "$T/out")"
is "$(sqlite3 "$db" "SELECT count(*) FROM measurement WHERE status NOT IN ('ok', 'pruned')")" 0 "no configuration is blamed for a connection" "$(sqlite3 "$db" 'SELECT status, * FROM measurement' | head -5)"

# A machine that stays away is the job's failure and nobody's verdict; what was measured stays.
kill "$sshd"
wait "$sshd" 2>/dev/null
for session in $(workers | cut -d' ' -f1); do kill -9 "$session"; done
"$peakd" validate scale --device $device --db "$db" >"$T/out" 2>&1
status=$?
has "$status:$(cat "$T/out")" "1:" "a job fails whose machine is away"
has "$(cat "$T/out")" "lab cannot be reached: its launcher exits with 255" "it says that the machine cannot be reached"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "a machine that is away leaves no evidence against the kernel"
is "$(workers)" "" "no worker outlives its connection"
done_testing
