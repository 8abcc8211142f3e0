#!/bin/sh
# peakd run: plain lines without a terminal, a table and a closing line, JSON, exit statuses, and what it leaves in the database.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
small_context >"$T/scale.peak.md"

need_hlsl 17 "$db"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 0 "a context whose every step validates: exit status 0"
is "$(tail -n 1 "$T/out")" "peakd: scale: 1.0× over baseline, 1 checkpoint, all validated" "the closing line"
has "$(cat "$T/out")" "n=4096 on " "a table for the size"
is "$(cat "$T/err")" "" "nothing on stderr"
is "$(grep -c "$(printf '\033')" "$T/out")" 0 "no escape sequences where there is no terminal"
is "$(jq -c '[.rows[] | [.context, .n, .step, .validated]]' "$T/rows.json")" '[["scale",4096,"baseline",true]]' "rows of JSON"
is "$(jq -c '[.rows[0].median_ms > 0, (.device | length) > 0, (.driver | length) > 0, (.date | length), .ran]' "$T/rows.json")" \
	'[true,true,true,20,true]' "with time, device, driver and date"
has "$(jq -r .command "$T/rows.json")" "run $T/scale.peak.md" "and the command"

# "-" is standard output, which then holds the figures and nothing else.
mkdir "$T/here"
(cd "$T/here" && timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name piped --json - >"$T/out" 2>"$T/err")
is $? 0 "--json -: exit status 0"
is "$(jq -c '[.rows[] | [.step, .validated]]' "$T/out")" '[["baseline",true]]' "standard output is JSON"
has "$(cat "$T/err")" "peakd: scale: 1.0× over baseline" "the words are on stderr"
is "$(ls "$T/here")" "" "no file is made"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name full --json - >/dev/full 2>"$T/err"
is $? 1 "standard output that takes nothing: exit status 1"
has "$(cat "$T/err")" "--json: standard output cannot be written" "… and says so"
timeout 120 "$peakd" workflow list --db "$db" --json >/dev/full 2>"$T/err"
is "$? $(grep -c "standard output cannot be written" "$T/err")" "1 1" "so it is with every verb's --json"

timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --transform "no model has done this" --model replay:matmul-fp32-hlsl \
	>"$T/out" 2>"$T/err"
is $? 1 "a transformation that fails: exit status 1"
has "$(cat "$T/err")" "holds no answer" "with the reason"
has "$(cat "$T/out")" "scale-2" "a second run is a workflow of its own"
has "$(tail -n 1 "$T/out")" "1 of 2 steps NOT validated" "and the closing line does not hide it"
has "$(timeout 120 "$peakd" workflow log scale --db "$db")" "accepted" "the workflow is in the database"

# Every device of a backend is no architecture: it runs.
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$db" --samples 2 --name all --device hlsl:all >"$T/out" 2>"$T/err"
is "$?" 0 "--device hlsl:all: exit status 0"
has "$(tail -n 1 "$T/out")" "all validated" "it ran"

# What is wrong with the command line is said before anything is made or measured.
rows() # of everything that a run could leave
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
	is "$? $(wc -l <"$T/out")" "1 0" "run $*: exit status 1, nothing begun"
	has "$(cat "$T/err")" "$part" "… and says: $part"
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
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c early)" 0 "no workflow was made"
is "$(rows)" "$before" "nor any other row"
timeout 120 "$peakd" run "$T/scale.peak.md" --db "$T/c.db" --device cuda:sm_90a --json "$T/kept.json" >"$T/out" 2>"$T/err"
is "$(ls "$T/kept.json" 2>/dev/null)" "" "nor a file"

timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/files" >"$T/out"
is $? 0 "its winner can be exported"
is "$(cat "$T/files/scale.peak.md" | grep -c '^kernel: scale')" 1 "with the context file"
timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/files" 2>"$T/err"
is $? 1 "files that are there are not written over"
has "$(cat "$T/err")" "--force" "and the message says how to"

mkdir "$T/half"
last=$(ls "$T/files" | tail -n 1)
touch "$T/half/$last"
timeout 120 "$peakd" workflow export scale --db "$db" --out "$T/half" >"$T/out" 2>"$T/err"
is "$? $(ls "$T/half")" "1 $last" "nor is half an export written beside them"
(cd "$T/here" && timeout 120 "$peakd" workflow export scale --db "$db" --out - >"$T/out" 2>"$T/err")
is "$? $(ls "$T/here")" "2 " "several files do not go to standard output"
has "$(cat "$T/err")" "--out takes a folder" "… and says so"

# On a terminal the progress is one line that is redrawn.
if command -v script >/dev/null; then
	timeout 120 script -qec "$peakd run $T/scale.peak.md --db $db --samples 2 --name tty" /dev/null >"$T/tty" 2>&1 </dev/null
	has "$(tr '\r' '\n' <"$T/tty" | tail -n 2)" "all validated" "the same on a terminal"
	is "$(grep -c "$(printf '\033\\[K')" "$T/tty" | sed 's/[1-9][0-9]*/some/')" some "with a line that is redrawn"
else
	skip 2 "no script(1) to make a terminal with"
fi
done_testing
