#!/bin/sh
# Spans for a collector of OpenTelemetry: a job is a part of what its client does, and its compilations, launches and questions to a
# model are parts of it. A client that wants no trace gets none, and a collector that is away costs a line in the log.
. "$(dirname "$0")/lib.sh"
cat >"$T/collector.py" <<'PYTHON'
import http.server, json, sys
class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "ab") as file:
            if self.path == "/v1/traces": # one span a line
                file.write(json.dumps({"key": self.headers["api-key"], "team": self.headers["x-team"]}).encode() + b"\n")
                for resource in json.loads(body)["resourceSpans"]:
                    service = resource["resource"]["attributes"][0]["value"]["stringValue"]
                    for span in resource["scopeSpans"][0]["spans"]:
                        span["notes"] = {a["key"]: a["value"]["stringValue"] for a in span.pop("attributes")}
                        file.write(json.dumps({"service": service, **span}).encode() + b"\n")
            else: # the model
                file.write(json.dumps({"asked": self.headers["traceparent"]}).encode() + b"\n")
        self.send_response(200 if self.path == "/v1/traces" else 400)
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
: >"$T/spans"
python3 "$T/collector.py" "$T/spans" >"$T/port" &
collector=$!
trap 'kill $collector 2>/dev/null; finish' EXIT
wait_for 60 test -s "$T/port"
at=http://127.0.0.1:$(cat "$T/port")
begin() # begin ENDPOINT
{
	rm -f "$T/log" # else the last daemon's may be read
	OTEL_EXPORTER_OTLP_HEADERS='api-key=secret%20word, x-team = gpu,,split=a%0d%0ab' OTEL_EXPORTER_OTLP_ENDPOINT="$1" PEAKD_MODEL="openai:$at/v1?model=fake&retries=0" \
		"$peakd" serve --listen 127.0.0.1:0 --db "$T/a.db" 2>"$T/log" &
	daemon=$!
	wait_for 60 grep -q ': serving' "$T/log"
	url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/log")
}
call() # call TOOL ARGUMENTS TRACEPARENT
{
	curl -s --max-time 100 "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" \
		-d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2,\"_meta\":{\"traceparent\":\"$3\",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}" |
		sed -n 's/^data: //; /^{/p'
}
trace=0af7651916cd43dd8448eb211c80319c parent=b7ad6b7169203331
begin "$at/"
draft='{"source":"__global__ void f(float *x) { x[0] = 1; }","model":"default","wait_s":45}'
job=$(call draft "$draft" "00-$trace-$parent-01" | jq -r .result.structuredContent.job)
came() # came FILTER: a span for which it holds came
{
	jq -es "any(.[]; $1)" "$T/spans"
}
wait_for 60 came '.name == "draft"'
is "$(jq -r 'select(.name == "draft") | [.service, .traceId, .parentSpanId, .notes["peakd.job"], .status.code] | join(" ")' "$T/spans")" \
	"peakd $trace $parent $job 2" "a job is a span of its client's trace, and says that it failed" "$(cat "$T/spans")"
has "$(jq -c 'select(.name == "chat") | .notes' "$T/spans")" '"gen_ai.request.model":"fake"' "a question to a model is a span"
is "$(jq -rs 'map({(.name // ""): .}) | add | .chat.parentSpanId == .draft.spanId' "$T/spans")" true "which is a part of the job"
is "$(jq -r 'select(.asked) | .asked' "$T/spans")" "00-$trace-$(jq -r 'select(.name == "chat") | .spanId' "$T/spans")-01" \
	"the model is told which part of the trace it is"
is "$(jq -r 'select(.key) | .key + "/" + .team' "$T/spans" | sort -u)" "secret word/gpu" "the collector gets the headers that the environment names"
is "$(grep -c 'secret' "$T/log") $(grep -c 'split is left out' "$T/log")" "0 1" "no header's value is logged, and one with a line break is left out" "$(cat "$T/log")"
call draft "$(echo "$draft" | sed 's/= 1/= 2/')" "00-$trace-$parent-00" >"$T/out"
if timeout 120 "$peakd" devices --db "$T/a.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null; then
	small_context >"$T/scale.peak.md"
	call context_create "{\"name\":\"s\",\"source\":$(jq -Rs . <"$T/scale.peak.md")}" "00-$trace-$parent-01" >"$T/out"
	call tune '{"at":"s","device":"hlsl:0","budget":2,"wait_s":45}' "00-$trace-$parent-01" >"$T/out"
	wait_for 60 came '.name == "tune"'
	job=$(jq -r 'select(.name == "tune") | .spanId' "$T/spans")
	for part in compile 'wait for the device' prepare execute measure; do
		came ".name == \"$part\" and .parentSpanId == \"$job\" and .traceId == \"$trace\" and .endTimeUnixNano >= .startTimeUnixNano" >/dev/null
		ok $? "a part of a tune is a span: $part" "$(jq -r .name "$T/spans" | sort | uniq -c)"
	done
	has "$(jq -c 'select(.name == "execute") | .notes' "$T/spans" | head -1)" '"peakd.parameters":"n=4096 ' \
		"a launch names its kernel's parameters"
else
	skip 6 "no device runs HLSL here"
fi
is "$(jq -s 'map(select(.name == "draft")) | length' "$T/spans")" 1 "a trace that nobody records gets no spans"
kill "$daemon"
wait "$daemon"
is "$? $(grep -c 'spans are lost\|error: ' "$T/log")" "0 0" "the daemon ends well" "$(cat "$T/log")"

begin http://127.0.0.1:1
call draft "$(echo "$draft" | sed 's/= 1/= 3/')" "00-$trace-$parent-01" >"$T/out"
wait_for 60 grep -q 'spans are lost' "$T/log"
is $? 0 "a collector that is away is a line in the log" "$(cat "$T/log")"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon without its collector ends well"
done_testing
