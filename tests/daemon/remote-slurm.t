#!/bin/sh
# Devices that a batch system lends: Debian's real Slurm (munged, slurmctld, two slurmd) on loopback, lavapipe as the device. Jobs that are
# cancelled and nodes that die in the middle are no evidence about a kernel, and two nodes tune almost twice as fast as one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
tests=15
need_bundle $tests
for program in munged slurmctld slurmd srun scancel; do
	command -v $program >/dev/null || skip_rest $tests "no $program here (sh tests/source/packages.sh install LOG remote)"
done
[ "$(id -u)" = 0 ] || skip_rest $tests "slurmd wants to be root"
cache=$T/cache
s=$T/slurm
mkdir "$s" "$s/state"
head -c 1024 /dev/urandom >"$s/key"
chmod 400 "$s/key"
here=$(uname -n | cut -d. -f1)
ports=$(python3 -c 'import socket
held = [socket.socket() for _ in range(3)]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])')
set -- $ports
export SLURM_CONF="$s/slurm.conf"
cat >"$SLURM_CONF" <<CONF
ClusterName=peakd
SlurmctldHost=$here(127.0.0.1)
SlurmctldPort=$1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$s/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool-%n
SlurmctldPidFile=$s/slurmctld.pid
SlurmdPidFile=$s/slurmd-%n.pid
SlurmctldLogFile=$s/slurmctld.log
SlurmdLogFile=$s/slurmd-%n.log
PlugStackConfig=/dev/null
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=1
NodeName=n1 NodeHostname=$here NodeAddr=127.0.0.1 Port=$2 CPUs=1 RealMemory=100
NodeName=n2 NodeHostname=$here NodeAddr=127.0.0.1 Port=$3 CPUs=1 RealMemory=100
PartitionName=gpus Nodes=n1,n2 Default=YES State=UP OverSubscribe=NO
CONF
# Ends what this test started, by its number, before the folder goes.
running=
start() # start COMMAND…
{
	"$@" >>"$s/out" 2>&1 &
	running="$running $!"
}
end_slurm()
{
	scancel --quiet --partition=gpus 2>/dev/null
	for pid in $running $(workers | cut -d' ' -f2) $(steps); do kill -9 "$pid" 2>/dev/null; done
	finish
}
trap end_slurm EXIT
start munged --foreground --force --key-file="$s/key" --socket="$s/munge" --pid-file="$s/munge.pid" --log-file="$s/munge.log" --seed-file="$s/munge.seed" --num-threads=2
wait_for 10 test -S "$s/munge" || skip_rest $tests "munged does not start here: $(tail -1 "$s/out")"
start slurmctld -D -c -f "$SLURM_CONF"
start slurmd -D -N n1 -f "$SLURM_CONF"
start slurmd -D -N n2 -f "$SLURM_CONF"
both_idle()
{
	[ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]
}
wait_for 30 both_idle || skip_rest $tests "Slurm does not start here: $(tail -2 "$s/out" "$s/slurmctld.log" | tr '\n' ' ')"

db=$T/a.db
export PEAKD_REMOTE="slurm:partition=gpus"
device=$PEAKD_REMOTE/hlsl:0
"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
jq -e --arg id "$device" '.devices[] | select(.id == $id)' "$T/devices" >/dev/null || skip_rest $tests "no device runs HLSL in a job of Slurm here: $(tail -3 "$db.log" | tr '\n' ' ')"
uuid=$(jq -r --arg id "$device" '.devices[] | select(.id == $id) | .uuid' "$T/devices")
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | cut -c 1-54)
is "$uuid" "$device@${cpu:-$(uname -m)}" "the devices of a partition count as one if their CPU is the same"
# lavapipe ends a shader's loops after 65,535 passes, so that each pass of the slow kernel has much to do. Messages below a kilobyte:
# Slurm's forwarding adds 40 ms to larger ones.
small_context | sed 's/4096/64/' >"$T/scale.peak.md"
sed 's/C\[id.x\] = 2.0 \* A\[id.x\];/{ float x = 0; for (uint i = 0; i < 60000; i++) { WORK } C[id.x] = 2.0 * A[id.x] + (x > 3.0 ? x : 0.0); }/
s/^```macros/&\n#define S x = sin(x + A[id.x]);\n#define WORK S S S S S S S S S S S S S S S S/' \
	"$T/scale.peak.md" >"$T/slow.peak.md"
for name in scale slow; do "$peakd" workflow create "$T/$name.peak.md" $name --db "$db" >"$T/out" 2>&1; done
"$peakd" validate scale --device "$device" --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is validated in a job of Slurm" "$(cat "$T/out")"
"$peakd" tune scale --device "$device*2" --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is tuned over two nodes" "$(cat "$T/out")"
is "$(sqlite3 "$db" "SELECT count(*) >= 2 FROM measurement WHERE device = '$uuid' AND status = 'ok'")" 1 "both configurations are measured"
is "$(squeue --noheader --format=%j | sort -u)" peakd "jobs rest for a minute, for the next piece of work"
"$peakd" tune scale --device "$PEAKD_REMOTE/hlsl:0*2000" --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "at most N allocations at once (1 to 64)" "a number of jobs has a bound"

# --- what is lost ---------------------------------------------------------------------------------------------------------------
# Runs a verb, and a command again and again until it succeeds or the verb ends.
beside() # beside COMMAND VERB…
{
	event=$1
	shift
	timeout 120 "$peakd" "$@" --db "$db" >"$T/out" 2>&1 &
	verb=$!
	while kill -0 $verb 2>/dev/null; do
		$event >/dev/null 2>&1
		done=$?
		[ $done != 0 ] || break
		sleep 0.02
	done
	wait $verb
	status=$?
}
preempt()
{
	busy_session slurmstepd >/dev/null && scancel --partition=gpus
}
for pid in $(workers | cut -d' ' -f2); do kill "$pid"; done
beside preempt validate slow --device "$device"
is "$status:$done" 0:0 "a kernel whose job is cancelled is validated in another one" "$(cat "$T/out" "$db.log")"
# Slurm's processes of a step are its own, so they are found by their environment.
steps()
{
	for pid in $(pgrep -x slurmstepd); do grep -qzx "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null && echo "$pid"; done
}
node_dies()
{
	busy_session slurmstepd >/dev/null || return 1
	# shellcheck disable=SC2046 # a list of numbers
	kill -9 $(steps) "${running##* }"
	start slurmd -D -N n2 -f "$SLURM_CONF"
}
beside node_dies tune slow --device "$device*2"
is "$status:$done" 0:0 "a tune goes on when a node dies" "$(cat "$T/out" "$db.log")"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "lost jobs leave no evidence against the kernel"
is "$(sqlite3 "$db" "SELECT count(*) FROM measurement WHERE status NOT IN ('ok', 'pruned')")" 0 "no configuration is blamed for a lost job"

kill "$(holder "$db")"
nothing_left()
{
	[ -z "$(workers)$(squeue --noheader --states=R)" ]
}
wait_for 30 nothing_left
ok $? "jobs and workers end with the daemon" "$(workers; squeue)"

# --- speed ----------------------------------------------------------------------------------------------------------------------
wait_for 60 both_idle
ok $? "the nodes are free again" "$(squeue; sinfo)"
bench=${BUILD:-$root/build}/bench/tune
[ -x "$bench" ] || skip_rest 3 "no bench/tune: make bench"
mkdir "$T/fake"
cp "$bench" "$T/fake/peakd"
tar -C "$T/fake" -czf "$T/fake.tar.gz" peakd
# A device that sleeps for 0.3 s; the second node's job starts before the clock does. Other load may slow one of the two runs.
for _ in 1 2 3; do
	PEAKD_BUNDLE=$T/fake.tar.gz timeout 100 "$bench" overlap --device "$device*2" --sleep-ms 300 --count 16 >"$T/speed" 2>"$T/err"
	status=$?
	[ "$(jq -s '.[-1].second_device >= 1.8' "$T/speed")" = true ] && break
done
is $status 0 "a sleeping device is tuned on one node and on two" "$(cat "$T/err")"
is "$(jq -s -c '[.[] | select(.devices) | [.devices, .configurations]]' "$T/speed")" '[[1,16],[2,16]]' "one node and two nodes measure all configurations"
is "$(jq -s '.[-1].second_device >= 1.8' "$T/speed")" true "two nodes are at least 1.8 times as fast as one: $(tail -1 "$T/speed")"
done_testing
