#!/bin/sh
# validate under a sanitizer. A stand-in takes compute-sanitizer's options, starts the worker, and then writes a log in the same
# format. The device is any that runs HLSL; the real tool needs CUDA.
. "$(dirname "$0")/lib.sh"
cat >"$T/compute-sanitizer" <<'FAKE'
#!/bin/sh
log=
echo "$@" >>"$0.args"
while [ $# -gt 0 ]; do
	case $1 in
	--log-file) log=$(echo "$2" | sed "s/%p/$$/"); shift 2 ;;
	--tool | --print-limit | --show-backtrace | --launch-timeout | --require-cuda-init) shift 2 ;;
	*) break ;;
	esac
done
"$@"
cat "$0.log" >"$log"
FAKE
chmod +x "$T/compute-sanitizer"
clean='========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors'
small_context >"$T/scale.peak.md"
db=$T/a.db
make_context()
{
	create_request s <"$T/scale.peak.md" | asked "$1" "$T/out"
}
PEAKD_SANITIZER="$T/compute-sanitizer"
export PEAKD_SANITIZER
make_context "$db"
need_hlsl 1 "$db"
printf '%s\n' "$clean" >"$T/compute-sanitizer.log"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer memcheck --db "$db" >"$T/said" 2>&1
is $? 0 "a clean sanitizer log passes" "$(cat "$T/said")"
has "$(cat "$T/said")" "memcheck: nothing found in 2 configurations" "validate says how many configurations the sanitizer checked"
has "$(cat "$T/compute-sanitizer.args")" "--tool memcheck --log-file" "the worker runs under the requested sanitizer tool"
is "$(sqlite3 "$db" "SELECT DISTINCT validator || ' ' || verdict FROM validation")" "memcheck passed" \
	"the verdict is recorded under the tool's name"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" draft "a clean sanitizer log does not accept the checkpoint"
cat >"$T/compute-sanitizer.log" <<'LOG'
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at scale(float *)+0x250 in device:5
=========     and Read access at scale(float *)+0x460 in device:4 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
LOG
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer racecheck --db "$db" >"$T/said" 2>&1
is $? 1 "a sanitizer's finding fails the validation"
has "$(cat "$T/said")" "racecheck: 1 finding in 2 of 2 configurations" "findings at one place are reported as one"
has "$(cat "$T/said")" "reported 1016 times" "a finding tells how often it was reported"
has "$(cat "$T/said")" "5 | C[id.x] = 2.0 * A[id.x];" "a finding shows its source line"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" failed "a sanitizer's finding fails the checkpoint"
echo "========= Internal Sanitizer Error: The Sanitizer encountered an error when initializing" >"$T/compute-sanitizer.log"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer initcheck --db "$db" >"$T/said" 2>&1
is $? 1 "a sanitizer that cannot run does not pass"
has "$(cat "$T/said")" "initcheck: skipped: Internal Sanitizer Error" "a sanitizer that cannot run is skipped with its message"
is "$(find "$T" -name 'peakd-sanitizer-*' | head -1)" "" "sanitizer logs are deleted"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer valgrind --db "$db" >"$T/said" 2>&1
has "$(cat "$T/said")" "memcheck" "an unknown sanitizer tool is answered with the known ones"

unset PEAKD_SANITIZER
make_context "$T/b.db"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer memcheck --db "$T/b.db" >"$T/said" 2>&1
is $? 1 "validate --sanitizer fails for HLSL without the stand-in"
has "$(cat "$T/said")" "skipped: compute-sanitizer is for CUDA" "a sanitizer is skipped for HLSL with the reason"
done_testing
