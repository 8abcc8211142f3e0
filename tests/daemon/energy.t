#!/bin/sh
# Energy on a device without a counter: each command that is asked for joules says that there is none, and times stand alone.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
need_hlsl 6 "$T/d.db"
small_context >"$T/scale.peak.md"
peak() { timeout 120 "$peakd" "$@" --device hlsl:0 --db "$db" 2>&1; }
timeout 120 "$peakd" workflow create "$T/scale.peak.md" --db "$db" >"$T/out" 2>&1
has "$(peak tune scale --objective energy)" "has no energy counter that peakd can read" \
	"a tune for energy is refused with the reason"
is "$(peak tune scale --json | jq -r '.result.sizes[0] | has("joules")')" false "a tune for time gives its time alone"
has "$(peak compare 1 1 --objective edp)" "has no energy counter that peakd can read" \
	"a comparison by energy is refused with the reason"
has "$(peak compare 1 1 --objective heat)" "energy" "an unknown objective is refused with the known ones"
has "$(peak optimize scale --objective energy)" "has no energy counter that peakd can read" \
	"a search for less energy is refused with the reason"
has "$(peak profile scale)" "; energy: " "a profile says why there is no energy"
done_testing
