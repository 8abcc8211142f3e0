#!/bin/sh
# A surface that an agent can live with: what tools/list and the usual answers cost (bytes/4 stands for tokens), what every tool
# says of itself, resources, prompts, completion, and long work as tasks.
. "$(dirname "$0")/lib.sh"
"$peakd" serve --listen 127.0.0.1:0 --db "$T/a.db" 2>"$T/log" &
daemon=$!
wait_for 60 grep -q serving "$T/log"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/log")

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

under() # under LIMIT FILE WHAT: bytes/4 of a file
{
	tokens=$(($(wc -c <"$2") / 4))
	[ $tokens -gt 0 ] && [ $tokens -lt "$1" ]
	ok $? "$3: $tokens of $1 tokens"
}

# --- what it costs to know the tools
post tools/list '' '' >"$T/tools"
under 5000 "$T/tools" "tools/list"
is "$(jq -c '[.result.tools[] | select(.outputSchema.type != "object") | .name]' "$T/tools")" '[]' "every tool has an outputSchema"
is "$(jq -c '[.result.tools[] | select((.description | length) < 80 or (.title | length) == 0) | .name]' "$T/tools")" '[]' \
	"every tool has a title and a description"
is "$(jq -c '[.result.tools[] | select(.description | test("[Aa]nswers|prints|result") | not) | .name]' "$T/tools")" '[]' \
	"every description says what comes back"
is "$(jq -c '[.result.tools[] | select(.description | test("[Nn]ext:|Then ")| not) | .name]' "$T/tools")" '[]' \
	"and what to do next"
is "$(jq -c '[.result.tools[] | .name as $t | .inputSchema.properties | to_entries[] | select(.value.description == null) | $t + "." + .key]' \
	"$T/tools")" '[]' "every argument is explained"
is "$(jq -c '[.result.tools[] | select(.inputSchema.additionalProperties != false) | .name]' "$T/tools")" '[]' \
	"unknown arguments are refused"
jq -c '.result.tools[].annotations | has("readOnlyHint")' "$T/tools" | sort -u >"$T/hints"
is "$(cat "$T/hints")" true "clients are told which tools change nothing"
post server/discover '' '' >"$T/discover"
under 1000 "$T/discover" "server/discover with the instructions"

# --- wrong arguments say what would be right
has "$(call tune '{"at":"x","bugdet":4}' | jq -r '.result.content[0].text')" budget "an unknown field is answered with the nearest"
has "$(call workflow '{"action":"lgo"}' | jq -r '.result.content[0].text')" log "a value that is not allowed likewise"
has "$(call tune '{"at":"x","budget":"many"}' | jq -r '.result.content[0].text')" budget "a wrong type names its field"

# --- what the usual answers cost
call context_create "{\"name\":\"w\",\"source\":$(jq -Rs . <"$root/examples/matmul-fp32-hlsl.peak.md")}" >"$T/answer"
is "$(jq -r .result.structuredContent.workflow "$T/answer")" w "a context is created"
under 2000 "$T/answer" "context_create"
for answer in 'devices {}' 'transformations {}' 'workflow {"action":"list"}' 'workflow {"action":"log","name":"w"}' \
	'workflow {"action":"show","at":"w"}' 'workflow {"action":"show","at":"w","what":"source"}' 'job {"action":"list"}'; do
	call "${answer%% *}" "${answer#* }" >"$T/answer"
	under 2000 "$T/answer" "$answer"
	is "$(jq -c '.result | has("structuredContent") and (.isError | not)' "$T/answer")" true "and it is structured"
done
call transform_begin '{"at":"w","transformation":"refactor"}' >"$T/answer"
if [ "$(jq -c '.result.isError // false' "$T/answer")" = false ]; then
	has "$(jq -r .result.structuredContent.prompt "$T/answer")" "# Transformation: refactor" "transform_begin carries the prompt"
else
	skip 1 "no device runs HLSL here"
fi

# --- resources
templates=$(post resources/templates/list '' '' | jq -r '.result.resourceTemplates[].uriTemplate' | sort | tr '\n' ' ')
is "$templates" "peak://checkpoint/{at}/{part} peak://device/{device} peak://job/{id} peak://job/{id}/log peak://model/{model} peak://transformation/{name} " \
	"templates for checkpoints, devices, jobs, models and transformations"
read_text() # read_text URI
{
	post resources/read "$1" "\"uri\":\"$1\"," | jq -r '.result.contents[0].text // .error.message'
}
has "$(read_text peak://checkpoint/w/source)" "kernel: matmul" "a checkpoint's source is a resource"
has "$(read_text peak://checkpoint/w/measurements)" "," "its measurements are CSV"
has "$(read_text peak://transformation/refactor)" "## Pass 1" "a transformation too"
has "$(read_text peak://docs/context-format)" "kernel" "and the format's document"
is "$(read_text peak://model/replay:matmul-fp32-hlsl | jq -c .)" '{"model":"replay:matmul-fp32-hlsl","available":true}' "a model that can be asked"
has "$(read_text peak://model/none | jq -r 'select(.available == false).why')" "no model 'none'" "one that cannot, and why"
has "$(read_text peak://device/none:0 | jq -r 'select(.available == false).why')" "no device 'none:0'" "a device that is not there, and why"
is "$(post resources/read peak://job/jnone/log '"uri":"peak://job/jnone/log",' | jq .error.code)" -32602 "a job that is not is an error"

# --- prompts and completion
is "$(post prompts/list '' '' | jq -r '[.result.prompts[].name] | join(" ")')" "start-from-kernel optimize-step be-the-model" \
	"prompts for the usual ways of working"
has "$(post prompts/get be-the-model '"name":"be-the-model","arguments":{"workflow":"w","transformation":"refactor"},' |
	jq -r '.result.messages[0].content.text')" 'the transformation "refactor" on workflow "w"' "a prompt is filled in"
is "$(post prompts/get optimize-step '"name":"optimize-step","arguments":{},' | jq .error.code)" -32602 "a missing argument is an error"
complete() # complete REF NAME VALUE
{
	post completion/complete '' "\"ref\":$1,\"argument\":{\"name\":\"$2\",\"value\":\"$3\"}," | jq -c .result.completion.values
}
prompt='{"type":"ref/prompt","name":"be-the-model"}'
is "$(complete "$prompt" workflow w)" '["w"]' "a prompt's workflow is completed"
is "$(complete "$prompt" transformation ref)" '["refactor"]' "and its transformation"
is "$(complete '{"type":"ref/resource","uri":"peak://checkpoint/{at}/{part}"}' part mea)" '["measurements"]' "a template's part"
is "$(complete '{"type":"ref/prompt","name":"start-from-kernel"}' backend '')" '["cuda","hip","hlsl"]' "and a backend"

# --- what the MCP registry is told (limits: its schema of 2025-12-11)
is "$(jq -r .version "$root/server.json")" "$(jq -r '.result._meta["io.modelcontextprotocol/serverInfo"].version' "$T/discover")" \
	"server.json has peakd's version"
is "$(jq -c '[(.name | test("^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")), (.description | length <= 100), (.title | length <= 100)]' \
	"$root/server.json")" '[true,true,true]' "its name, description and title are within the registry's limits"

# --- long work is a task for clients that know tasks
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
	is "$(jq -r .result.status "$T/task")" completed "tasks/get says when it is completed"
	is "$(jq -r .result.result.structuredContent.state "$T/task")" done "and carries the tool's answer"
	is "$(jq -r .result.result.structuredContent.job "$T/task")" "$task" "the task is the job"
	has "$(read_text "peak://job/$task/log")" "done" "whose log is a resource"
	caps='{}'
	is "$(get "$task" | jq .error.code)" -32021 "a client that did not declare tasks gets none"
	is "$(complete '{"type":"ref/resource","uri":"peak://job/{id}/log"}' id j)" "[\"$task\"]" "jobs are completed by their ids"
	call job "{\"id\":\"$task\"}" >"$T/answer"
	under 2000 "$T/answer" "a validation's answer"
	caps='{"extensions":{"io.modelcontextprotocol/tasks":{}}}'
	task=$(call tune '{"at":"w","device":"hlsl:0","budget":1000}' | jq -r .result.taskId)
	post tasks/cancel "$task" "\"taskId\":\"$task\"," >"$T/answer"
	is "$(jq -c 'has("error")' "$T/answer")" false "tasks/cancel is acknowledged"
	wait_for 30 ended "$task"
	is "$(jq -r .result.status "$T/task")" cancelled "and the tuning ends"
else
	skip 10 "no device runs HLSL here"
fi
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon ends well"
is "$(grep -c ' error: ' "$T/log")" 0 "and did not complain"
done_testing
