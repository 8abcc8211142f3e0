#!/bin/sh
# Devices that a batch system lends: Debian's real Slurm (munged, slurmctld, two slurmd) on loopback, lavapipe as the device. Jobs that are
# cancelled and nodes that die in the middle are no evidence about a kernel, and two nodes tune almost twice as fast as one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
. "$(dirname "$0")/slurm.sh"
tests=15
need_bundle $tests
start_slurm $tests
uuid=$(jq -r --arg id "$device" '.devices[] | select(.id == $id) | .uuid' "$T/devices")
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | cut -c 1-54)
is "$uuid" "$device@${cpu:-$(uname -m)}" "the devices of a partition count as one if their CPU is the same"
"$peakd" validate scale --device "$device" --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is validated in a job of Slurm" "$(cat "$T/out")"
"$peakd" tune scale --device "$device*2" --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel is tuned over two nodes" "$(cat "$T/out")"
is "$(sqlite3 "$db" "SELECT count(*) >= 2 FROM measurement WHERE device = '$uuid' AND status = 'ok'")" 1 "both configurations are measured"
is "$(squeue --noheader --format=%j | sort -u)" peakd "jobs rest for a minute, for the next piece of work"
"$peakd" tune scale --device "$PEAKD_REMOTE/hlsl:0*2000" --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "at most N allocations at once (1 to 64)" "a number of jobs has a bound"

# --- what is lost ---------------------------------------------------------------------------------------------------------------
# The steps of both workers first: a busy node may end them before the job's own.
cancel()
{
	busy_session slurmstepd >/dev/null && [ "$(workers | wc -l)" -ge 2 ] || return 1
	# shellcheck disable=SC2046 # a list of steps
	scancel $(squeue --noheader --steps --format=%i | grep -v '\.0$')
	sleep 0.7
	scancel --partition=gpus
}
for pid in $(workers | cut -d' ' -f2); do kill "$pid"; done
beside cancel validate slow --samples 1 --device "$device"
is "$status:$done" 0:0 "a kernel whose job is cancelled is validated in another one" "$(cat "$T/out" "$db.log")"
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
# A device that sleeps for 0.6 s; the second node's job starts before the clock does. Other load may slow one of the two runs.
for _ in 1 2 3; do
	PEAKD_BUNDLE=$T/fake.tar.gz timeout 100 "$bench" overlap --device "$device*2" --sleep-ms 600 --count 16 >"$T/speed" 2>"$T/err"
	status=$?
	[ "$(jq -s '.[-1].second_device >= 1.8' "$T/speed")" = true ] && break
done
is $status 0 "a sleeping device is tuned on one node and on two" "$(cat "$T/err")"
is "$(jq -s -c '[.[] | select(.devices) | [.devices, .configurations]]' "$T/speed")" '[[1,16],[2,16]]' "one node and two nodes measure all configurations"
is "$(jq -s '.[-1].second_device >= 1.8' "$T/speed")" true "two nodes are at least 1.8 times as fast as one: $(tail -1 "$T/speed")"
done_testing
