#!/bin/sh
# peakd run --resume of a sequence, killed in its second transformation: what was made is not made again, and what is no going on is refused. See resume.t.
. "$(dirname "$0")/resume.sh"

need_hlsl 15 "$db"
# --- steps of a sequence: killed in the second transformation
steps="--device hlsl:0 --model replay:matmul-fp32-hlsl --budget 1 --transform refactor --transform tb-tiling"
# shellcheck disable=SC2086
"$peakd" run "$root/examples/matmul-fp32-hlsl.peak.md" --db "$db" --samples 2 --name mm $steps >"$T/first" 2>&1 &
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
small_context >"$T/alone.peak.md"
resume "$T/alone.peak.md" --name mm
is $? 1 "another context under the same name is refused"
has "$(cat "$T/err")" "mm" "with the name"
resume "$root/examples/matmul-fp32-hlsl.peak.md" --name mm --device hlsl:0 --transform refactor --transform vectorize
is $? 1 "other steps than those that were made are refused"
has "$(cat "$T/err")" "was made by tb-tiling, and vectorize is asked for there" "with the step at which they part"
done_testing
