# lib: shared by the black-box tests of the daemon, which source it. Each test has its own folder for database, socket and recordings.
# Daemons that a test leaves running are killed at its end, by their process id.
set -u
T=$(mktemp -d "${TMPDIR:-/tmp}/peakd-t.XXXXXX")
root=$(cd "$(dirname "$0")/../.." && pwd)
peakd=${PEAKD:-$root/build/peakd}
export XDG_RUNTIME_DIR="$T/run" XDG_DATA_HOME="$T/data" XDG_CACHE_HOME="$T/cache" PEAKD_SHARE="$root" TMPDIR="$T/tmp"
# Each test has its own device locks, so that no test waits for a device that another test holds.
export PEAKD_LOCK_SPACE="${T##*/}"
unset PEAKD_DB PEAKD_MODEL
mkdir -m 700 "$T/run" "$T/data" "$T/cache" "$T/tmp"
count=0
limit=$((${TEST_SECONDS:-600} - 20)) # seconds, for a command that takes most of a file's time

# Prints the process id of the daemon that holds a database, or nothing.
holder()
{
	pid=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$1.lock" 2>/dev/null)
	[ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ' serve ' && echo "$pid"
}

# Waits up to SECONDS until a command succeeds.
wait_for()
{
	deadline=$(($(date +%s) + $1))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $deadline ] || return 1
		sleep 0.02
	done
}

# Succeeds if TOOK milliseconds are below LIMIT, the limit for an idle machine. On a loaded machine the limit grows by the measured ratio
# of wall-clock time to processor time.
soon() # soon TOOK LIMIT
{
	limit=$(python3 -c 'import sys, time
wall, used = time.perf_counter(), time.process_time()
while time.process_time() - used < 0.1: pass
print(int(float(sys.argv[1]) * max(1, (time.perf_counter() - wall) / (time.process_time() - used))))' "$2")
	[ "$1" -lt "$limit" ]
}

# Holds the device hlsl:0 as another process on this machine would, until let_go. $holding is its process.
hold_device() # hold_device DATABASE
{
	uuid=$("$peakd" devices --db "$1" --json | jq -r '.devices[] | select(.id == "hlsl:0") | if .shares_cpu then .uuid else .uuid[7:39] end')
	python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
while True:
    try:
        s.bind("\0peakd-device-%s@%s" % (sys.argv[1], os.environ["PEAKD_LOCK_SPACE"]))
        break
    except OSError:
        time.sleep(0.02)
s.listen()
open(sys.argv[2], "w").close()
time.sleep(1000)' "$uuid" "$T/held" &
	holding=$!
	wait_for 60 test -f "$T/held"
	rm -f "$T/held"
}
let_go()
{
	kill "$holding"
	wait "$holding" 2>/dev/null
	holding=
}

# Starts a daemon with an HTTP endpoint; its log is $T/log. Sets $daemon, its process, and $port.
serve_http() # serve_http DATABASE [OPTION…]
{
	"$peakd" serve --listen 127.0.0.1:0 --db "$@" 2>"$T/log" &
	daemon=$!
	wait_for 60 grep -q serving "$T/log"
	port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\)/mcp.*,\1,p' "$T/log")
}

now_ms()
{
	echo $(($(date +%s%N) / 1000000))
}

gone()
{
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

finish()
{
	for lock in "$T"/*.lock "$T"/*/*.lock "$T"/*/*/*.lock; do
		[ -f "$lock" ] || continue
		pid=$(holder "${lock%.lock}")
		[ -n "$pid" ] && kill "$pid" && wait_for 60 gone "$pid"
	done
	rm -rf "$T"
}
trap finish EXIT
trap 'exit 1' INT TERM

ok() # ok STATUS NAME
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		shift 2
		for line in "$@"; do
			printf '%s\n' "$line" | sed 's/^/#   /'
		done
	fi
}

is() # is GOT WANT NAME [NOTE]
{
	[ "$1" = "$2" ]
	ok $? "$3" "got: $1" "want: $2" ${4+"$4"}
}

has() # has TEXT PART NAME [NOTE]
{
	case $1 in
	*"$2"*) ok 0 "$3" ;;
	*) ok 1 "$3" "got: $1" "part: $2" ${4+"$4"} ;;
	esac
}

skip() # skip COUNT WHY
{
	for _ in $(seq "$1"); do
		count=$((count + 1))
		echo "ok $count # SKIP $2"
	done
}

done_testing()
{
	echo "1..$count"
}

# Skips the remaining tests and ends the script, because this machine lacks something that they need.
skip_rest() # skip_rest COUNT WHY
{
	skip "$1" "$2"
	done_testing
	exit 0
}

need_hlsl() # need_hlsl COUNT DATABASE
{
	timeout 120 "$peakd" devices --db "$2" --json | jq -e '.devices[] | select(.id == "hlsl:0")' >/dev/null ||
		skip_rest "$1" "no device runs HLSL here"
}

# Skips the remaining tests if a run's stderr says that there is no CUDA compiler.
need_cuda_compiler() # need_cuda_compiler COUNT STDERR
{
	! grep -qi 'no CUDA compiler\|nvrtc' "$2" || skip_rest "$1" "no CUDA compiler here: $(head -c 200 "$2" | tr '\n' ' ')"
}

HELLO='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'

# Runs a session of `peakd stdio`: initialize, then the request on standard input, whose id is 2. The session's input ends only after the
# answer, because calls in flight at the end of the input get just two seconds.
asked() # asked DATABASE FILE <REQUEST: writes the answers to FILE
{
	: >"$2"
	(printf '%s\n' "$HELLO"; cat; wait_for 120 grep -q '"id":2' "$2") | timeout 150 "$peakd" stdio --db "$1" >"$2"
}

# Prints the request that makes a workflow of a context's text.
create_request() # create_request WORKFLOW <TEXT
{
	jq -Rsc --arg name "$1" '{jsonrpc:"2.0",id:2,method:"tools/call",params:{name:"context_create",arguments:{source:.,name:$name}}}'
}

# Prints a small context for any device that runs HLSL.
small_context()
{
	cat "$root/tests/daemon/scale.peak.md"
}
