#!/bin/sh
# Experts' notes from end to end: a user's own note is listed, told to the model, applied like a transformation, and has a standing
# once the result was timed in pairs with its parent.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
need_hlsl 8 "$T/d.db"
mkdir -p "$T/data/peakd/transforms/knowledge"
cat >"$T/data/peakd/transforms/knowledge/add-up.md" <<'NOTE'
---
kind: instructions
symptom: a product with two
words: scale
gain: 50
source: a test
---
Add the element to itself in place of the product with 2.
NOTE
printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = A[id.x] + A[id.x];\n}\n```\n' >"$T/answer"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"
small_context >"$T/scale.peak.md"
peak() { timeout 120 "$peakd" "$@" --db "$db"; }

has "$(peak knowledge)" "add-up                       instructions 50.00x  not tried here yet" \
	"a user's own note is listed beside the shipped ones"
has "$(peak knowledge add-up)" "Add the element to itself" "one note is shown whole"
has "$(peak knowledge addup 2>&1)" 'there is no note "addup"' "an unknown note is refused"
peak workflow create "$T/scale.peak.md" >"$T/out" 2>&1
peak tune scale >"$T/out" 2>&1
peak transform scale note-add-up --samples 2 >"$T/out" 2>&1
ok $? "a note is applied like a transformation" "$(cat "$T/out")"
has "$(cat "$T/answer.asked")" "add-up (not tried here yet): Add the element to itself" "the model is told the notes that fit"
peak tune scale >"$T/out" 2>&1
peak knowledge --device hlsl:0 >"$T/out" 2>&1
is "$(grep -c 'add-up .*not tried' "$T/out")" 0 "the note has a standing once the result was timed with its parent"
has "$(peak profile scale --json 2>&1 | jq -c '.. | .notes? // empty')" '"note":"note-add-up"' \
	"a profile's answer names the notes that fit"
has "$(peak workflow log scale)" note-add-up "the checkpoint says which note made it"
done_testing
