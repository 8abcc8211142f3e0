#!/bin/sh
# Ctrl-C or SIGTERM during a verb that waits for a job: the daemon cancels the job, the verb says so and how to continue, and its
# exit status is that of the signal. The test holds the device meanwhile, so that no job ends before the signal comes.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 79 "$db"
small_context >"$T/scale.peak.md"
text() # NAME
{
	printf -- '---\nname: %s\nsummary: A sum.\n---\n## Pass 1: The sum\nexpect: valid\nunchanged: allowed\n\n### device\nAdd the element to itself.\n' "$1"
}
mkdir -p "$T/data/peakd/transforms"
text add-up >"$T/data/peakd/transforms/add-up.md"
text add-again >"$T/data/peakd/transforms/add-again.md"
printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = A[id.x] + A[id.x];\n}\n```\n' >"$T/answer"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model $holding 2>/dev/null; finish' EXIT
holding=
wait_for 60 test -s "$T/port"
pid=$(holder "$db")
kill "$pid"
wait_for 60 gone "$pid"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0"

sql()
{
	sqlite3 -cmd '.timeout 10000' "$db" "$1"
}
is_sql() # is_sql QUERY WANT, for wait_for
{
	[ "$(sql "$1")" = "$2" ]
}

timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --transform add-up >"$T/out" 2>&1
ok $? "two checkpoints are made and tuned" "$(cat "$T/out")"
hold_device "$db"

begin() # begin VERB ARGUMENTS…: starts the verb in the background and waits until its job runs
{
	jobs=$(sql "SELECT count(*) FROM job")
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores it for background processes
os.execvp(sys.argv[1], sys.argv[1:])' "$peakd" "$@" --db "$db" >"$T/out" 2>"$T/err" &
	client=$!
	wait_for 60 is_sql "SELECT (SELECT count(*) FROM job) = $jobs + ${together:-1} AND (SELECT count(*) FROM job WHERE state = 'running') = ${together:-1}" 1
	ok $? "$1 waits for its job" "$(sql "SELECT id, kind, state FROM job")"
	job=$(sql "SELECT id FROM job ORDER BY created_ms DESC, rowid DESC LIMIT 1")
}
ends() # ends SIGNAL VERB ARGUMENTS…
{
	signal=$1
	shift
	begin "$@"
	kill "-$signal" "$client"
	wait "$client"
	is $? "$(case $signal in INT) echo 130 ;; *) echo 143 ;; esac)" "peakd $1 ended by SIG$signal has the signal's exit status"
	has "$(cat "$T/err")" "interrupted (SIG$signal): job " "peakd $1 ended by SIG$signal says that it was interrupted"
	has "$(cat "$T/err")" " is cancelled" "peakd $1 ended by SIG$signal says that its job is cancelled"
	wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0
	is "$(sql "SELECT state FROM job WHERE id = '$job'")" cancelled "SIG$signal to peakd $1 cancels its job"
}

for signal in INT TERM; do
	ends $signal tune scale
	has "$(cat "$T/err")" "$job is cancelled" "an interrupted tune names its cancelled job ($signal)"
	has "$(cat "$T/err")" "the same command with --resume continues" \
		"an interrupted tune says that --resume continues ($signal)"
	ends $signal validate scale --samples 2
	has "$(cat "$T/err")" "the same command starts again from the beginning" \
		"an interrupted validate says that it starts again from the beginning ($signal)"
	ends $signal run "$T/scale.peak.md" --samples 2 --name "run-$signal"
	has "$(cat "$T/err")" "the same command with --resume continues" "an interrupted run says that --resume continues ($signal)"
	together=2 ends $signal study "$T/scale.peak.md" --samples 2 --tries 2 --transform add-up --transform add-again \
		--name "study-$signal"
	has "$(cat "$T/err")" "peakd study --from 1 --transform add-up --transform add-again" \
		"an interrupted study names the command that continues ($signal)"
done
ends TERM compare scale
ends TERM profile scale
ends TERM transform scale add-again
ends TERM run "$T/scale.peak.md" --samples 2
has "$(cat "$T/err")" "the same command with --resume --name scale-2 continues" \
	"an interrupted run names the workflow that it created"

# A command that only watches a job ends alone, and so does a command that is killed.
begin tune scale
kill -KILL "$client"
wait "$client" 2>/dev/null
"$peakd" jobs wait "$job" --db "$db" >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 grep -q '^SigBlk:.*4...$' "/proc/$client/status" # SIGTERM is handled now
kill -TERM "$client"
wait "$client"
is $? 143 "SIGTERM to peakd jobs wait gives exit status 143"
has "$(cat "$T/err")" "job $job continues; \`peakd jobs cancel $job\` ends it" "peakd jobs wait says that its job continues"
is "$(sql "SELECT state FROM job WHERE id = '$job'")" running "the watched job continues although its client was killed"
timeout 60 "$peakd" jobs cancel "$job" --db "$db" >/dev/null 2>&1
wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0

# Whenever the signal comes, no unknown job is left running.
for ms in 0 5 10 15 20 25 30 40 60 100; do
	"$peakd" tune scale --db "$db" >/dev/null 2>&1 &
	client=$!
	sleep "$(printf '0.%03d' $ms)"
	kill -TERM "$client"
	wait "$client"
	echo $?
done 2>/dev/null | sort | uniq -c | tr -s ' ' >"$T/statuses"
is "$(cat "$T/statuses")" " 10 143" "SIGTERM at any moment gives exit status 143"
wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0
ok $? "SIGTERM at any moment leaves no job running" "$(sql "SELECT id, state FROM job WHERE state IN ('queued', 'running')")"

let_go
timeout 120 "$peakd" run "$T/scale.peak.md" --samples 2 --name run-TERM --resume --db "$db" >"$T/out" 2>"$T/err"
ok $? "an interrupted run is continued with --resume" "$(cat "$T/err")"
done_testing
