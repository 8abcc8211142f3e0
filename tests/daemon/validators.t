#!/bin/sh
# Custom validators and evaluators on any device that runs HLSL: the shipped examples, a validator that refuses, one that skips, one
# that fails, and the records they leave.
. "$(dirname "$0")/lib.sh"
if ! command -v python3 >/dev/null; then
	skip_rest 1 "no python3"
fi
mkdir "$T/validators" "$T/evaluators"
PEAKD_VALIDATORS="$T/validators" PEAKD_EVALUATORS="$T/evaluators"
export PEAKD_VALIDATORS PEAKD_EVALUATORS

# Loads the context of a specimen of the adversarial suite into a new database, where it is the baseline.
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
is $? 0 "the shipped barriers validator passes a kernel that shares nothing" "$(cat "$T/said")"
has "$(cat "$T/said")" "; barriers passed" "validate names the custom validator that passed"
is "$(rows "$db")" "barriers passed,outputs passed," "a custom validator's verdict is recorded under its name"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" accepted "a checkpoint that passes its custom validator is accepted"

load "$T/b.db" "$root/tests/adversary/41-missing-second-barrier.good.peak.md" good
judge "$T/b.db" good
is $? 0 "the barriers validator passes a kernel with correct barriers" "$(cat "$T/said")"
has "$(cat "$T/said")" "; barriers passed" "validate names the barriers validator for a kernel with barriers"

# Every thread reads only what it wrote itself, so the outputs are right. The example demands a barrier nevertheless.
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
is $? 1 "the barriers validator refuses a missing barrier"
has "$(cat "$T/said")" "have the right outputs, but" "validate says that the outputs are right but a validator refuses"
has "$(cat "$T/said")" "device:6: s is read here and written in line 5 without a barrier between" \
	"the refusal names the lines that lack a barrier"
has "$(cat "$T/said")" "C[id.x] = 2.0 * s[at.x];" "the refusal shows the source line"
is "$(rows "$T/c.db")" "barriers failed,outputs passed," "the refusing and the passing verdict are both recorded"
is "$(sqlite3 "$T/c.db" "SELECT status FROM checkpoint")" failed "a checkpoint refused by a custom validator is failed"


# An edit, as a transformation's answer, goes through the same validators.
load "$T/g.db" "$T/scale.peak.md" s
sed -n '/^```hlsl$/,/^```$/p' "$T/own.peak.md" | sed '1d;$d' >"$T/region"
jq -Rsc '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:"edit",arguments:{at:"s",region:"device",text:.,samples:1,wait_s:45}}}' <"$T/region" |
	asked "$T/g.db" "$T/out"
has "$(cat "$T/out")" "barriers: 1 finding; device:6: s is read here" "a custom validator refuses an edit"
is "$(sqlite3 "$T/g.db" "SELECT status FROM checkpoint ORDER BY id DESC LIMIT 1")" failed \
	"the refused edit is kept as a failed checkpoint"
rm "$T/validators/barriers.py"
say cuda-only "echo '{\"verdict\": \"skipped\", \"reason\": \"only for CUDA\"}'"
load "$T/d.db" "$T/scale.peak.md" s
judge "$T/d.db" s
is $? 0 "validate succeeds when a custom validator skips" "$(cat "$T/said")"
has "$(cat "$T/said")" "; cuda-only skipped: only for CUDA" "validate gives the reason of a skipped validator"
is "$(rows "$T/d.db")" "cuda-only skipped,outputs passed," "a skipped verdict is recorded"

say cuda-only 'exit 7'
load "$T/e.db" "$T/scale.peak.md" s
judge "$T/e.db" s
is $? 1 "validate fails when a custom validator breaks"
has "$(cat "$T/said")" "cuda-only: the validator itself failed: it exited with status 7" \
	"validate names the broken validator and its exit status"
is "$(rows "$T/e.db")" "cuda-only skipped,outputs passed," "a broken validator is recorded as skipped"
is "$(sqlite3 "$T/e.db" "SELECT status FROM checkpoint")" draft "a broken validator leaves the checkpoint's status unchanged"
chmod -x "$T/validators/cuda-only"
judge "$T/e.db" s
is $? 1 "validate fails when a custom validator cannot be executed"
has "$(cat "$T/said")" "cuda-only cannot be started: Permission denied" "and names the file"
rm "$T/validators/cuda-only"

# --validator: a daemon that runs already and does not know it is refused.
unset PEAKD_VALIDATORS
printf '#!/bin/sh\ncat >/dev/null\necho "{\\"verdict\\": \\"failed\\", \\"reason\\": \\"never\\"}"\n' >"$T/never.sh"
"$peakd" validate s --validator "$T/never.sh" --db "$T/h.db" >"$T/said" 2>&1
has "$(cat "$T/said")" "never.sh cannot be executed: Permission denied" "--validator refuses a file that cannot be executed"
chmod +x "$T/never.sh"
timeout 60 "$peakd" workflow create "$T/scale.peak.md" s --db "$T/h.db" >/dev/null
timeout 60 "$peakd" validate s --validator "$T/never.sh" --device hlsl:0 --db "$T/h.db" >"$T/said" 2>&1
is "$? $(grep -c "runs without it: \`peakd stop\`" "$T/said")" "1 1" "--validator refuses a daemon that does not know it" \
	"$(cat "$T/said")"
timeout 60 "$peakd" stop --db "$T/h.db" >/dev/null
timeout 60 "$peakd" validate s --validator "$T/never.sh" --device hlsl:0 --samples 1 --db "$T/h.db" >"$T/said" 2>&1
is "$? $(grep -c "never: never" "$T/said")" "1 1" "--validator is asked by a daemon that is started for it" "$(cat "$T/said")"
export PEAKD_VALIDATORS

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
	has "$(cat "$T/said")" "source.lines 6; source.threads 4096" "a profile shows the figures of custom evaluators"
	has "$(cat "$T/said")" "broken: it exited with status 9" "a profile says why an evaluator has no figures"
	is "$(sqlite3 "$T/f.db" "SELECT name || ' ' || value || unit FROM metric WHERE source = 'evaluator' AND name <> 'source.thread_rate' ORDER BY 1" | tr '\n' ',')" \
		"source.lines 6.0,source.threads 4096.0," "evaluators' figures are recorded as metrics"
fi
done_testing
