#!/bin/sh
# A daemon that is killed in the middle of a job loses nothing that was committed: the job is found interrupted and can be resumed,
# and no worker outlives its daemon.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 9 "$db"
small_context | sed 's/{4096}/{4096, 65536, 262144}/; s/{32, 64}/{16, 32, 64, 128, 256}/' >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --budget 2 --samples 2 --sizes n=4096 >"$T/run.out" 2>&1
is $? 0 "a small run validates its baseline"
timeout 120 "$peakd" workflow show scale --db "$db" >"$T/before"
measured=$(timeout 120 "$peakd" workflow show scale measurements --db "$db" | grep -c .)
daemon=$(holder "$db")

timeout 120 "$peakd" tune scale --db "$db" >"$T/tune.out" 2>"$T/tune.err" &
client=$!
wait_for 60 sh -c "timeout 120 '$peakd' jobs --db '$db' | grep -q 'tune running'"
is $? 0 "a tune job runs"
# Its device worker is there before the daemon is killed.
wait_for 60 pgrep -P "$daemon"
workers=$(pgrep -P "$daemon")
kill -KILL "$daemon"
wait $client
is $? 1 "the client that waited fails"
has "$(cat "$T/tune.err")" "committed results are kept" "and says what to do"
left=
for worker in $workers; do
	wait_for 60 gone "$worker" || left="$left $worker"
done
is "$left" "" "no worker outlives the daemon"

# A new daemon, started by the next command.
jobs=$(timeout 120 "$peakd" jobs --db "$db")
has "$jobs" "tune interrupted" "the job is found interrupted"
timeout 120 "$peakd" workflow show scale --db "$db" >"$T/after"
is "$(cat "$T/after")" "$(cat "$T/before")" "the checkpoint is what it was"
now=$(timeout 120 "$peakd" workflow show scale measurements --db "$db" | grep -c .)
[ "$now" -ge "$measured" ]
ok $? "no measurement was lost ($measured before, $now after)"
job=$(printf '%s\n' "$jobs" | sed -n 's/^\(j[a-z0-9]*\) tune interrupted.*/\1/p' | head -1)
timeout 120 "$peakd" jobs resume "$job" --db "$db" >/dev/null 2>&1
timeout 100 "$peakd" jobs wait "$job" --db "$db" >"$T/resumed" 2>&1
timeout 120 "$peakd" jobs get "$job" --db "$db" --json >"$T/job.json"
has "$(jq -c '{state, error}' "$T/job.json")" '"state":"done"' "the job can be resumed and ends well"
done_testing
