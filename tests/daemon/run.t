#!/bin/sh
# peakd run: plain lines without a terminal, the table and the closing line, JSON, exit statuses, and the rows that a run leaves in
# the database.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
small_context >"$T/scale.peak.md"

need_hlsl 17 "$db"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 0 "a run whose every step validates exits with status 0"
is "$(tail -n 1 "$T/out" | sed 's/ ([0-9.]*× over its starting parameters[a-z, ]*)//')" \
	"peakd: scale: 1.0× over baseline, 1 checkpoint, all validated" \
	"the closing line gives speed-up, checkpoints and validation"
has "$(cat "$T/out")" "n=4096 on " "run prints a table for the size"
is "$(cat "$T/err")" "" "a successful run writes nothing to stderr"
is "$(grep -c "$(printf '\033')" "$T/out")" 0 "run writes no escape sequences without a terminal"
is "$(jq -c '[.rows[] | [.context, .n, .step, .validated]]' "$T/rows.json")" '[["scale",4096,"baseline",true]]' \
	"the JSON has a row for the baseline"
is "$(jq -c '[.rows[0].median_ms > 0, (.device | length) > 0, (.driver | length) > 0, (.date | length), .ran]' "$T/rows.json")" \
	'[true,true,true,20,true]' "with time, device, driver and date"
has "$(jq -r .command "$T/rows.json")" "run $T/scale.peak.md" "the JSON names the command line"

# --json - writes the JSON to standard output, and nothing else goes there.
mkdir "$T/here"
(cd "$T/here" && timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name piped --json - >"$T/out" 2>"$T/err")
is $? 0 "run --json - exits with status 0"
is "$(jq -c '[.rows[] | [.step, .validated]]' "$T/out")" '[["baseline",true]]' "run --json - writes JSON to standard output"
has "$(cat "$T/err")" "peakd: scale: 1.0× over baseline" "run --json - writes its words to stderr"
is "$(ls "$T/here")" "" "run --json - creates no file"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name full --json - >/dev/full 2>"$T/err"
is $? 1 "run --json - exits with status 1 when standard output is full"
has "$(cat "$T/err")" "--json: standard output cannot be written" "run --json - says that standard output cannot be written"
timeout 120 "$peakd" workflow list --db "$db" --json >/dev/full 2>"$T/err"
is "$? $(grep -c "standard output cannot be written" "$T/err")" "1 1" \
	"workflow list --json exits with status 1 when standard output is full"

timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --transform "no model has done this" \
	--model replay:matmul-fp32-hlsl \
	>"$T/out" 2>"$T/err"
is $? 1 "a run with a failing transformation exits with status 1"
has "$(cat "$T/err")" "holds no answer" "the failed run gives the reason"
has "$(cat "$T/out")" "scale-2" "a second run of the same file makes another workflow"
has "$(tail -n 1 "$T/out")" "1 of 2 steps NOT validated" "the closing line counts the failed step"
has "$(timeout 120 "$peakd" workflow log scale --db "$db")" "accepted" "the failed run's workflow is in the database"

# hlsl:all names every device of the backend, not an architecture.
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name all --device hlsl:all >"$T/out" 2>"$T/err"
is "$?" 0 "run --device hlsl:all exits with status 0"
has "$(tail -n 1 "$T/out")" "all validated" "run --device hlsl:all validates the steps"

# With --seconds a run says at its start how long it takes, and its searches end when their time is over.
sed 's/^  BX:.*/  BX: 8*i for i = 1,128\n  U: i for i = 1,16/' "$T/scale.peak.md" >"$T/wide.peak.md"
timeout 120 "$peakd" run "$T/wide.peak.md" --db "$db" --samples 2 --name wide --seconds 3 --budget 2048 >"$T/out" 2>"$T/err"
is $? 0 "run --seconds exits with status 0" "$(cat "$T/err")"
has "$(sed '/^baseline/,$d' "$T/out")" "s for 1 step (--seconds)" "run --seconds says how long it takes before it begins"
tried=$(sed -n 's/.*, \([0-9]*\) of 2048 configurations tried.*/\1/p' "$T/out")
is "$((${tried:-2048} < 2048))" 1 "run --seconds ends its search before it tried everything (${tried:-?} of 2048)" "$(cat "$T/out")"

# make demo gives the searches what four minutes leave after the build, and never so little that they find nothing.
printf '#!/bin/sh\necho "$@"\n' >"$T/demo-peakd"
chmod +x "$T/demo-peakd"
for spent in 0:150 100:120 1000:40; do
	given=$(DEMO_DB="$T/demo.db" DEMO_BEGAN=$(($(date +%s) - ${spent%:*})) sh "$root/examples/demo.sh" "$T/demo-peakd" |
		sed -n 's/.*--seconds \([0-9]*\).*/\1/p')
	is "$((given <= ${spent#*:} && given >= ${spent#*:} - 5 && given >= 40))" 1 \
		"make demo that built for ${spent%:*} s searches for ${spent#*:} s at most ($given)"
done

# Mistakes on the command line are reported before anything is made or measured.
rows() # counts the rows of every table that a run writes
{
	sqlite3 "$db" "SELECT (SELECT count(*) FROM workflow), (SELECT count(*) FROM workflow_move), (SELECT count(*) FROM checkpoint),
		(SELECT count(*) FROM job), (SELECT count(*) FROM pending), (SELECT count(*) FROM blob)"
}
before=$(rows)
early() # early PART OPTIONS…
{
	part=$1
	shift
	timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --name early "$@" >"$T/out" 2>"$T/err"
	is "$? $(wc -l <"$T/out")" "1 0" "run $*: exits with status 1 before anything starts"
	has "$(cat "$T/err")" "$part" "run $*: the error says: $part"
}
early 'no transformation "refactr"' --transform refactr --model replay:matmul-fp32-hlsl
early 'no transformation "model:replay:matmul-fp32-hlsl"' --transform model:replay:matmul-fp32-hlsl --model replay:matmul-fp32-hlsl
early 'no transformation "sequence:matmul-fp32-hlsl"' --transform sequence:matmul-fp32-hlsl --model replay:matmul-fp32-hlsl
early "no sequence" --sequence none --model replay:matmul-fp32-hlsl
early "no recordings 'none'" --transform refactor --model replay:none
early "no model 'default'" --transform refactor
early "peakd workflow create $T/scale.peak.md" --transform refactor
early "no model 'big'" --transform refactor --model big
early "no parameter m" --sizes m=4
early "NAME=VALUE" --sizes 4096
early "cannot be written" --json "$T/no/such/folder/rows.json"
early "runs cuda code" --device cuda:sm_90a
early "no device hlsl:7" --device hlsl:7
early "no device nvidia:0" --device nvidia:0
early "hlsl:foo is not an architecture" --device hlsl:foo
early "no device 'hlsl:7'" --device hlsl:0,7
early "thread-tiling builds on refactor" --transform thread-tiling --model replay:matmul-fp32-hlsl
early "tensor-core is for cuda, hip, and the context's backend is hlsl" --sequence matmul-fp16-cuda --model replay:matmul-fp32-hlsl
early "needs a name" --name ""
early '"a b" cannot be a name' --name "a b"
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c early)" 0 "a refused run makes no workflow"
is "$(rows)" "$before" "a refused run adds no row to the database"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$T/c.db" --device cuda:sm_90a --json "$T/kept.json" >"$T/out" 2>"$T/err"
is "$(ls "$T/kept.json" 2>/dev/null)" "" "a refused run writes no JSON file"

timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/files" >"$T/out"
is $? 0 "workflow export writes the winner of a run"
is "$(cat "$T/files/scale.peak.md" | grep -c '^kernel: scale')" 1 "the export holds the context file"
timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/files" 2>"$T/err"
is $? 1 "workflow export does not overwrite files"
has "$(cat "$T/err")" "--force" "the refusal to overwrite names --force"

mkdir "$T/half"
last=$(ls "$T/files" | tail -n 1)
touch "$T/half/$last"
timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/half" >"$T/out" 2>"$T/err"
is "$? $(ls "$T/half")" "1 $last" "a refused export writes none of its files"
(cd "$T/here" && timeout 120 "$peakd" workflow export scale --db "$db" --out - >"$T/out" 2>"$T/err")
is "$? $(ls "$T/here")" "2 " "an export of several files to standard output is refused"
has "$(cat "$T/err")" "--out takes a folder" "the refused export says that --out takes a folder"

# On a terminal progress is one line that is redrawn.
if command -v script >/dev/null; then
	timeout 120 script -qec "$peakd run $T/scale.peak.md --db $db --samples 2 --name tty" /dev/null >"$T/tty" 2>&1 </dev/null
	has "$(tr '\r' '\n' <"$T/tty" | tail -n 2)" "all validated" "on a terminal a run ends with the closing line"
	is "$(grep -c "$(printf '\033\\[K')" "$T/tty" | sed 's/[1-9][0-9]*/some/')" some \
		"on a terminal the progress line is redrawn"
else
	skip 2 "no script(1) to make a terminal with"
fi
done_testing
