#!/bin/bash
# clients: real MCP clients against tests/mcp/conformance_server, TAP on standard output:
#     tests/mcp/clients.sh [SERVER]        (default: build/tests/mcp/conformance_server)
# The Inspector's command line in each era over HTTP and stdio, with its schema check, both TypeScript SDK clients, mcporter
# and mcp-remote.
set -u
cd "$(dirname "$0")/../.."
. tests/mcp/npm.sh
SERVER=${1:-${BUILD:-build}/tests/mcp/conformance_server}
npm_need clients node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/sdk@1.32.2 \
	@modelcontextprotocol/client@2.4.0 mcp-remote@0.15.1 mcporter@0.9.0 || exit 1
HOME=$(mktemp -d "${TMPDIR:-/tmp}/mcp-clients.XXXXXX") # the Inspector keeps a file at home
export HOME
trap 'rm -rf "$HOME"' EXIT
count=0 status=0

# check WHAT PATTERN COMMAND...: one TAP line; the command must succeed and print the pattern
check() {
	local what=$1 pattern=$2 out
	shift 2
	count=$((count + 1))
	if out=$(timeout 60 "$@" 2>&1) && grep -q "$pattern" <<<"$out"; then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		tail -5 <<<"$out" | sed 's/^/# /'
		status=1
	fi
}

server_start "$SERVER" || exit 1
for era in modern legacy auto; do
	for to in http stdio; do
		where="inspector, $to, $era"
		target=("$SERVER_URL" --transport http)
		[ $to = stdio ] && target=("$SERVER" --stdio)
		check "$where: lists tools" '"greet"' mcp-inspector --cli "${target[@]}" --protocol-era $era --method tools/list \
			--strict
		check "$where: calls a tool" 'Hello, World!' mcp-inspector --cli "${target[@]}" --protocol-era $era \
			--method tools/call --tool-name greet --tool-arg name=World
		check "$where: reads a resource" 'static text resource' mcp-inspector --cli "${target[@]}" --protocol-era $era \
			--method resources/read --uri test://static-text
		check "$where: lists prompts" 'test_simple_prompt' mcp-inspector --cli "${target[@]}" --protocol-era $era \
			--method prompts/list
	done
done
check "mcporter: lists tools" '35 tools' mcporter list --http-url "$SERVER_URL" --allow-http --name conformance
check "mcporter: calls a tool" 'Hello, World!' mcporter call --http-url "$SERVER_URL" --allow-http --name conformance \
	greet name=World
# mcp-remote is a bridge: what is written to it goes to the server over HTTP. It ends with its input.
bridge() {
	local me='{"name":"clients.sh","version":"1"}'
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},' \
			"\"clientInfo\":$me}}"
		echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		said 1 # it connects by itself, and drops what comes before
		echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Remote"}}}'
		said 2
	} | mcp-remote "$SERVER_URL" --allow-http | tee "$SERVER_DIR/bridged"
}
said() { # said ID: waits for the answer
	for _ in $(seq 300); do grep -qs "\"id\":$1" "$SERVER_DIR/bridged" && return; sleep 0.2; done
}
export -f bridge said
export SERVER_URL SERVER_DIR
check "mcp-remote: calls a tool" 'Hello, Remote!' bash -c bridge
sdk=$(timeout 120 node tests/mcp/sdk_clients.mjs "$NPM_DIR" "$SERVER_URL" "$SERVER") || status=1
while read -r line; do
	case $line in
	'ok '* | 'not ok '*) count=$((count + 1)); sed -E "s/ok [0-9]+ -/ok $count -/" <<<"$line" ;;
	'#'*) echo "$line" ;;
	esac
done <<<"$sdk"
server_stop || status=1
echo "1..$count"
exit $status
