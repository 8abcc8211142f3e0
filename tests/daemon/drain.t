#!/bin/sh
# peakd drain: a job for a device that this machine lacks is queued here, run elsewhere from a bundle (a folder), and merged back.
# The two databases never meet; the other machine sees only the bundle. Every kind of broken bundle is refused with its reason.
. "$(dirname "$0")/lib.sh"
db=$T/home.db
bundle=$T/bundle
job_of() # job_of TEXT: the id in an answer
{
	printf '%s\n' "$1" | sed -n 's/^job \(j[a-z2-7]*\) .*/\1/p' | head -1
}
state_of() # state_of ID [DB]
{
	sqlite3 "${2:-$db}" "SELECT state FROM job WHERE id = '$1'"
}
small_context >"$T/scale.peak.md"
create_request s <"$T/scale.peak.md" | asked "$db" "$T/out"
has "$(cat "$T/out")" '"workflow":"s"' "a context is created in the home database"

# --- queueing
"$peakd" drain export "$bundle" --db "$db" >"$T/none" 2>&1
is $? 1 "drain export fails when no job is queued"
has "$(cat "$T/none")" "--later" "drain export without queued jobs says how to queue one"
[ ! -e "$bundle" ]
ok $? "drain export without queued jobs creates no folder"
timeout 120 "$peakd" tune s --device cuda:0 --later --db "$db" >"$T/out" 2>"$T/err"
is "$? $(sqlite3 "$db" "SELECT count(*) FROM job")" "1 0" "a job is not queued for a device that cannot run its code"
has "$(cat "$T/err")" "cuda:0 runs no hlsl code" "the refusal to queue says that the device runs no HLSL"
said=$(timeout 120 "$peakd" validate s --device hlsl:0 --samples 2 --later --db "$db")
validate=$(job_of "$said")
has "$said" "drain export" "validate --later answers at once and names the next step"
said=$(timeout 120 "$peakd" tune s --device hlsl:0 --budget 2 --later --db "$db")
tune=$(job_of "$said")
has "$said" "$tune" "tune --later answers with the id of its job"
gone_job=$(job_of "$(timeout 120 "$peakd" tune s --device hlsl:0 --budget 1 --later --db "$db")")
sleep 0.3
is "$(state_of "$validate") $(state_of "$tune")" "queued queued" "the daemon leaves jobs for a missing device queued"
pid=$(holder "$db")
kill "$pid"
wait_for 60 gone "$pid"
timeout 120 "$peakd" workflow list --db "$db" >/dev/null
sleep 0.3
is "$(state_of "$tune")" queued "a restarted daemon leaves jobs for a missing device queued"

# --- export
"$peakd" drain export "$bundle" --db "$db" >"$T/export"
is $? 0 "drain export succeeds"
has "$(tail -1 "$T/export")" "3 jobs" "drain export reports all three queued jobs"
"$peakd" drain export "$bundle" --db "$db" 2>"$T/again"
is $? 1 "drain export refuses a folder that is not empty"
has "$(cat "$T/again")" "not empty" "the refused export says that the folder is not empty"
"$peakd" drain merge "$bundle" --db "$db" 2>"$T/early"
is $? 1 "drain merge refuses a bundle that has not run"
has "$(cat "$T/early")" "has not run" "the refused merge says that the bundle has not run"
cp -r "$bundle" "$T/cut"
size=$(stat -c %s "$T/cut/jobs.peakdb")
truncate -s $((size - 4096)) "$T/cut/jobs.peakdb"
"$peakd" drain run "$T/cut" 2>"$T/cut.err"
is $? 1 "drain run refuses a truncated copy of a bundle"
has "$(cat "$T/cut.err")" "cut off" "drain run calls a truncated bundle cut off"
"$peakd" drain run "$T/run" 2>"$T/nobundle"
has "$(cat "$T/nobundle")" "no bundle" "drain run says that a folder without a bundle is none"
cp -r "$bundle" "$T/nodevice"
sqlite3 "$T/nodevice/jobs.peakdb" "UPDATE job SET request = replace(request, 'hlsl:0', 'hlsl:7')"
rm -f "$T/nodevice"/jobs.peakdb-*
printf 'format: peakd drain 1\nstate: exported\nsha256: %s\n' \
	"$(sha256sum "$T/nodevice/jobs.peakdb" | cut -d' ' -f1)" >"$T/nodevice/seal"
timeout 120 "$peakd" drain run "$T/nodevice" >"$T/nodevice.out" 2>&1
is $? 1 "drain run fails on a machine without the device"
has "$(cat "$T/nodevice.out")" "hlsl:7" "drain run names the missing device"
is "$(state_of "$tune" "$T/nodevice/jobs.peakdb")" queued "drain run leaves the jobs queued when the device is missing"

# --- one problem after the other, in the order in which they were asked for
small_context | sed 's/kernel: scale/kernel: other/; s/void scale/void other/; s/launch("scale"/launch("other"/' >"$T/other.peak.md"
for name in scale other; do
	timeout 120 "$peakd" workflow create "$T/$name.peak.md" "$name" --db "$T/two.db" >/dev/null
done
for job in "validate scale --samples 2" "validate other --samples 2" "tune scale --budget 1" "tune other --budget 1"; do
	# shellcheck disable=SC2086
	timeout 120 "$peakd" $job --device hlsl:0 --later --db "$T/two.db" >/dev/null
done
"$peakd" drain export "$T/two" --db "$T/two.db" >"$T/export2"
is "$(awk '$4 == "of" { print $3, $2 }' "$T/export2" | paste -sd,)" "scale validate,scale tune,other validate,other tune" \
	"drain export puts all jobs of one baseline behind its first" "$(cat "$T/export2")"

if ! "$peakd" devices --db "$db" 2>/dev/null | grep -q hlsl:0; then
	skip_rest 1 "no device runs HLSL here: the rest needs one"
fi

# --- run on the other machine: another folder, no daemon, no home
mkdir "$T/node"
cp -r "$bundle" "$T/node/b"
cp -r "$bundle" "$T/killed"
cp -r "$bundle" "$T/ended"
(cd "$T/node" && env -i PATH="$PATH" TMPDIR="$TMPDIR" PEAKD_LOCK_SPACE="$PEAKD_LOCK_SPACE" HOME="$T/node" timeout 120 \
	"$peakd" drain run b >"$T/run.out" 2>&1)
is $? 0 "drain run succeeds" "$(cat "$T/run.out")"
has "$(cat "$T/run.out")" "$tune done" "drain run reports that the tune is done"
is "$(awk '$2 == "running" || $2 == "done" { print $2 }' "$T/run.out" | paste -sd' ')" "running done running done running done" \
	"drain run starts a job when the one before it has ended" "$(cat "$T/run.out")"
"$peakd" drain show "$T/node/b" >"$T/show"
has "$(cat "$T/show")" "ran, 3 jobs" "drain show reports that all three jobs ran"
(cd "$T/node" && timeout 120 "$peakd" drain run b >"$T/rerun.out" 2>&1)
is $? 0 "running a finished bundle again succeeds"
has "$(cat "$T/rerun.out")" "has run" "running a finished bundle again says that it has run"

# --- a batch job is killed while it waits for its device, which this test holds; it can be continued
hold_device "$db"
for signal in TERM USR1; do
	rm -f "$T/ended.out" # removes the output of the previous round
	"$peakd" drain run "$T/ended" >"$T/ended.out" 2>&1 &
	pid=$!
	wait_for 60 grep -q "running" "$T/ended.out"
	kill -$signal "$pid"
	wait "$pid"
	is $? "$(case $signal in TERM) echo 143 ;; *) echo 138 ;; esac)" "SIG$signal ends drain run with the signal's exit status"
	has "$(cat "$T/ended.out")" "the same command continues" "drain run ended by SIG$signal says how to continue"
done
has "$("$peakd" drain show "$T/ended")" "stopped, 3 jobs" "drain show says that the bundle was stopped"
"$peakd" drain run "$T/ended" --seconds 1 >"$T/ended.out" 2>&1
is $? 142 "drain run --seconds ends with the status of SIGALRM"
has "$(cat "$T/ended.out")" "its time is over" "drain run --seconds says why it ends"
"$peakd" drain run "$T/killed" >"$T/killed.out" 2>&1 &
pid=$!
wait_for 60 grep -q "running" "$T/killed.out"
"$peakd" drain merge "$T/killed" --db "$db" 2>"$T/half"
is $? 1 "drain merge refuses a bundle that is running"
has "$(cat "$T/half")" "process $pid works on it" "the refused merge names the process"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
let_go
is "$(grep -c '^[^ ]* done' "$T/killed.out")" 0 "a bundle is killed before its first job is done" "$(cat "$T/killed.out")"
"$peakd" drain merge "$T/killed" "$T/ended" --db "$db" >"$T/half" 2>&1
is $? 0 "drain merge takes bundles that were cut off" "$(cat "$T/half")"
is "$(grep -c "0 merged, 0 known before, 0 cancelled, 3 not ended" "$T/half")" 2 "a merge takes nothing of jobs that have not ended"
is "$(state_of "$validate") $(state_of "$tune")" "queued queued" "they stay queued"
timeout 120 "$peakd" drain run "$T/killed" >"$T/killed.out" 2>&1
is $? 0 "the same command finishes a bundle that was killed" "$(cat "$T/killed.out")"

# --- merge
timeout 120 "$peakd" jobs cancel "$gone_job" --db "$db" >/dev/null
# Rows have different numbers here and in the bundle.
sqlite3 -cmd '.timeout 20000' "$db" "INSERT INTO validation (checkpoint_id, validator, device, sizes, params, size_kind, verdict, created_ms)
	VALUES (1, 'outputs', 'another', 'n=1', 'n=1', 'input', 'passed', 0), (1, 'outputs', 'another', 'n=2', 'n=2', 'input', 'passed', 0)"
sqlite3 "$db" ".backup '$T/early.db'"
before=$(sha256sum "$T/node/b/jobs.peakdb")
"$peakd" drain merge "$T/node/b" --db "$db" >"$T/merge" 2>&1
is $? 0 "drain merge succeeds" "$(cat "$T/merge")"
has "$(tail -1 "$T/merge")" "2 merged, 0 known before, 1 cancelled, 0 not ended" \
	"drain merge leaves out a job that was cancelled meanwhile"
is "$(sha256sum "$T/node/b/jobs.peakdb")" "$before" "drain merge does not change the bundle"
is "$(state_of "$validate") $(state_of "$tune") $(state_of "$gone_job")" "done done cancelled" \
	"merged jobs are done, the cancelled one stays cancelled"
has "$(timeout 120 "$peakd" jobs get "$tune" --db "$db")" "best" "a merged tune has its result"
has "$(timeout 120 "$peakd" workflow log s --db "$db")" "n=4096" "workflow log shows the merged time"
# shellcheck disable=SC2016
same='SELECT device, sizes, params, status, median_ns, min_ns, rse, hex(samples), cold, compile_ns, registers, shared_bytes, spill_bytes,
	message, driver, created_ms, (SELECT verdict || params || seed_hash || error || tolerance || v.created_ms || size_kind FROM validation v
	WHERE v.id = validation_id), (SELECT conditions FROM measurement_condition c WHERE c.measurement_id = m.id) FROM measurement m
	WHERE job_id = '
is "$(sqlite3 "$db" "$same '$tune'")" "$(sqlite3 "$T/node/b/jobs.peakdb" "$same '$tune'")" \
	"every merged measurement keeps its evidence"
[ -n "$(sqlite3 "$db" "$same '$tune'")" ]
ok $? "the merge brought measurements"
row=$(timeout 120 "$peakd" jobs get "$tune" --db "$db" --json | jq '.result.sizes[0].evidence')
is "$(sqlite3 "$db" "SELECT verdict || ' ' || job_id FROM validation WHERE id = ${row:-0}")" "passed $tune" \
	"a merged result names its evidence by the row number of this database"
is "$(sqlite3 "$db" "SELECT count(*) FROM validation WHERE job_id = '$validate'")" \
	"$(sqlite3 "$T/node/b/jobs.peakdb" "SELECT count(*) FROM validation WHERE job_id = '$validate'")" \
	"every verdict of the bundle is merged"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" accepted "the merged checkpoint is accepted"
is "$(sqlite3 "$db" "SELECT count(*) FROM measurement WHERE run_id NOT IN (SELECT id FROM measurement_run)")" 0 \
	"every merged measurement belongs to a run"
rows() # counts all evidence
{
	sqlite3 "$db" "SELECT (SELECT count(*) FROM validation), (SELECT count(*) FROM measurement), (SELECT count(*) FROM measurement_run)"
}
was=$(rows)
"$peakd" drain merge "$T/node/b" --db "$db" >"$T/merge2" 2>&1
is $? 0 "merging the same bundle twice succeeds"
has "$(tail -1 "$T/merge2")" "0 merged, 2 known before" "the second merge says that nothing is new"
is "$(rows)" "$was" "the second merge adds no rows"

# --- a job that does not tune runs the best configuration known here, which its bundle brings
said=$(timeout 120 "$peakd" profile s --device hlsl:0 --later --db "$db")
"$peakd" drain export "$T/best" --job "$(job_of "$said")" --db "$db" >"$T/best.out"
is "$(sqlite3 "$T/best/jobs.peakdb" "SELECT params FROM measurement_proven p JOIN measurement m USING (id)")" \
	"$(sqlite3 "$db" "SELECT params FROM measurement_proven p JOIN measurement m USING (id) ORDER BY m.median_ns LIMIT 1")" \
	"a bundle has the best configuration of a checkpoint, and its evidence" "$(cat "$T/best.out")"
timeout 120 "$peakd" drain run "$T/best" >"$T/best.out" 2>&1
is $? 0 "a profile runs in a bundle that does not tune" "$(cat "$T/best.out")"
"$peakd" drain merge "$T/best" --db "$db" >"$T/best.out" 2>&1
is $? 0 "its bundle is merged" "$(cat "$T/best.out")"
is "$(rows | cut -d'|' -f2-)" "$(printf '%s' "$was" | cut -d'|' -f2-)" "what the bundle brought along is not merged again"
was=$(rows) # with the evidence that the profile's own execution is right

# --- several bundles with the same jobs
"$peakd" drain merge "$T/killed" --db "$db" >"$T/twice" 2>&1
is $? 0 "a bundle whose jobs also ran elsewhere is merged" "$(cat "$T/twice")"
has "$(cat "$T/twice")" "$tune tune: is done here, it also ran elsewhere: the first results stay" \
	"the merge says that the first results stay"
is "$(rows)" "$was" "results of a second run of the same jobs add no rows"
# A bundle whose process was killed in its second job: the last transaction is only in the log beside the database.
cp -r "$T/node/b" "$T/partly"
sqlite3 -cmd '.dbconfig no_ckpt_on_close on' "$T/partly/jobs.peakdb" \
	"UPDATE job SET state = 'running', ended_ms = 0, result = NULL WHERE id = '$tune'" >/dev/null
printf 'format: peakd drain 1\nstate: running\n' >"$T/partly/seal"
[ -s "$T/partly/jobs.peakdb-wal" ]
ok $? "a bundle was killed before its last transaction reached the database's file"
cp "$T/early.db" "$T/part.db"
"$peakd" drain merge "$T/partly" --db "$T/part.db" >"$T/part" 2>&1
is $? 0 "drain merge takes what has ended in a bundle that was killed" "$(cat "$T/part")"
has "$(tail -1 "$T/part")" "1 merged, 0 known before, 1 cancelled, 1 not ended" "the merge says what has not ended"
is "$(state_of "$validate" "$T/part.db") $(state_of "$tune" "$T/part.db")" "done queued" \
	"the job that ended is done, the other one stays queued"
"$peakd" drain merge "$T/partly" "$T/node/b" --db "$T/part.db" >"$T/part" 2>&1
is $? 0 "several bundles are merged at once" "$(cat "$T/part")"
has "$(tail -1 "$T/part")" "1 merged, 1 known before, 1 cancelled, 0 not ended" "the second one brings what the first one lacks"
is "$(sqlite3 "$T/part.db" "$same '$tune'")" "$(sqlite3 "$db" "$same '$tune'")" "with all its measurements"
"$peakd" drain run "$T/partly" "$T/node/b" 2>"$T/several"
is $? 2 "drain run takes one bundle"

# --- bundles that do not belong here
"$peakd" drain merge "$T/node/b" --db "$T/other.db" 2>"$T/foreign"
is $? 1 "a bundle of another database is refused"
has "$(cat "$T/foreign")" "does not belong to this database" "the refusal says that the bundle is of another database"
cp -r "$T/node/b" "$T/bad"
printf 'x' | dd of="$T/bad/jobs.peakdb" bs=1 seek=9000 conv=notrunc 2>/dev/null
"$peakd" drain merge "$T/bad" --db "$db" 2>"$T/bad.err"
is $? 1 "a bundle that was modified is refused"
has "$(cat "$T/bad.err")" "seal" "a modified bundle is recognised by its seal"
forge() # forge NAME SQL: makes a modified copy of the bundle with a correct seal
{
	cp -r "$T/node/b" "$T/$1"
	sqlite3 "$T/$1/jobs.peakdb" "$2"
	rm -f "$T/$1"/jobs.peakdb-*
	printf 'format: peakd drain 1\nstate: ran\nsha256: %s\n' "$(sha256sum "$T/$1/jobs.peakdb" | cut -d' ' -f1)" >"$T/$1/seal"
}
# Times whose evidence is missing or of another job make the bundle invalid. Times without a claim of evidence are merged, but not
# quoted.
forge bare "PRAGMA foreign_keys = OFF; DELETE FROM validation"
"$peakd" drain merge "$T/bare" --db "$T/early.db" 2>"$T/bare.err"
is $? 1 "times without their evidence are refused" "$(cat "$T/bare.err")"
forge lent "INSERT INTO validation (checkpoint_id, validator, device, sizes, params, size_kind, verdict, job_id, created_ms)
	SELECT checkpoint_id, 'outputs', device, sizes, params, 'input', 'passed', 'of another job', 0 FROM measurement WHERE validation_id IS NOT NULL;
	UPDATE measurement SET validation_id = (SELECT max(id) FROM validation v WHERE v.params = measurement.params) WHERE validation_id IS NOT NULL"
"$peakd" drain merge "$T/lent" --db "$T/early.db" 2>"$T/lent.err"
is $? 1 "times with the evidence of a job outside the bundle are refused"
has "$(cat "$T/lent.err")" "evidence that is not in the bundle" "the refusal names evidence that is not in the bundle"
forge unproven "UPDATE measurement SET validation_id = NULL;
	INSERT INTO comparison (a_id, library, device, sizes, a_params, verdict, a_ns, b_ns, ratio, low, high, confidence, margin, samples,
	discarded, disturbed, cold, a_validation, job_id, created_ms) SELECT checkpoint_id, 'blas', device, sizes, params, 'same', 1, 1, 1, 1, 1,
	1, 1, x'', 0, 0, 1, id, job_id, 7 FROM validation WHERE job_id = '$tune' LIMIT 1;
	INSERT INTO weighing SELECT max(id), 'energy', 'less', 1, 1, 1, 1, 1, 1, 1, 2, x'', 7 FROM comparison"
"$peakd" drain merge "$T/unproven" --db "$T/early.db" >"$T/unproven.out" 2>&1
is $? 0 "times that claim no evidence are merged" "$(cat "$T/unproven.out")"
is "$(sqlite3 "$T/early.db" "SELECT count(*) > 0, (SELECT count(*) FROM measurement_proven) FROM measurement WHERE job_id = '$tune'")" "1|0" "merged times without evidence are not proven"
is "$(sqlite3 "$T/early.db" "SELECT w.objective, v.job_id FROM comparison c JOIN weighing w ON w.comparison_id = c.id
	JOIN validation v ON v.id = c.a_validation")" "energy|$tune" "a merged comparison keeps its evidence and its weighing"
is "$(timeout 120 "$peakd" workflow log s --db "$T/early.db" --json | jq -c '.checkpoints[0].best')" '[]' \
	"workflow log does not quote merged times without evidence"
cp -r "$T/node/b" "$T/forged"
sqlite3 "$T/forged/jobs.peakdb" "UPDATE job SET request = replace(request, 'budget\":2', 'budget\":9')"
rm -f "$T/forged"/jobs.peakdb-*
printf 'format: peakd drain 1\nstate: ran\nsha256: %s\n' "$(sha256sum "$T/forged/jobs.peakdb" | cut -d' ' -f1)" >"$T/forged/seal"
"$peakd" drain merge "$T/forged" --db "$db" 2>"$T/forged.err"
is $? 1 "a job that differs from the requested one is refused in spite of a correct seal"
has "$(cat "$T/forged.err")" "differs from the job" "the refusal says that the job was not requested"
done_testing
