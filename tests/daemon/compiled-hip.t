#!/bin/sh
# An AMD architecture without a device: the kernels' resources are reported, nothing is called validated, and the exit status is 3.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
for type in fp32 fp16; do
	sed 's/{2048, 4096}/{64}/' "$root/examples/matmul-$type-hip.peak.md" >"$T/$type.peak.md"
	timeout 100 "$peakd" run "$T/$type.peak.md" --db "$db" --device hip:gfx90a --samples 2 \
		--json "$T/rows.json" >"$T/out" 2>"$T/err"
	status=$?
	# With the library installed, a worker that cannot load it is an error.
	if grep -q 'no HIP compiler library' "$T/err" && ! /sbin/ldconfig -p | grep -q libamdhip64; then
		skip_rest 4 "no HIP compiler here: $(head -c 200 "$T/err" | tr '\n' ' ')"
	fi
	is $status 3 "$type: a context that only compiles gives exit status 3" "$(cat "$T/err")"
	has "$(tail -n 1 "$T/out")" "$type: 1 checkpoint for hip:gfx90a, compiled, not run" \
		"$type: the closing line says compiled, not run"
	has "$(cat "$T/out")" "0 VGPR and 0 SGPR spilled; computed occupancy 8 of 8 waves per SIMD" \
		"$type: resources and occupancy are reported"
	is "$(jq -c '[.ran, .rows[0].validated]' "$T/rows.json")" '[false,false]' "$type: no row counts as run or validated"
done
done_testing
