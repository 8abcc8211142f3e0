#!/bin/sh
# bench/ladder/summary.py on a made-up folder (from ladder_folder.py): rows, the last step's figures with their interval, where the
# time went, the picture, and refused input. Nothing runs on a device.
. "$(dirname "$0")/../daemon/lib.sh"
here=$root/tests/bench
sum_up() # sum_up FOLDER NAME
{
	python3 "$root/bench/ladder/summary.py" --into "$T" "$1" "$2" >"$T/out" 2>"$T/err"
}
of() # of JQ
{
	jq -c "$1" "$T/l.json"
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
python3 "$here/ladder_folder.py" "$root/schema" "$T/folder" || exit 1
sum_up "$T/folder" l
is $? 0 "summary.py accepts the folder" "$(cat "$T/err")"
is "$(of '[.device, .command, .library]')" '["NVIDIA H200 (cuda:0)","peakd run examples/m.peak.md --budget 24","cuBLASLt"]' \
	"the summary names the device, the library, and the command without its output files"
is "$(of '[.rows[] | select(.n == 2048) | .step]')" '["baseline","tma-load","wgmma","tma-pipelining","warp-specialize"]' \
	"the summary has a row for each step"
is "$(of '.rows | length')" 10 "the summary has rows for both sizes"
is "$(of '[.rows[] | select(.library_ratio > 0 and .library_low > 0 and .library_high > 0)] | length')" 10 \
	"each row has the library's ratio with its interval"

is "$(of '[.rows[] | select(.final) | [.step, .n]]')" '[["warp-specialize",2048],["warp-specialize",4096]]' \
	"the last step of each size is final even if another is faster"
final='.rows[] | select(.final and .n == 2048)'
is "$(of "$final | [.median_ms, .median_low_ms, .median_high_ms] | map(. * 1e4 | round)")" '[410,400,512]' \
	"the final time is the median of fresh processes with their range"
is "$(of "$final | [.library_ratio, .library_low, .library_high]")" '[0.91,0.75,0.93]' \
	"the final ratio is the median of fresh processes with their range"
is "$(of "$final | [.runs_count, [.runs[].library_ratio]]")" '[5,[0.91,0.93,0.9,0.92,0.75]]' \
	"the five fresh processes are listed in order"
is "$(of "$final | [(.tuned.median_ms, .tuned.library_ratio) * 1000 | round] + [.params]")" '[40,920,"TILE_N=68"]' \
	"the final row keeps the tuning run's figures"
is "$(of "$final | .speedup * 1e4 | round")" "$(of '3.2 / 0.04 * 1e4 | round')" \
	"the final speed-up is that of the pairs, not of medians of separate runs"
is "$(of "$final | .gflops | round")" "$(of '2e-6 * 2048 * 2048 * 2048 / 0.041 | round')" \
	"the final GFLOP/s are those of the fresh processes"
has "$(of .notes)" "coverage of 93.75 %" "the notes give the coverage of the interval"
is "$(of '[.notes[] | select(test("fastest")) | .[:57]]')" '["n=2048: the fastest validated step is tma-pipelining with"]' \
	"the notes say where the last step is not the fastest"

tenths='map(. * 10 | round)'
parts='[.validation_s, .transforms_s, .tuning_s, .profile_s, .total_s]'
is "$(of ".time.steps[1] | $parts + [.other_s] | $tenths")" '[115,35,110,0,270,10]' \
	"a step's time is split by kind, with the validation of transform and tune as validation"
is "$(of ".time.steps[1].device_leased | $parts | $tenths")" '[100,0,70,0,170]' \
	"a step's time with the device leased is split by kind"
is "$(of ".time.steps[2] | [.tuning_s, .cut_off_jobs] | $tenths")" '[410,10]' \
	"an interrupted tune counts up to its last event and from its continuation"
is "$(of ".time.steps[3] | [.transforms_s, .other_s, .cut_off_jobs] | $tenths")" '[35,85,10]' \
	"a transformation that was cancelled and repeated does not count as the model's time"
is "$(of ".time.total | [.profile_s, .away_s, .total_s] | $tenths")" '[300,36000,2050]' \
	"the time during which the machine was away is not counted"
is "$(of '(([.time.steps[].total_s] | add) - .time.total.total_s) * 1e3 | round')" 0 "the times of the steps add up to the total"

picture() # picture SVG: prints the picture's faults and the number of its parts
{
	python3 - "$1" 2>&1 <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
svg = "{http://www.w3.org/2000/svg}"
boxes, right = [], max(float(c.get("x2")) for c in root if c.get("stroke-dasharray"))
for t in root.iter(svg + "text"):
    size, anchor = float(t.get("font-size")), t.get("text-anchor")
    width = 0.62 * size * len(t.text)
    left = float(t.get("x")) - {"start": 0, "middle": width / 2, "end": width}[anchor]
    if t.get("transform") is None:
        boxes.append((left, float(t.get("y")) - 0.75 * size, left + width, float(t.get("y")) + 0.1 * size, t.text))
for i, a in enumerate(boxes):
    for b in boxes[:i]:
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
            print("overlap:", a[4], "/", b[4])
    for dashed in (float(c.get("y1")) for c in root if c.get("stroke-dasharray")):
        if a[1] < dashed < a[3] and a[0] < right:
            print("a dashed line through:", a[4])
    if a[0] < 0 or a[2] > float(root.get("width")):
        print("outside:", a[4])
print(len(root.findall(svg + "polyline")), "curves,", sum(c.get("stroke-dasharray") is not None for c in root), "dashed,",
      len(root.findall(svg + "rect")) - 1, "bars")
PYTHON
}
is "$(picture "$T/l.svg")" "2 curves, 2 dashed, 8 bars" \
	"the picture is XML with a curve and the library's line for each size, a bar for each step, and no overlapping text"

mkdir "$T/long" && cp "$T/folder/ladder.db" "$T/long"
jq '.rows |= map(.sizes = "rows=\(2 * .n) cols=8192" | del(.n))' "$T/folder/run.json" >"$T/long/run.json"
for i in 1 2; do jq '.result.sizes[0].size |= "rows=" + (2 * (ltrimstr("n=") | tonumber) | tostring) + " cols=8192"' \
	"$T/folder/profile-$i-n_2048.json" >"$T/long/profile-$i-rows.json"; done
sum_up "$T/long" long
is "$(picture "$T/long.svg")" "2 curves, 2 dashed, 8 bars" "a size with a long name stays within the picture" "$(cat "$T/err")"

# bench/ladder/replication.py sets the figures beside PEAK's: it writes our rows and keeps the others.
beside() # beside RESULTS DOCUMENT
{
	python3 "$root/bench/ladder/replication.py" --results "$1" "$2" >"$T/out" 2>"$T/err"
}
mkdir "$T/results" && cp "$T/l.json" "$T/results/matmul-fp16-cuda-h200.json"
for kind in final steps time; do
	printf '%s\n' "<!-- h200 ladders: from bench/results/x.json: $kind -->" "| | $kind |" '| --- | --- |' '| PEAK | theirs |' \
		'| peakd | stale |' '<!-- end -->' ''
done >"$T/beside.md"
printf '| peakd | elsewhere |\n' >>"$T/beside.md"
beside "$T/results" "$T/beside.md"
is "$? $(cat "$T/out")" "0 4 rows" "replication.py writes a ladder beside PEAK's figures" "$(cat "$T/err")"
is "$(grep -c -e '^| PEAK | theirs |$' -e '^| peakd | elsewhere |$' "$T/beside.md") $(grep -c stale "$T/beside.md")" "4 0" \
	"replication.py replaces only our rows between the marks"
row="| peakd | H200, CUDA | fp16 | 2048 / 4096 | 80.00× / 83.00× | 419 TFLOP/s, 43.8 % of 957 / 686.5 TFLOP/s, 71.7 % of 957"
has "$(cat "$T/beside.md")" "$row | 91.0 % (75.0 to 93.0) / 99.0 % (97.0 to 102.0) | 5 fresh processes | 4 / 4 |" \
	"the row of the last step has its interval"
has "$(cat "$T/beside.md")" "| peakd | H200 fp16, n = 2048 | tma-load 3.20, wgmma 20.00, tma-pipelining 1.39, warp-specialize 0.90 |" "the row of the steps has the tuning run's figures, including a loss"
has "$(cat "$T/beside.md")" "| peakd | H200 fp16, budget 24; jobs cut off: 2, see \`time.notes\` | 59 s (28.78 %) | 14 s (6.83 %) | 85 s (41.46 %) | 47 s (22.93 %) | 205 s |" "the row of times has the budget and the jobs that were cut off"
cp "$T/beside.md" "$T/again.md" && beside "$T/results" "$T/again.md"
is "$(cmp "$T/beside.md" "$T/again.md" && echo same)" same "running replication.py again changes nothing"
mkdir "$T/none" && beside "$T/none" "$T/again.md"
is "$(grep -c '^| peakd |' "$T/again.md")" 1 "without a ladder replication.py writes no rows of ours"
cp "$root/docs/peak-replication.md" "$T/page.md" && beside "$root/bench/results" "$T/page.md"
is $? 0 "docs/peak-replication.md has the marks that replication.py needs" "$(cat "$T/err")"
is "$(grep -c '^<!-- h200 ladders: .*: \(final\|steps\|time\) -->$' "$T/page.md")" 3 \
	"docs/peak-replication.md has one mark of each kind"
printf 'no mark\n' >"$T/plain.md" && beside "$T/results" "$T/plain.md"
is "$? $(cat "$T/plain.md")" "1 no mark" "replication.py refuses a document without marks and does not change it"

is "$(cd "$root/bench/ladder" && python3 -B - 2>&1 <<'PYTHON'
import glob, json, plot, summary
for path in sorted(glob.glob("../results/*.svg")):
    with open(path, encoding="utf-8") as drawn, open(path[:-3] + "json", encoding="utf-8") as rows:
        if drawn.read() != plot.draw(json.load(rows), summary.size_of):
            print(path)
PYTHON
)" "" "each picture in bench/results is drawn from the figures beside it"

# Input that would be summed up wrongly, or not at all.
cp -r "$T/folder" "$T/wrong"
jq '.rows |= map(if .checkpoint == 5 then .validated = false else . end)' "$T/folder/run.json" >"$T/wrong/run.json"
sum_up "$T/wrong" w
is $? 1 "profiles of a step that is not validated are refused"
has "$(cat "$T/err")" "not a validated step of run.json" "the refusal says that the step is not validated"
cp -r "$T/folder" "$T/one" && rm "$T"/one/profile-*-n_4096.json "$T"/one/profile-[2-5]-n_2048.json
sum_up "$T/one" one
is "$(jq -c '[.rows[] | select(.final) | [.n, .runs_count, .library_ratio]]' "$T/one.json")" '[[2048,1,0.91]]' \
	"a size without fresh processes has no final row"
has "$(jq -c .notes "$T/one.json")" "no interval" "the notes say that one process gives no interval"
is "$(jq -c "$final | [.library_low, .library_high] | map(. * 1000 | round)" "$T/one.json")" '[907,913]' \
	"one process gives its own range"
jq '.state = "failed"' "$T/folder/profile-3-n_2048.json" >"$T/wrong/profile-3-n_2048.json"
sum_up "$T/wrong" w
has "$(cat "$T/err")" "the job is failed" "a failed profile is not counted"
rm "$T/wrong/run.json"
sum_up "$T/wrong" w
is $? 1 "an unfinished folder is refused"
has "$(cat "$T/err")" "run bench/ladder/run.sh to its end" "the refusal of an unfinished folder says to run run.sh to its end"
is "$(ls "$T"/w.* 2>/dev/null)" "" "refused input leaves no output file"
done_testing
