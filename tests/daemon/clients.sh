#!/bin/bash
# clients: real MCP clients drive the real peakd through a whole workflow, TAP on standard output:
#     tests/daemon/clients.sh
# create → transform (answers replayed) → validate → tune → log, by the Inspector's command line in both eras over stdio and HTTP,
# mcporter, both TypeScript SDK clients, and through mcp-remote. All of them share one daemon, and each judges a small kernel, so
# that a loaded machine is in time too. Needs npm (tests/mcp/npm.sh).
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
	# An empty answer is a client that gave up; jq 1.6 takes it for a true one.
	while [ -n "$answer" ] && jq -e '.state == "queued" or .state == "running"' <<<"$answer" >/dev/null 2>&1; do
		answer=$(tool job "{\"action\":\"wait\",\"wait_s\":45,\"id\":$(jq .job <<<"$answer")}")
	done
	echo "$answer"
}

inspector() { # inspector ARGUMENTS…
	timeout 300 mcp-inspector --cli "${target[@]}" --protocol-era "$era" "$@" 2>>"$T/err"
}

tool() {
	local pairs
	if [ "$client" = mcporter ]; then
		timeout 300 mcporter call --http-url "$url" --allow-http --name peakd \
			"$1" --args "$2" --timeout 280000 --output json 2>>"$T/err"
		return
	fi
	mapfile -d '' pairs < <(jq -j 'to_entries[] | .key + "=" + (.value | tostring), "\u0000"' <<<"$2")
	inspector --method tools/call --tool-name "$1" --tool-arg "${pairs[@]}" | jq .structuredContent
}

# A small context with many configurations, a transformation of it, and a model's recorded answer.
small_context | sed 's/^  BX: .*/&\n  STEP: i for i = 0,999/' >"$T/scale.peak.md"
source=$(jq -Rs . <"$T/scale.peak.md")
mkdir -p "$T/data/peakd/transforms" "$T/data/peakd/recordings/sum"
printf -- '---\nname: sum\nsummary: A sum.\n---\n## Pass 1: The sum\nexpect: valid\n\n### device\nAdd the element to itself.\n' \
	>"$T/data/peakd/transforms/sum.md"
region=$(sed -n '/^```hlsl/,/^```$/p' "$T/scale.peak.md" | sed 's/2\.0 \* A\[id\.x\]/A[id.x] + A[id.x]/')
record() { # record HASH: the answer to the context of that hash
	printf -- '---\ntransformation: sum\npass: 1\nstep: 1\nattempt: 1\ncontext: %s\n---\n\n## answer\n\n````answer\n%s\n````\n' \
		"$1" "$region" >"$T/data/peakd/recordings/sum/sum-1-1-1.md"
}
drive() { # drive WHO WORKFLOW BUDGET
	local at="\"at\":\"$2\",\"device\":\"hlsl:0\",\"wait_s\":45"
	local created
	created=$(tool context_create "{\"name\":\"$2\",\"source\":$source}")
	yes "$created" ".workflow == \"$2\"" "$1: a context is created"
	record "$(jq -r .hash <<<"$created")"
	yes "$(settle transform "{$at,\"transformation\":\"sum\",\"model\":\"replay:sum\",\"samples\":2}")" \
		'.state == "done" and .result.checkpoint > 1' "$1: a transformation is replayed"
	yes "$(settle validate "{$at,\"samples\":2}")" '.state == "done" and .result.passed == true' "$1: the result is valid"
	yes "$(settle tune "{$at,\"budget\":$3}")" ".result.sizes[0].tried == $3 and .result.sizes[0].median_ns > 0" \
		"$1: it is tuned"
	yes "$(tool workflow "{\"action\":\"log\",\"name\":\"$2\"}")" \
		'[.checkpoints[].by] == ["sum", "root"] and .checkpoints[0].best[0].median_ns > 0' "$1: the log shows it"
}

client=inspector
for era in modern legacy; do
	for to in stdio http; do
		target=("$url" --transport http)
		[ $to = stdio ] && target=("$peakd" stdio --db "$db" --transport stdio)
		budget=1
		[ $era$to = modernstdio ] && budget=4
		yes "$(inspector --method tools/list --strict)" '.tools | length >= 11' \
			"inspector, $to, $era: --strict finds no fault"
		yes "$(inspector --method prompts/list)" '.prompts | length >= 3' "inspector, $to, $era: lists prompts"
		drive "inspector, $to, $era" "inspector-$to-$era" $budget
		yes "$(inspector --method resources/read --uri "peak://checkpoint/inspector-$to-$era/measurements")" \
			'.contents[0].mimeType == "text/csv"' "inspector, $to, $era: reads measurements"
	done
done
client=mcporter
drive "mcporter, http" mcporter 1

PEAKD_URL=$url PEAKD_DB=$db timeout 900 node tests/daemon/sdk_drive.mjs "$NPM_DIR" "$peakd" "$T" >"$T/sdk" 2>"$T/sdk.err"
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
