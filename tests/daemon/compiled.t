#!/bin/sh
# A device that only compiles: everything that can be said is said, and nothing is called validated. Exit status 3.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
sed 's/{2048, 4096}/{64}/' "$root/examples/matmul-fp32-cuda.peak.md" >"$T/mm.peak.md"
timeout 100 "$peakd" run "$T/mm.peak.md" --db "$db" --device cuda:sm_90a --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
status=$?
need_cuda_compiler 4 "$T/err"
is $status 3 "exit status 3" "$(cat "$T/err")"
has "$(tail -n 1 "$T/out")" "mm: 1 checkpoint for cuda:sm_90a, compiled, not run" "the closing line"
is "$(jq -c '[.ran, .rows[0].validated]' "$T/rows.json")" '[false,false]' "nothing counts as run or validated"

sed -i 's/acc = 0;/acc = nonsense;/' "$T/mm.peak.md"
timeout 100 "$peakd" run "$T/mm.peak.md" --db "$db" --device cuda:sm_90a --samples 2 >"$T/out" 2>"$T/err"
is $? 1 "what does not compile is exit status 1"
done_testing
