#!/bin/sh
# What `make demo` runs: demo.sh PEAKD. The main job from a fresh database: a naive matrix product, made faster by the shipped
# sequence of transformations, every answer of the model replayed from recordings, every step compiled, validated and tuned here.
# It leaves the database for `peakd workflow log`.
set -eu
peakd=$1
here=$(cd "$(dirname "$0")" && pwd)
db=${DEMO_DB:-$(dirname "$peakd")/demo.peakdb}

# A daemon of an earlier demo may still hold the database for some seconds: it is asked to end, and its lock is waited for.
holder=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$db.lock" 2>/dev/null || true)
if [ -n "$holder" ] && grep -qzx serve "/proc/$holder/cmdline" 2>/dev/null; then
	kill "$holder" || true
	for _ in $(seq 100); do
		kill -0 "$holder" 2>/dev/null || break
		sleep 0.1
	done
fi
rm -f "$db" "$db-wal" "$db-shm" "$db.lock" "$db.log"

"$peakd" run "$here/matmul-fp32-hlsl.peak.md" --db "$db" --model replay:matmul-fp32-hlsl ${DEMO_OPTIONS:---budget 28 --samples 4}
echo "the history: $peakd workflow log matmul-fp32-hlsl --db $db"
