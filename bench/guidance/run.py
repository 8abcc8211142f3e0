#!/usr/bin/env python3
"""Does the first guidance of a profile agree with its probes? Profiles every context of a folder that no tool was made for.

usage: run.py -p build/peakd -d hlsl:0 -o bench/results/guidance-NAME.json bench/guidance/hlsl

The probes say what the kernel waits for: whatever makes it fastest when it is free (loads, stores, barriers), or, where nothing
surely gains (a ratio of MARGIN, and an interval above 1), its own instructions. A tool is about one or more of these (ABOUT). The
first guidance agrees when it is about what gains most, or about something that gains within a tenth of that. Without any guidance a
kernel counts as disagreeing. On a busy machine intervals are wide: a profile is repeated up to TRIES times, and of each probe the
narrowest interval counts. A kernel with an interval wider than UNCLEAR tells nothing: it is listed and not counted.
"""
import argparse
import glob
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

MARGIN, TRIES, WIDE, UNCLEAR = 1.25, 3, 1.3, 2.0
ABOUT = {
    "coalescing": "loads", "vector-width": "loads instructions", "reuse": "loads instructions", "cache-resident": "loads stores",
    "traffic-roof": "loads stores",
    "occupancy": "loads", "scoreboard": "loads", "async-copy": "loads", "l2-reuse": "loads",
    "store-coalescing": "stores", "spill": "instructions", "barrier": "barriers", "barrier-wait": "barriers",
    "cpu-barrier": "barriers",
    "arithmetic-roof": "instructions", "cpu-instructions": "instructions", "cpu-loads": "instructions", "cpu-lanes": "loads",
    "cpu-gather": "loads", "cpu-reuse": "loads instructions", "cpu-atomics": "instructions", "index-arithmetic": "instructions",
    "atomics": "instructions",
    "bank-conflict": "instructions", "shared-traffic": "instructions", "cpu-shared-memory": "instructions",
    "grid-fill": "loads instructions",
    "launch-overhead": "instructions", "tensor-path": "instructions", "wave-tail": "instructions", "energy": "",
}


def peakd(args, *words):
    return subprocess.run([args.peakd, *words, "--db", args.db], capture_output=True, text=True, timeout=300)


def figures_of(args, name):
    """The figures of the newest profile, from the database."""
    with sqlite3.connect(f"file:{args.db}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT m.name, m.value FROM metric m JOIN workflow w ON w.head_id = m.checkpoint_id WHERE w.name = ? AND m.name LIKE "
                          "'figure.%' ORDER BY m.id", (name,))
        return {figure[len("figure."):]: float(f"{value:.4g}") for figure, value in rows}


def width(probe):
    return probe["high"] / probe["low"] if probe.get("low") else float("inf")


def profile(args, name):
    """The last profile's first size, with the narrowest interval of each probe."""
    best, size = {}, None
    for _ in range(TRIES):
        told = peakd(args, "profile", name, "--device", args.device, "--probes", "--json")
        size = json.loads(told.stdout)["result"]["sizes"][0]
        for probe in size.get("probes", []):
            if probe.get("ratio") and width(probe) < width(best.get(probe["free"], {})):
                best[probe["free"]] = probe
        if all(width(probe) <= WIDE for probe in best.values()):
            break
    return size, best


def judge(size, best, figures):
    gains = {what: probe["ratio"] for what, probe in best.items()}
    sure = {what: probe["ratio"] for what, probe in best.items() if probe["ratio"] >= MARGIN and probe["low"] > 1}
    limits = [what for what, gain in sure.items() if gain >= 0.9 * max(sure.values())] or ["instructions"]
    first = (size.get("guidance") or [{}])[0].get("tool")
    agrees = first is not None and any(what in ABOUT.get(first, "").split() for what in limits)
    return {"class": size.get("class"), "first": first, "all": [g["tool"] for g in size.get("guidance", [])],
            "probes": {k: [round(best[k][x], 3) for x in ("ratio", "low", "high")] for k in gains}, "limits": limits,
            "agrees": agrees,
            "unclear": any(width(probe) > UNCLEAR for probe in best.values()), "figures": figures}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-p", dest="peakd", default="build/peakd")
    ap.add_argument("-d", dest="device", required=True)
    ap.add_argument("-o", dest="out", required=True)
    ap.add_argument("folder")
    args = ap.parse_args()
    rows, clear, agree = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        args.db = os.path.join(folder, "guidance.db")
        for path in sorted(glob.glob(os.path.join(args.folder, "*.peak.md"))):
            name = os.path.basename(path)[:-len(".peak.md")]
            made = peakd(args, "run", path, "--device", args.device, "--budget", "1", "--samples", "2")
            try:
                row = judge(*profile(args, name), figures_of(args, name))
            except (ValueError, KeyError, IndexError):
                row = {"failed": (made.stdout + made.stderr)[-300:], "agrees": False}
            rows.append({"kernel": name, **row})
            print(json.dumps(rows[-1]), flush=True)
            clear = [row for row in rows if not row.get("unclear")]
            agree = sum(row["agrees"] for row in clear)
            with open(args.out, "w") as f:
                json.dump({"device": args.device, "margin": MARGIN, "agree": agree, "of": len(clear),
                           "unclear": len(rows) - len(clear),
                           "rows": rows}, f, indent=1)
                f.write("\n")
    print(f"{agree} of {len(clear)} agree; {len(rows) - len(clear)} are unclear")
    return 0 if agree >= 0.8 * len(clear) else 1


if __name__ == "__main__":
    sys.exit(main())
