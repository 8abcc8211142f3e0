# slurm: shared by the tests of Slurm, which source it after lib.sh and remote.sh: Debian's real Slurm (munged, slurmctld, two slurmd) on
# loopback with two partitions, of which `urgent` preempts jobs of `gpus`, and the workflows scale and slow.
# shellcheck disable=SC2034 # variables for the tests
cache=$T/cache
# Ends what this test started, by its number, before the folder goes.
running=
start() # start COMMAND…
{
	"$@" >>"$s/out" 2>&1 &
	running="$running $!"
}
end_slurm()
{
	scancel --quiet --state=R 2>/dev/null; scancel --quiet --state=PD 2>/dev/null
	for pid in $running $(workers | cut -d' ' -f2) $(steps); do kill -9 "$pid" 2>/dev/null; done
	finish
}
both_idle()
{
	[ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]
}

# Slurm's processes of a step are its own, so they are found by their environment.
steps()
{
	for pid in $(pgrep -x slurmstepd); do grep -qzx "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null && echo "$pid"; done
}

# Starts Slurm and a daemon. $db is its database, $device the device, $s the folder of Slurm.
start_slurm() # start_slurm COUNT
{
	for program in munged slurmctld slurmd srun scancel; do
		command -v $program >/dev/null || skip_rest "$1" "no $program here (sh tests/source/packages.sh install LOG remote)"
	done
	[ "$(id -u)" = 0 ] || skip_rest "$1" "slurmd wants to be root"
	s=$T/slurm
	mkdir "$s" "$s/state"
	head -c 1024 /dev/urandom >"$s/key"
	chmod 400 "$s/key"
	here=$(uname -n | cut -d. -f1)
	# shellcheck disable=SC2046 # three numbers
	set -- "$1" $(python3 -c 'import socket
held = [socket.socket() for _ in range(3)]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])')
	export SLURM_CONF="$s/slurm.conf"
	cat >"$SLURM_CONF" <<CONF
ClusterName=peakd
SlurmctldHost=$here(127.0.0.1)
SlurmctldPort=$2
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
NodeName=n1 NodeHostname=$here NodeAddr=127.0.0.1 Port=$3 CPUs=1 RealMemory=100
NodeName=n2 NodeHostname=$here NodeAddr=127.0.0.1 Port=$4 CPUs=1 RealMemory=100
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=gpus Nodes=n1,n2 Default=YES State=UP OverSubscribe=NO PriorityTier=1
PartitionName=urgent Nodes=n1,n2 State=UP OverSubscribe=NO PriorityTier=2 PreemptMode=OFF
CONF
	trap end_slurm EXIT
	start munged --foreground --force --key-file="$s/key" --socket="$s/munge" --pid-file="$s/munge.pid" --log-file="$s/munge.log" --seed-file="$s/munge.seed" --num-threads=2
	wait_for 10 test -S "$s/munge" || skip_rest "$1" "munged does not start here: $(tail -1 "$s/out")"
	start slurmctld -D -c -f "$SLURM_CONF"
	start slurmd -D -N n1 -f "$SLURM_CONF"
	start slurmd -D -N n2 -f "$SLURM_CONF"
	wait_for 30 both_idle || skip_rest "$1" "Slurm does not start here: $(tail -2 "$s/out" "$s/slurmctld.log" | tr '\n' ' ')"

	db=$T/a.db
	export PEAKD_REMOTE="slurm:partition=gpus"
	device=$PEAKD_REMOTE/hlsl:0
	"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
	jq -e --arg id "$device" '.devices[] | select(.id == $id)' "$T/devices" >/dev/null ||
		skip_rest "$1" "no device runs HLSL in a job of Slurm here: $(tail -3 "$db.log" | tr '\n' ' ')"
	# lavapipe ends a shader's loops after 65,535 passes, so that each pass of the slow kernel has much to do. Messages below a kilobyte:
	# Slurm's forwarding adds 40 ms to larger ones.
	small_context | sed 's/4096/64/' >"$T/scale.peak.md"
	sed 's/C\[id.x\] = 2.0 \* A\[id.x\];/{ float x = 0; for (uint i = 0; i < 8000; i++) { WORK } C[id.x] = 2.0 * A[id.x] + (x > 3.0 ? x : 0.0); }/
s/^```macros/&\n#define S x = sin(x + A[id.x]);\n#define WORK S S S S S S S S S S S S S S S S/' \
		"$T/scale.peak.md" >"$T/slow.peak.md"
	for name in scale slow; do "$peakd" workflow create "$T/$name.peak.md" $name --db "$db" >"$T/out" 2>&1; done
}

# Runs a verb, and a command again and again until it succeeds or the verb ends.
beside() # beside COMMAND VERB…
{
	event=$1
	shift
	timeout 250 "$peakd" "$@" --db "$db" >"$T/out" 2>&1 &
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
