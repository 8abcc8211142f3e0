#!/bin/sh
# bench/tune at small counts on a fake backend: the fields of its report, peakd's own share compared with writing a row of its
# database, and bounded memory. Times depend on the machine, so the figures are in docs/results.md. That compilers and devices do
# not wait for each other is tested in tests/core/tune/test_tune_overlap.c, which times nothing.
. "$(dirname "$0")/../daemon/lib.sh"
bench=${BUILD:-$root/build}/bench/tune
timeout 120 "$bench" own --count 2000 >"$T/own" 2>"$T/err"
is $? 0 "bench/tune measures 2,000 configurations" "$(cat "$T/err")"
is "$(jq -c '.configurations' "$T/own")" 2000 "all 2,000 configurations are tried"
# Processor time is compared with processor time: other load does not count, and a slower machine is slower at both.
is "$(jq -c '.cpu_ms_each < 16 * .cpu_ms_row' "$T/own")" true \
	"a configuration costs peakd less than 16 rows of its database: $(cat "$T/own")"
is "$(jq -c '.rss_kib_end - .rss_kib_tenth < 16384' "$T/own")" true "memory does not grow with the configurations"
timeout 120 "$bench" overlap --count 200 >"$T/overlap" 2>"$T/err"
is $? 0 "bench/tune compiles and times at once" "$(cat "$T/err")"
is "$(jq -s -c '[.[] | select(.devices) | [.devices, .configurations]]' "$T/overlap")" '[[1,200],[2,200]]' \
	"one device and two devices measure all configurations"
is "$(jq -s -c '[.[] | select(.devices) | .per_second > 0, (.idle_while_work_waits, .starving | . > -0.001 and . <= 1)] | unique' "$T/overlap")" '[true]' \
	"the report gives the device's idle time as a fraction: $(tr '\n' ' ' <"$T/overlap")"
is "$(jq -s -c '.[-1].second_device > 0' "$T/overlap")" true "the report gives the gain of the second device"
timeout 120 "$bench" nonsense >"$T/out" 2>"$T/err"
is $? 1 "an unknown mode is refused"
has "$(cat "$T/err")" "usage" "the refusal of an unknown mode shows the usage"
done_testing
