#!/bin/sh
# peakd draft: by form alone, and with a model (a small one that stands here) that answers what the file leaves open: its answers, a second
# turn, one that never comes to it, recordings and their replay, and what came out compiled for an architecture.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
file=$root/examples/draft/layer-norm.cu

lines() # what the file leaves open
{
	cat <<'LINES'
tokens: int = {128, 2048}
hidden: int = 4096
y: out f32[tokens, hidden]
x: f32[tokens, hidden] = normal
gamma: f32[hidden] = random
beta: f32[hidden] = random
BX: {128, 256}
local layer_norm_grid = {tokens}
LINES
}
answer() # of the model: lines on stdin
{
	printf 'The file says it in comments.\n```declare\n'
	cat
	printf '```\n'
}

timeout 120 "$peakd" draft "$file" --db "$db" >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "a file that hides its sizes: exit status 1 and no context"
has "$(cat "$T/err")" "question: x: contexts do not know its type 'float4'" "but questions"
has "$(cat "$T/err")" "question: the size of a block of layer_norm is not a constant" "also about the block, whose name has another value elsewhere"
(lines | sed 's/.*/--declare\n&/'; printf '%s\n' --db "$db") >"$T/words"
tr '\n' '\0' <"$T/words" | timeout 120 xargs -0 "$peakd" draft "$file" >"$T/typed" 2>"$T/err"
ok $? "somebody answers them: exit status 0" "$(cat "$T/err")"
has "$(cat "$T/err")" "note: compared with the file's launches at tokens=128" "the launch is compared with the file's"
mkdir "$T/here"
(cd "$T/here" && tr '\n' '\0' <"$T/words" | timeout 120 xargs -0 "$peakd" draft "$file" --out - >"$T/out" 2>"$T/err")
cmp -s "$T/typed" "$T/out"
is "$? $(ls "$T/here")" "0 " "--out - is standard output"
timeout 120 "$peakd" draft "$file" --db "$db" --model default >"$T/out" 2>"$T/err"
is $? 1 "no model is configured"
has "$(cat "$T/err")" "no model 'default'; configured: none" "which is said"

lines | answer >"$T/answer"
lines | sed '/^beta/d; s/f32\[hidden\]/f32[hiden]/' | answer >"$T/answer.1"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0" PEAKD_RECORD="$T/data/peakd/recordings/norm"
timeout 120 "$peakd" draft "$file" --db "$T/b.db" --model default --out "$T/norm.peak.md" 2>"$T/err"
ok $? "a model answers, at the second turn: exit status 0" "$(cat "$T/err")"
cmp -s "$T/typed" "$T/norm.peak.md"
ok $? "the context is what it would have been had they been typed" "$(diff "$T/typed" "$T/norm.peak.md")"
has "$(cat "$T/err")" "note: said by the model fake, not by the file: hidden: int = 4096" "whose lines they are is said"
has "$(cat "$T/err")" "no difference; could not be compared: the grid of layer_norm" "as is what was compared"
asked=$(sqlite3 "$T/b.db" "SELECT count(*) FROM exchange")
timeout 120 "$peakd" draft "$file" --db "$T/b.db" --model default --out "$T/norm.peak.md" 2>"$T/err"
is "$? $(sqlite3 "$T/b.db" "SELECT count(*) FROM exchange")" "1 $asked" "a file that is there is refused before the model is asked"
has "$(cat "$T/err")" "--force" "and the message says how to"
is "$(sqlite3 "$T/b.db" "SELECT group_concat(transformation || ' ' || attempt || ' ' || outcome, ', ') FROM exchange")" "draft 1 not taken, draft 2 ok" \
	"both exchanges are on record"
is "$(ls "$PEAKD_RECORD" | sed 's/-[0-9a-f]*\.md//' | tr '\n' ' ')" "draft-1-1-1 draft-1-1-2 " "and recorded as files"

# Ctrl-C while the model has not answered yet: the job is cancelled and named.
cp "$T/answer" "$T/slow"
echo 0 >"$T/slow.only"
python3 "$root/tests/daemon/model.py" "$T/slow" >"$T/slow.port" &
slow=$!
trap 'kill $slow $model; finish' EXIT
wait_for 60 test -s "$T/slow.port"
unset PEAKD_RECORD
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/slow.port")/v1?model=fake&retries=0"
python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # which a shell ignores for what runs beside it
os.execvp(sys.argv[1], sys.argv[1:])' "$peakd" draft "$file" --db "$T/e.db" --model default >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 sh -c "timeout 60 '$peakd' jobs --db '$T/e.db' | grep -q 'draft running'"
kill -INT $client
wait $client
is $? 130 "Ctrl-C while a model is waited for: exit status 130"
job=$(sqlite3 "$T/e.db" "SELECT id FROM job")
has "$(cat "$T/err")" "job $job is cancelled" "and the job is named"
kill $slow

kill $model
unset PEAKD_MODEL
timeout 120 "$peakd" draft "$file" --db "$T/c.db" --model replay:norm >"$T/replayed" 2>"$T/err"
ok $? "the recordings replay without the model" "$(cat "$T/err")"
cmp -s "$T/replayed" "$T/norm.peak.md"
ok $? "to the same context"
echo >>"$T/changed.cu" && cat "$file" >>"$T/changed.cu"
timeout 120 "$peakd" draft "$T/changed.cu" --db "$T/c.db" --model replay:norm >"$T/out" 2>"$T/err"
is $? 1 "not for another file"
has "$(cat "$T/err")" "it was edited since" "which is said"

echo 'n is large.' >"$T/answer"
rm "$T/answer.1"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port2" &
model=$!
wait_for 60 test -s "$T/port2"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port2")/v1?model=fake&retries=0"
timeout 120 "$peakd" draft "$file" --db "$T/d.db" --model default >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "a model that does not come to it: exit status 1 and no context"
has "$(cat "$T/err")" "question: hidden: which values?" "the questions stay"
has "$(cat "$T/err")" "question: the answer holds 0 fenced blocks" "and what was wrong with the last answer is said"
is "$(sqlite3 "$T/d.db" "SELECT count(*) FROM exchange")" 3 "after three turns"

# Compiled for an architecture: the file as it is, and one that the compiler refuses.
timeout 120 "$peakd" draft "$root/examples/draft/tiled-transpose.cu" --db "$T/d.db" --declare 'width: int = 1920' --declare 'height: int = 1080' \
	--declare 'batch: int = 16' --declare 'in_: f32[batch, height, width] = random' --declare 'out: out f32[batch, width, height]' \
	--declare 'local transpose_grid = {cdiv(width, 32), cdiv(height, 32), batch}' --device cuda:sm_80 >"$T/out" 2>"$T/err"
status=$?
need_cuda_compiler 5 "$T/err"
ok $status "it compiles for an architecture" "$(cat "$T/err")"
has "$(cat "$T/err")" "note: cuda:sm_80: 1 configurations compile" "which is said"
sed 's/int row = /int row = nothing + /' "$root/examples/draft/tiled-transpose.cu" >"$T/broken.cu"
timeout 120 "$peakd" draft "$T/broken.cu" --db "$T/d.db" --declare 'width: int = 1920' --declare 'height: int = 1080' \
	--declare 'batch: int = 16' --declare 'in_: f32[batch, height, width] = random' --declare 'out: out f32[batch, width, height]' \
	--declare 'local transpose_grid = {cdiv(width, 32), cdiv(height, 32), batch}' --device cuda:sm_80 >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "one that does not compile is no context"
has "$(cat "$T/err")" 'question: cuda:sm_80: ' "the compiler is named"
has "$(cat "$T/err")" 'identifier "nothing" is undefined' "with its words"
done_testing
