#!/bin/sh
# bench/ladder/run.sh is interrupted while it tunes its last step with a larger budget. The same command continues that tune,
# measures nothing twice, and does not take the step's earlier tune for the answer.
. "$(dirname "$0")/../daemon/lib.sh"
db=$T/out/ladder.db
mkdir "$T/out"
need_hlsl 11 "$db"
mkdir -p "$T/data/peakd/transforms/sequences"
printf '# One step\n\n1. marked\n' >"$T/data/peakd/transforms/sequences/one.md"
cat >"$T/data/peakd/transforms/marked.md" <<'STEP'
---
name: marked
summary: a step without a model
---
## Pass 1: Mark
expect: valid

### macros
```macros insert
#define MARK 1
```
STEP
small_context | sed 's/{32, 64}/1<<i for i = 0,8/; s/^  BX:/  BY: {1, 2, 4, 8}\n  BX:/; s/{BX}, {A/{BX, 1}, {A/' >"$T/scale.peak.md"
ladder() # runs the whole ladder without profiles
{
	timeout 300 "$root/bench/ladder/run.sh" -p "$peakd" -d hlsl:0 -m replay:matmul-fp32-hlsl -b 1 -l 24 -n 0 -q one -c "$T/scale.peak.md" -o "$T/out" >"$T/said" 2>&1
}
sql() # sql STATEMENT
{
	sqlite3 -readonly -cmd '.timeout 20000' "$db" "$1"
}
measured() # counts the configurations that the last tune has measured
{
	sql "SELECT count(*) FROM measurement WHERE message LIKE 'search%' AND run_id IN (SELECT id FROM measurement_run WHERE planned = 24)"
}
searched() # searched COUNT: succeeds once the last tune has measured that many
{
	[ "$(measured)" -ge "$1" ]
}

ladder &
client=$!
wait_for 300 searched 3
daemon=$(holder "$db")
kill -KILL "$daemon" # as if the machine were switched off
wait $client
ok "$([ $? -ne 0 ]; echo $?)" "a ladder whose daemon is killed in the last tune fails"
ok "$([ ! -s "$T/out/last.json" ]; echo $?)" "an interrupted ladder writes no answer of its last tune"
known=$(measured) # perhaps more than was waited for: only one more shows that the tune continues
goal=$((known + 1 > 6 ? known + 1 : 6))
ladder &
client=$!
wait_for 300 searched $goal
"$peakd" jobs cancel "$(sql "SELECT id FROM job WHERE kind = 'tune' AND state = 'running'")" --db "$db" >/dev/null 2>&1 # as Ctrl-C does
wait $client
ok "$([ $? -ne 0 ]; echo $?)" "a ladder whose last tune is cancelled fails"
ladder
is $? 0 "the same command finishes an interrupted ladder" "$(cat "$T/said")"
is "$(sql "SELECT count(*) FROM measurement_run WHERE planned = 24")" 1 "the interrupted tune is continued, not repeated"
is "$(sql "SELECT count(*), count(DISTINCT params) FROM measurement WHERE message LIKE 'search%'
	AND run_id = (SELECT id FROM measurement_run WHERE planned = 24)")" "24|24" "which tries all of its budget, nothing twice"
is "$(jq -c '[.state, .result.sizes[0].tried]' "$T/out/last.json")" '["done",24]' "the answer is that of the last tune, not of the step's earlier one"
ok "$([ "$(jq '.result.sizes[0].resumed // 0' "$T/out/last.json")" -ge "$goal" ]; echo $?)" "the answer counts the measurements from before the interruption" "$(cat "$T/out/last.json")"
rm "$T/out/last.json" # as if interrupted before the answer was written
before=$(sql "SELECT count(*) FROM measurement")
ladder
is $? 0 "the same command asks again for a finished tune" "$(cat "$T/said")"
is "$(sql "SELECT count(*) FROM measurement")" "$before" "a finished tune is not measured again"
is "$(jq -c '[.state, .result.sizes[0].tried]' "$T/out/last.json")" '["done",24]' "a finished tune gives the same answer"
done_testing
