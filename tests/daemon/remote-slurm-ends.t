#!/bin/sh
# A batch system takes its jobs back: a more important job preempts them, or their time ends. That is no evidence about a kernel, and
# the work goes on in another job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
. "$(dirname "$0")/slurm.sh"
tests=6
need_bundle $tests
start_slurm $tests
job_state() # job_state ID
{
	scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'
}
the_job()
{
	squeue --noheader --partition=gpus --states=R --format=%i | head -1
}
preempt()
{
	busy_session slurmstepd >/dev/null || return 1
	id=$(the_job)
	urgent=$(sbatch --parsable --partition=urgent --nodes=2 --output=/dev/null --wrap='sleep 1')
}
beside preempt validate slow --samples 1 --device "$device"
is "$status:$done" 0:0 "a kernel whose job is preempted is validated in another one" "$(cat "$T/out" "$db.log")"
is "$(job_state "$id") $(job_state "$urgent")" "PREEMPTED COMPLETED" "Slurm preempted the job for a more important one, which ran"
# Slurm counts a job's time in minutes; its end is set to a moment instead. Slurm looks every half a minute.
"$peakd" validate slow --samples 1 --device "$device" --db "$db" >"$T/out" 2>&1
id=$(the_job)
scontrol update "JobId=$id" EndTime=now+1
rounds=0 failed=0
while [ "$(job_state "$id")" = RUNNING ] && [ $rounds -lt 100 ]; do
	rounds=$((rounds + 1))
	"$peakd" validate slow --samples 1 --device "$device" --db "$db" >>"$T/out" 2>&1 || failed=$((failed + 1))
done
is_over() { case $(job_state "$id") in RUNNING | COMPLETING) return 1 ;; esac; }
wait_for 60 is_over
is "$(job_state "$id")" TIMEOUT "Slurm ended the job whose time was over"
is "$failed of $rounds" "0 of $rounds" "kernels were validated across the end of their job's time" "$(cat "$T/out" "$db.log")"
"$peakd" validate slow --samples 1 --device "$device" --db "$db" >"$T/out" 2>&1
is $? 0 "and the next one is validated in another job" "$(cat "$T/out" "$db.log")"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "jobs that ended leave no evidence against the kernel"
done_testing
