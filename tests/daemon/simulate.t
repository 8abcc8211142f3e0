#!/bin/sh
# peakd tune --simulate replays a small space in Kernel Tuner's format, plain and gzipped, and says what is wrong with other files.
. "$(dirname "$0")/lib.sh"

python3 - "$T/space.json" <<'PY'
import json, sys
cache = {}
for x in (1, 2, 4, 8, 16):
    for mode in ("a", "b"):
        cache[f"{x},{mode}"] = {"x": x, "mode": mode, "time": "RuntimeFailedConfig" if x == 16 else 10.0 / x + (mode == "b")}
json.dump({"tune_params_keys": ["x", "mode"], "tune_params": {"x": [1, 2, 4, 8, 16], "mode": ["a", "b"]}, "cache": cache},
          open(sys.argv[1], "w"))
PY
gzip -k "$T/space.json"

"$peakd" tune --simulate "$T/space.json" --strategy exhaustive --budget 10 --seeds 2 --json >"$T/out" 2>"$T/err"
is $? 0 "a plain file is replayed"
is "$(cat "$T/err")" "" "a replay writes nothing to stderr"
is "$(jq -c '[keys, (.["0"] | length), (.["0"] | map(select(. == null)) | length), (.["1"] | map(select(.)) | min)]' "$T/out")" \
	'[["0","1"],10,2,1.25]' "the output lists the times of each seed, null for a failure"
"$peakd" tune --simulate "$T/space.json.gz" --budget 6 --seeds 3 --json >"$T/a"
"$peakd" tune --simulate "$T/space.json.gz" --budget 6 --seeds 1 --seed 2 --json >"$T/b"
is "$(jq -c '.["2"]' "$T/a")" "$(jq -c '.["2"]' "$T/b")" \
	"a seed gives the same run whatever ran before it, also from a gzipped file"
has "$("$peakd" tune --simulate "$T/space.json.gz" --budget 10 --seeds 3)" "100.0 %" "without --json one line gives the result"

wrong() # wrong STATUS PART ARGUMENTS…
{
	status=$1 part=$2
	shift 2
	"$peakd" tune "$@" >"$T/out" 2>"$T/err"
	is $? "$status" "peakd tune $*: exit status $status"
	has "$(cat "$T/err")" "$part" "peakd tune $* says: $part"
}
echo '{}' >"$T/empty.json"
wrong 1 "tune_params_keys" --simulate "$T/empty.json"
wrong 1 "cannot be opened" --simulate "$T/none.json"
wrong 1 "there are auto" --simulate "$T/space.json" --strategy best
wrong 2 "a checkpoint to tune or a space to replay"
wrong 2 "a checkpoint to tune or a space to replay" mm --simulate "$T/space.json"
done_testing
