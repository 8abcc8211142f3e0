#!/bin/bash
# Runs a whole ladder: replays a sequence (or asks a model for it), validates and tunes every step, then profiles the winner in
# fresh daemons beside the vendor's library. It writes results into the output folder as they come. After an interruption (a time
# limit, SIGTERM, the machine) the same command resumes, until its exit status is 0. Finished steps are not repeated, an interrupted
# tune measures only what is missing, and profiles come after all steps. With -l the last step is tuned once more with that budget
# before it is profiled.
#   run.sh [-p PEAKD] [-d DEVICE] [-m MODEL] [-b BUDGET] [-l BUDGET] [-n FRESH] [-s "SIZES"] -c CONTEXT -q SEQUENCE -o FOLDER
# run.sh -d cuda:0 -m replay:h200-fp16 -c examples/matmul-fp16-cuda.peak.md -q h200-fp16 -b 24 -l 96 -n 5 -s "n=2048 n=4096" -o out
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

# Stops the database's daemon, so that fresh processes take the next measurements. Its unfinished jobs can be resumed.
stop_daemon()
{
	local pid
	pid=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$db.lock" 2>/dev/null)
	# A lock from another machine, or from before a reboot, may name another process, or none.
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

# Runs a command in the background: a shell handles no signal while it waits for a command in its foreground.
run_interruptible()
{
	"$@" &
	work=$!
	wait "$work"
	set -- $?
	work=
	return "$1"
}

run_interruptible "$peakd" run "$context" --resume --sequence "$sequence" --name "$name" --device "$device" \
	${model:+--model "$model"} \
	--budget "$budget" --samples 4 --db "$db" --json "$out/run.json" > >(tee "$out/run.txt") 2>&1 || exit
if [ -n "$last" ] && ! [ -s "$out/last.json" ]; then
	# Another seed, because with the same one --resume would return the step's own tune.
	run_interruptible "$peakd" tune "$name" --resume --seed 2 --budget "$last" --device "$device" --db "$db" \
		--json >"$out/last.json.part" || exit
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
		run_interruptible "$peakd" profile "$name" "$@" >"$file.part" && mv "$file.part" "$file" || missing=1
	done
done
cat "$out/log.txt"
[ -z "$missing" ]
