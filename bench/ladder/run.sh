#!/bin/bash
# One precision from the naive context to its end: replays (or asks a model for) a sequence, every step validated and tuned, then profiles the
# winner in fresh daemons against the vendor's library. Everything is written into the output folder as it comes. Whatever ends it (a
# time limit, SIGTERM, the machine), the same command goes on where it was, until its exit status is 0: steps that are made and tuned are
# not made again, a tune that was cut off measures only what is missing, and profiles come after all steps.
# With -l the last step is tuned once more with that budget before it is profiled.
#   run.sh [-p PEAKD] [-d DEVICE] [-m MODEL] [-b BUDGET] [-l BUDGET] [-n FRESH] [-s "SIZES"] -c CONTEXT -q SEQUENCE -o FOLDER
#   run.sh -d cuda:0 -m replay:h200-fp16 -c examples/matmul-fp16-cuda.peak.md -q h200-fp16 -b 24 -l 96 -n 5 -s "n=2048 n=4096" -o out
set -u
missing='' peakd=peakd device=cuda:0 model='' budget=24 last='' fresh=5 sizes='' context='' sequence='' out=''
while getopts p:d:m:b:l:n:s:c:q:o: option; do
	case $option in
	p) peakd=$OPTARG ;; d) device=$OPTARG ;; m) model=$OPTARG ;; b) budget=$OPTARG ;; l) last=$OPTARG ;; n) fresh=$OPTARG ;;
	s) sizes=$OPTARG ;; c) context=$OPTARG ;; q) sequence=$OPTARG ;; o) out=$OPTARG ;; *) exit 2 ;;
	esac
done
if [ -z "$context" ] || [ -z "$sequence" ] || [ -z "$out" ]; then
	sed -n '/^#   run/s/^#   //p' "$0" >&2
	exit 2
fi
mkdir -p "$out" || exit 1
db=$out/ladder.db name=$(basename "$context" .peak.md)

# Ends the database's daemon, so that what follows is measured by fresh processes. What it had at work can be gone on with.
stop_daemon()
{
	local pid
	pid=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$db.lock" 2>/dev/null)
	# A lock that came from another machine, or from before its end, names somebody else's process, or nobody's.
	[ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q ' serve .*--db' && kill "$pid" || return 0
	for _ in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
}
work=
finish()
{
	trap '' TERM INT HUP
	[ -n "$work" ] && kill "$work" 2>/dev/null
	stop_daemon
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

# Runs a command so that a signal to this script ends it at once: a shell hears nothing while it waits for what runs in its foreground.
carry_out()
{
	"$@" &
	work=$!
	wait "$work"
	set -- $?
	work=
	return "$1"
}

carry_out "$peakd" run "$context" --resume --sequence "$sequence" --name "$name" --device "$device" ${model:+--model "$model"} \
	--budget "$budget" --samples 4 --db "$db" --json "$out/run.json" > >(tee "$out/run.txt") 2>&1 || exit
if [ -n "$last" ] && ! [ -s "$out/last.json" ]; then
	# The seed keeps --resume from taking the step's own tune for the answer.
	carry_out "$peakd" tune "$name" --resume --seed 2 --budget "$last" --device "$device" --db "$db" --json >"$out/last.json.part" || exit
	mv "$out/last.json.part" "$out/last.json"
fi
"$peakd" workflow log "$name" --db "$db" >"$out/log.txt" || exit
for i in $(seq "$fresh"); do
	for size in ${sizes:-all}; do
		file=$out/profile-$i-${size//[^A-Za-z0-9]/_}.json
		[ -s "$file" ] && continue
		stop_daemon
		set -- --device "$device" --db "$db" --json
		[ "$size" = all ] || set -- --sizes "$size" "$@"
		carry_out "$peakd" profile "$name" "$@" >"$file.part" && mv "$file.part" "$file" || missing=1
	done
done
cat "$out/log.txt"
[ -z "$missing" ]
