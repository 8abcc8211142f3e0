#!/bin/bash
# clients: real MCP clients drive the real peakd through a whole workflow, TAP on standard output:
#     tests/daemon/clients.sh
# create → transform (answers replayed) → validate → tune → log, by the Inspector's command line in both eras over stdio and HTTP,
# mcporter, both TypeScript SDK clients, and through mcp-remote. All of them share one daemon. Needs npm (tests/mcp/npm.sh).
cd "$(dirname "$0")/../.." || exit 1
. tests/mcp/npm.sh
npm_need clients node@22 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/sdk@1.32.2 \
	@modelcontextprotocol/client@2.4.0 mcp-remote@0.15.1 mcporter@0.9.0 || exit 1
PEAKD=${PEAKD:-$PWD/${BUILD:-build}/peakd}
. tests/daemon/lib.sh
export HOME=$T # clients keep files there
failures=0
if ! timeout 30 "$peakd" devices --db "$T/d.db" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null; then
	skip 1 "no device runs HLSL here: peakd devices says what is missing"
	done_testing
	exit 0
fi
db=$T/a.db
"$peakd" serve --listen 127.0.0.1:0 --db "$db" 2>"$T/log" &
daemon=$!
wait_for 10 grep -q serving "$T/log"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/log")

yes() { # yes JSON FILTER NAME: one TAP line; the jq filter must hold
	jq -e "$2" <<<"$1" >/dev/null 2>&1
	local status=$?
	[ $status = 0 ] || failures=$((failures + 1))
	ok $status "$3" "${1:0:600}" "$(tail -3 "$T/err")"
}

# tool NAME JSON: the structured answer, by whatever client `ask` is.
settle() { # settle NAME JSON: the same, waited for
	local answer
	answer=$(tool "$@")
	while jq -e '.state == "queued" or .state == "running"' <<<"$answer" >/dev/null 2>&1; do
		answer=$(tool job "{\"action\":\"wait\",\"wait_s\":45,\"id\":$(jq .job <<<"$answer")}")
	done
	echo "$answer"
}

inspector() { # inspector ARGUMENTS…
	timeout 120 mcp-inspector --cli "${target[@]}" --protocol-era "$era" "$@" 2>>"$T/err"
}

tool() {
	local pairs
	if [ "$client" = mcporter ]; then
		timeout 120 mcporter call --http-url "$url" --allow-http --name peakd "$1" --args "$2" --timeout 100000 --output json 2>>"$T/err"
		return
	fi
	mapfile -d '' pairs < <(jq -j 'to_entries[] | .key + "=" + (.value | tostring), "\u0000"' <<<"$2")
	inspector --method tools/call --tool-name "$1" --tool-arg "${pairs[@]}" | jq .structuredContent
}

source=$(jq -Rs . <examples/matmul-fp32-hlsl.peak.md)
drive() { # drive WHO WORKFLOW BUDGET
	local at="\"at\":\"$2\",\"device\":\"hlsl:0\",\"wait_s\":45"
	yes "$(tool context_create "{\"name\":\"$2\",\"source\":$source}")" ".workflow == \"$2\"" "$1: a context is created"
	yes "$(settle transform "{$at,\"transformation\":\"refactor\",\"model\":\"replay:matmul-fp32-hlsl\",\"samples\":2}")" \
		'.state == "done" and .result.checkpoint > 1' "$1: a transformation is replayed"
	yes "$(settle validate "{$at,\"samples\":2}")" '.state == "done" and .result.passed == true' "$1: the result is valid"
	yes "$(settle tune "{$at,\"budget\":$3}")" ".result.sizes[0].tried == $3 and .result.sizes[0].median_ns > 0" "$1: it is tuned"
	yes "$(tool workflow "{\"action\":\"log\",\"name\":\"$2\"}")" \
		'[.checkpoints[].by] == ["refactor", "root"] and .checkpoints[0].best[0].median_ns > 0' "$1: the log shows it"
}

client=inspector
for era in modern legacy; do
	for to in stdio http; do
		target=("$url" --transport http)
		[ $to = stdio ] && target=("$peakd" stdio --db "$db" --transport stdio)
		budget=1
		[ $era$to = modernstdio ] && budget=4
		yes "$(inspector --method tools/list --strict)" '.tools | length >= 11' "inspector, $to, $era: --strict finds no fault"
		yes "$(inspector --method prompts/list)" '.prompts | length >= 3' "inspector, $to, $era: lists prompts"
		drive "inspector, $to, $era" "inspector-$to-$era" $budget
		yes "$(inspector --method resources/read --uri "peak://checkpoint/inspector-$to-$era/measurements")" \
			'.contents[0].mimeType == "text/csv"' "inspector, $to, $era: reads measurements"
	done
done
client=mcporter
drive "mcporter, http" mcporter 1

PEAKD_URL=$url PEAKD_DB=$db timeout 420 node tests/daemon/sdk_drive.mjs "$NPM_DIR" "$peakd" "$T" >"$T/sdk" 2>"$T/sdk.err"
sdk=$?
while read -r line; do
	case $line in
	'ok '* | 'not ok '*) count=$((count + 1)); sed -E "s/ok [0-9]+ -/ok $count -/" <<<"$line" ;;
	'#'*) echo "$line" ;;
	esac
done <"$T/sdk"
[ $sdk = 0 ] || { failures=$((failures + 1)); tail -5 "$T/sdk.err" | sed 's/^/# /'; }

yes "$(holder "$db")" ". == $daemon" "all of them used one daemon"
kill "$daemon"
wait "$daemon"
yes $? '. == 0' "it ends well"
done_testing
[ $failures = 0 ]
