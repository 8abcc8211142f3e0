#!/bin/sh
# peakd study: independent tries from one checkpoint, the figures in the table, the recordings of each try, and their replay.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

need_hlsl 17 "$T/d.db"
mkdir -p "$T/data/peakd/transforms/sequences"
printf '1. add-up\n2. add-again\n' >"$T/data/peakd/transforms/sequences/scale.md"
text() # NAME
{
	printf -- '---\nname: %s\nsummary: A sum.\n---\n## Pass 1: The sum\nexpect: valid\nunchanged: allowed\n\n### device\nAdd the element to itself.\n' "$1"
}
text add-up >"$T/data/peakd/transforms/add-up.md"
text add-again >"$T/data/peakd/transforms/add-again.md"
answer() # makes the model's answer: device code with this expression
{
	printf '```hlsl\n[numthreads(BX, 1, 1)]\nvoid scale(uint3 id : SV_DispatchThreadID)\n{\n\tif (id.x < uint(n))\n\t\tC[id.x] = %s;\n}\n```\n' "$1"
}
answer 'A[id.x] + A[id.x]' >"$T/answer"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0" PEAKD_RECORD="$T/recordings/scale"
small_context >"$T/scale.peak.md"

timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 3 --json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "a study in which all tries are right exits with status 0" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .given_up, .asked]]' "$T/rows.json")" \
	'[["add-up",3,3,0,3],["add-again",3,3,0,3]]' "three tries of each transformation, one answer each"
is "$(jq -c '.pooled | [.tries, .right, .high, .tokens_out]' "$T/rows.json")" '[6,6,1,120]' \
	"the JSON pools the tries of all transformations"
has "$(tail -n 1 "$T/out")" "right at the first try: 6 of 6, 100.0 % (95 % interval 61.0 to 100.0 %)" \
	"the closing line gives the pooled rate with its interval"
is "$(jq -r '[.rows[].parent] | unique | length' "$T/rows.json")" 2 \
	"the second transformation starts from the checkpoint that the first made"
has "$(timeout 120 "$peakd" workflow log scale --db "$db")" "add-again" "the workflow ends at the last accepted checkpoint"
(mkdir "$T/here" && cd "$T/here" && timeout 100 "$peakd" study \
	"$T/scale.peak.md" --db "$db" --samples 2 --tries 1 --name piped --json - >"$T/out" 2>"$T/err")
ok $? "study --json - exits with status 0" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries]]' "$T/out")" '[["add-up",1],["add-again",1]]' \
	"study --json - writes JSON to standard output once, at the end"
has "$(cat "$T/err")" "right at the first try: 2 of 2" "study --json - writes its words to stderr"
is "$(ls "$T/here")" "" "study --json - creates no file"
parent=$(jq '.rows[1].parent' "$T/rows.json")
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --transform add-again --from "$parent" \
	--json "$T/from.json" \
	>"$T/out" 2>"$T/err"
ok $? "study --from starts at an existing checkpoint" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .parent]]' "$T/from.json")" "[[\"add-again\",2,2,$parent]]" \
	"study --from tries from the named checkpoint"
has "$(timeout 120 "$peakd" workflow log scale-2 --db "$db")" "add-up" \
	"the workflow of study --from keeps the steps before its checkpoint"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-again --from nowhere >"$T/out" 2>"$T/err"
is $? 1 "study --from a missing checkpoint exits with status 1"
has "$(cat "$T/err")" "there is no workflow, tag or checkpoint nowhere" "study --from says that the checkpoint does not exist"
timeout 100 "$peakd" study --db "$db" --samples 2 --tries 1 --transform add-again --from "$parent" --name alone \
	--json "$T/from.json" >"$T/out" 2>"$T/err"
ok $? "study --from needs no context file" "$(cat "$T/err")"
is "$(jq -c '[.context, .rows[0].right, .rows[0].parent]' "$T/from.json")" "[\"scale\",1,$parent]" \
	"study --from without a file starts from the same checkpoint"
has "$(timeout 120 "$peakd" workflow log alone --db "$db")" "add-again" \
	"study --from without a file makes a workflow of the given name"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-again --device hlsl:foo --name early >"$T/out" 2>"$T/err"
is "$? $(cat "$T/out")" "1 " "an unknown architecture is refused before anything starts"
timeout 100 "$peakd" study --db "$db" --transform add-again >"$T/out" 2>"$T/err"
is $? 2 "a study with neither file nor checkpoint exits with status 2"
has "$(cat "$T/err")" "peakd study --from AT" "a study with neither file nor checkpoint is told of --from"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-agian --name early >"$T/out" 2>"$T/err"
is $? 1 "an unknown transformation exits with status 1"
has "$(cat "$T/err")" "nearest names: add-again" "an unknown transformation is reported once with the nearest name"
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c -e early -e scale-3)" 0 "a refused study makes no workflow"
is "$(cd "$T/recordings/scale" && find . -name '*.md' | sort | tr '\n' ' ' | sed 's/-[0-9a-f]*\.md//g')" \
	"./add-again-1-1-1 ./add-up-1-1-1 ./try-2/add-again-1-1-1 ./try-2/add-up-1-1-1 ./try-3/add-again-1-1-1 ./try-3/add-up-1-1-1 " \
	"each try has its own recordings"

printf -- '---\nname: after-up\nsummary: A sum.\nafter: add-up\n---\n## Pass 1: The sum\nexpect: valid\nunchanged: allowed\n\n### device\nAdd.\n' \
	>"$T/data/peakd/transforms/after-up.md"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform after-up --name early >"$T/out" 2>"$T/err"
is "$? $(cat "$T/out")" "1 " "a transformation without its prerequisite is refused before anything starts"
has "$(cat "$T/err")" "after-up builds on add-up" "the refusal names the prerequisite"
timeout 100 "$peakd" study --db "$db" --samples 2 --tries 1 --transform after-up --from "$parent" --name behind >"$T/out" 2>"$T/err"
ok $? "the transformation is accepted from a checkpoint that has the prerequisite" "$(cat "$T/err")"
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c early)" 0 \
	"the refused study of a transformation without its prerequisite makes no workflow"

# Without these recordings the model is asked again.
mv "$T/recordings/scale" "$T/right"

# Every second conversation begins with a wrong answer, which is repaired.
answer 'A[id.x] + 1.0' >"$T/answer.bad"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 4 --parallel 1 --transform add-up \
	--json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "a study whose wrong answers are repaired exits with status 0" "$(cat "$T/err")"
is "$(jq -c '.rows[0] | [.tries, .right, .wrong, .repaired, .given_up, .repairs]' "$T/rows.json")" '[4,2,2,2,0,2]' \
	"repaired tries do not count as right at the first try"
cp "$T/answer.bad" "$T/answer"
rm -rf "$T/recordings/scale"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 1 "a study without an accepted try exits with status 1"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .wrong, .given_up]]' "$T/rows.json")" '[["add-up",2,0,2,2]]' \
	"after a transformation is given up the next one is not tried"
has "$(cat "$T/err")" "no try of add-up was accepted" "study says which transformation had no accepted try"

# The study is killed while its second transformation waits for the model; the figures of the first one are saved.
rm -rf "$T/answer.bad" "$T/rows.json" "$T/recordings/scale"
answer 'A[id.x] + A[id.x]' >"$T/answer"
echo 2 >"$T/answer.only"
"$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --json "$T/rows.json" >"$T/out" 2>"$T/err" &
study=$!
wait_for 60 test -s "$T/rows.json"
kill -KILL "$study"
wait "$study" 2>/dev/null
is "$(jq -c '[[.rows[] | [.transformation, .tries, .right]], .pooled.tries]' "$T/rows.json")" '[[["add-up",2,2]],2]' \
	"a killed study leaves the figures of its finished transformation"

# The recordings replace the model.
unset PEAKD_RECORD
export PEAKD_MODEL="replay:$T/right"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/b.db" --samples 2 --tries 3 --json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "the recordings of a study are replayed" "$(cat "$T/out" "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right]]' "$T/rows.json")" '[["add-up",3,3],["add-again",3,3]]' \
	"the replay gives the same figures"
python3 "$root/bench/recordings.py" pack "$T/right" "$T/right.jsonl.gz" >/dev/null
(export PEAKD_MODEL="replay:$T/right.jsonl.gz"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/c.db" --samples 2 --tries 3 --json "$T/packed.json") >"$T/out" 2>"$T/err"
ok $? "the compressed recordings of a study are replayed" "$(cat "$T/out" "$T/err")"
figures='[.rows[] | [.transformation, .tries, .right, .asked, .tokens_in, .tokens_out]]'
is "$(jq -c "$figures" "$T/packed.json")" "$(jq -c "$figures" "$T/rows.json")" "the compressed recordings give the same figures"
python3 "$root/bench/recordings.py" unpack "$T/right.jsonl.gz" "$T/unpacked"
is "$(diff -r "$T/right" "$T/unpacked")" "" "the compressed recordings unpack to the same files"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/b.db" --samples 2 --first 3 --tries 2 --transform add-up \
	--json "$T/rows.json" \
	>"$T/out" 2>"$T/err"
is $? 1 "a replay of a try that was never recorded exits with status 1"
is "$(jq -c '.rows[0] | [.tries, .right, .unjudged]' "$T/rows.json")" '[1,1,1]' "a try that was never recorded is not counted"
has "$(cat "$T/out")" "try 4: not judged" "the table says which try was not judged"
done_testing
