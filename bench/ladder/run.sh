#!/bin/bash
# One precision from the naive context to its end: replays (or asks a model for) a sequence, every step validated and tuned, then profiles the
# winner in fresh daemons against the vendor's library. Everything is written into the output folder as it comes, so that a run that is cut
# off keeps what it has, and the same command goes on: steps whose workflow is there are not made again.
#   run.sh [-p PEAKD] [-d DEVICE] [-m MODEL] [-b BUDGET] [-n FRESH] [-s "SIZES"] -c CONTEXT -q SEQUENCE -o FOLDER
#   run.sh -d cuda:0 -m replay:h200-fp16 -c examples/matmul-fp16-cuda.peak.md -q h200-fp16 -b 24 -n 5 -s "n=2048 n=4096" -o out
set -u
peakd=peakd device=cuda:0 model='' budget=24 fresh=5 sizes='' context='' sequence='' out=''
while getopts p:d:m:b:n:s:c:q:o: option; do
	case $option in
	p) peakd=$OPTARG ;; d) device=$OPTARG ;; m) model=$OPTARG ;; b) budget=$OPTARG ;; n) fresh=$OPTARG ;;
	s) sizes=$OPTARG ;; c) context=$OPTARG ;; q) sequence=$OPTARG ;; o) out=$OPTARG ;; *) exit 2 ;;
	esac
done
if [ -z "$context" ] || [ -z "$sequence" ] || [ -z "$out" ]; then
	sed -n '/^#   run/s/^#   //p' "$0" >&2
	exit 2
fi
mkdir -p "$out" || exit 1
db=$out/ladder.db name=$(basename "$context" .peak.md)

# Ends the database's daemon, so that what follows is measured by fresh processes.
stop_daemon()
{
	local pid
	pid=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$db.lock" 2>/dev/null)
	[ -n "$pid" ] && kill "$pid" 2>/dev/null || return 0
	for _ in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
}
trap stop_daemon EXIT

if ! "$peakd" workflow log "$name" --db "$db" >"$out/log.txt" 2>/dev/null; then
	"$peakd" run "$context" --sequence "$sequence" --name "$name" --device "$device" ${model:+--model "$model"} --budget "$budget" --samples 4 \
		--db "$db" --json "$out/run.json" 2>&1 | tee "$out/run.txt"
	"$peakd" workflow log "$name" --db "$db" >"$out/log.txt"
fi
for i in $(seq "$fresh"); do
	for size in ${sizes:-all}; do
		file=$out/profile-$i-${size//[^A-Za-z0-9]/_}.json
		[ -s "$file" ] && continue
		stop_daemon
		set -- --device "$device" --db "$db" --json
		[ "$size" = all ] || set -- --sizes "$size" "$@"
		"$peakd" profile "$name" "$@" >"$file.part" && mv "$file.part" "$file"
	done
done
cat "$out/log.txt"
