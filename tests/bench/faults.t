#!/bin/sh
# bench/faults at a small count: its report on this machine's HLSL device, continuing an interrupted soak, and the compilation of
# its CUDA contexts where NVRTC is installed.
. "$(dirname "$0")/../daemon/lib.sh"
faults=${BUILD:-$root/build}/bench/faults
if timeout 120 "$faults" --device cuda:sm_90a >"$T/cuda" 2>"$T/cuda.err"; then
	is "$(jq -r '[to_entries[] | select(.value == "compiled") | .key] | sort | join(" ")' "$T/cuda")" \
		"endless-loop far-out-of-range illegal-address killed-mid-launch misaligned-address out-of-memory refused-by-device stack-overflow trap" \
		"the CUDA compiler accepts the faults that only a device can find" "$(cat "$T/cuda")"
	has "$(jq -r '."too-much-shared"' "$T/cuda")" "shared memory" "the CUDA compiler refuses too much shared memory"
else
	skip 2 "no NVRTC: $(head -c 100 "$T/cuda.err")"
fi
timeout 120 "$faults" --device hlsl:0 --count 9 --lanes 2 --seconds 0 --state "$T/state" >"$T/first" 2>"$T/err"
status=$?
if grep -q "no device" "$T/err"; then
	skip 6 "no device runs HLSL here"
	done_testing
	exit 0
fi
is $status 0 "bench/faults meets every kind of fault once" "$(cat "$T/err" "$T/first")"
is "$(jq -c '[.soaked, .total, .unexpected, .leaks]' "$T/first")" '[0,0,0,false]' "without time for a soak no fault is counted"
timeout 120 "$faults" --device hlsl:0 --count 9 --lanes 2 --state "$T/state" >"$T/second" 2>"$T/err"
is $? 0 "the soak succeeds" "$(cat "$T/err" "$T/second")"
is "$(jq -c '[.soaked, .total, .unexpected, .leaks]' "$T/second")" '[9,9,0,false]' \
	"nine faults in a row fail one configuration each and leak nothing"
longest=$(jq '[.kinds[].recovery_ms] | max | ceil' "$T/second")
soon "$longest" 1000
ok $? "a good kernel runs again within a second ($longest ms at most)"
is "$(jq -c '[.after.descriptors - .before.descriptors, .after.children]' "$T/second")" '[0,0]' \
	"the soak leaves no descriptor open and no process running"
timeout 120 "$faults" --device hlsl:0 --count 9 --lanes 2 --state "$T/state" >"$T/third"
is "$(jq -c '[.soaked, .total]' "$T/third")" '[0,9]' "another run of a finished soak adds no faults"
done_testing
