#!/bin/sh
# bench/tune at small counts, on a fake backend: peakd's own cost per configuration, a device that is not kept waiting, a second one that
# helps, memory that does not grow. The full figures are docs/results.md's.
. "$(dirname "$0")/../daemon/lib.sh"
bench=${BUILD:-$root/build}/bench/tune
timeout 120 "$bench" own --count 2000 >"$T/own" 2>"$T/err"
is $? 0 "2,000 configurations" "$(cat "$T/err")"
is "$(jq -c '.configurations' "$T/own")" 2000 "are all tried"
is "$(jq -c '.cpu_ms_each < 1' "$T/own")" true "less than a millisecond of peakd's own each: $(cat "$T/own")"
is "$(jq -c '.rss_kib_end - .rss_kib_tenth < 16384' "$T/own")" true "memory stays"
# Whatever else this machine does can only take away from the overlap: the best of three runs counts.
waits='[.[] | select(.idle_while_work_waits > 0.1)] | length'
for try in 1 2 3; do
	timeout 120 "$bench" overlap --count 200 >"$T/overlap" 2>"$T/err"
	status=$?
	[ $status = 0 ] && [ "$(jq -s -c "($waits) == 0 and .[-1].second_device > 1.5" "$T/overlap")" = true ] && break
done
is $status 0 "compiling and timing at once" "$(cat "$T/err")"
is "$(jq -s -c "$waits" "$T/overlap")" 0 "a device is idle less than a tenth while compiled work waits: $(tr '\n' ' ' <"$T/overlap")"
is "$(jq -s -c '.[-1].second_device > 1.5' "$T/overlap")" true "a second device helps"
timeout 120 "$bench" nonsense >"$T/out" 2>"$T/err"
is $? 1 "an unknown mode is refused"
has "$(cat "$T/err")" "usage" "with the modes"
done_testing
