#!/bin/sh
# bench/tune at small counts, on a fake backend: that it says what it is to say, what peakd's own share is beside a row of its database, and memory
# that does not grow. Times are a machine's, not a test's: the figures are in docs/results.md. That compilers and devices do not wait for each other
# is tests/core/tune/test_tune_overlap.c's, which times nothing.
. "$(dirname "$0")/../daemon/lib.sh"
bench=${BUILD:-$root/build}/bench/tune
timeout 120 "$bench" own --count 2000 >"$T/own" 2>"$T/err"
is $? 0 "2,000 configurations" "$(cat "$T/err")"
is "$(jq -c '.configurations' "$T/own")" 2000 "are all tried"
# Processor time, of which other load takes nothing, against processor time: a slower machine is slower at both.
is "$(jq -c '.cpu_ms_each < 16 * .cpu_ms_row' "$T/own")" true "at less of peakd's own than 16 rows of its database each: $(cat "$T/own")"
is "$(jq -c '.rss_kib_end - .rss_kib_tenth < 16384' "$T/own")" true "memory stays"
timeout 120 "$bench" overlap --count 200 >"$T/overlap" 2>"$T/err"
is $? 0 "compiling and timing at once" "$(cat "$T/err")"
is "$(jq -s -c '[.[] | select(.devices) | [.devices, .configurations]]' "$T/overlap")" '[[1,200],[2,200]]' "on one device and on two, all configurations"
is "$(jq -s -c '[.[] | select(.devices) | .per_second > 0, (.idle_while_work_waits, .starving | . > -0.001 and . <= 1)] | unique' "$T/overlap")" '[true]' \
	"with the device's idle time, in parts of it: $(tr '\n' ' ' <"$T/overlap")"
is "$(jq -s -c '.[-1].second_device > 0' "$T/overlap")" true "and what the second device brought"
timeout 120 "$bench" nonsense >"$T/out" 2>"$T/err"
is $? 1 "an unknown mode is refused"
has "$(cat "$T/err")" "usage" "with the modes"
done_testing
