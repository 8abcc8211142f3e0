#!/bin/sh
# peakd run --resume of a sequence that was killed in its second transformation: nothing is made twice, and what is not the same run
# is refused. See resume.t.
. "$(dirname "$0")/resume.sh"

need_hlsl 15 "$T/d.db"
mkdir -p "$T/data/peakd/transforms"
for name in add-up add-again; do
	printf -- '---\nname: %s\nsummary: A sum.\n---\n## Pass 1: The sum\nexpect: valid\nunchanged: allowed\n\n### device\nAdd the element to itself.\n' \
		$name >"$T/data/peakd/transforms/$name.md"
done
printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = A[id.x] + A[id.x];\n}\n```\n' \
	>"$T/answer"
small_context >"$T/mm.peak.md"
begin_model() # answers; with a file answer.only that holds 1, the first conversation alone
{
	rm -f "$T/port"
	python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
	model=$!
	trap 'kill $model; finish' EXIT
	wait_for 60 test -s "$T/port"
	export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"
}

# --- killed while the second transformation waits for its model
echo 1 >"$T/answer.only"
begin_model
steps="--device hlsl:0 --budget 1 --transform add-up --transform add-again"
# shellcheck disable=SC2086
"$peakd" run "$T/mm.peak.md" --db "$db" --samples 2 --name mm $steps >"$T/first" 2>&1 &
client=$!
wait_for 120 sh -c "grep -q '^add-up .* configurations tried' '$T/first' && timeout 60 '$peakd' jobs --db '$db' | head -1 | grep -q 'transform running'"
daemon=$(holder "$db")
kill -KILL $client "$daemon"
wait $client 2>/dev/null
wait_for 60 gone "$daemon"
kill $model
rm "$T/answer.only"
begin_model
made="SELECT c.id, r.id, r.ended_ms > 0 FROM checkpoint c JOIN measurement_run r ON r.checkpoint_id = c.id ORDER BY r.id"
sql "$made" >"$T/before"
is "$(grep -c '|1$' "$T/before")" 2 "the baseline and a step are made and tuned"
# shellcheck disable=SC2086
resume "$T/mm.peak.md" --name mm $steps
ok $? "the other step is made when the run is resumed" "$(cat "$T/err")"
is "$(sql "$made" | head -2)" "$(cat "$T/before")" "the first two checkpoints stay, and are not measured again"
is "$(sql "$made" | wc -l)" 3 "one tune was added"
is "$(jq -c '[.rows[] | [.step, .validated, .checkpoint > 0, .median_ms > 0, .gflops > 0, .speedup > 0, .evidence > 0, (.params | length) > 0]]' "$T/rows.json")" \
	'[["baseline",true,true,true,true,true,true,true],["add-up",true,true,true,true,true,true,true],["add-again",true,true,true,true,true,true,true]]' \
	"all figures are there"
has "$(tail -n 1 "$T/out")" "3 checkpoints, all validated" "the closing line counts all steps"
is "$(grep '^add-up .* configurations tried' "$T/out")" "$(grep '^add-up .* configurations tried' "$T/first")" \
	"figures are those of the first run"
is "$(sql "SELECT count(*) FROM job WHERE state IN ('interrupted', 'queued', 'running')")" 0 "no job is left half done"
table >"$T/table"
jq .rows "$T/rows.json" >"$T/figures"
counts="SELECT (SELECT count(*) FROM measurement), (SELECT count(*) FROM validation), (SELECT count(*) FROM checkpoint), (SELECT count(*) FROM exchange)"
rows=$(sql "$counts")
# shellcheck disable=SC2086
resume "$T/mm.peak.md" --name mm $steps
is "$(table)" "$(cat "$T/table")" "a finished run prints the same tables again"
is "$(jq .rows "$T/rows.json")" "$(cat "$T/figures")" "and writes the same figures"
is "$(sql "$counts")" "$rows" "it validates, measures and asks nothing"

# --- what is not the same run
small_context | sed 's/{4096}/{8192}/' >"$T/other.peak.md"
resume "$T/other.peak.md" --name mm
is $? 1 "another context under the same name is refused"
has "$(cat "$T/err")" "mm" "with the name"
resume "$T/mm.peak.md" --name mm --device hlsl:0 --transform add-up --transform refactor
is $? 1 "other steps than those that were made are refused"
has "$(cat "$T/err")" "made by add-again, and refactor is asked for there" "with the step at which they part"
done_testing
