#!/bin/bash
# conformance: runs the official MCP conformance suite against tests/mcp/conformance_server, one line for each revision:
#     tests/mcp/conformance.sh [SERVER]        (default: build/tests/mcp/conformance_server)
# Then against peakd itself: every scenario that needs none of the suite's own tools, resources and prompts, and the
# tasks scenarios with peakd's tools under the names of the suite's (rename_tools.mjs).
# Exit status 0 only when every scenario passed, also the unscored ones that the suite does not skip itself.
# Details stay in ${BUILD:-build}/conformance/.
set -u
cd "$(dirname "$0")/../.."
. tests/mcp/npm.sh
BUILD=${BUILD:-build}
SERVER=${1:-$BUILD/tests/mcp/conformance_server}
npm_need conformance node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 || exit 1
mkdir -p "$BUILD/conformance"
server_start "$SERVER" || exit 1
status=0
for revision in 2025-11-25 2026-07-28; do
	out=$BUILD/conformance/$revision.txt
	timeout 300 conformance server --url "$SERVER_URL" --requirements $revision >"$out" 2>&1
	# The summary has a line per scenario; those below "Not scored" are listed again with their reason.
	sed -n '/^=== SUMMARY/,$p' "$out" | awk -v revision=$revision '
		/^  [✓✗]/ { unscored++; if (/✓/) good++; extra[$2] = 1; next }
		/^[✓✗]/ { name = $2; sub(":", "", name); all[name] = /^✓/ }
		END {
			for (name in all) if (!(name in extra)) { total++; passed += all[name]; if (!all[name]) failed = failed " " name }
			printf "%s: %d/%d scored scenarios passed, %d/%d unscored%s\n", revision, passed, total, good, unscored, \
				failed ? "; failed:" failed : ""
			exit !(total > 0 && passed == total && good == unscored)
		}' || { status=1; grep -A2 '^=== Failed\|^  - ' "$out" | head -40; }
done
server_stop || status=1

# --- peakd itself ---------------------------------------------------------------------------------------------------------
# The other scenarios need fixtures of a test server (test_simple_text, test://static-text, …). server-stateless needs three
# such tools for four of its checks, which say "Not testable"; all its other checks must pass.
PEAKD=${PEAKD:-$BUILD/peakd}
declare -A itself=(
	[2025-11-25]="server-initialize ping tools-list server-sse-multiple-streams resources-list resources-subscribe
		resources-unsubscribe prompts-list dns-rebinding-protection server-session-lifecycle"
	[2026-07-28]="tools-list server-sse-multiple-streams resources-list sep-2164-resource-not-found prompts-list
		dns-rebinding-protection caching input-required-result-unsupported-methods http-header-validation"
)
home=$(mktemp -d "${TMPDIR:-/tmp}/mcp-peakd.XXXXXX")
mkdir -m 700 "$home/run"
XDG_RUNTIME_DIR=$home/run PEAKD_SHARE=$PWD "$PEAKD" serve --listen 127.0.0.1:0 --db "$home/t.db" 2>"$home/log" &
daemon=$!
for _ in $(seq 100); do
	url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$home/log")
	[ -n "$url" ] && break
	sleep 0.1
done
total=0 good=0 failed=
count() { # count STATUS NAME
	total=$((total + 1))
	if [ "$1" = 0 ]; then good=$((good + 1)); else failed="$failed $2"; fi
}
for revision in 2025-11-25 2026-07-28; do
	out=$BUILD/conformance/peakd-$revision.txt
	timeout 300 conformance server --url "$url" --requirements $revision >"$out" 2>&1
	for name in ${itself[$revision]}; do # a scenario that checked nothing has not passed
		grep -qE "^ *✓ $name: [1-9][0-9]* passed" "$out"
		count $? "$revision/$name"
	done
done
out=$BUILD/conformance/peakd-stateless.txt
timeout 60 conformance server --url "$url" --scenario server-stateless --spec-version 2026-07-28 2>&1 |
	sed 's/\x1b\[[0-9;]*m//g' >"$out"
grep -q '^Passed: 24/28, 4 failed' "$out" && [ "$(grep -c 'Error: Not testable: server does not list' "$out")" = 4 ]
count $? 2026-07-28/server-stateless

# Tasks: SCENARIO PASSED/CHECKS. What does not pass needs protocol_error_job, confirm_delete, or the text "Hello, …" of greet.
meta='{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
jq -Rs --argjson meta "$meta" '{jsonrpc: "2.0", id: 1, method: "tools/call",
	params: {name: "context_create", arguments: {name: "conformance", source: .}, _meta: $meta}}' \
	<examples/matmul-fp32-hlsl.peak.md |
	curl -sS "$url" -H 'Content-Type: application/json' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' \
		-H 'Mcp-Name: context_create' --data-binary @- | grep -q '"checkpoint":1'
count $? "the context for tasks"
mkfifo "$home/in"
node tests/mcp/rename_tools.mjs "$url" <"$home/in" >"$home/url" &
proxy=$!
exec 8>"$home/in"
for _ in $(seq 100); do [ -s "$home/url" ] && break || sleep 0.1; done
while read -r name passed; do
	out=$BUILD/conformance/peakd-$name.txt
	timeout 100 conformance server --url "$(cat "$home/url")" --scenario "$name" --spec-version 2026-07-28 --force 2>&1 |
		sed 's/\x1b\[[0-9;]*m//g' >"$out"
	grep -q "^Passed: $passed," "$out"
	count $? "$name"
done <<-'END'
	tasks-lifecycle 8/9
	tasks-capability-negotiation 5/5
	tasks-wire-fields 4/4
	tasks-request-state-removal 3/3
	tasks-request-headers 4/5
	tasks-dispatch-and-envelope 8/9
END
exec 8>&-
wait "$proxy"
kill "$daemon"
wait "$daemon" || count 1 "its end"
rm -rf "$home"
echo "peakd itself: $good/$total scenarios passed as far as they need no fixture${failed:+; failed:$failed}"
[ "$good" = "$total" ] || status=1
exit $status
