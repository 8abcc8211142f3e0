#!/bin/sh
# peakd run --resume: a run that was cut off, in whatever way, goes on on the same database: what was made is not made again, what was
# measured is not measured again, and its tables and figures are as complete as those of a run that nobody disturbed.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 45 "$db"
sql() # sql STATEMENT
{
	sqlite3 -readonly -cmd '.timeout 20000' "$db" "$1"
}
resume() # resume FILE [OPTION…]: the same command line, again
{
	file=$1
	shift
	timeout 300 "$peakd" run "$file" --db "$db" --samples 2 --resume --json "$T/rows.json" "$@" >"$T/out" 2>"$T/err"
}
table() # the tables at the end of the last run
{
	sed -n '/ on .*(hlsl:0)$/,$p' "$T/out"
}
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
interrupted() # interrupted NAME: runs NAME.peak.md until it measures the second size; $client and $daemon are at work then
{
	timeout 300 "$peakd" run "$T/$1.peak.md" --db "$db" --samples 2 --budget 36 --resume >"$T/first" 2>&1 &
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
is "$(sql "SELECT count(*) FROM job WHERE kind = 'tune' AND request LIKE '%checkpoint: ' || (SELECT root_id FROM workflow WHERE name = 'alone') || '
%'")" 1 "and no second one was begun"
is "$(twice)" 0 "nothing was searched twice"

# --- cancelled: what was measured until then is taken over by another job
wide 6 >"$T/cancelled.peak.md"
interrupted cancelled
job=$(sql "SELECT id FROM job WHERE kind = 'tune' AND state = 'running'")
timeout 60 "$peakd" tune cancelled --resume --budget 7 --db "$db" >"$T/other" 2>&1
has "$(cat "$T/other")" "$job (tune) is at work on checkpoint" "something else is not measured on the same checkpoint at the same time"
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

# --- steps of a sequence: killed in the second transformation
steps="--device hlsl:0 --model replay:matmul-fp32-hlsl --budget 1 --transform refactor --transform tb-tiling"
# shellcheck disable=SC2086
timeout 300 "$peakd" run "$root/examples/matmul-fp32-hlsl.peak.md" --db "$db" --samples 2 --name mm $steps >"$T/first" 2>&1 &
client=$!
wait_for 300 grep -q '^refactor .* configurations tried' "$T/first"
daemon=$(holder "$db")
kill -KILL $client "$daemon"
wait $client 2>/dev/null
wait_for 60 gone "$daemon"
made="SELECT c.id, r.id, r.ended_ms > 0 FROM checkpoint c JOIN measurement_run r ON r.checkpoint_id = c.id WHERE c.kernel = 'matmul-fp32-hlsl' ORDER BY r.id"
sql "$made" >"$T/before"
is "$(grep -c '|1$' "$T/before")" 2 "the baseline and a step are made and tuned"
# shellcheck disable=SC2086
resume "$root/examples/matmul-fp32-hlsl.peak.md" --name mm $steps
ok $? "the other one is made now" "$(cat "$T/err")"
is "$(sql "$made" | head -2)" "$(cat "$T/before")" "the others are the same checkpoints, and were not measured again"
is "$(sql "$made" | wc -l)" 3 "one run was added"
is "$(jq -c '[.rows[] | [.step, .validated, .checkpoint > 0, .median_ms > 0, .gflops > 0, .speedup > 0, .evidence > 0, (.params | length) > 0]]' "$T/rows.json")" \
	'[["baseline",true,true,true,true,true,true,true],["refactor",true,true,true,true,true,true,true],["tb-tiling",true,true,true,true,true,true,true]]' \
	"all figures are there"
has "$(tail -n 1 "$T/out")" "3 checkpoints, all validated" "and the closing line counts all steps"
is "$(grep '^refactor .* configurations tried' "$T/out")" "$(grep '^refactor .* configurations tried' "$T/first")" "figures are those of the first run"
is "$(sql "SELECT count(*) FROM job WHERE state IN ('interrupted', 'queued', 'running')")" 0 "nothing is left half done"
table >"$T/table"
jq .rows "$T/rows.json" >"$T/figures"
rows=$(sql "SELECT (SELECT count(*) FROM measurement), (SELECT count(*) FROM validation), (SELECT count(*) FROM checkpoint), (SELECT count(*) FROM exchange)")
# shellcheck disable=SC2086
resume "$root/examples/matmul-fp32-hlsl.peak.md" --name mm $steps
is "$(table)" "$(cat "$T/table")" "a finished run prints the same tables again"
is "$(jq .rows "$T/rows.json")" "$(cat "$T/figures")" "and writes the same figures"
is "$(sql "SELECT (SELECT count(*) FROM measurement), (SELECT count(*) FROM validation), (SELECT count(*) FROM checkpoint), (SELECT count(*) FROM exchange)")" "$rows" \
	"it validates, measures and asks nothing"

# --- what is no going on
resume "$T/alone.peak.md" --name mm
is $? 1 "another context under the same name is refused"
has "$(cat "$T/err")" "mm" "with the name"
resume "$root/examples/matmul-fp32-hlsl.peak.md" --name mm --device hlsl:0 --transform refactor --transform vectorize
is $? 1 "other steps than those that were made are refused"
has "$(cat "$T/err")" "is by tb-tiling, and vectorize is asked for there" "with the step at which they part"
done_testing
