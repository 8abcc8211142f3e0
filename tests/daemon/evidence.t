#!/bin/sh
# No speed without evidence: every place that shows a figure names a passed validation of the same checkpoint, device and
# parameters, or says that there is none. A later refutation removes the figure everywhere. The refutations here are written into
# the database.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 43 "$db"
small_context | sed 's/^flops: n/check: n = {1000}\nflops: n/; s/{4096}/{4096, 8192}/' >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --budget 2 --samples 4 --device hlsl:0 \
	--json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 0 "a baseline is validated and tuned" "$(cat "$T/err")"

# --- quoted figures name their evidence
sql() # queries the database while the daemon uses it
{
	sqlite3 -cmd '.timeout 20000' "$db" "$1"
}
stands() # stands ROW CHECKPOINT: 1 if the row is a passed validation of this checkpoint
{
	sql "SELECT count(*) FROM validation WHERE id = $1 AND checkpoint_id = $2 AND verdict = 'passed'"
}
peak()
{
	timeout 120 "$peakd" "$@" --db "$db"
}
for row in $(jq '.rows[].evidence' "$T/rows.json"); do
	is "$(stands "$row" 1)" 1 "a row of run's JSON names a passed validation ($row)"
done
log=$(peak workflow log scale --json)
for row in $(printf '%s' "$log" | jq '.checkpoints[].best[].evidence'); do
	is "$(stands "$row" 1)" 1 "a best time of workflow log names a passed validation ($row)"
done
peak workflow show scale measurements >"$T/csv"
t4_proven() # t4_proven CHECKPOINT: the number of results that its T4 file marks as proven
{
	peak workflow show "$1" t4 | jq '[.results[] | select(any(.measurements[]; .name == "proven"))] | length'
}
is "$(t4_proven scale)" "$(sql "SELECT count(*) FROM measurement_proven")" "the T4 file marks as proven what may be quoted"
is "$(head -1 "$T/csv" | cut -d, -f13-15)" "evidence,standing,message" \
	"the CSV of measurements has columns for evidence and standing"
is "$(sql "SELECT count(*) FROM measurement WHERE validation_id IS NOT NULL AND id IN (SELECT id FROM measurement_proven)")" \
	"$(grep -c ',proven,"finalist' "$T/csv")" "finalists are validated"
is "$(grep -c '"search"$' "$T/csv")" "$(grep -c ',0,unvalidated,"search"$' "$T/csv")" \
	"times of the search are marked as unvalidated"
has "$(peak workflow show scale best)" "evidence" "the winner's parameters name their evidence"
peak workflow export scale --out "$T/files" >/dev/null
has "$(cat "$T"/files/*)" "evidence: validation" "exported files name their evidence"
peak tune scale --budget 2 --sizes n=4096 >"$T/tune"
row=$(sed -n 's/.* evidence \([0-9]*\);.*/\1/p' "$T/tune")
is "$(stands "${row:-0}" 1)" 1 "a tune's answer names a passed validation" "$(cat "$T/tune")"
row=$(peak profile scale --sizes n=4096 | sed -n 's/.* evidence \([0-9]*\).*/\1/p')
is "$(stands "${row:-0}" 1)" 1 "a profile names a passed validation"
peak profile scale --sizes n=4096 --against 1 --svg "$T/roof.svg" >"$T/against" 2>&1
has "$(cat "$T/against")" "against checkpoint 1: " \
	"a profile against another checkpoint names it, and how many times as fast this one is"
has "$(head -c 80 "$T/roof.svg")" "<svg " "its roofline is drawn"
has "$(cat "$T/roof.svg")" "checkpoint 1: " "with the other checkpoint beside it"

# --- another text makes another checkpoint, without figures to quote
tool() # tool NAME ARGUMENTS: the text of the answer
{
	jq -nc --arg n "$1" --argjson a "$2" '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:$n,arguments:$a}}' |
		asked "$db" "$T/said"
	jq -r 'select(.id == 2) | .result.content[0].text' "$T/said"
}
device=$(peak workflow show scale device | sed 's/2\.0 \* A/A[id.x] + A/')
tool edit "$(jq -nc --arg t "$device" '{at: "scale", region: "device", text: $t, device: "hlsl:0", samples: 4, wait_s: 45}')" >"$T/edited"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0] | [.status, .best]')" '["accepted",[]]' \
	"an edited source is validated anew and has no time yet" "$(cat "$T/edited")"
source=$(sed 's/^check:.*//' "$T/scale.peak.md")
has "$(tool edit "$(jq -nc --arg t "$source" '{at: "scale", source: $t, device: "hlsl:0", wait_s: 45}')")" "another contract" \
	"narrowing check: is refused because it makes another contract"
peak tune scale --budget 2 --sizes n=4096 >/dev/null
peak compare 1 2 --sizes n=4096 >"$T/compared" 2>&1
row=$(sed -n 's/.*evidence \([0-9]*\) and \([0-9]*\).*/\1 \2/p' "$T/compared")
is "$(stands "${row% *}" 2) $(stands "${row#* }" 1)" "1 1" "a comparison names the evidence of both sides" "$(cat "$T/compared")"
tool workflow '{"action": "compare", "at": "2"}' >/dev/null
row=$(jq -r 'select(.id == 2) | .result.structuredContent.compare[0] | "\(.b_evidence) \(.a_evidence)"' "$T/said")
is "$(stands "${row% *}" 2) $(stands "${row#* }" 1)" "1 1" "workflow compare names the evidence of both sides"
best=$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0]')
pair=$(sql "SELECT 1 / ratio FROM comparison WHERE a_id = 1 AND b_id = 2 ORDER BY id DESC LIMIT 1")
is "$(printf '%s' "$best" | jq "(.speedup - $pair | fabs) < 1e-6 and .speedup_low <= .speedup and .speedup <= .speedup_high")" \
	true \
	"workflow log's speed-up is that of the newest pairs, with its interval" "$best, pairs: $pair"
is "$(jq -r 'select(.id == 2) | .result.structuredContent.compare[0].ratio' "$T/said" | jq "(. - $pair | fabs) < 1e-6")" true \
	"workflow compare says the same, in the same direction"
ratio=$(peak compare 1 2 --sizes n=4096 --json | jq '.result.sizes[0].ratio')
pair=$(sql "SELECT 1 / ratio FROM comparison WHERE a_id = 1 AND b_id = 2 ORDER BY id DESC LIMIT 1")
is "$(jq -n "$ratio == $(printf '%.6g' "$pair")")" true "the tool compare, too: above 1, B is faster" \
	"$ratio (six digits), pairs: $pair"
sql "DELETE FROM comparison"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0] | has("speedup")')" false \
	"without pairs there is no speed-up, whatever was measured"
has "$(peak workflow log scale)" "not compared" "and the words say so"
has "$(peak workflow compare 2)" "peakd compare 1 2" "workflow compare says how to get it"
peak compare 1 2 --sizes n=4096 >/dev/null 2>&1
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0] | has("speedup")')" true \
	"and compare gives it"

# --- refutations
refute() # refute DEVICE: fails the best parameters of checkpoint 1 at another size
{
	sql "INSERT INTO validation (checkpoint_id, validator, device, sizes, params, size_kind, verdict, reason, created_ms)
	     SELECT checkpoint_id, 'outputs', $1, 'n=1000', 'n=1000' || substr(params, length(sizes) + 1), 'check', 'failed', 'planted', 0
	     FROM measurement WHERE checkpoint_id = 1 AND id IN (SELECT id FROM measurement_proven)"
}
refute "'another device'"
is "$(peak workflow log scale --json | jq '[.checkpoints[] | select(.id == 1)][0].best | length')" 2 \
	"a refutation on another device leaves the figures of this one"
refute device
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 1)][0].best')" '[]' \
	"a refutation at another size removes the figures of this device"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best[0] | has("speedup")')" false \
	"no speed-up over a refuted checkpoint is shown"
peak workflow show scale@{root} measurements >"$T/csv"
is "$(grep -c ',proven,' "$T/csv")" 0 "no measurement of a refuted checkpoint is proven"
is "$(t4_proven scale@{root})" 0 "the T4 file of a refuted checkpoint marks nothing as proven"
[ "$(grep -c ',refuted,"finalist' "$T/csv")" -gt 0 ]
ok $? "finalists of a refuted checkpoint are marked as refuted" "$(cat "$T/csv")"
has "$(peak workflow show scale@{root} tuning)" "(refuted since)" "the tune of a refuted checkpoint marks its fastest as refuted"
is "$(peak workflow show scale@{root} best)" "" "a refuted checkpoint has no winner"
peak workflow export scale@{root} --out "$T/none" >/dev/null 2>"$T/err"
has "$(cat "$T/err")" "no validated measurement" "a refuted checkpoint cannot be exported as a winner"
tool workflow '{"action": "compare", "at": "2"}' >"$T/compared"
has "$(cat "$T/compared")" "nothing to compare" "recorded times of a refuted checkpoint are not compared"

# --- a whole checkpoint is refuted after it was tuned
job=$(peak jobs --json | jq -r '[.jobs[] | select(.kind == "tune")][0].job')
has "$(peak jobs get "$job")" "best" "a finished tune's answer can be read again"
is "$(peak jobs get "$job" | grep -c REFUTED)" 0 "a finished tune's answer is not marked as refuted before a refutation"
sql "UPDATE checkpoint SET status = 'failed', note = 'a planted reason' WHERE id = 2"
has "$(peak jobs get "$job")" "REFUTED: checkpoint 2 was refuted, so none of its figures may be quoted: a planted reason" \
	"after a refutation the tune's answer says that it is refuted"
is "$(peak workflow log scale --json | jq -c '[.checkpoints[] | select(.id == 2)][0].best')" '[]' \
	"workflow log quotes no time of a refuted checkpoint"
peak profile 2 --sizes n=4096 >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "a planted reason" "a profile of a refuted checkpoint is refused"
peak tune 2 --budget 2 --sizes n=4096 >"$T/out" 2>"$T/err"
has "$(cat "$T/out")" "NOT VALIDATED (checkpoint 2 was refuted: a planted reason)" \
	"a new tune of a refuted checkpoint is marked as not validated"
done_testing
