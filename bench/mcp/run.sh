#!/bin/bash
# run: the comparison of bench/mcp/run.py with what it needs: wrk from Debian, the TypeScript SDK from npm (pinned, kept out of the
# repository by tests/mcp/npm.sh): `make bench-mcp`.  OUT: where the figures go (default: build/mcp.json).
set -eu
cd "$(dirname "$0")/../.."
. tests/mcp/npm.sh
npm_need bench node@22 @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2
command -v wrk >/dev/null || sh tests/source/packages.sh install "${BUILD:-build}/deps-bench.log" bench
PEAKD_SHARE=$PWD python3 bench/mcp/run.py "${BUILD:-build}" "$NPM_DIR" "${OUT:-${BUILD:-build}/mcp.json}"
