#!/bin/sh
# A verb that waits for a job and is told to end, by Ctrl-C or SIGTERM: the job is cancelled in the daemon, the verb says so and how to go on,
# and its exit status is the signal's. The device is held by somebody else meanwhile, so that no job can end before the signal comes.
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
ok $? "two checkpoints, tuned" "$(cat "$T/out")"
hold_device "$db"

begin() # begin VERB ARGUMENTS…: in the background, until its job runs
{
	jobs=$(sql "SELECT count(*) FROM job")
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # which a shell ignores for what runs beside it
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
	is $? "$(case $signal in INT) echo 130 ;; *) echo 143 ;; esac)" "peakd $1, SIG$signal: the exit status"
	has "$(cat "$T/err")" "interrupted (SIG$signal): job " "$1, SIG$signal: it says so"
	has "$(cat "$T/err")" " is cancelled" "$1, SIG$signal: with what becomes of the job"
	wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0
	is "$(sql "SELECT state FROM job WHERE id = '$job'")" cancelled "$1, SIG$signal: which is cancelled"
}

for signal in INT TERM; do
	ends $signal tune scale
	has "$(cat "$T/err")" "$job is cancelled" "the job is named"
	has "$(cat "$T/err")" "the same command with --resume continues" "the message says how to continue"
	ends $signal validate scale --samples 2
	has "$(cat "$T/err")" "the same command starts again from the beginning" "the message says how to repeat it"
	ends $signal run "$T/scale.peak.md" --samples 2 --name "run-$signal"
	has "$(cat "$T/err")" "the same command with --resume continues" "the message says how to continue"
	together=2 ends $signal study "$T/scale.peak.md" --samples 2 --tries 2 --transform add-up --transform add-again --name "study-$signal"
	has "$(cat "$T/err")" "peakd study --from 1 --transform add-up --transform add-again" "the message says how to continue"
done
ends TERM compare scale
ends TERM profile scale
ends TERM transform scale add-again
ends TERM run "$T/scale.peak.md" --samples 2
has "$(cat "$T/err")" "the same command with --resume --name scale-2 continues" "the message names the workflow as it was created"

# Who only looks on ends alone; so does who is killed.
begin tune scale
kill -KILL "$client"
wait "$client" 2>/dev/null
"$peakd" jobs wait "$job" --db "$db" >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 grep -q '^SigBlk:.*4...$' "/proc/$client/status" # it listens to SIGTERM now
kill -TERM "$client"
wait "$client"
is $? 143 "peakd jobs wait is told to end"
has "$(cat "$T/err")" "job $job continues; \`peakd jobs cancel $job\` ends it" "the message says that the job continues"
is "$(sql "SELECT state FROM job WHERE id = '$job'")" running "which it does, though who began it was killed"
timeout 60 "$peakd" jobs cancel "$job" --db "$db" >/dev/null 2>&1
wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0

# Whenever it comes, nothing is left at work that nobody knows of.
for ms in 0 5 10 15 20 25 30 40 60 100; do
	"$peakd" tune scale --db "$db" >/dev/null 2>&1 &
	client=$!
	sleep "$(printf '0.%03d' $ms)"
	kill -TERM "$client"
	wait "$client"
	echo $?
done 2>/dev/null | sort | uniq -c | tr -s ' ' >"$T/statuses"
is "$(cat "$T/statuses")" " 10 143" "at whatever moment: exit status 143"
wait_for 60 is_sql "SELECT count(*) FROM job WHERE state IN ('queued', 'running')" 0
ok $? "and no job is left" "$(sql "SELECT id, state FROM job WHERE state IN ('queued', 'running')")"

let_go
timeout 120 "$peakd" run "$T/scale.peak.md" --samples 2 --name run-TERM --resume --db "$db" >"$T/out" 2>"$T/err"
ok $? "a run that was ended is gone on with" "$(cat "$T/err")"
done_testing
