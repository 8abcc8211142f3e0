#!/bin/sh
# The surface that an agent sees: what tools/list and the usual answers cost (bytes/4 stands for tokens), the descriptions of the
# tools, resources, prompts, completion, and long work as tasks.
. "$(dirname "$0")/lib.sh"
serve_http "$T/a.db"
url=http://127.0.0.1:$port/mcp

caps='{}'
post() # post METHOD NAME PARAMS-WITHOUT-BRACES: the JSON-RPC answer of revision 2026-07-28
{
	meta="\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":$caps}"
	curl -s --max-time 60 "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H "Mcp-Method: $1" ${2:+-H "Mcp-Name: $2"} \
		-d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{$3$meta}}" | sed -n 's/^data: //; /^{/p'
}

call() # call TOOL ARGUMENTS
{
	post tools/call "$1" "\"name\":\"$1\",\"arguments\":$2,"
}

under() # under LIMIT FILE WHAT: checks bytes/4 of a file
{
	tokens=$(($(wc -c <"$2") / 4))
	[ $tokens -gt 0 ] && [ $tokens -lt "$1" ]
	ok $? "$3: $tokens of $1 tokens"
}

# --- the cost of listing the tools
post tools/list '' '' >"$T/tools"
jq -c 'del(.result.tools[].outputSchema)' "$T/tools" >"$T/bare"
under 5000 "$T/bare" "tools/list without output schemas"
under 9000 "$T/tools" "tools/list"
is "$(jq -c '[.result.tools[] | select(.outputSchema.type != "object") | .name]' "$T/tools")" \
	'["transform_begin","read"]' \
	"every tool but those that answer with a text alone has an outputSchema"
is "$(jq -c '[.result.tools[] | .name as $t | .outputSchema // {} | .. | objects |
	select((.type == "array" and (has("items") | not)) or (.items.type == "object" and (.items | has("properties") | not))) | $t]' "$T/tools")" '[]' \
	"output schemas say what lists hold"
is "$(jq -c '[.result.tools[] | select((.description | length) < 80 or (.title | length) == 0) | .name]' "$T/tools")" '[]' \
	"every tool has a title and a description"
is "$(jq -c '[.result.tools[] | select(.description | test("[Aa]nswers|prints|result") | not) | .name]' "$T/tools")" '[]' \
	"every description says what comes back"
is "$(jq -c '[.result.tools[] | select(.description | test("[Nn]ext:|Then ")| not) | .name]' "$T/tools")" '[]' \
	"every description says what to do next"
is "$(jq -c '[.result.tools[] | .name as $t | .inputSchema.properties | to_entries[] | select(.value.description == null) | $t + "." + .key]' \
	"$T/tools")" '[]' "every argument is explained"
is "$(jq -c '[.result.tools[] | select(.inputSchema.additionalProperties != false) | .name]' "$T/tools")" '[]' \
	"every tool refuses unknown arguments"
jq -c '.result.tools[].annotations | has("readOnlyHint")' "$T/tools" | sort -u >"$T/hints"
is "$(cat "$T/hints")" true "annotations tell which tools change nothing"
post server/discover '' '' >"$T/discover"
under 1000 "$T/discover" "server/discover with the instructions"
is "$(jq -r '.result._meta["io.modelcontextprotocol/serverInfo"] | .websiteUrl, .icons[0].mimeType' "$T/discover" | tr '\n' ' ')" \
	"https://github.com/peakd/peakd image/svg+xml " "server/discover has a website and an icon"
has "$(jq -r '.result._meta["io.modelcontextprotocol/serverInfo"].icons[0].src | sub("data:image/svg.xml;base64,"; "")' "$T/discover" | base64 -d)" \
	"<svg xmlns=" "the icon is a picture"
is "$(jq -c '.result._meta["io.modelcontextprotocol/serverInfo"] | keys' "$T/tools")" '["name","title","version"]' \
	"other results are short of them"

# --- wrong arguments are answered with the right ones
has "$(call tune '{"at":"x","bugdet":4}' | jq -r '.result.content[0].text')" budget \
	"an unknown field is answered with the nearest name"
has "$(call workflow '{"action":"tag","name":"t","at":"s"}' | jq -r '.result.content[0].text')" "; the tool workflow_change takes it" \
	"an action of the other tool is answered with that tool"
has "$(call workflow '{"action":"lgo"}' | jq -r '.result.content[0].text')" log \
	"an invalid value is answered with the nearest valid one"
has "$(call validate '{"at":"w","device":"slurm:partition=gpus-long,gres=gpu:h200:1,account=abcdefgh,time=30/cuda:0"}' | jq -r '.result.content[0].text')" \
	"no workflow, tag or checkpoint w" "a device of another machine may have a long name"
has "$(call tune '{"at":"x","budget":"many"}' | jq -r '.result.content[0].text')" budget \
	"a wrong type is answered with the name of its field"

# --- the cost of the usual answers
call context_create "{\"name\":\"w\",\"source\":$(jq -Rs . <"$root/examples/matmul-fp32-hlsl.peak.md")}" >"$T/answer"
is "$(jq -r .result.structuredContent.workflow "$T/answer")" w "a context is created"
under 2000 "$T/answer" "context_create"
for answer in 'devices {}' 'transformations {}' 'workflow {"action":"list"}' 'workflow {"action":"log","name":"w"}' \
	'workflow {"action":"show","at":"w"}' 'read {"at":"w"}' 'read {"transformation":"unroll"}' 'job {"action":"list"}'; do
	call "${answer%% *}" "${answer#* }" >"$T/answer"
	under 2000 "$T/answer" "$answer"
	case $answer in
	read*) is "$(jq -c '.result | has("structuredContent") or .isError == true' "$T/answer")" false \
		"a region's text travels once: $answer" ;;
	*) is "$(jq -c '.result | has("structuredContent") and (.isError | not)' "$T/answer")" true \
		"the answer has structured content: $answer" ;;
	esac
done
call transformations '{}' >"$T/answer"
is "$(jq -c '.result | .content[0].text as $text | [.structuredContent.transformations[] | .name, (.summary // empty), (.after // [])[]] |
	map(select(. as $said | $text | contains($said) | not))' "$T/answer")" '[]' "the text of transformations says all that its structure says"
is "$(jq -c '.result.structuredContent.transformations | all(.summary | length > 10)' "$T/answer")" true "and tells what each of them does"
names() # names CURSOR
{
	call transformations "{$1}" >"$T/answer"
	under 2000 "$T/answer" "a page of transformations" >"$T/page"
	grep -q '^ok' "$T/page" || cat "$T/page" >&2
	jq -r '.result.structuredContent.transformations[].name' "$T/answer"
	next=$(jq -r '.result.structuredContent.next // ""' "$T/answer")
	[ -z "$next" ] || names "\"cursor\":\"$next\""
}
is "$(names '' 2>&1)" "$(call transformations '{"limit":1000000}' | jq -r '.result.structuredContent.transformations[].name')" \
	"the pages of transformations hold all of them"
offers() # offers ARGUMENTS NAME: whether the transformations of the answer hold the name
{
	call transformations "$1" | jq -c ".result.structuredContent.transformations | any(.name == \"$2\")"
}
is "$(offers '{"at":"w"}' refactor) $(offers '{"at":"w"}' unroll)" "true true" "transformations of a checkpoint lists what fits it"
is "$(offers '{"at":"w"}' tma-load) $(offers '{"at":"w"}' attention-fuse) $(offers '{"at":"w"}' fuse)" "false false false" \
	"and leaves out what does not"
is "$(call transformations '{"at":"nowhere"}' | jq .result.isError)" true "transformations of an unknown checkpoint is an error"
call transform_begin '{"at":"w","transformation":"refactor"}' >"$T/answer"
if [ "$(jq -c '.result.isError // false' "$T/answer")" = false ]; then
	has "$(jq -r '.result.content[0].text' "$T/answer")" "# Transformation: refactor" "transform_begin carries the prompt"
	is "$(grep -o '# Transformation: refactor' "$T/answer" | wc -l)" 1 "it travels once"
else
	skip 1 "no device runs HLSL here"
fi

# --- resources
templates=$(post resources/templates/list '' '' | jq -r '.result.resourceTemplates[].uriTemplate' | sort | tr '\n' ' ')
is "$templates" "peak://checkpoint/{at}/{part} peak://device/{device} peak://export/{at}/{device}/{file} peak://job/{id} peak://job/{id}/log peak://knowledge/{device} peak://model/{model} peak://note/{note} peak://page/{view}/{of}/{from} peak://transformation/{name} " \
	"there are resource templates for checkpoints, devices, exports, jobs, notes, models, transformations and the page"
read_text() # read_text URI
{
	post resources/read "$1" "\"uri\":\"$1\"," | jq -r '.result.contents[0].text // .error.message'
}
has "$(read_text peak://checkpoint/w/source)" "kernel: matmul" "a checkpoint's source is a resource"
has "$(read_text peak://checkpoint/w/measurements)" "," "a checkpoint's measurements are a resource in CSV"
has "$(read_text peak://transformation/refactor)" "## Pass 1" "a transformation is a resource"
has "$(read_text peak://docs/context-format)" "kernel" "the description of the context format is a resource"
is "$(read_text peak://model/replay:matmul-fp32-hlsl | jq -c .)" '{"model":"replay:matmul-fp32-hlsl","available":true}' \
	"the resource of a configured model says that it is available"
has "$(read_text peak://model/none | jq -r 'select(.available == false).why')" "no model 'none'" \
	"the resource of an unknown model says why it is not available"
has "$(read_text peak://device/none:0 | jq -r 'select(.available == false).why')" "no device 'none:0'" \
	"the resource of an unknown device says why it is not available"
is "$(post resources/read peak://job/jnone/log '"uri":"peak://job/jnone/log",' | jq .error.code)" -32602 \
	"the log of an unknown job is an error"

# --- prompts and completion
is "$(post prompts/list '' '' | jq -r '[.result.prompts[].name] | join(" ")')" "start-from-kernel optimize-step be-the-model" \
	"prompts/list has the usual ways of working"
has "$(post prompts/get be-the-model '"name":"be-the-model","arguments":{"workflow":"w","transformation":"refactor"},' |
	jq -r '.result.messages[0].content.text')" 'the transformation "refactor" on workflow "w"' "a prompt is filled in"
is "$(post prompts/get optimize-step '"name":"optimize-step","arguments":{},' | jq .error.code)" -32602 \
	"prompts/get without a required argument is an error"
complete() # complete REF NAME VALUE
{
	post completion/complete '' "\"ref\":$1,\"argument\":{\"name\":\"$2\",\"value\":\"$3\"}," | jq -c .result.completion.values
}
prompt='{"type":"ref/prompt","name":"be-the-model"}'
is "$(complete "$prompt" workflow w)" '["w"]' "completion offers the workflows to a prompt"
is "$(complete "$prompt" transformation ref)" '["refactor"]' "completion offers the transformations to a prompt"
is "$(complete '{"type":"ref/resource","uri":"peak://checkpoint/{at}/{part}"}' part mea)" '["measurements"]' \
	"completion offers the parts of a checkpoint to a template"
is "$(complete '{"type":"ref/prompt","name":"start-from-kernel"}' backend '')" '["cuda","hip","hlsl"]' \
	"completion offers the backends to a prompt"

# --- server.json for the MCP registry (limits from its schema of 2025-12-11)
is "$(jq -r .version "$root/server.json")" "$(jq -r '.result._meta["io.modelcontextprotocol/serverInfo"].version' "$T/discover")" \
	"server.json has peakd's version"
is "$(jq -c '[(.name | test("^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")), (.description | length <= 100), (.title | length <= 100)]' \
	"$root/server.json")" '[true,true,true]' "name, description and title of server.json are within the registry's limits"

# --- what a person is asked
choose() # choose TOOL ARGUMENTS FIELD VALUE: the answer after the choice; what was asked is in asked
{
	caps='{"elicitation":{}}'
	post tools/call "$1" "\"name\":\"$1\",\"arguments\":$2," >"$T/asked"
	state=$(jq -r '.result.requestState // "" | if . == "" then "" else "\"requestState\":\"\(.)\"," end' "$T/asked")
	post tools/call "$1" "\"name\":\"$1\",\"arguments\":$2,$state\"inputResponses\":{\"$3\":$4},"
	caps='{}'
}

# --- long work is a task for clients that declare tasks
if [ "$(call devices '{}' | jq -c '[.result.structuredContent.devices[] | select(.id == "hlsl:0")] | length')" = 1 ]; then
	small_context >"$T/scale.peak.md"
	call context_create "{\"name\":\"s\",\"source\":$(jq -Rs . <"$T/scale.peak.md")}" >/dev/null
	caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}'
	call validate '{"at":"s","device":"hlsl:0","samples":2}' >"$T/answer"
	is "$(jq -r .result.resultType "$T/answer")" task "validate answers with a task at once"
	task=$(jq -r .result.taskId "$T/answer")
	get() # get TASK
	{
		post tasks/get "$1" "\"taskId\":\"$1\","
	}
	ended() # ended TASK
	{
		get "$1" >"$T/task"
		! jq -e '.result.status == "working"' "$T/task"
	}
	wait_for 30 ended "$task"
	is "$(jq -r .result.status "$T/task")" completed "tasks/get says that the task is completed"
	is "$(jq -r .result.result.structuredContent.state "$T/task")" done "tasks/get carries the tool's answer"
	is "$(jq -r .result.result.structuredContent.job "$T/task")" "$task" "the task's id is the job's id"
	has "$(read_text "peak://job/$task/log")" "done" "the log of a task's job is a resource"
	caps='{}'
	is "$(get "$task" | jq .error.code)" -32021 "a client that did not declare tasks cannot get one"
	is "$(complete '{"type":"ref/resource","uri":"peak://job/{id}/log"}' id j)" "[\"$task\"]" \
		"completion offers the ids of jobs"
	call job "{\"id\":\"$task\"}" >"$T/answer"
	under 2000 "$T/answer" "a validation's answer"
	caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}'
	task=$(call tune '{"at":"w","device":"hlsl:0","budget":1000}' | jq -r .result.taskId)
	post tasks/cancel "$task" "\"taskId\":\"$task\"," >"$T/answer"
	is "$(jq -c 'has("error")' "$T/answer")" false "tasks/cancel is acknowledged"
	wait_for 30 ended "$task"
	is "$(jq -r .result.status "$T/task")" cancelled "tasks/cancel ends the tune"

	# What a person is asked, at clients that can ask (elicitation).
	caps='{}'
	call edit '{"at":"s","region":"macros","text":"// nothing","device":"hlsl:0","samples":1}' >"$T/answer"
	is "$(jq -r .result.structuredContent.state "$T/answer")" done "a workflow has two checkpoints" "$(cat "$T/answer")"
	first=$(call workflow '{"action":"log","name":"s"}' | jq '.result.structuredContent.checkpoints[-1].id')
	has "$(call workflow_change '{"action":"restore","name":"s"}' | jq -r '.result.content[0].text')" \
		"at: say which checkpoint" \
		"a client that cannot ask is told that \`at\` is missing"
	choose workflow_change '{"action":"restore","name":"s"}' at '{"action":"decline"}' >"$T/answer"
	is "$(jq -c '.result.inputRequests.at.params.requestedSchema.properties.at.oneOf | map(.const)' "$T/asked")" \
		"[\"$first\"]" \
		"restore without \`at\` asks which checkpoint" "$(cat "$T/asked")"
	is "$(jq -r .result.isError "$T/answer")" true "a person who declines leaves the head where it is"
	choose workflow_change '{"action":"restore","name":"s"}' at \
		"{\"action\":\"accept\",\"content\":{\"at\":\"$first\"}}" >"$T/answer"
	is "$(jq -r .result.structuredContent.checkpoint "$T/answer")" "$first" "the workflow goes back to the chosen checkpoint" \
		"$(cat "$T/answer")"
	choose validate '{"at":"s","device":"hlsl:9","samples":1}' device \
		'{"action":"accept","content":{"device":"hlsl:0"}}' >"$T/answer"
	has "$(jq -c .result.inputRequests.device.params "$T/asked")" '"const":"hlsl:0"' \
		"a device that is not here is answered with those that are" "$(cat "$T/asked")"
	is "$(jq -r .result.structuredContent.state "$T/answer")" done "the chosen device does the work" "$(cat "$T/answer")"
	is "$(call validate '{"at":"s","device":"hlsl:9"}' | jq -r .result.isError)" true \
		"a client that cannot ask is told that there is no such device"
else
	skip 18 "no device runs HLSL here"
fi
is "$(complete '{"type":"ref/resource","uri":"peak://device/{device}"}' device '' | jq 'type')" '"array"' \
	"completion offers the devices"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon ends with status 0"

# --- whoever asks is named to the model that is asked, and in the log
cat >"$T/model.py" <<'PYTHON'
import http.server, sys
class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "a") as file:
            file.write("%s\n" % self.headers["traceparent"])
        self.send_error(400)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Model)
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
python3 "$T/model.py" "$T/traces" >"$T/model.port" &
model=$!
wait_for 60 test -s "$T/model.port"
PEAKD_LOG_FORMAT=json PEAKD_MODEL="openai:http://127.0.0.1:$(cat "$T/model.port")/v1?model=fake&retries=0" \
	"$peakd" serve --listen 127.0.0.1:0 --db "$T/a.db" 2>"$T/trace.log" &
daemon=$!
wait_for 60 grep -q serving "$T/trace.log"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/trace.log")
trace=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
draft='"name":"draft","arguments":{"source":"__global__ void f(float *x) { x[0] = 1; }","model":"default","wait_s":45}'
caps="{},\"traceparent\":\"$trace\""
job=$(post tools/call draft "$draft," | jq -r .result.structuredContent.job)
caps='{},"traceparent":"00-forged\r\nx: y"'
post tools/call draft "$draft," >/dev/null
caps='{}'
is "$(tr '\n' ' ' <"$T/traces")" "$trace None " "a request's traceparent goes on to the model, if it is one"
has "$(call job "{\"action\":\"log\",\"id\":\"$job\"}" | jq -r '.result.content[0].text')" "trace $trace" "and is in the job's log"
is "$(jq -s 'all(.time and .level and .message)' "$T/trace.log")" true \
	"with PEAKD_LOG_FORMAT=json every line of the log is an object"
is "$(jq -r 'select(.job) | .job' "$T/trace.log" | grep -c "^$job$")" 1 "which names the job"
kill "$daemon" "$model"
wait "$daemon"

# --- a daemon that offers a part of its tools
reads='["transformations","workflow","job","read","devices"]'
offered() # offered NAMES WHAT OPTIONS…: checks the tools that `peakd serve OPTIONS…` lists
{
	names=$1 what=$2
	rm -f "$T/part.log"
	shift 2
	"$peakd" serve --listen 127.0.0.1:0 --db "$T/a.db" "$@" 2>"$T/part.log" &
	daemon=$!
	wait_for 60 grep -q serving "$T/part.log"
	url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/part.log")
	is "$(post tools/list '' '' | jq -c '[.result.tools[].name]')" "$names" "$what"
}
offered "$reads" "--read-only offers only tools that change nothing" --read-only
is "$(post tools/list '' '' | jq -c '[.result.tools[].annotations.readOnlyHint] | unique')" '[true]' "and all of them say so"
has "$("$peakd" workflow tag good w --db "$T/a.db" 2>&1)" "this daemon only reads (--read-only)" \
	"a verb that writes is told why there is no such tool"
is "$(post tasks/cancel x '"taskId":"x",' | jq .error.code)" -32601 "and no task can be cancelled"
kill "$daemon"
wait "$daemon"
offered '["transformations","validate","tune","compare","profile","workflow","workflow_change","job","job_control","read","devices"]' \
	"--toolset adds the tools of a set to those that read" --toolset measure --toolset manage
kill "$daemon"
wait "$daemon"
"$peakd" serve --listen none --db "$T/a.db" --toolset mesure 2>"$T/part.log"
is "$? $(grep -c "there is no toolset 'mesure'" "$T/part.log")" "1 1" "an unknown toolset is refused"
is "$(grep -c ' error: ' "$T/log")" 0 "the daemon logs no error"
done_testing
