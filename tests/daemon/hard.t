#!/bin/sh
# Contexts whose spaces are hard to enumerate: the work is bounded, does not hold up other calls, and ends with its caller.
. "$(dirname "$0")/lib.sh"
db=$T/a.db
"$peakd" serve --listen 127.0.0.1:0 --db "$db" >"$T/log" 2>&1 &
wait_for 60 grep -q 'serving .*http' "$T/log"
url=$(sed -n 's/.*serving .*\(http:[^,]*\),.*/\1/p' "$T/log")

# 20 parameters of 40 values; no range of products tells whether a remainder can be met.
hard_context()
{
	small_context | sed '/^tune:/,$d'
	echo 'tune:'
	for i in $(seq 0 19); do echo "  T$i: i for i = 1,40"; done
	echo 'where: (T0*T1*T2*T3*T4*T5*T6*T7) % 1000003 == 77777'
	small_context | sed -n '/^flops/,$p'
}

call() # call TOOL <ARGUMENTS: the answer's text
{
	request=$(mktemp "$T/request.XXXXXX")
	jq -c --arg tool "$1" '{jsonrpc:"2.0",id:1,method:"tools/call",params:{name:$tool,arguments:.,
		_meta:{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' >"$request"
	exec curl -sS -m 120 "$url" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" -d "@$request"
}

small_context | jq -Rsc '{source:., name:"mm"}' | (call context_create) >"$T/small"
has "$(cat "$T/small")" 'workflow mm' "a small context is created"
hard_context | jq -Rsc '{source:., name:"hard"}' >"$T/hard.json"
(call context_create <"$T/hard.json") >"$T/refused"
has "$(cat "$T/refused")" 'context:29: where: `(T0*T1*T2*T3*T4*T5*T6*T7) % 1000003 == 77777` is too hard' \
	"a hard context is refused with its constraint"
has "$(cat "$T/refused")" 'Split it into constraints on fewer parameters' "the refusal of a hard context says what to do"

in_flight() # in_flight COUNT
{
	[ "$(curl -sS "${url%/mcp}/metrics" | sed -n 's/^peakd_mcp_calls //p')" = "$1" ]
}
callers=
for _ in 1 2 3 4 5 6 7 8; do
	(call context_create <"$T/hard.json") >/dev/null 2>&1 &
	callers="$callers $!"
done
wait_for 60 in_flight 8
ok $? "eight hard contexts are in flight"
began=$(now_ms)
echo '{"action":"log","at":"mm"}' | (call workflow) >"$T/honest"
took=$(($(now_ms) - began))
has "$(cat "$T/honest")" 'root draft' "another call is answered while hard contexts are in flight"
soon "$took" 1000
ok $? "the other call is answered within a second ($took ms)"
# shellcheck disable=SC2086
kill $callers
began=$(now_ms)
wait_for 60 in_flight 0
took=$(($(now_ms) - began))
soon "$took" 2000
ok $? "the work ends with its callers ($took ms)"
has "$(small_context | jq -Rsc '{source:., name:"after"}' | (call context_create))" 'workflow after' \
	"contexts can be created afterwards"
done_testing
