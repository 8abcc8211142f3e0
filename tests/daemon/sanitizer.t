#!/bin/sh
# validate under a sanitizer, with a stand-in that takes compute-sanitizer's options, starts the worker, and writes a log in its form when
# that has ended. The device is whatever runs HLSL here; the real tool needs CUDA.
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
is $? 0 "a clean log passes" "$(cat "$T/said")"
has "$(cat "$T/said")" "memcheck: nothing found in 2 configurations" "and says on how much"
has "$(cat "$T/compute-sanitizer.args")" "--tool memcheck --log-file" "the tool was asked for"
is "$(sqlite3 "$db" "SELECT DISTINCT validator || ' ' || verdict FROM validation")" "memcheck passed" "it is evidence under the tool's name"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" draft "that proves no output right"
cat >"$T/compute-sanitizer.log" <<'LOG'
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at scale(float *)+0x250 in device:5
=========     and Read access at scale(float *)+0x460 in device:4 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
LOG
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer racecheck --db "$db" >"$T/said" 2>&1
is $? 1 "findings are a failure"
has "$(cat "$T/said")" "racecheck: 1 finding in 2 of 2 configurations" "the same place is one finding"
has "$(cat "$T/said")" "reported 1016 times" "counted"
has "$(cat "$T/said")" "5 | C[id.x] = 2.0 * A[id.x];" "with the line of the source"
is "$(sqlite3 "$db" "SELECT status FROM checkpoint")" failed "and the checkpoint is refuted"
echo "========= Internal Sanitizer Error: The Sanitizer encountered an error when initializing" >"$T/compute-sanitizer.log"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer initcheck --db "$db" >"$T/said" 2>&1
is $? 1 "a tool that cannot run is no pass"
has "$(cat "$T/said")" "initcheck: skipped: Internal Sanitizer Error" "but skipped, with its words"
is "$(find "$T" -name 'peakd-sanitizer-*' | head -1)" "" "no log is left behind"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer valgrind --db "$db" >"$T/said" 2>&1
has "$(cat "$T/said")" "memcheck" "another name is answered with those that there are"

unset PEAKD_SANITIZER
make_context "$T/b.db"
timeout 120 "$peakd" validate s --device hlsl:0 --sanitizer memcheck --db "$T/b.db" >"$T/said" 2>&1
is $? 1 "without the stand-in"
has "$(cat "$T/said")" "skipped: compute-sanitizer is for CUDA" "HLSL is skipped with the reason"
done_testing
