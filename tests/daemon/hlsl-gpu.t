#!/bin/sh
# The recordings of matmul-fp32-hlsl-gpu are replayed and compiled. The last step is executed and judged on the CPU device at a small
# size, with tiles so small that several groups share the work.
. "$(dirname "$0")/lib.sh"
db=$T/a.db sequence=matmul-fp32-hlsl-gpu
timeout 250 "$peakd" run "$root/examples/$sequence.peak.md" --db "$db" --device hlsl:spirv1.3 --sequence "$sequence" \
	--model "replay:$sequence" --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 3 "every step of the sequence compiles" "$(cat "$T/err")"
is "$(jq -r '[.rows[1:][].step] | join(" ")' "$T/rows.json")" \
	"$(sed -n 's/^[0-9]*\. //p' "$root/transforms/sequences/$sequence.md" | tr '\n' ' ' | sed 's/ $//')" \
	"the run holds every step of the sequence"

need_hlsl 2 "$db"
small='s/^  n: int = .*/  n: int = {128}/; s/{67, 96, 256}/{67}/'
sed "$small" "$root/examples/$sequence.peak.md" >"$T/small.peak.md"
"$peakd" workflow show "$sequence" source --db "$db" |
	sed "$small; s/^  \(BX\|BY\|TILE_K_SIZE\|TRD_X_DIM\|TRD_Y_DIM\|WARP_X_DIM\): .*/  \1: {8}/" >"$T/last.peak.md"
"$peakd" workflow create "$T/small.peak.md" small --db "$db" >/dev/null
sed 's/buffer ^ 1/buffer/' "$T/last.peak.md" >"$T/wrong.peak.md"
timeout 250 "$peakd" edit small "$T/wrong.peak.md" --device hlsl:0 --samples 1 --db "$db" >"$T/out" 2>&1
is $? 1 "the last step with one buffer is refused" "$(cat "$T/out")"
timeout 250 "$peakd" edit small "$T/last.peak.md" --device hlsl:0 --samples 1 --db "$db" >"$T/out" 2>&1
is $? 0 "the last step is accepted on the CPU device" "$(cat "$T/out")"
done_testing
