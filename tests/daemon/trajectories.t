#!/bin/sh
# peakd trajectories: a line of JSON for each try of a model, with what became of it; planted secrets and paths are not in it.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
need_hlsl 12 "$T/d.db"
answer() # answer EXPRESSION: makes the model's answer, which holds what a model may repeat of a machine
{
	printf 'As in /Users/jane/kernels/scale.hlsl, with key sk-abcdefghijklmnop0123 and %s:\n\n```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s; // n / BX\n}\n```\n' \
		"$PLANTED_API_KEY" "$1"
}
export PLANTED_API_KEY=correct-horse-battery
answer 'A[id.x] + A[id.x]' >"$T/answer"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"
small_context >"$T/scale.peak.md"
peak() { timeout 120 "$peakd" "$@" --db "$db"; }
is "$(peak trajectories 2>&1 | grep -c 'no such database')" 1 "a mistyped database is not made"
peak workflow create "$T/scale.peak.md" >"$T/out" 2>&1
peak tune scale >"$T/out" 2>&1
peak transform scale "add the element to itself, as /Users/jane/notes/idea.md says; password: hunter2hunter2" \
	--samples 2 >"$T/out" 2>&1
peak tune scale >"$T/out" 2>&1
answer 'A[id.x] + 1.0' >"$T/answer"
peak transform scale "add one in place of the sum" --samples 2 >"$T/out" 2>&1

peak trajectories --out "$T/t.jsonl"
ok $? "trajectories are written to a file"
is "$(jq -c . "$T/t.jsonl" | wc -l)" "$(wc -l <"$T/t.jsonl")" "each line is JSON of its own"
[ "$(wc -l <"$T/t.jsonl")" -ge 2 ]
ok $? "there is a line for each try" "$(wc -l <"$T/t.jsonl") lines"
first() { head -n 1 "$T/t.jsonl" | jq -r "$1"; }
is "$(first '[.state, .outcome, .step, (.pass | tostring), .status] | join(" ")')" "accepted ok device 1 accepted" \
	"a line says what became of the try"
has "$(first .context)" "kernel: scale" "it has the context"
has "$(first .prompt)" "add the element to itself" "the prompt"
has "$(first .result)" "A[id.x] + A[id.x]; // n / BX" "and the code that was made, unharmed"
is "$(first '(.speed | length > 0) and (.evidence | map(.verdict) | index("passed") != null) and (.speed[0].speedup > 0)')" true \
	"with speed and evidence"
is "$(jq -r 'select(.checkpoint == null) | .state' "$T/t.jsonl" | sort -u)" given-up "a try that failed is a line, too"
planted='correct-horse-battery\|sk-abcdefghijklmnop\|hunter2\|/Users/\|jane'
is "$(grep -c "$planted" "$T/t.jsonl")" 0 "none of the planted secrets and paths is in the file"
is "$(sqlite3 "$db" "SELECT count(*) FROM blob WHERE CAST(data AS TEXT) LIKE '%/Users/jane%'" 2>/dev/null | grep -c '^0$')" 0 \
	"they are in the database"
done_testing
