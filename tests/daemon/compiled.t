#!/bin/sh
# An architecture without a device: contexts are compiled and their resources reported, nothing is called validated, and the exit
# status is 3.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
sed 's/{2048, 4096}/{64}/' "$root/examples/matmul-fp32-cuda.peak.md" >"$T/mm.peak.md"
timeout 100 "$peakd" run "$T/mm.peak.md" --db "$db" --device cuda:sm_90a --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
status=$?
need_cuda_compiler 4 "$T/err"
is $status 3 "a context that only compiles gives exit status 3" "$(cat "$T/err")"
has "$(tail -n 1 "$T/out")" "mm: 1 checkpoint for cuda:sm_90a, compiled, not run" "the closing line says compiled, not run"
is "$(jq -c '[.ran, .rows[0].validated]' "$T/rows.json")" '[false,false]' "no row counts as run or validated"

sed -i 's/acc = 0;/acc = nonsense;/' "$T/mm.peak.md"
timeout 100 "$peakd" run "$T/mm.peak.md" --db "$db" --device cuda:sm_90a --samples 2 >"$T/out" 2>"$T/err"
is $? 1 "a context that does not compile gives exit status 1"
done_testing
