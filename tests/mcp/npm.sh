# npm: where the pinned packages for tests of mcp/ are; sourced by conformance.sh and clients.sh. They are installed once
# into $PEAKD_NPM (default: the user's cache), never into the repository. Node 22 comes from npm too.
PEAKD_NPM=${PEAKD_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/peakd-npm}

# npm_need NAME PACKAGE@VERSION...: the folder $PEAKD_NPM/NAME has these; sets NPM_DIR, puts its node first on PATH.
npm_need() {
	NPM_DIR=$PEAKD_NPM/$1
	shift
	if [ "$(cat "$NPM_DIR/.wanted" 2>/dev/null)" != "$*" ]; then
		command -v npm >/dev/null || { echo "npm is missing: apt-get install npm" >&2; return 1; }
		echo "installing $* into $NPM_DIR" >&2
		mkdir -p "$NPM_DIR"
		echo '{"private":true}' >"$NPM_DIR/package.json"
		(cd "$NPM_DIR" && npm install --no-audit --no-fund --loglevel=error "$@" >npm.log 2>&1) ||
			{ tail -5 "$NPM_DIR/npm.log" >&2; return 1; }
		echo "$*" >"$NPM_DIR/.wanted"
	fi
	PATH=$NPM_DIR/node_modules/node/bin:$NPM_DIR/node_modules/.bin:$PATH
}

# server_start PROGRAM: runs the conformance server; sets SERVER_URL and SERVER_PID.
server_start() {
	SERVER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/mcp-server.XXXXXX")
	mkfifo "$SERVER_DIR/in"
	"$1" 0 <"$SERVER_DIR/in" >"$SERVER_DIR/url" 2>"$SERVER_DIR/err" &
	SERVER_PID=$!
	exec 9>"$SERVER_DIR/in"
	for _ in $(seq 600); do
		SERVER_URL=$(cat "$SERVER_DIR/url")
		[ -n "$SERVER_URL" ] && return 0
		sleep 0.1
	done
	cat "$SERVER_DIR/err" >&2
	return 1
}

# server_stop: ends it, and fails when it died or complained.
server_stop() {
	exec 9>&-
	wait "$SERVER_PID"
	local rc=$? said
	said=$(cat "$SERVER_DIR/err")
	rm -rf "$SERVER_DIR"
	[ -z "$said" ] || echo "$said" >&2
	[ $rc = 0 ] && [ -z "$said" ]
}
