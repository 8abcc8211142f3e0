#!/bin/sh
# A daemon that is killed during a job loses nothing that was committed. The job is found interrupted and can be resumed, and no
# worker outlives the daemon.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 10 "$db"
small_context | sed 's/{4096}/{4096, 65536, 262144}/; s/{32, 64}/{16, 32, 64, 128, 256}/' >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --budget 2 --samples 2 --sizes n=4096 >"$T/run.out" 2>&1
is $? 0 "a small run validates its baseline"
timeout 120 "$peakd" workflow show scale --db "$db" >"$T/before"
measured=$(timeout 120 "$peakd" workflow show scale measurements --db "$db" | grep -c .)
daemon=$(holder "$db")

timeout 120 "$peakd" tune scale --db "$db" >"$T/tune.out" 2>"$T/tune.err" &
client=$!
wait_for 60 sh -c "timeout 120 '$peakd' jobs --db '$db' | grep -q 'tune running'"
is $? 0 "a tune job starts"
# Wait for its device worker before killing the daemon.
wait_for 60 pgrep -P "$daemon"
workers=$(pgrep -P "$daemon")
kill -KILL "$daemon"
wait $client
is $? 1 "a waiting client fails when its daemon is killed"
has "$(cat "$T/tune.err")" "committed results are kept" "the client says that committed results are kept"
left=
for worker in $workers; do
	wait_for 60 gone "$worker" || left="$left $worker"
done
is "$left" "" "no worker outlives a killed daemon"

# The next command starts a new daemon.
jobs=$(timeout 120 "$peakd" jobs --db "$db")
has "$jobs" "tune interrupted" "the next daemon finds the job interrupted"
timeout 120 "$peakd" workflow show scale --db "$db" >"$T/after"
is "$(cat "$T/after")" "$(cat "$T/before")" "the checkpoint is unchanged"
now=$(timeout 120 "$peakd" workflow show scale measurements --db "$db" | grep -c .)
[ "$now" -ge "$measured" ]
ok $? "no measurement was lost ($measured before, $now after)"
job=$(printf '%s\n' "$jobs" | sed -n 's/^\(j[a-z0-9]*\) tune interrupted.*/\1/p' | head -1)
timeout 120 "$peakd" jobs resume "$job" --db "$db" >/dev/null 2>&1
timeout 100 "$peakd" jobs wait "$job" --db "$db" >"$T/resumed" 2>&1
timeout 120 "$peakd" jobs get "$job" --db "$db" --json >"$T/job.json"
has "$(jq -c '{state, error}' "$T/job.json")" '"state":"done"' "the interrupted job can be resumed to its end"

# Daemons at work, in their start and in a migration, workers and verbs are killed: a short form of a thousand rounds.
timeout 200 python3 "$root/bench/kill.py" --rounds 10 --peakd "$peakd" >"$T/kills" 2>&1
is "$? $(jq -r .lost "$T/kills")" "0 0" "ten kills lose nothing that was acknowledged" "$(cat "$T/kills")"
done_testing
