#!/bin/sh
# peakd run --resume: a run that was cut off, in whatever way, goes on on the same database: what was made is not made again, what was
# measured is not measured again, and its tables and figures are as complete as those of a run that nobody disturbed. Here are runs of one context; those
# of a sequence are in resume-steps.t.
. "$(dirname "$0")/resume.sh"

need_hlsl 30 "$db"
twice() # configurations that a search has measured twice
{
	sql "SELECT count(*) FROM (SELECT 1 FROM measurement WHERE message LIKE 'search%' GROUP BY checkpoint_id, params HAVING count(*) > 1)"
}
searched() # searched CHECKPOINT SIZES: whether the search has measured anything of it
{
	[ "$(sql "SELECT count(*) > 0 FROM measurement WHERE checkpoint_id = $1 AND sizes = '$2' AND message LIKE 'search%'")" = 1 ]
}
wide() # wide FACTOR: a context of its own with two sizes and a space that takes its time
{
	small_context | sed "s/{4096}/{4096, 1048576}/; s/{32, 64}/1<<i for i = 0,8/; s/2\\.0/$1.0/; s/^  BX:/  BY: {1, 2, 4, 8}\\n  BX:/" |
		sed 's/{BX}, {A/{BX, 1}, {A/'
}

# --- cut off in the middle of a tune of two sizes: at the second one
interrupted() # interrupted NAME: runs NAME.peak.md until it measures the second size; $client (the command itself) and $daemon are at work then
{
	"$peakd" run "$T/$1.peak.md" --db "$db" --samples 2 --budget 36 --resume >"$T/first" 2>&1 &
	client=$!
	wait_for 120 searched "(SELECT root_id FROM workflow WHERE name = '$1')" n=1048576
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
	is "$(sql "SELECT count(*) FROM measurement_run WHERE ended_ms = 0")" 1 "$how: and the second one is not"
	proven=$(sql "SELECT count(*) FROM measurement WHERE sizes = 'n=4096'")
	resume "$T/$how.peak.md" --budget 36
	is $? 0 "$how: the run goes on to its end"
	has "$(tail -n 1 "$T/out")" "all validated" "$how: all validated"
	is "$(jq -c '[.rows[] | [.n, .step, .validated, .median_ms > 0, .evidence > 0, .gflops > 0]]' "$T/rows.json")" \
		'[[4096,"baseline",true,true,true,true],[1048576,"baseline",true,true,true,true]]' "$how: with figures of both sizes"
	is "$(sql "SELECT count(*) FROM measurement WHERE sizes = 'n=4096'")" "$proven" "$how: nothing more was measured of the first size"
	is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = '$how')")" 2 \
		"$how: one run for each size"
	is "$(twice)" 0 "$how: no configuration was searched twice"
	cp "$T/rows.json" "$T/$how.json"
	runs=$(sql "SELECT count(*) FROM measurement")
	table >"$T/table"
	resume "$T/$how.peak.md" --budget 36
	is "$(table)" "$(cat "$T/table")" "$how: a run that is done says the same again"
	is "$(sql "SELECT count(*) FROM measurement")" "$runs" "$how: and measures nothing"
done

# --- only the command is killed: the daemon goes on with its job, which is waited for and not begun again
wide 5 >"$T/alone.peak.md"
interrupted alone
kill -KILL $client
wait $client 2>/dev/null
resume "$T/alone.peak.md" --budget 36
is $? 0 "a tune that is still at work is waited for"
is "$(holder "$db")" "$daemon" "in the same daemon"
is "$(sql "SELECT count(*) FROM job WHERE kind = 'tune' AND json_extract(request, '$.checkpoint') = (SELECT root_id FROM workflow WHERE name = 'alone')")" 1 "and no second one was begun"
is "$(twice)" 0 "nothing was searched twice"

# --- cancelled: what was measured until then is taken over by another job
wide 6 >"$T/cancelled.peak.md"
interrupted cancelled
job=$(sql "SELECT id FROM job WHERE kind = 'tune' AND state = 'running'")
timeout 60 "$peakd" tune cancelled --resume --budget 7 --db "$db" >"$T/other" 2>&1
has "$(cat "$T/other")" "$job (tune) is working on checkpoint" "something else is not measured on the same checkpoint at the same time"
timeout 60 "$peakd" jobs cancel "$job" --db "$db" >/dev/null
wait $client
is $? 1 "a run whose tune is cancelled fails"
resume "$T/cancelled.peak.md" --budget 36
is $? 0 "and can be gone on with"
is "$(twice)" 0 "nothing was searched twice"
is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = 'cancelled')")" 2 "one run for each size"
resume "$T/cancelled.peak.md" --budget 9
is "$(sql "SELECT count(*) FROM measurement_run WHERE checkpoint_id = (SELECT root_id FROM workflow WHERE name = 'cancelled')")" 2 \
	"what has its figures is not tuned again for another budget"
done_testing
