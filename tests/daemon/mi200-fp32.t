#!/bin/sh
# Recordings of PEAK's MI200 sequences are replayed: compiled by AMD's compiler for gfx90a and validated on the emulated device.
# mi200-fp16.t is this file under another name.
. "$(dirname "$0")/lib.sh"
sequence=$(basename "$0" .t)
export PEAKD_HIP_RUNTIME="${BUILD:-$root/build}/tests/backends/hip/emulated.so"

if [ ! -d "$root/examples/recordings/$sequence" ] || ! /sbin/ldconfig -p | grep -q libamdhip64; then
	skip_rest 3 "$sequence needs its recordings in examples/recordings/, and libamdhip64-5 with libamd-comgr2"
fi
timeout "$limit" "$peakd" run "$root/examples/matmul-${sequence#mi200-}-gfx90a.peak.md" --db "$T/a.db" --device hip:0 \
	--sequence "$sequence" \
	--model "replay:$sequence" --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 0 "every step of the sequence is validated" "$(cat "$T/err")"
has "$(tail -n 1 "$T/out")" "all validated, no times: emulated gfx90a (hip:0)" "the closing line names the emulated device"
is "$(jq -r '[.rows[1:][].step] | join(" ")' "$T/rows.json")" \
	"$(sed -n 's/^[0-9]*\. //p' "$root/transforms/sequences/$sequence.md" | tr '\n' ' ' | sed 's/ $//')" \
	"the run holds every step of the sequence"
done_testing
