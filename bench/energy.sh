#!/bin/bash
# Less energy at matched speed: kernels at the memory roof whose threads divide to find their indices, against the same loads and
# stores with indices from the grid. Each edit is validated against its root; then both are compared by energy (docs/measuring.md):
# ten alternations of windows of 2 s. A case takes about a minute of the device; no further one begins after -t seconds.
#   energy.sh [-p PEAKD] [-d DEVICE] [-t SECONDS] [-o FOLDER]
# Writes FOLDER/CASE.json, the rows of each comparison, and prints one line a case. Exit status 1 when none shows less energy at
# matched speed.
set -u
peakd=build/peakd device=cuda:0 limit=80 out=energy-out
while getopts p:d:t:o: option; do
	case $option in
	p) peakd=$OPTARG ;; d) device=$OPTARG ;; t) limit=$OPTARG ;; o) out=$OPTARG ;; *) exit 2 ;;
	esac
done
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out" || exit 1
work=$(mktemp -d) shown=1
db=$work/energy.db
stop()
{
	pid=$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' "$db.lock" 2>/dev/null)
	[ -n "$pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q ' serve ' && kill "$pid"
	cp "$db.log" "$out/daemon.log" 2>/dev/null
	rm -rf "$work"
}
trap stop EXIT

# The tool edit, by a session of `peakd stdio`; prints its answer.
edit() # edit WORKFLOW FILE
{
	python3 - "$peakd" "$db" "$1" "$2" "$device" <<'PYTHON'
import json, subprocess, sys
peakd, db, at, path, device = sys.argv[1:]
p = subprocess.Popen([peakd, "stdio", "--db", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(number, method, params):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    p.stdin.flush()
    for line in p.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            return answer
ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "energy", "version": "1"}})
arguments = {"at": at, "source": open(path, encoding="utf-8").read(), "device": device, "samples": 2, "wait_s": 45}
answer = ask(2, "tools/call", {"name": "edit", "arguments": arguments})
made = answer.get("result", {}).get("structuredContent", {})
while made.get("state") in ("queued", "running"):
    answer = ask(3, "tools/call", {"name": "job", "arguments": {"action": "wait", "id": made["job"], "wait_s": 45}})
    made = answer.get("result", {}).get("structuredContent", {})
print(json.dumps(answer.get("result", answer)))
sys.exit(0 if made.get("result", {}).get("checkpoint") else 1)
PYTHON
}

for case in bias-rows bias-planes; do
	[ "$SECONDS" -lt "$limit" ] || break
	"$peakd" workflow create "$here/energy/$case-cuda.peak.md" --db "$db" >"$out/$case.log" 2>&1 &&
		edit "$case-cuda" "$here/energy/$case-edit.peak.md" >>"$out/$case.log" 2>&1 &&
		"$peakd" compare "$case-cuda" --device "$device" --objective energy \
			--json --db "$db" >"$out/$case.json" 2>>"$out/$case.log"
	if [ $? -ne 0 ]; then
		echo "$case: failed; $out/$case.log says why: $(tail -n 1 "$out/$case.log" | head -c 600)"
		continue
	fi
	python3 - "$case" "$out/$case.json" <<'PYTHON' && shown=0
import json, sys
x = json.load(open(sys.argv[2], encoding="utf-8"))
s = (x.get("result") or x)["sizes"][0]
saved = s["energy_verdict"] == "less" and s["energy_matched"].startswith("times match")
print("%s: %s, %.4g mJ -> %.4g mJ, A/B %.4f (%.4f to %.4f); times A/B %.4f (%s); %s" % (sys.argv[1], s["energy_verdict"], 1e3 * s["a_joules"],
      1e3 * s["b_joules"], s["energy_ratio"], s["energy_low"], s["energy_high"], s["ratio"], s["verdict"], s["energy_matched"]))
sys.exit(0 if saved else 1)
PYTHON
done
exit $shown
