#!/bin/sh
# Tests whether verdicts are repeatable. It compares a kernel with itself, and with itself doing 3 % more work, N times each. It
# uses `peakd compare` with a real worker, as a person would, so every comparison is checked and recorded. Each result is appended
# to FILE at once, one JSON object a line, and a later call continues. The summary (FILE's name, -summary.json) counts the verdicts.
#
# usage: bench/measure/run.sh [-d DEVICE] [-n N] [-s SECONDS] [-o FILE] [-p PEAKD] (cuda:0, 100, 220, measure.jsonl, build/peakd)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
device=cuda:0 n=100 seconds=220 out=measure.jsonl peakd=$here/../../build/peakd
while getopts d:n:s:o:p: option; do
	case $option in
	d) device=$OPTARG ;; n) n=$OPTARG ;; s) seconds=$OPTARG ;; o) out=$OPTARG ;; p) peakd=$OPTARG ;;
	*) exit 2 ;;
	esac
done
loop=$here/loop-${device%%:*}.peak.md
[ -r "$loop" ] || { echo "no kernel for $device: $loop" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
db=$work/measure.db
touch "$out"

now() { date +%s%3N; }
# The value of a field in pretty-printed JSON, from the first object that has it.
field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$2" | head -1; }
done_of() { grep -c "\"pair\": \"$1\"" "$out" || true; }

steps=$(sed -n 's/^  STEPS: //p' "$loop")
cp "$loop" "$work/itself.peak.md"
sed "s/STEPS: $steps/STEPS: $((steps * 103 / 100))/" "$loop" >"$work/more.peak.md"
for kernel in itself more; do
	"$peakd" run "$work/$kernel.peak.md" --name "$kernel" --device "$device" --db "$db" --budget 1 --samples 2 \
		--json "$work/run.json" \
		>"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
done
name=$(sed -n 's/^ *"device": "\(.*\)",$/\1/p' "$work/run.json" | head -1)
driver=$(sed -n 's/^ *"driver": "\(.*\)",$/\1/p' "$work/run.json")
end=$(($(now) + seconds * 1000))
while [ "$(now)" -lt "$end" ]; do
	self=$(done_of itself) more=$(done_of more)
	[ "$self" -ge "$n" ] && [ "$more" -ge "$n" ] && break
	pair=itself
	[ "$more" -lt "$self" ] && pair=more
	start=$(now)
	"$peakd" compare itself $pair --device "$device" --db "$db" --json >"$work/answer" 2>"$work/log" ||
		{ cat "$work/log" >&2; exit 1; }
	printf '{"pair": "%s", "verdict": "%s", "ratio": %s, "low": %s, "high": %s, "a_ns": %s, "pairs": %s, "discarded": %s, "wall_ms": %s, "at": "%s"}\n' \
		$pair "$(field verdict "$work/answer")" "$(field ratio "$work/answer")" "$(field low "$work/answer")" \
		"$(field high "$work/answer")" "$(field a_ns "$work/answer")" "$(field pairs "$work/answer")" \
		"$(field discarded "$work/answer")" $(($(now) - start)) "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$out"
done

# --- the summary
summary=${out%.jsonl}-summary.json
awk -v device="$name" -v driver="$driver" '
	function value(key,   at) {
		if (!match($0, "\"" key "\": \"?[^\",}]*")) return ""
		at = substr($0, RSTART, RLENGTH); sub(".*: \"?", "", at); return at
	}
	{ p = value("pair"); all[p]++; said[p, value("verdict")]++; ms = value("wall_ms") + 0; sum[p] += ms
	  if (ms > longest[p]) longest[p] = ms
	  pairs[p] += value("pairs"); discarded[p] += value("discarded"); low[p] += value("low"); high[p] += value("high"); ratio[p] += value("ratio") }
	function row(p, last,   k) {
		k = all[p] ? all[p] : 1
		printf " \"%s\": {\"comparisons\": %d, \"same\": %d, \"slower\": %d, \"faster\": %d, \"unclear\": %d, \"mean_ratio\": %.5f, \"mean_low\": %.5f, \"mean_high\": %.5f, \"mean_pairs\": %.1f, \"discarded_pairs\": %d, \"mean_wall_ms\": %.0f, \"longest_wall_ms\": %d}%s\n",
			p, all[p], said[p, "same"], said[p, "slower"], said[p, "faster"], said[p, "unclear"], ratio[p] / k, low[p] / k, high[p] / k,
			pairs[p] / k, discarded[p], sum[p] / k, longest[p], last ? "" : ","
	}
	END { printf "{\n \"device\": \"%s\",\n \"driver\": \"%s\",\n", device, driver; row("itself", 0); row("more", 1); print "}" }' "$out" >"$summary"
cat "$summary"
