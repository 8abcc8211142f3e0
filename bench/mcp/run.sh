#!/bin/bash
# Runs bench/mcp/run.py after installing what it needs: wrk from Debian and the TypeScript SDK from npm. tests/mcp/npm.sh pins the
# SDK and keeps it out of the repository. `make bench-mcp` calls this. OUT: the file for the figures (default: build/mcp.json).
set -eu
cd "$(dirname "$0")/../.."
. tests/mcp/npm.sh
npm_need bench node@22 @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/node@2.1.2
command -v wrk >/dev/null || sh tests/source/packages.sh install "${BUILD:-build}/deps-bench.log" bench
PEAKD_SHARE=$PWD python3 bench/mcp/run.py "${BUILD:-build}" "$NPM_DIR" "${OUT:-${BUILD:-build}/mcp.json}"
