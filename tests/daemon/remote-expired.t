#!/bin/sh
# A job of Slurm that ends in the middle of a lease, while its launcher still runs: the next worker starts in another job. A stand-in
# for srun ends the second job when its second step starts, and stays, as srun does while it waits for the steps.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/remote.sh"
tests=3
db=$T/a.db
need_bundle $tests
mkdir "$T/bin" "$T/node"
cat >"$T/bin/srun" <<SRUN
#!/bin/sh
job=
while [ "\$1" != sh ]; do
	[ "\$1" = --jobid ] && job=\$2
	shift
done
export XDG_CACHE_HOME="$T/node"
if [ -n "\$job" ]; then
	if [ "\$job" = 2 ] && [ -e "$T/began" ] && [ ! -e "$T/ended" ]; then
		touch "$T/ended"
		kill \$(cat "$T/job2" "$T/began")
	fi
	[ "\$job" != 2 ] || [ ! -e "$T/ended" ] || { echo "srun: error: Slurm job 2 has expired" >&2; exit 1; }
	[ "\$job" != 2 ] || echo \$\$ >"$T/began"
	exec "\$@"
fi
echo x >>"$T/jobs"
SLURM_JOB_ID=\$(wc -l <"$T/jobs")
export SLURM_JOB_ID
exec 3<&0
"\$@" <&3 3<&- &
echo \$! >"$T/job\$SLURM_JOB_ID"
wait
[ "\$SLURM_JOB_ID" != 2 ] || exec sleep 30 3<&-
SRUN
printf '#!/bin/sh\necho "$1" >>"%s/cancelled"\n' "$T" >"$T/bin/scancel"
chmod 755 "$T/bin/srun" "$T/bin/scancel"
export PATH="$T/bin:$PATH" PEAKD_REMOTE="slurm:partition=gpus"
"$peakd" devices --db "$db" --json >"$T/devices" 2>&1
jq -e '.devices[] | select(.id == "slurm:partition=gpus/hlsl:0")' "$T/devices" >/dev/null ||
	skip_rest $tests "no device runs HLSL here: $(jq -r ".notes[-1]" "$T/devices")"
small_context >"$T/scale.peak.md"
"$peakd" workflow create "$T/scale.peak.md" scale --db "$db" >"$T/out" 2>&1
"$peakd" validate scale --device "slurm:partition=gpus/hlsl:0" --db "$db" >"$T/out" 2>&1
is $? 0 "a kernel whose job ends is validated in another job" "$(cat "$T/out" "$db.log")"
is "$(wc -l <"$T/jobs") $(ls "$T/ended")" "3 $T/ended" "one job more is asked for" "$(cat "$db.log")"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE verdict = 'failed'")" 0 "the lost job leaves no evidence against the kernel"
done_testing
