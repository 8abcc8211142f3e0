#!/bin/sh
# The user's own validators and evaluators, on whatever runs HLSL here: the shipped examples, a validator that refuses, one that skips, one
# that breaks, and what is recorded.
. "$(dirname "$0")/lib.sh"
if ! command -v python3 >/dev/null; then
	skip_rest 1 "no python3"
fi
mkdir "$T/validators" "$T/evaluators"
PEAKD_VALIDATORS="$T/validators" PEAKD_EVALUATORS="$T/evaluators"
export PEAKD_VALIDATORS PEAKD_EVALUATORS

# The context of a specimen of the adversarial suite as a checkpoint of a new database: its own root.
load() # load DATABASE FILE NAME
{
	create_request "$3" <"$2" | asked "$1" "$T/out"
}
say() # say NAME ANSWER
{
	printf '#!/bin/sh\ncat >/dev/null\n%s\n' "$2" >"$T/validators/$1"
	chmod +x "$T/validators/$1"
}
judge() # judge DATABASE NAME
{
	timeout 120 "$peakd" validate "$2" --device hlsl:0 --samples 2 --db "$1" >"$T/said" 2>&1
}
rows()
{
	sqlite3 "$1" "SELECT DISTINCT validator || ' ' || verdict FROM validation ORDER BY 1" | tr '\n' ','
}

db=$T/a.db
small_context >"$T/scale.peak.md"
load "$db" "$T/scale.peak.md" s
need_hlsl 1 "$db"
cp "$root/examples/validators/barriers.py" "$T/validators/"
chmod +x "$T/validators/barriers.py"
judge "$db" s
is $? 0 "the example passes what shares nothing" "$(cat "$T/said")"
has "$(cat "$T/said")" "; barriers passed" "and is named"
is "$(rows "$db")" "barriers passed,outputs passed," "it is evidence under its name"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" accepted "beside the outputs"

load "$T/b.db" "$root/tests/adversary/41-missing-second-barrier.good.peak.md" good
judge "$T/b.db" good
is $? 0 "the example passes barriers" "$(cat "$T/said")"
has "$(cat "$T/said")" "; barriers passed" "having looked at them"

# Every thread reads what it wrote itself, so the outputs are right; the example wants a barrier all the same.
cat >"$T/own.peak.md" <<'CONTEXT'
---
kernel: scale
backend: hlsl
inputs:
  n: int = {4096}
  A: f32[n] = random
  C: out f32[n]
tune:
  BX: {32}
flops: n
---
```hlsl
groupshared float s[BX];
[numthreads(BX, 1, 1)]
void scale(uint3 id : SV_DispatchThreadID, uint3 at : SV_GroupThreadID)
{
	s[at.x] = A[id.x];
	C[id.x] = 2.0 * s[at.x];
}
```
```lua host
launch("scale", {cdiv(n, BX)}, {BX}, {A, C, n})
```
CONTEXT
load "$T/c.db" "$T/own.peak.md" own
judge "$T/c.db" own
is $? 1 "the example refuses a missing barrier"
has "$(cat "$T/said")" "have the right outputs, but" "though the outputs are right"
has "$(cat "$T/said")" "device:6: s is read here and written in line 5 without a barrier between" "says where"
has "$(cat "$T/said")" "C[id.x] = 2.0 * s[at.x];" "and shows the line"
is "$(rows "$T/c.db")" "barriers failed,outputs passed," "both are evidence"
is "$(sqlite3 "$T/c.db" "SELECT status FROM checkpoint")" failed "and the checkpoint is refuted"


# The same through an edit: what a transformation's answer goes through.
load "$T/g.db" "$T/scale.peak.md" s
sed -n '/^```hlsl$/,/^```$/p' "$T/own.peak.md" | sed '1d;$d' >"$T/region"
jq -Rsc '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:"edit",arguments:{at:"s",region:"device",text:.,samples:1,wait_s:45}}}' <"$T/region" |
	asked "$T/g.db" "$T/out"
has "$(cat "$T/out")" "barriers: 1 finding; device:6: s is read here" "an edit is refused by it too"
is "$(sqlite3 "$T/g.db" "SELECT status FROM checkpoint ORDER BY id DESC LIMIT 1")" failed "and kept as failed"
rm "$T/validators/barriers.py"
say cuda-only "echo '{\"verdict\": \"skipped\", \"reason\": \"only for CUDA\"}'"
load "$T/d.db" "$T/scale.peak.md" s
judge "$T/d.db" s
is $? 0 "a validator may say that it has nothing to say" "$(cat "$T/said")"
has "$(cat "$T/said")" "; cuda-only skipped: only for CUDA" "which is told"
is "$(rows "$T/d.db")" "cuda-only skipped,outputs passed," "and recorded"

say cuda-only 'exit 7'
load "$T/e.db" "$T/scale.peak.md" s
judge "$T/e.db" s
is $? 1 "one that breaks has not passed"
has "$(cat "$T/said")" "cuda-only: the validator itself failed: it exited with status 7" "and is named"
is "$(rows "$T/e.db")" "cuda-only skipped,outputs passed," "as skipped"
is "$(sqlite3 "$T/e.db" "SELECT status FROM checkpoint")" draft "the checkpoint stays what it was"
rm "$T/validators/cuda-only"

cp "$root/examples/evaluators/source.py" "$T/evaluators/"
chmod +x "$T/evaluators/source.py"
printf '#!/bin/sh\nexit 9\n' >"$T/evaluators/broken"
chmod +x "$T/evaluators/broken"
load "$T/f.db" "$T/scale.peak.md" s
timeout 120 "$peakd" tune s --device hlsl:0 --budget 2 --db "$T/f.db" >"$T/said" 2>&1
timeout 120 "$peakd" profile s --device hlsl:0 --db "$T/f.db" >"$T/said" 2>&1
if grep -q 'gives no times' "$T/said"; then
	skip 3 "the device gives no times"
else
	has "$(cat "$T/said")" "source.lines 6; source.threads 4096" "evaluators' figures stand in a profile"
	has "$(cat "$T/said")" "broken: it exited with status 9" "and why one has none"
	is "$(sqlite3 "$T/f.db" "SELECT name || ' ' || value || unit FROM metric WHERE source = 'evaluator' AND name <> 'source.thread_rate' ORDER BY 1" | tr '\n' ',')" \
		"source.lines 6.0,source.threads 4096.0," "they are recorded as metrics"
fi
done_testing
