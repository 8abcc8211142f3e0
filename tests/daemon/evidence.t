#!/bin/sh
# No speed without evidence: every place that shows a figure points at a validation of the same checkpoint, device and parameters that
# passed, or says that it has none; and what refutes later takes the figure away everywhere. Refutations are planted in the database.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 34 "$db"
small_context | sed 's/^flops: n/check: n = {1000}\nflops: n/; s/{4096}/{4096, 8192}/' >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --budget 2 --samples 4 --device hlsl:0 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 0 "a baseline is validated and tuned" "$(cat "$T/err")"

# --- what is quoted points at evidence
sql() # the database is the daemon's, which shares it
{
	sqlite3 -cmd '.timeout 20000' "$db" "$1"
}
stands() # stands ROW CHECKPOINT: it is a validation of this checkpoint that passed
{
	sql "SELECT count(*) FROM validation WHERE id = $1 AND checkpoint_id = $2 AND verdict = 'passed'"
}
peak()
{
	timeout 120 "$peakd" "$@" --db "$db"
}
for row in $(jq '.rows[].evidence' "$T/rows.json"); do
	is "$(stands "$row" 1)" 1 "a row of run's JSON names evidence that passed ($row)"
done
log=$(peak workflow log scale --json)
for row in $(printf '%s' "$log" | jq '.checkpoints[].best[].evidence'); do
	is "$(stands "$row" 1)" 1 "a best of workflow log names evidence that passed ($row)"
done
peak workflow show scale measurements >"$T/csv"
t4_proven() # t4_proven CHECKPOINT: how many results its t4 calls proven
{
	peak workflow show "$1" t4 | jq '[.results[] | select(any(.measurements[]; .name == "proven"))] | length'
}
is "$(t4_proven scale)" "$(sql "SELECT count(*) FROM measurement_proven")" "t4 calls proven what may be quoted"
is "$(head -1 "$T/csv" | cut -d, -f13-15)" "evidence,standing,message" "measurements say how they stand"
is "$(sql "SELECT count(*) FROM measurement WHERE validation_id IS NOT NULL AND id IN (SELECT id FROM measurement_proven)")" \
	"$(grep -c ',proven,"finalist' "$T/csv")" "finalists are validated"
is "$(grep -c '"search"$' "$T/csv")" "$(grep -c ',0,unvalidated,"search"$' "$T/csv")" "figures of the search are unvalidated, and say so"
has "$(peak workflow show scale best)" "evidence" "the winner's parameters name theirs"
peak workflow export scale --out "$T/files" >/dev/null
has "$(cat "$T"/files/*)" "evidence: validation" "as do exported files"
peak tune scale --budget 2 --sizes n=4096 >"$T/tune"
row=$(sed -n 's/.* evidence \([0-9]*\);.*/\1/p' "$T/tune")
is "$(stands "${row:-0}" 1)" 1 "a tune's answer names evidence that passed" "$(cat "$T/tune")"
row=$(peak profile scale --sizes n=4096 | sed -n 's/.* evidence \([0-9]*\).*/\1/p')
is "$(stands "${row:-0}" 1)" 1 "so does a profile's"

# --- another text is another checkpoint, with nothing to quote
tool() # tool NAME ARGUMENTS: the text of the answer
{
	jq -nc --arg n "$1" --argjson a "$2" '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:$n,arguments:$a}}' | asked "$db" "$T/said"
	jq -r 'select(.id == 2) | .result.content[0].text' "$T/said"
}
device=$(peak workflow show scale device | sed 's/2\.0 \* A/A[id.x] + A/')
tool edit "$(jq -nc --arg t "$device" '{at: "scale", region: "device", text: $t, device: "hlsl:0", samples: 4, wait_s: 45}')" >"$T/edited"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0] | [.status, .best]')" '["accepted",[]]' \
	"a source that changed after validation is validated anew and has no time" "$(cat "$T/edited")"
source=$(sed 's/^check:.*//' "$T/scale.peak.md")
has "$(tool edit "$(jq -nc --arg t "$source" '{at: "scale", source: $t, device: "hlsl:0", wait_s: 45}')")" "another contract" \
	"a context whose check: was narrowed is another contract"
peak tune scale --budget 2 --sizes n=4096 >/dev/null
peak compare 1 2 --sizes n=4096 >"$T/compared" 2>&1
row=$(sed -n 's/.*evidence \([0-9]*\) and \([0-9]*\).*/\1 \2/p' "$T/compared")
is "$(stands "${row% *}" 2) $(stands "${row#* }" 1)" "1 1" "a comparison names the evidence of both" "$(cat "$T/compared")"
tool workflow '{"action": "compare", "at": "2"}' >/dev/null
row=$(jq -r 'select(.id == 2) | .result.structuredContent.compare[0] | "\(.b_evidence) \(.a_evidence)"' "$T/said")
is "$(stands "${row% *}" 2) $(stands "${row#* }" 1)" "1 1" "workflow compare too"
has "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0] | has("speedup")')" true "a speed-up of two proven times is shown"

# --- what refutes
refute() # refute DEVICE: the tuning parameters of checkpoint 1's best at n=4096, at another size
{
	sql "INSERT INTO validation (checkpoint_id, validator, device, sizes, params, size_kind, verdict, reason, created_ms)
	     SELECT checkpoint_id, 'outputs', $1, 'n=1000', 'n=1000' || substr(params, length(sizes) + 1), 'check', 'failed', 'planted', 0
	     FROM measurement WHERE checkpoint_id = 1 AND id IN (SELECT id FROM measurement_proven)"
}
refute "'another device'"
is "$(peak workflow log scale --json | jq '[.checkpoints[] | select(.id == 1)][0].best | length')" 2 "a refutation on another device is not one here"
refute device
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 1)][0].best')" '[]' "one at another size on this device is: nothing is quoted any more"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0] | has("speedup")')" false "nor is a speed-up over it"
peak workflow show scale@{root} measurements >"$T/csv"
is "$(grep -c ',proven,' "$T/csv")" 0 "no measurement is proven"
is "$(t4_proven scale@{root})" 0 "nor in t4"
[ "$(grep -c ',refuted,"finalist' "$T/csv")" -gt 0 ]
ok $? "finalists of a refuted checkpoint are called refuted" "$(cat "$T/csv")"
has "$(peak workflow show scale@{root} tuning)" "(refuted since)" "also among the fastest of the tune"
is "$(peak workflow show scale@{root} best)" "" "there is no winner"
peak workflow export scale@{root} --out "$T/none" >/dev/null 2>"$T/err"
has "$(cat "$T/err")" "no validated measurement" "nor an export of one"
tool workflow '{"action": "compare", "at": "2"}' >"$T/compared"
has "$(cat "$T/compared")" "nothing to compare" "nor a comparison of recorded times"

# --- a checkpoint that is refuted as a whole, after it was tuned
job=$(peak jobs --json | jq -r '[.jobs[] | select(.kind == "tune")][0].job')
has "$(peak jobs get "$job")" "best" "a tune's answer can be read again"
is "$(peak jobs get "$job" | grep -c REFUTED)" 0 "and stands"
sql "UPDATE checkpoint SET status = 'failed', note = 'a planted reason' WHERE id = 2"
has "$(peak jobs get "$job")" "REFUTED: checkpoint 2 was refuted, so none of its figures may be quoted: a planted reason" "after a refutation it says so"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best')" '[]' "the log quotes nothing"
peak profile 2 --sizes n=4096 >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "a planted reason" "a profile is refused"
peak tune 2 --budget 2 --sizes n=4096 >"$T/out" 2>"$T/err"
has "$(cat "$T/out")" "NOT VALIDATED (checkpoint 2 was refuted: a planted reason)" "a new tune's figures are not proven"
done_testing
