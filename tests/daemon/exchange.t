#!/bin/sh
# Results in the words of other tuners: what was tuned here as T4, CSV and macros; Kernel Tuner's cache and T4 taken in, shown with
# where they are from and never quoted.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
small_context | sed 's/^  n: int.*/  n: int = {4096, 8192}/' >"$T/scale.peak.md"
cat >"$T/kt.json" <<'JSON'
{"device_name": "Some GPU", "kernel_name": "scale", "tune_params_keys": ["BX", "OLD"], "tune_params": {"BX": [32, 64], "OLD": [1]},
"cache": {
"32,1": {"BX": 32, "OLD": 1, "time": 0.000001},
"64,1": {"BX": 64, "OLD": 1, "time": "CompilationFailedConfig"},
JSON
gzip -k "$T/kt.json"

need_hlsl 18 "$db"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 >"$T/out" 2>&1
is $? 0 "a context is tuned" "$(cat "$T/out")"
show() { timeout 120 "$peakd" workflow show scale "$1" --db "$db"; }

show t4 >"$T/t4.json"
is "$(jq -c '[.schema_version, ([.results[] | select(has("configuration") and has("times") and has("invalidity") and has("correctness"))] | length) ==
	(.results | length), ([.results[].configuration.BX] | unique)]' "$T/t4.json")" '["1.0.0",true,[32,64]]' "t4: every result has what its schema requires"
is "$(jq -c '[.results[] | select(.invalidity == "correct") | .measurements[] | select(.name == "time") | .value > 0 and .unit == "ms"] | unique' \
	"$T/t4.json")" '[true]' "… and a time"
is "$(jq -r '[.results[].measurements[] | select(.name == "sizes").value] | unique | join(" ")' "$T/t4.json")" "n=4096 n=8192" \
	"… and a size"
has "$(show measurements | head -n 1)" "device,params,status,median_ns" "measurements are CSV"
has "$(show best)" "#define BX " "best is the winner's macros"
before=$(timeout 120 "$peakd" workflow log scale --db "$db")

timeout 120 "$peakd" workflow import scale "$T/kt.json.gz" --db "$db" >"$T/out" 2>"$T/err"
is $? 1 "a file that does not say which of two sizes was measured is refused"
has "$(cat "$T/err")" 'name one with `sizes` (--sizes)' "… with what to do"
timeout 120 "$peakd" workflow import scale "$T/kt.json.gz" --sizes n=8192 --db "$db" >"$T/out" 2>"$T/err"
is $? 0 "Kernel Tuner's cache is taken in" "$(cat "$T/err")"
has "$(cat "$T/out")" "Kept 2 of 2 configurations of kt.json.gz" "… which says what was kept"
has "$(cat "$T/out")" "Not parameters of this kernel: OLD" "… and what was not"
has "$(show measurements)" '"imported: Some GPU","n=8192 BX=32",ok,' "the rows name their device as imported"
is "$(timeout 120 "$peakd" workflow log scale --db "$db")" "$before" "the impossibly fast one is quoted nowhere"
is "$(show best | grep -c imported)" 0 "and is no winner"
has "$(show tuning)" "strategy " "the newest tune is still what tuning shows"
is "$(show tuning | grep -c 'strategy import')" 0 "not the import"

# A name that is cut is cut between characters.
long=$(printf '%059d' 0)
cp "$T/kt.json" "$T/${long}é.json"
timeout 120 "$peakd" workflow import scale "$T/${long}é.json" --sizes n=8192 --db "$db" >"$T/out" 2>&1
has "$(cat "$T/out")" "configurations of $long (Kernel Tuner's cache)" "a file's long name is cut short"

timeout 120 "$peakd" workflow import scale "$T/t4.json" --db "$db" >"$T/out" 2>"$T/err"
is $? 0 "T4 results are taken in, sizes and devices as they say" "$(cat "$T/err")"
done_testing
