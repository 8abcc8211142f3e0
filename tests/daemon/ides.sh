#!/bin/bash
# ides: the assistants that npm has connect to peakd with the configuration that docs/clients.md shows, TAP on standard output:
#     tests/daemon/ides.sh
# Claude Code, Codex and Gemini CLI, stdio and HTTP, without an account: each has a command that connects and says so. They are
# large, so CI does not run this. Each runs with an environment of its own, and keeps its files in the test's folder.
cd "$(dirname "$0")/../.." || exit 1
. tests/mcp/npm.sh
npm_need ides node@22 @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 || exit 1
PEAKD=${PEAKD:-$PWD/${BUILD:-build}/peakd}
. tests/daemon/lib.sh
db=$T/a.db
"$peakd" serve --listen 127.0.0.1:0 --db "$db" 2>"$T/log" &
wait_for 10 grep -q serving "$T/log"
url=$(sed -n 's,.*\(http://127.0.0.1:[0-9]*/mcp\).*,\1,p' "$T/log")
mkdir "$T/project" "$T/.gemini"
cd "$T/project" || exit 1

run() { # run COMMAND…: for a minute at most, in the test's own world
	env -i HOME="$T" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" PATH="$PATH" TERM=dumb GEMINI_CLI_TRUST_WORKSPACE=true \
		DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 timeout 60 "$@" 2>>"$T/err"
}

run claude mcp add peakd -- "$peakd" stdio --db "$db" </dev/null >/dev/null
run claude mcp add --transport http peakd-http "$url" </dev/null >/dev/null
said=$(run claude mcp list </dev/null)
has "$said" "stdio --db $db - ✔ Connected" "Claude Code connects over stdio"
has "$said" "$url (HTTP) - ✔ Connected" "and over HTTP"

jq -n --arg peakd "$peakd" --arg db "$db" --arg url "$url" \
	'{mcpServers: {peakd: {command: $peakd, args: ["stdio", "--db", $db]}, "peakd-http": {httpUrl: $url}}}' >"$T/.gemini/settings.json"
said=$(run sh -c 'gemini mcp list 2>&1' </dev/null)
has "$said" "(stdio) - Connected" "Gemini CLI connects over stdio"
has "$said" "(http) - Connected" "and over HTTP"

run codex mcp add peakd -- "$peakd" stdio --db "$db" </dev/null >/dev/null
run codex mcp add peakd-http --url "$url" </dev/null >/dev/null
# Its `mcp list` only reads the configuration; the server that its IDE extension talks to connects.
{
	echo '{"id":1,"method":"initialize","params":{"clientInfo":{"name":"t","title":"t","version":"1"}}}'
	echo '{"method":"initialized"}'
	echo '{"id":2,"method":"mcpServerStatus/list","params":{}}'
	wait_for 40 grep -q '"id":2' "$T/codex"
} | run codex app-server >"$T/codex"
servers=$(jq -c 'select(.id == 2) | [.result.data[] | select(.tools | has("tune")) | .name] | sort' "$T/codex")
is "$servers" '["peakd","peakd-http"]' "Codex lists the tools of both"
done_testing
