#!/bin/sh
# bench/ladder/run.sh that is cut off while it tunes its last step with a larger budget: the same command goes on with that tune, measures nothing
# twice, and is not answered by what the step was tuned with before.
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
ladder() # all of it, without profiles
{
	timeout 300 "$root/bench/ladder/run.sh" -p "$peakd" -d hlsl:0 -m replay:matmul-fp32-hlsl -b 1 -l 24 -n 0 -q one -c "$T/scale.peak.md" -o "$T/out" >"$T/said" 2>&1
}
sql() # sql STATEMENT
{
	sqlite3 -readonly -cmd '.timeout 20000' "$db" "$1"
}
measured() # how many configurations the last tune has measured
{
	sql "SELECT count(*) FROM measurement WHERE message LIKE 'search%' AND run_id IN (SELECT id FROM measurement_run WHERE planned = 24)"
}
searched() # searched COUNT: whether these are so many
{
	[ "$(measured)" -ge "$1" ]
}

ladder &
client=$!
wait_for 300 searched 3
daemon=$(holder "$db")
kill -KILL "$daemon" # as if the machine had gone
wait $client
ok "$([ $? -ne 0 ]; echo $?)" "a ladder whose daemon dies in the last tune fails"
ok "$([ ! -s "$T/out/last.json" ]; echo $?)" "and has no answer of that tune"
known=$(measured) # more than was waited for, perhaps: only one more than that says that the tune goes on
goal=$((known + 1 > 6 ? known + 1 : 6))
ladder &
client=$!
wait_for 300 searched $goal
"$peakd" jobs cancel "$(sql "SELECT id FROM job WHERE kind = 'tune' AND state = 'running'")" --db "$db" >/dev/null 2>&1 # as Ctrl-C does
wait $client
ok "$([ $? -ne 0 ]; echo $?)" "so does one in which that tune is cancelled"
ladder
is $? 0 "the same command then comes to its end" "$(cat "$T/said")"
is "$(sql "SELECT count(*) FROM measurement_run WHERE planned = 24")" 1 "it has gone on with the tune that it had begun"
is "$(sql "SELECT count(*), count(DISTINCT params) FROM measurement WHERE message LIKE 'search%'
	AND run_id = (SELECT id FROM measurement_run WHERE planned = 24)")" "24|24" "which tries all of its budget, nothing twice"
is "$(jq -c '[.state, .result.sizes[0].tried]' "$T/out/last.json")" '["done",24]' "and is the answer: not the tune of the step"
ok "$([ "$(jq '.result.sizes[0].resumed // 0' "$T/out/last.json")" -ge "$goal" ]; echo $?)" "with what was known before" "$(cat "$T/out/last.json")"
rm "$T/out/last.json" # cut off between the answer and its file
before=$(sql "SELECT count(*) FROM measurement")
ladder
is $? 0 "a tune that had ended is asked for again" "$(cat "$T/said")"
is "$(sql "SELECT count(*) FROM measurement")" "$before" "nothing is measured"
is "$(jq -c '[.state, .result.sizes[0].tried]' "$T/out/last.json")" '["done",24]' "the answer is the same"
done_testing
