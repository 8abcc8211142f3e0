#!/bin/bash
# conformance: runs the official MCP conformance suite against tests/mcp/conformance_server, one line per revision:
#     tests/mcp/conformance.sh [SERVER]        (default: build/tests/mcp/conformance_server)
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
exit $status
