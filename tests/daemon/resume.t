#!/bin/sh
# peakd run --resume: a run that was interrupted in any way continues on the same database. Nothing is made or measured twice, and
# the tables and figures are as complete as without the interruption. The runs here have one context; sequences are tested in
# resume-steps.t.
. "$(dirname "$0")/resume.sh"

need_hlsl 31 "$db"
twice() # counts the configurations that a search has measured twice
{
	sql "SELECT count(*) FROM (SELECT 1 FROM measurement WHERE message LIKE 'search%' GROUP BY checkpoint_id, params HAVING count(*) > 1)"
}
searched() # searched CHECKPOINT SIZES: succeeds when the search has measured some configuration
{
	[ "$(sql "SELECT count(*) > 0 FROM measurement WHERE checkpoint_id = $1 AND sizes = '$2' AND message LIKE 'search%'")" = 1 ]
}
wide() # wide FACTOR: prints a context with two sizes and a large space
{
	small_context | sed "s/{4096}/{4096, 262144}/; s/{32, 64}/1<<i for i = 0,8/; s/2\\.0/$1.0/; s/^  BX:/  BY: {1, 2, 4, 8}\\n  BX:/" |
		sed 's/{BX}, {A/{BX, 1}, {A/'
}

# --- interrupted during the tune of the second of two sizes
interrupted() # interrupted NAME: runs NAME.peak.md until it measures the second size; $client (the command itself) and $daemon are at work then
{
	"$peakd" run "$T/$1.peak.md" --db "$db" --samples 2 --budget 36 --resume >"$T/first" 2>&1 &
	client=$!
	wait_for 120 searched "(SELECT root_id FROM workflow WHERE name = '$1')" n=262144
	daemon=$(holder "$db")
}
for how in KILL TERM; do
	wide "$([ $how = KILL ] && echo 3 || echo 4)" >"$T/$how.peak.md"
	interrupted $how
	is "$(sql "SELECT count(*) FROM measurement_run WHERE ended_ms > 0 AND settings LIKE 'sizes: n=4096;%'
		AND checkpoint_id = (SELECT root_id FROM workflow WHERE name = '$how')")" 1 "$how: the first of two sizes is tuned"
	kill -$how "$daemon"
	kill -KILL $client
	wait $client 2>/dev/null
	wait_for 60 gone "$daemon"
	is "$(sql "SELECT count(*) FROM measurement_run WHERE ended_ms = 0")" 1 "$how: the tune of the second size is unfinished"
	proven=$(sql "SELECT count(*) FROM measurement WHERE sizes = 'n=4096'")
	resume "$T/$how.peak.md" --budget 36
	is $? 0 "$how: the resumed run succeeds"
	has "$(tail -n 1 "$T/out")" "all validated" "$how: the resumed run reports all steps as validated"
	is "$(jq -c '[.rows[] | [.n, .step, .validated, .median_ms > 0, .evidence > 0, .gflops > 0]]' "$T/rows.json")" \
		'[[4096,"baseline",true,true,true,true],[262144,"baseline",true,true,true,true]]' "$how: with figures of both sizes"
	is "$(sql "SELECT count(*) FROM measurement WHERE sizes = 'n=4096'")" "$proven" "$how: the first size is not measured again"
	is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = '$how')")" 2 \
		"$how: each size has one measurement run"
	is "$(twice)" 0 "$how: no configuration is searched twice"
	cp "$T/rows.json" "$T/$how.json"
	runs=$(sql "SELECT count(*) FROM measurement")
	table >"$T/table"
	resume "$T/$how.peak.md" --budget 36
	is "$(table)" "$(cat "$T/table")" "$how: resuming a finished run prints the same tables"
	is "$(sql "SELECT count(*) FROM measurement")" "$runs" "$how: resuming a finished run measures nothing"
done

# --- only the command is killed: the daemon continues the job, and the next command waits for it
wide 5 >"$T/alone.peak.md"
interrupted alone
kill -KILL $client
wait $client 2>/dev/null
resume "$T/alone.peak.md" --budget 36
is $? 0 "a resumed run waits for a tune that is still running"
is "$(holder "$db")" "$daemon" "a resumed run uses the same daemon"
is "$(sql "SELECT count(*) FROM job WHERE kind = 'tune' AND json_extract(request, '$.checkpoint') = (SELECT root_id FROM workflow WHERE name = 'alone')")" 1 "a resumed run starts no second tune"
is "$(twice)" 0 "a tune whose command was killed searches no configuration twice"

# --- the tune is cancelled: another job continues from its measurements
wide 6 >"$T/cancelled.peak.md"
interrupted cancelled
job=$(sql "SELECT id FROM job WHERE kind = 'tune' AND state = 'running'")
timeout 60 "$peakd" tune cancelled --resume --budget 7 --db "$db" >"$T/other" 2>&1
has "$(cat "$T/other")" "$job (tune) is working on checkpoint" "a second job on the same checkpoint is refused while the first runs"
timeout 60 "$peakd" jobs cancel "$job" --db "$db" >/dev/null
is $? 0 "cancelling a job is a success"
wait $client
is $? 1 "a run whose tune is cancelled fails"
resume "$T/cancelled.peak.md" --budget 36
is $? 0 "a run whose tune was cancelled can be resumed"
is "$(twice)" 0 "the resumed tune searches no configuration twice"
is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = 'cancelled')")" 2 "the resumed tune keeps one measurement run for each size"
resume "$T/cancelled.peak.md" --budget 9
is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = 'cancelled')")" 2 \
	"a larger budget does not tune a finished checkpoint again"
done_testing
