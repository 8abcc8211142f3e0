#!/bin/sh
# peakd run with a model (a small stand-in): the sequence named after the file, a user's own transformation, a step that is
# validated and tuned, a step with wrong results, and Ctrl-C.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 21 "$T/d.db"
mkdir -p "$T/data/peakd/transforms/sequences"
printf '1. add-up\n' >"$T/data/peakd/transforms/sequences/scale.md"
cat >"$T/data/peakd/transforms/add-up.md" <<'TRANSFORMATION'
---
name: add-up
summary: A sum in place of a product.
---
## Pass 1: The sum
expect: valid

### device
Add the element to itself in place of the product with 2.
TRANSFORMATION
answer() # makes the model's answer: device code with this expression
{
	printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s;\n}\n```\n' "$1"
}
answer 'A[id.x] + A[id.x]' >"$T/answer"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"

small_context >"$T/scale.peak.md"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "run applies the sequence that is named after the file" "$(cat "$T/err")"
has "$(tail -n 1 "$T/out")" ", 2 checkpoints, all validated" "the closing line counts both checkpoints"
is "$(jq -c '[.rows[] | [.step, .validated, .checkpoint]]' "$T/rows.json")" '[["baseline",true,1],["add-up",true,2]]' \
	"the JSON has a validated row for each step"
has "$(timeout 120 "$peakd" workflow show scale device --db "$db")" 'A[id.x] + A[id.x]' "the workflow's head holds the model's code"
has "$(timeout 120 "$peakd" workflow diff scale --db "$db")" '+		C[id.x] = A[id.x] + A[id.x];' \
	"workflow diff shows the model's change"
has "$(timeout 120 "$peakd" compare scale --db "$db")" "n=4096" "compare sets the head against its parent"

answer 'A[id.x] + 1.0' >"$T/answer"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name wrong >"$T/out" 2>"$T/err"
is $? 1 "run exits with status 1 when the model's code computes something else"
has "$(tail -n 1 "$T/out")" "1 of 2 steps NOT validated" "the closing line counts the step that is not validated"
has "$(cat "$T/err")" "add-up" "the error names the failed step"
is "$(timeout 120 "$peakd" workflow log wrong --db "$db" | grep -c accepted)" 1 \
	"after a failed step the workflow's head is still the baseline"

# A sentence that needs host code: the model answers with a plan, which is shown, carried out and kept with its checkpoint.
cat >"$T/answer" <<'ANSWER'
This needs fewer blocks and a parameter.
````plan
---
summary: Several elements a thread.
adds:
  EACH: {1, 2}
---
## Pass 1: Several elements
expect: valid

### device
EACH elements a thread.

### host
Fewer blocks.
````
```hlsl
[numthreads(BX, 1, 1)]
void scale(uint3 id : SV_DispatchThreadID)
{
	for (uint e = 0; e < EACH; e++)
		if (id.x * EACH + e < uint(n))
			C[id.x * EACH + e] = 2.0 * A[id.x * EACH + e];
}
```
```lua host
launch("scale", {cdiv(n, BX * EACH)}, {BX}, {A, C, n})
```
ANSWER
timeout 120 "$peakd" workflow create "$T/scale.peak.md" planned --db "$db" >/dev/null
timeout 120 "$peakd" transform planned "Give each thread several elements, and launch fewer blocks" --device hlsl:0 --samples 2 \
	--db "$db" >"$T/out" 2>"$T/err"
ok $? "a sentence that needs host code is carried out as the model's plan" "$(cat "$T/err")"
has "$(cat "$T/out")" "## Pass 1: Several elements" "the plan is shown"
has "$(timeout 120 "$peakd" workflow show planned source --db "$db")" "EACH: {1, 2}" "its parameter is in the context"
has "$(timeout 120 "$peakd" workflow show planned host --db "$db")" "BX * EACH" "and so is its host code"
has "$(timeout 120 "$peakd" workflow log planned --db "$db")" "plan-" "the log names the plan"
printf 'There is nothing to unroll here, since the kernel has no loop.\n' >"$T/answer"
timeout 120 "$peakd" transform planned "Unroll the loop of it" --device hlsl:0 --samples 2 --db "$db" >"$T/out" 2>"$T/err"
is $? 1 "a model that writes no code ends the command with status 1"
has "$(cat "$T/err")" "the kernel has no loop" "and its own words are shown"

# Ctrl-C during a job that waits for its model forever: the job is cancelled once, and the command ends with status 130.
echo 0 >"$T/answer.only"
python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores it for background processes
os.execvp(sys.argv[1], sys.argv[1:])' "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name long >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 sh -c "timeout 60 '$peakd' jobs --db '$db' | head -1 | grep -q 'transform running'"
is $? 0 "run waits for the model's answer"
kill -INT $client
wait $client
is $? 130 "Ctrl-C during a run gives exit status 130"
has "$(cat "$T/err")" "interrupted" "a run ended by Ctrl-C says that it was interrupted"
job=$(timeout 120 "$peakd" jobs --db "$db" --json | jq -r '.jobs[0].job')
timeout 120 "$peakd" jobs wait "$job" --db "$db" >/dev/null 2>&1
is "$(timeout 120 "$peakd" jobs get "$job" --db "$db" --json 2>/dev/null | jq -r .state; timeout 120 "$peakd" jobs --db "$db" | head -1 | cut -d' ' -f3)" \
	"$(printf 'cancelled\ncancelled')" "and its job is cancelled, also in JSON"
done_testing
