#!/bin/sh
# peakd study: independent tries from one checkpoint, what the table counts, recordings of each try, and their replay.
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
answer() # of the model: the device code with this expression
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
ok $? "all tries right: exit status 0" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .given_up, .asked]]' "$T/rows.json")" \
	'[["add-up",3,3,0,3],["add-again",3,3,0,3]]' "three tries of each transformation, one answer each"
is "$(jq -c '.pooled | [.tries, .right, .high, .tokens_out]' "$T/rows.json")" '[6,6,1,120]' "the pool"
has "$(tail -n 1 "$T/out")" "right at the first try: 6 of 6, 100.0 % (95 % interval 61.0 to 100.0 %)" "and its interval"
is "$(jq -r '[.rows[].parent] | unique | length' "$T/rows.json")" 2 "the second starts from what the first made"
has "$(timeout 120 "$peakd" workflow log scale --db "$db")" "add-again" "the workflow stands at the last accepted checkpoint"
(mkdir "$T/here" && cd "$T/here" && timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 1 --name piped --json - >"$T/out" 2>"$T/err")
ok $? "--json -: exit status 0" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries]]' "$T/out")" '[["add-up",1],["add-again",1]]' "standard output is JSON, once, at the end"
has "$(cat "$T/err")" "right at the first try: 2 of 2" "the words are on stderr"
is "$(ls "$T/here")" "" "no file is made"
parent=$(jq '.rows[1].parent' "$T/rows.json")
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --transform add-again --from "$parent" --json "$T/from.json" \
	>"$T/out" 2>"$T/err"
ok $? "the rest of a study, from a checkpoint that is there" "$(cat "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .parent]]' "$T/from.json")" "[[\"add-again\",2,2,$parent]]" "starts from that one"
has "$(timeout 120 "$peakd" workflow log scale-2 --db "$db")" "add-up" "which stays what its workflow came from"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-again --from nowhere >"$T/out" 2>"$T/err"
is $? 1 "from a checkpoint that is not there: exit status 1"
has "$(cat "$T/err")" "there is no workflow, tag or checkpoint nowhere" "said"
timeout 100 "$peakd" study --db "$db" --samples 2 --tries 1 --transform add-again --from "$parent" --name alone --json "$T/from.json" >"$T/out" 2>"$T/err"
ok $? "no file is needed then" "$(cat "$T/err")"
is "$(jq -c '[.context, .rows[0].right, .rows[0].parent]' "$T/from.json")" "[\"scale\",1,$parent]" "it starts from the same"
has "$(timeout 120 "$peakd" workflow log alone --db "$db")" "add-again" "and has a workflow of its own"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-again --device hlsl:foo --name early >"$T/out" 2>"$T/err"
is "$? $(cat "$T/out")" "1 " "an architecture that does not exist: exit status 1, nothing begun"
timeout 100 "$peakd" study --db "$db" --transform add-again >"$T/out" 2>"$T/err"
is $? 2 "neither file nor checkpoint: exit status 2"
has "$(cat "$T/err")" "peakd study --from AT" "with what to write"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform add-agian --name early >"$T/out" 2>"$T/err"
is $? 1 "a transformation that does not exist: exit status 1"
has "$(cat "$T/err")" "nearest names: add-again" "once, not once a try"
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c -e early -e scale-3)" 0 "and no workflow was made for a mistake"
is "$(cd "$T/recordings/scale" && find . -name '*.md' | sort | tr '\n' ' ' | sed 's/-[0-9a-f]*\.md//g')" \
	"./add-again-1-1-1 ./add-up-1-1-1 ./try-2/add-again-1-1-1 ./try-2/add-up-1-1-1 ./try-3/add-again-1-1-1 ./try-3/add-up-1-1-1 " \
	"every try has recordings of its own"

printf -- '---\nname: after-up\nsummary: A sum.\nafter: add-up\n---\n## Pass 1: The sum\nexpect: valid\nunchanged: allowed\n\n### device\nAdd.\n' \
	>"$T/data/peakd/transforms/after-up.md"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --transform after-up --name early >"$T/out" 2>"$T/err"
is "$? $(cat "$T/out")" "1 " "a transformation that builds on another: exit status 1, nothing begun"
has "$(cat "$T/err")" "after-up builds on add-up" "and said"
timeout 100 "$peakd" study --db "$db" --samples 2 --tries 1 --transform after-up --from "$parent" --name behind >"$T/out" 2>"$T/err"
ok $? "from a checkpoint that has it behind it" "$(cat "$T/err")"
is "$(timeout 120 "$peakd" workflow list --db "$db" | grep -c early)" 0 "no workflow was made for that"

# What is recorded is not asked again: the model is to be asked from here on.
mv "$T/recordings/scale" "$T/right"

# Every second conversation begins with a wrong answer, and is repaired.
answer 'A[id.x] + 1.0' >"$T/answer.bad"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 4 --parallel 1 --transform add-up --json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "repaired tries are accepted: exit status 0" "$(cat "$T/err")"
is "$(jq -c '.rows[0] | [.tries, .right, .wrong, .repaired, .given_up, .repairs]' "$T/rows.json")" '[4,2,2,2,0,2]' \
	"but they were not right at the first try"
cp "$T/answer.bad" "$T/answer"
rm -rf "$T/recordings/scale"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --json "$T/rows.json" >"$T/out" 2>"$T/err"
is $? 1 "nothing accepted: exit status 1"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right, .wrong, .given_up]]' "$T/rows.json")" '[["add-up",2,0,2,2]]' \
	"given up, and what follows is not tried"
has "$(cat "$T/err")" "no try of add-up was accepted" "and said"

# Killed while the second transformation waits for its model: the figures of the first are there.
rm -rf "$T/answer.bad" "$T/rows.json" "$T/recordings/scale"
answer 'A[id.x] + A[id.x]' >"$T/answer"
echo 2 >"$T/answer.only"
"$peakd" study "$T/scale.peak.md" --db "$db" --samples 2 --tries 2 --json "$T/rows.json" >"$T/out" 2>"$T/err" &
study=$!
wait_for 60 test -s "$T/rows.json"
kill -KILL "$study"
wait "$study" 2>/dev/null
is "$(jq -c '[[.rows[] | [.transformation, .tries, .right]], .pooled.tries]' "$T/rows.json")" '[[["add-up",2,2]],2]' \
	"what a killed study had found stands in its file"

# Without the model, from the recordings of the tries.
unset PEAKD_RECORD
export PEAKD_MODEL="replay:$T/right"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/b.db" --samples 2 --tries 3 --json "$T/rows.json" >"$T/out" 2>"$T/err"
ok $? "the recordings replay" "$(cat "$T/out" "$T/err")"
is "$(jq -c '[.rows[] | [.transformation, .tries, .right]]' "$T/rows.json")" '[["add-up",3,3],["add-again",3,3]]' "as they were"
python3 "$root/bench/recordings.py" pack "$T/right" "$T/right.jsonl.gz" >/dev/null
(export PEAKD_MODEL="replay:$T/right.jsonl.gz"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/c.db" --samples 2 --tries 3 --json "$T/packed.json") >"$T/out" 2>"$T/err"
ok $? "so does the compressed file of a study" "$(cat "$T/out" "$T/err")"
figures='[.rows[] | [.transformation, .tries, .right, .asked, .tokens_in, .tokens_out]]'
is "$(jq -c "$figures" "$T/packed.json")" "$(jq -c "$figures" "$T/rows.json")" "with the same figures"
python3 "$root/bench/recordings.py" unpack "$T/right.jsonl.gz" "$T/unpacked"
is "$(diff -r "$T/right" "$T/unpacked")" "" "and unpacks to the same files"
timeout 100 "$peakd" study "$T/scale.peak.md" --db "$T/b.db" --samples 2 --first 3 --tries 2 --transform add-up --json "$T/rows.json" \
	>"$T/out" 2>"$T/err"
is $? 1 "a try that was never recorded is not judged: exit status 1"
is "$(jq -c '.rows[0] | [.tries, .right, .unjudged]' "$T/rows.json")" '[1,1,1]' "and does not count as one"
has "$(cat "$T/out")" "try 4: not judged" "said"
done_testing
