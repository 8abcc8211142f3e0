#!/bin/sh
# peakd optimize with a scripted model: plans, faster code, wrong code, the same code again, budgets, the explanation, and a daemon that is
# killed in the middle.
. "$(dirname "$0")/lib.sh"
db=$T/a.db m=$T/model

has "$("$peakd" optimize --list-policies)" "KernelBand" "--list-policies says where a policy comes from"
is "$("$peakd" optimize --list-policies | grep -c '^ *from:')" \
	"$(jq '.properties.policy.enum | length' "$root/schema/optimize.input.json")" "the tool's schema names every policy"
need_hlsl 34 "$T/d.db"

mkdir "$m"
rule() # rule NAME WORDS <ANSWER: questions with these words get this answer
{
	printf '%s\n' "$2" >"$m/$1.when"
	cat >"$m/$1.answer"
}
code() # code BODY: an answer with device code
{
	printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n)) {\n\t\t%s\n\t}\n}\n```\n' "$1"
}
slow='float s = 0; for (int k = 0; k < 2048; k++) s += A[id.x]; C[id.x] = s / 1024;'
rule 1 "five lines that begin with PLAN" <<'ANSWER'
1. fewer operations
PLAN 3.0-20 novelty 2: Multiply by two once in place of the loop of additions.
- **PLAN** 1.1 - 1.5x, novelty 9: Return a constant for every element.
PLAN 0.5-1.0 novelty 1: Say in a comment what the loop does.
PLAN all the rest is no plan
ANSWER
code 'C[id.x] = 2.0 * A[id.x];' | rule 2 "Multiply by two once"
code 'C[id.x] = 1.0;' | rule 3 "Return a constant"
code 'C[id.x] = 1.0;' | rule 4 "This is the context" # repairs are as wrong
code "$slow // the loop adds the element often" | rule 5 "Say in a comment"
python3 "$root/tests/daemon/planner.py" "$m" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=planner&retries=0"

cat >"$T/scale.peak.md" <<CONTEXT
---
kernel: scale
backend: hlsl
inputs:
  n: int = {1024}
  A: f32[n] = random
  C: out f32[n]
tune:
  BX: {64}
flops: n
---
\`\`\`hlsl
[numthreads(BX, 1, 1)]
void scale(uint3 id : SV_DispatchThreadID)
{
	if (id.x < uint(n)) {
		$slow
	}
}
\`\`\`
\`\`\`macros
\`\`\`
\`\`\`lua host
launch("scale", {cdiv(n, BX)}, {BX}, {A, C, n})
\`\`\`
CONTEXT
optimize() # optimize WORKFLOW OPTIONS: the structured answer goes to $T/out
{
	name=$1
	shift
	timeout 240 "$peakd" optimize "$name" --db "$db" --samples 2 --tune 2 --without profile --json "$@" >"$T/out" 2>"$T/err"
}
explain() # explain AT FILTER: of the decisions
{
	timeout 60 "$peakd" optimize explain "$1" --db "$db" --json | jq -rc "$2"
}

# --- a search
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
optimize scale --policy greedy --experiments 3 --calls 40
ok $? "a search ends" "$(cat "$T/err")"
is "$(jq -c '.result | [.best, .speedup > 1.5, .experiments]' "$T/out")" '[2,true,3]' "it finds the faster code and times it against the start in pairs"
is "$(jq -r .result.stopped "$T/out")" "budget: 3 experiments" "it ends with its budget of experiments"
is "$(timeout 60 "$peakd" workflow log scale --db "$db" --json | jq -r '.checkpoints[0].id')" 2 "the workflow's head is the best checkpoint"
is "$(explain scale '[.decisions[] | .kind]')" '["measure","question","experiment","question","experiment","experiment","stop"]' \
	"every decision is a row"
is "$(explain scale '[.decisions[] | select(.kind == "experiment") | .outcome]')" '["faster","wrong","no-op"]' "with what came of it" \
	"$(explain scale "[.decisions[] | .note]")"
is "$(explain scale '.decisions[5] | [.transform_job != null, .tune_job, .device_seconds < 0.5]')" '[true,null,true]' \
	"the same code again is neither judged nor timed"
is "$(explain scale '.decisions[4].calls | . > 1 and . < 6')" true "code that stays wrong is repaired, but not begun afresh"
has "$(timeout 60 "$peakd" optimize explain 2 --db "$db")" "why: the fastest checkpoint; the model planned it" "explain gives reasons in words"
is "$(explain 2 .job)" "$(jq -r .job "$T/out")" "a checkpoint leads to the search that made it"
is "$(explain scale '.decisions[2] | [.expected_low, .expected_high, .novelty]')" '[3,20,2]' "a plan's expectation is kept"

# --- budgets
optimize 1 --policy greedy --calls 2
is "$(jq -c '.result | [.calls, .stopped, .best]' "$T/out")" '[2,"budget: 2 model calls",2]' "calls are a budget" "$(cat "$T/err")"
is "$(explain "$(jq -r .job "$T/out")" '.decisions[2] | [.outcome, .made, .device_seconds < 0.5]')" '["faster",2,true]' \
	"code that an earlier search made of the same checkpoint is taken with its times"
optimize 1 --policy greedy --tokens 100
is "$(jq -c '.result | [.calls, .experiments]' "$T/out")" '[1,0]' "tokens are a budget"
optimize 1 --policy greedy --money 0.001 --price-in 3 --price-out 15
is "$(jq -c '.result | [.calls, .money > 0.001]' "$T/out")" '[1,true]' "money is a budget"
has "$(jq -r .result.stopped "$T/out")" "spent on tokens" "and the search says so"
timeout 60 "$peakd" optimize 1 --policy greedy --money 5 --db "$db" 2>"$T/err"
has "$(cat "$T/err")" "price_in or price_out" "money without prices is refused"
timeout 60 "$peakd" optimize 1 --policy clever --db "$db" 2>"$T/err"
has "$(cat "$T/err")" "--policy" "a policy that does not exist is refused"

# --- a provider that refuses
touch "$m/refuse"
optimize 1 --policy tree
is "$?" 1 "a search without a model that answers fails"
has "$(cat "$T/err")" "two attempts in a row failed for reasons other than the code" "and says why in one sentence"
has "$(jq -r .result.stopped "$T/out")" "two attempts in a row failed for reasons other than the code" "a provider that refuses ends the search"
has "$(jq -r .result.stopped "$T/out")" "no such key" "with the provider's words"
is "$(explain "$(jq -r .job "$T/out")" '[.decisions[] | select(.outcome == "wrong")] | length')" 0 "and no code is called wrong"
rm "$m/refuse"

# --- a reviewer reads code before it runs; in a database of its own, since code that is known is not read again
db=$T/c.db
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
printf 'A[id.x] + A[id.x];\n' >"$m/00.when"
printf 'ACCEPT\n' >"$m/00.answer"
printf 'Reject only what you are sure of\n' >"$m/01.when"
printf 'REJECT: say it with a sum\n' >"$m/01.answer"
code 'C[id.x] = A[id.x] + A[id.x];' | rule 02 "A reviewer read the code and rejected it"
optimize 1 --policy coder-judge --experiments 1
is "$(jq -c '.result | [.right, .calls]' "$T/out")" '[1,5]' "rejected code is written again, and each review is a call" "$(cat "$T/err")"
is "$(explain "$(jq -r .job "$T/out")" '.decisions[2] | [.reviewed, .made != null]')" '[true,true]' "what the reviewer accepts is judged and timed"
rm "$m"/0*

# --- code that failed is mended, and each call counts once
db=$T/f.db
timeout 60 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >/dev/null
mv "$m/2.when" "$m/2.off"
optimize 1 --policy islands --experiments 2
job=$(jq -r .job "$T/out")
is "$(explain "$job" '[.decisions[] | select(.kind == "mend")] | length')" 1 "islands mend what failed" "$(explain "$job" '[.decisions[] | [.kind, .outcome, .note]]')"
is "$(explain "$job" '[.decisions[].calls] | add')" "$(sqlite3 "$db" "SELECT count(*) FROM exchange")" "each model call counts once, also where code is mended"
is "$(jq .result.calls "$T/out")" "$(sqlite3 "$db" "SELECT count(*) FROM exchange")" "and so does the result"
was=$(sqlite3 "$db" "SELECT count(*) FROM exchange")
optimize 1 --policy islands --calls 8
is "$(($(sqlite3 "$db" "SELECT count(*) FROM exchange") - was))" 8 "a budget of calls is spent to the last one where code is mended" "$(explain "$(jq -r .job "$T/out")" '[.decisions[] | [.kind, .calls, .note]]')"
mv "$m/2.off" "$m/2.when"

# --- a search from a later checkpoint, whose baseline was never tuned
db=$T/e.db
timeout 60 "$peakd" workflow create "$T/scale.peak.md" late --db "$db" >/dev/null
sed 's/s += A\[id.x\]/s = s + A[id.x]/' "$T/scale.peak.md" |
	jq -Rsc '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:"edit",arguments:{at:"late",source:.,wait_s:40}}}' | asked "$db" "$T/edited"
optimize 2 --policy greedy --experiments 1
ok $? "a search begins at a later checkpoint, whose baseline was never tuned" "$(cat "$T/err")"
is "$(sqlite3 "$db" "SELECT count(*) FROM measurement_run WHERE checkpoint_id = 1")" 0 "the baseline stays untuned"
is "$(jq -c '.result | [.best, .speedup > 1.5, .faster]' "$T/out")" '[3,true,1]' "its best is the faster code, timed against where it began" "$(explain 2 '[.decisions[] | [.kind, .outcome, .gain, .note]]')"

# --- the daemon is killed while the model writes code
timeout 60 "$peakd" workflow create "$T/scale.peak.md" again --db "$T/b.db" >/dev/null
db=$T/b.db
: >"$m/asked"
touch "$m/2.hold"
timeout 240 "$peakd" optimize again --db "$db" --samples 2 --tune 2 --without profile --policy beam --experiments 2 >"$T/out" 2>"$T/err" &
client=$!
wait_for 120 grep -q 2 "$m/asked"
kill -9 "$(holder "$db")"
wait $client
rm "$m/2.hold"
optimize again --policy beam --experiments 2 --resume
ok $? "a search goes on after its daemon was killed" "$(cat "$T/err")"
is "$(jq -c '.result | [.best, .experiments]' "$T/out")" '[2,2]' "it ends as it would have" "$(timeout 60 "$peakd" optimize explain again --db "$db")"
is "$(explain again '[.decisions[] | .seq] == [range(1; (.decisions | length) + 1)]')" true "and without a gap in its decisions"
is "$("$peakd" jobs --db "$db" --json | jq -c '[.jobs[] | select(.kind == "optimize")] | length')" 1 "as the same job"
done_testing
