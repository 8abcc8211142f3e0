#!/bin/sh
# peakd draft: from the source alone, and with a model that answers what the file leaves open. The model is a small stand-in. Tested
# are its answers, a second turn, a model that never succeeds, recordings and their replay, and compiling the draft for an
# architecture.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
file=$root/examples/draft/layer-norm.cu

lines() # the lines that answer what the file leaves open
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
answer() # makes the model's answer of the lines on stdin
{
	printf 'The file says it in comments.\n```declare\n'
	cat
	printf '```\n'
}

mkdir "$T/inc"
printf '#pragma once\n#define N 4096\n#define BLOCK 256\n#include "helper.h"\n' >"$T/inc/sizes.h"
printf '__device__ float twice(float x)\n{\n\treturn 2 * x;\n}\n' >"$T/inc/helper.h"
cat >"$T/scale.cu" <<'CU'
#include "inc/sizes.h"
#include "inc/helper.h"
#include "missing.h"
__global__ void scale(const float *x, float *y) { y[blockIdx.x * BLOCK + threadIdx.x] = twice(x[threadIdx.x]); }
int main()
{
	float *x, *y;
	cudaMalloc(&x, N * sizeof(float));
	cudaMalloc(&y, N * sizeof(float));
	for (int k = 0; k < 3; k++) scale<<<N / BLOCK, BLOCK>>>(x, y);
}
CU
timeout 120 "$peakd" draft "$T/scale.cu" --db "$db" >"$T/out" 2>"$T/err"
is "$? $(grep -c twice "$T/out") $(grep -c '  BLOCK: {256}' "$T/out")" "0 2 1" "draft reads the files beside the file, each once" "$(cat "$T/err" "$T/out")"
has "$(cat "$T/err")" "scale.cu:10: not in the draft: the loop" "and counts the lines of each file"
timeout 120 "$peakd" draft "$file" --db "$db" >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "a file that hides its sizes gives no context and exit status 1"
has "$(cat "$T/err")" "question: x: how many elements" "draft asks for the extents of an array that the file does not allocate"
has "$(cat "$T/err")" "question: the size of a block of layer_norm is not a constant" \
	"draft asks about a block size although its name has a value elsewhere"
(lines | sed 's/.*/--declare\n&/'; printf '%s\n' --db "$db") >"$T/words"
tr '\n' '\0' <"$T/words" | timeout 120 xargs -0 "$peakd" draft "$file" >"$T/typed" 2>"$T/err"
ok $? "draft succeeds when --declare answers all questions" "$(cat "$T/err")"
has "$(cat "$T/err")" "note: compared with the file's launches at tokens=128" "draft compares its launch with the file's"
mkdir "$T/here"
(cd "$T/here" && tr '\n' '\0' <"$T/words" | timeout 120 xargs -0 "$peakd" draft "$file" --out - >"$T/out" 2>"$T/err")
cmp -s "$T/typed" "$T/out"
is "$? $(ls "$T/here")" "0 " "--out - writes to standard output and creates no file"
timeout 120 "$peakd" draft "$file" --db "$db" --model default >"$T/out" 2>"$T/err"
is $? 1 "draft --model fails when no model is configured"
has "$(cat "$T/err")" "no model 'default'; configured: none" "draft says that no model is configured"

lines | answer >"$T/answer"
lines | sed '/^beta/d; s/f32\[hidden\]/f32[hiden]/' | answer >"$T/answer.1"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port")/v1?model=fake&retries=0" PEAKD_RECORD="$T/data/peakd/recordings/norm"
timeout 120 "$peakd" draft "$file" --db "$T/b.db" --model default --out "$T/norm.peak.md" 2>"$T/err"
ok $? "draft succeeds when the model's second answer is right" "$(cat "$T/err")"
cmp -s "$T/typed" "$T/norm.peak.md"
ok $? "the model's answers give the same context as typed answers" "$(diff "$T/typed" "$T/norm.peak.md")"
has "$(cat "$T/err")" "note: answered by the model fake, not found in the file: hidden: int = 4096" "draft notes which lines the model said"
has "$(cat "$T/err")" "no difference; could not be compared: the grid of layer_norm" \
	"draft notes which part of the launch could not be compared"
asked=$(sqlite3 "$T/b.db" "SELECT count(*) FROM exchange")
timeout 120 "$peakd" draft "$file" --db "$T/b.db" --model default --out "$T/norm.peak.md" 2>"$T/err"
is "$? $(sqlite3 "$T/b.db" "SELECT count(*) FROM exchange")" "1 $asked" \
	"an existing output file is refused before the model is asked"
has "$(cat "$T/err")" "--force" "the refusal of an existing file names --force"
is "$(sqlite3 "$T/b.db" "SELECT group_concat(transformation || ' ' || attempt || ' ' || outcome, ', ') FROM exchange")" \
	"draft 1 not taken, draft 2 ok" \
	"both exchanges with the model are recorded in the database"
is "$(ls "$PEAKD_RECORD" | sed 's/-[0-9a-f]*\.md//' | tr '\n' ' ')" "draft-1-1-1 draft-1-1-2 " \
	"both exchanges with the model are recorded as files"

# Ctrl-C before the model has answered cancels the job and names it.
cp "$T/answer" "$T/slow"
echo 0 >"$T/slow.only"
python3 "$root/tests/daemon/model.py" "$T/slow" >"$T/slow.port" &
slow=$!
trap 'kill $slow $model; finish' EXIT
wait_for 60 test -s "$T/slow.port"
unset PEAKD_RECORD
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/slow.port")/v1?model=fake&retries=0"
python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL) # a shell ignores it for background processes
os.execvp(sys.argv[1], sys.argv[1:])' "$peakd" draft "$file" --db "$T/e.db" --model default >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 sh -c "timeout 60 '$peakd' jobs --db '$T/e.db' | grep -q 'draft running'"
kill -INT $client
wait $client
is $? 130 "Ctrl-C while draft waits for the model gives exit status 130"
job=$(sqlite3 "$T/e.db" "SELECT id FROM job")
has "$(cat "$T/err")" "job $job is cancelled" "the interrupted draft names its cancelled job"
kill $slow

kill $model
unset PEAKD_MODEL
timeout 120 "$peakd" draft "$file" --db "$T/c.db" --model replay:norm >"$T/replayed" 2>"$T/err"
ok $? "a recorded draft is replayed without the model" "$(cat "$T/err")"
cmp -s "$T/replayed" "$T/norm.peak.md"
ok $? "the replay gives the same context"
echo >>"$T/changed.cu" && cat "$file" >>"$T/changed.cu"
timeout 120 "$peakd" draft "$T/changed.cu" --db "$T/c.db" --model replay:norm >"$T/out" 2>"$T/err"
is $? 1 "the replay refuses a file that differs from the recorded one"
has "$(cat "$T/err")" "it was edited since" "the replay says that the file was edited since"

echo 'n is large.' >"$T/answer"
rm "$T/answer.1"
python3 "$root/tests/daemon/model.py" "$T/answer" >"$T/port2" &
model=$!
wait_for 60 test -s "$T/port2"
export PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/port2")/v1?model=fake&retries=0"
timeout 120 "$peakd" draft "$file" --db "$T/d.db" --model default >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "a model without a usable answer gives no context and exit status 1"
has "$(cat "$T/err")" "question: hidden: which values?" "draft repeats the questions that the model did not answer"
has "$(cat "$T/err")" "question: the answer holds 0 fenced blocks" "draft says what was wrong with the model's last answer"
is "$(sqlite3 "$T/d.db" "SELECT count(*) FROM exchange")" 3 "draft asks the model three times at most"

# Compiling the draft for an architecture: the file as it is, and one that the compiler refuses.
timeout 120 "$peakd" draft "$root/examples/draft/tiled-transpose.cu" --db "$T/d.db" --declare 'width: int = 1920' \
	--declare 'height: int = 1080' \
	--declare 'batch: int = 16' --declare 'in_: f32[batch, height, width] = random' \
	--declare 'out: out f32[batch, width, height]' \
	--declare 'local transpose_grid = {cdiv(width, 32), cdiv(height, 32), batch}' --device cuda:sm_80 >"$T/out" 2>"$T/err"
status=$?
need_cuda_compiler 5 "$T/err"
ok $status "a draft is compiled for an architecture" "$(cat "$T/err")"
has "$(cat "$T/err")" "note: cuda:sm_80: 1 configurations compile" "draft notes how many configurations compile"
sed 's/int row = /int row = nothing + /' "$root/examples/draft/tiled-transpose.cu" >"$T/broken.cu"
timeout 120 "$peakd" draft "$T/broken.cu" --db "$T/d.db" --declare 'width: int = 1920' --declare 'height: int = 1080' \
	--declare 'batch: int = 16' --declare 'in_: f32[batch, height, width] = random' \
	--declare 'out: out f32[batch, width, height]' \
	--declare 'local transpose_grid = {cdiv(width, 32), cdiv(height, 32), batch}' --device cuda:sm_80 >"$T/out" 2>"$T/err"
is "$? $(wc -c <"$T/out")" "1 0" "a draft that does not compile gives no context and exit status 1"
has "$(cat "$T/err")" 'question: cuda:sm_80: ' "draft names the architecture that does not compile"
has "$(cat "$T/err")" 'identifier "nothing" is undefined' "draft quotes the compiler's error"
# A file that gives no draft is named.
echo 'int main() { return 0; }' >"$T/none.cu"
timeout 120 "$peakd" draft "$T/none.cu" --db "$db" >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "$T/none.cu: there is no kernel" "a file without a kernel is named"
printf '\ntemplate <int N> __global__ void f(float *x) { x[0] = N; }\n' >"$T/none.cu"
timeout 120 "$peakd" draft "$T/none.cu" --db "$db" >"$T/out" 2>"$T/err"
has "$(cat "$T/err")" "$T/none.cu:2: a kernel is a template" "a template is named with file and line"
done_testing
