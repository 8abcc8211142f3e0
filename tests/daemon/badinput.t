#!/bin/sh
# Bad input and bad surroundings: an MCP client, a shell and the log each get one error that says what to do next. Nothing that was
# committed is lost. Wrong command lines are tested in messages.t, killed daemons in kill.t.
. "$(dirname "$0")/lib.sh"
db=$T/a.db

# --- the daemon, with models that misbehave -------------------------------------------------------------------------------
python3 "$root/tests/daemon/badmodel.py" "$T/think-no-more" >"$T/port" &
model=$!
trap 'kill $model; finish' EXIT
wait_for 60 test -s "$T/port"
models=
for kind in limited down breaks truncates nonsense bytes flood adds dawdles; do
	models="$models --model $kind=openai:http://127.0.0.1:$(cat "$T/port")/$kind/v1?model=m&retries=1"
done
# Nothing listens on port 9 (discard), so a connection is refused at once.
serve() # serve DATABASE LOG
{
	# shellcheck disable=SC2086
	"$peakd" serve --listen 127.0.0.1:0 --db "$1" $models \
		--model "gone=openai:http://127.0.0.1:9/v1?model=m&retries=1" >"$2" 2>&1 &
	wait_for 60 grep -q 'serving .*http' "$2"
	url=$(sed -n 's/.*serving .*\(http:[^,]*\),.*/\1/p' "$2")
}
serve "$db" "$T/log"

meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
call() # call TOOL ARGUMENTS: the result
{
	curl -sS -m 60 "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" \
		-d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2,$meta}}" |
		sed -n 's/^data: //; /^{/p' | grep '"id":1' >"$T/answer"
	jq -r '.result.content[0].text // .error.message' "$T/answer" 2>"$T/jq.err" || cat "$T/answer"
}

# Through MCP: isError and one block of UTF-8 text, not too long, that holds PART.
refuses() # refuses TOOL ARGUMENTS PART NAME
{
	text=$(call "$1" "$2")
	is "$(jq -c '[.result.isError, (.result.content | length)]' "$T/answer") $([ ${#text} -lt 4200 ] && echo short)" \
		'[true,1] short' "$4: isError"
	has "$text" "$3" "$4: the error says what to do"
	iconv -f UTF-8 -t UTF-8 "$T/answer" >/dev/null 2>&1 || ok 1 "$4: UTF-8"
}
# Through the CLI: the exit status, and one message on stderr alone.
refused() # refused STATUS PART ARGUMENTS…
{
	status=$1 part=$2
	shift 2
	timeout 120 "$peakd" "$@" --db "$db" >"$T/out" 2>"$T/err" </dev/null
	is "$? $(wc -c <"$T/out")" "$status 0" "peakd $1: exits with status $status and prints nothing on standard output"
	has "$(cat "$T/err")" "$part" "peakd $1: the error says: $part"
}
logged() # logged PART NAME
{
	has "$(grep -v ' info: ' "$T/log")" "$1" "$2: the error is in the log"
}
quote()
{
	jq -Rs .
}
create() # create NAME <TEXT
{
	call context_create "{\"name\":\"$1\",\"source\":$(quote)}"
}

# --- arguments and contexts -----------------------------------------------------------------------------------------------
small_context >"$T/s.peak.md"
has "$(create good <"$T/s.peak.md")" "checkpoint 1" "a good context is created"
refuses context_create '{"sourcex":"x"}' 'did you mean "source"?' "unknown field"
refuses context_create '{"source":3}' 'expected string' "wrong type"
refuses tune '{"at":"god"}' 'did you mean good' "a workflow that does not exist"
source=$(sed 's/^tune:/tuen:/' "$T/s.peak.md" | quote)
refuses context_create "{\"source\":$source}" "context:8: unknown field tuen" "unknown field of a context"
source=$(sed 's/n: int = {4096}/n: intt = {4096}/' "$T/s.peak.md" | quote)
refuses context_create "{\"source\":$source}" "context:5" "wrong type in a context"
source=$(sed 's/^flops: n/where:\n  - BX > 100\nflops: n/' "$T/s.peak.md" | quote)
refuses context_create "{\"source\":$source}" "where: BX > 100 (line 11) removed 2 of 2" "an empty space"
source=$(quote <"$T/s.peak.md")
refuses context_create "{\"source\":$source,\"name\":\"a b/../ü@{0}\"}" "cannot be a name" "a name with odd characters"
long=$(printf '%0500d' 0)
refuses context_create "{\"source\":$source,\"name\":\"a$long\"}" "at most 100" "a name that is too long"
refuses workflow_change "{\"action\":\"restore\",\"name\":\"good\",\"at\":\"a$long\"}" "at most 200" \
	"a checkpoint's name that is too long"
refused 1 "did you mean good" tune god
sed 's/^flops: n/where:\n  - BX > 100\nflops: n/' "$T/s.peak.md" >"$T/empty.peak.md"
refused 1 "removed 2 of 2" run "$T/empty.peak.md"
: >"$T/nothing.peak.md"
refused 1 "this file is empty" run "$T/nothing.peak.md"
printf -- '---\nkernel: \377\n---\n' >"$T/latin.peak.md"
refused 1 "latin.peak.md:2: this line is not UTF-8" run "$T/latin.peak.md"
refused 1 "not UTF-8" tune "$(printf 'a\377')"

# --- devices, transformations, models -------------------------------------------------------------------------------------
refuses tune '{"at":"good","device":"hlsl:77"}' "no device 'hlsl:77'" "unknown device"
refuses tune '{"at":"good","device":"hpi:0"}' "no device 'hpi:0'" "a device of an unknown backend"
refused 1 "no device 'hlsl:77'" tune good --device hlsl:77
case $(call devices '{}') in
*hlsl:0*) ;;
*)
	skip_rest 66 "no device runs HLSL here"
	;;
esac
refuses edit '{"at":"good","source":"nonsense"}' "source: the text holds neither a fenced region nor front matter" "an edit without a fence"
refuses edit '{"at":"good","source":"```lua host\nlaunch(\n```"}' "source:3: host code: unexpected symbol" "an edit whose host code is no Lua"
is "$(call job '{"action":"list","limit":1000}' >/dev/null; jq '[.result.structuredContent.jobs[] | select(.kind == "edit")] | length' "$T/answer")" 0 \
	"edits that cannot be right start no job"
refuses transform '{"at":"good","transformation":"refacto"}' "nearest names: refactor" "a transformation that does not exist"
refuses transform '{"at":"good","transformation":"thread-tiling"}' "apply refactor first" "a missing prerequisite"
refuses transform_begin '{"at":"good","transformation":"thread-tiling"}' "apply refactor first" \
	"transform_begin without a prerequisite"
refuses transform '{"at":"good","transformation":"Say what it does."}' "peakd serve --model NAME=SPEC" \
	"a transform without any model"
refuses transform '{"at":"good","transformation":"refactor"}' "called matmul" "a transformation that does not fit"
refuses transform_begin '{"at":"good","transformation":"refactor"}' "called matmul" "transform_begin with one that does not fit"
refused 1 "nearest names: refactor" transform good refacto
logged "nearest names: refactor" "a transformation that does not exist"
try() # try MODEL PART
{
	refuses transform "{\"at\":\"good\",\"transformation\":\"Add the element to itself\",\"model\":\"$1\",\"samples\":1,\"wait_s\":45}" "$2" \
		"a model that $1"
	logged "$2" "a model that $1"
}
try gone "is the server running"
try limited "429: Rate limit reached; the provider limits the rate: try again later"
try down "500: <html>boom ??</html>; look at the provider's status page"
try breaks "broke off in mid-answer"
try truncates "cut at its length limit"
has "$text" "pending=" "a model that was cut off: the error names the pending transformation to continue"
try nonsense "holds no fenced block"
try bytes "Check that the base URL"
try flood "look at the provider's status page"
is "$(jq -r '.result.structuredContent.state' "$T/answer")" failed \
	"a model whose answer is a flood: the structured answer says failed"
refused 1 "is the server running" transform good "Add the element to itself" --model gone

# --- kernels that do not fit their host code ------------------------------------------------------------------------------
sed 's/launch("scale"/launch("scole"/' "$T/s.peak.md" | create misnamed >/dev/null
refuses validate '{"at":"misnamed"}' "no function scole, which host code launches: launch one of its functions" \
	"a kernel name that does not exist"
refuses tune '{"at":"misnamed"}' "no function scole" "tuning a kernel name that does not exist"
refused 1 "no function scole" validate misnamed
logged "no function scole" "a kernel name that does not exist"
is "$(call read '{"at":"misnamed","what":"validations"}' | grep -c ',failed,')" 4 \
	"a missing kernel name is kept as failed validations"
sed 's/{A, C, n}/{A, n}/' "$T/s.peak.md" | create fewer >/dev/null
refuses validate '{"at":"fewer"}' "pass each launch what any kernel uses" "arguments that do not fit the kernel"
sed 's/{A, C, n}/{A, C, q}/' "$T/s.peak.md" >"$T/unknown.peak.md"
refuses context_create "{\"source\":$(jq -Rs . <"$T/unknown.peak.md")}" \
	"context:$(grep -n '{A, C, q}' "$T/unknown.peak.md" | cut -d: -f1): host code: launch: argument q has no value" "an argument that does not exist"
sed 's/^launch/invalid("never \\xff so")\nlaunch/' "$T/s.peak.md" | create pruned >/dev/null
refuses validate '{"at":"pruned"}' "invalid: never ? so" "a reason of host code that is not UTF-8"
refuses tune '{"at":"pruned"}' "2 pruned" "tuning pruned values"
has "$text" "never ? so" "tune on pruned values quotes their reason with the bytes outside UTF-8 replaced"
call job '{"action":"list"}' >/dev/null
is "$(jq -r '.result.structuredContent.jobs | length > 10' "$T/answer")" true "job list can list all jobs"

# --- a workflow's head moves while a model thinks -------------------------------------------------------------------------
create moved <"$T/s.peak.md" >/dev/null
call transform '{"at":"moved","transformation":"Add the element to itself","model":"adds","samples":1,"wait_s":45}' >/dev/null
second=$(jq -r .result.structuredContent.result.checkpoint "$T/answer")
timeout 120 "$peakd" transform moved "Multiply the element by two" --model dawdles --samples 1 --db "$db" >"$T/out" 2>"$T/err" &
client=$!
wait_for 60 sh -c "timeout 120 '$peakd' jobs --db '$db' | grep -q 'transform running'"
call workflow_change '{"action":"restore","name":"moved","at":"moved@{root}"}' >/dev/null
: >"$T/think-no-more"
wait $client
is $? 1 "a transform whose workflow moved meanwhile exits with status 1"
has "$(cat "$T/err")" "branch a new workflow from the checkpoint" "a transform whose workflow moved says how to branch"
made=$(sed -n 's/.*checkpoint \([0-9]*\) was not made.*/\1/p' "$T/err")
[ "$made" -gt "$second" ]
ok $? "a transform whose workflow moved names the checkpoint that it made ($made after $second)"
has "$(call read "{\"at\":\"$made\",\"what\":\"device\"}")" "A[id.x] * 2.0" \
	"the checkpoint made for a moved workflow is kept"
call workflow_change "{\"action\":\"branch\",\"name\":\"branched\",\"at\":\"$made\"}" >/dev/null
is "$(call workflow '{"action":"log","at":"branched"}' | grep -c accepted)" 2 \
	"the checkpoint made for a moved workflow is validated and can be branched from"

# --- nothing was lost, and the daemon still works -------------------------------------------------------------------------
has "$(call workflow '{"action":"log","at":"good"}')" "1 " "the first checkpoint is still there"
is "$(grep -c ' error: ' "$T/log")" 0 "bad input is not logged as an error of the daemon"
"$peakd" serve --listen none --db "$db" >"$T/second" 2>&1
is $? 1 "a second daemon for the same database exits with status 1"
has "$(cat "$T/second")" "use that one" "a second daemon for the same database is told to use the first"

# --- surroundings ---------------------------------------------------------------------------------------------------------
# A file that cannot grow stands for a full disk: every write beyond the limit fails.
(
	ulimit -f 2000
	exec "$peakd" serve --listen 127.0.0.1:0 --db "$T/full.db" >"$T/full.log" 2>&1
) &
wait_for 60 grep -q 'serving .*http' "$T/full.log"
url=$(sed -n 's/.*serving .*\(http:[^,]*\),.*/\1/p' "$T/full.log")
created=0
pad=$(head -c 150000 /dev/urandom | base64 | tr -d '\n/+')
while [ $created -lt 60 ]; do
	sed "s/2\.0/$created * 2.0/" "$T/s.peak.md" >"$T/pad.peak.md"
	{ sed '/^void scale/,$d' "$T/pad.peak.md"; echo "// $created $pad"; sed -n '/^void scale/,$p' "$T/pad.peak.md"; } |
		jq -Rsc --arg name "w$created" '{source: ., name: $name}' >"$T/arguments"
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context_create","arguments":%s,%s}}' \
		"$(cat "$T/arguments")" "$meta" >"$T/request"
	curl -sS -m 60 "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: context_create" \
		-d @"$T/request" | sed -n 's/^data: //; /^{/p' >"$T/answer"
	[ "$(jq -r .result.isError "$T/answer")" = null ] || break
	created=$((created + 1))
done
[ $created -gt 0 ] && [ $created -lt 60 ]
ok $? "writing to a full disk fails ($created contexts fitted)" "$(cut -c 1-400 "$T/answer")"
has "$(jq -r '.result.content[0].text' "$T/answer")" "everything committed before is kept" \
	"a full disk: the error says that committed work is kept"
has "$(jq -r '.result.content[0].text' "$T/answer")" "space" "a full disk: the error asks for space"
is "$(call workflow '{"action":"list"}' | grep -c '^w[0-9]*:')" "$created" "a full disk: contexts committed before are still there"
# Jobs need less space than contexts: this repeats until a job can no longer be recorded.
tries=0
while [ $tries -lt 200 ]; do
	started=$(now_ms)
	text=$(call draft '{"source":"__global__ void f(float *x) { x[0] = 1; }","model":"replay:none","wait_s":45}')
	case $text in
	*space*) break ;;
	esac
	tries=$((tries + 1))
done
has "$text" "space" "a full disk: a job's error asks for space (after $tries)"
soon $(($(now_ms) - started)) 15000
ok $? "a full disk: a job fails at once"
pid=$(holder "$T/full.db")
kill "$pid"
wait_for 60 gone "$pid"
is "$(timeout 120 "$peakd" workflow list --db "$T/full.db" | grep -c '^w[0-9]*:')" "$created" \
	"after a full disk the next daemon has every committed context"

sqlite3 "$T/new.db" "PRAGMA user_version=9999; PRAGMA application_id=1346715979; CREATE TABLE t(x);"
sum=$(cksum <"$T/new.db")
"$peakd" serve --listen none --db "$T/new.db" >"$T/new.log" 2>&1
is $? 1 "a daemon refuses a database of a newer version with status 1"
has "$(cat "$T/new.log")" "newer peakd" "the refusal names the newer peakd"
is "$(cksum <"$T/new.db")" "$sum" "the refused database is not changed"
printf '%s\n' "$HELLO" | timeout 120 "$peakd" stdio --db "$T/new.db" >"$T/out" 2>"$T/err"
has "$(cat "$T/out" "$T/err")" "newer peakd" "peakd stdio says that the database is of a newer peakd"
if [ "$(id -u)" -ne 0 ]; then
	mkdir "$T/closed"
	chmod 500 "$T/closed"
	db=$T/closed/a.db
	refused 1 "writable" devices
else
	skip 2 "folders are never read-only for root"
fi
done_testing
