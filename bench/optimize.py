#!/usr/bin/env python3
"""What policies are worth without a device: made landscapes with a known optimum, and the recorded sequences of bench/results,
where each step needs the one before and models failed as often as the studies say. Writes bench/results/optimize-simulate.json.

    bench/optimize.py build/peakd [SEEDS]"""
import collections
import datetime
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

peakd, seeds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "200"
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def failures():
    """How often the models of the studies failed at a transformation's first try, one failure and one success added to each."""
    seen = {}
    for path in glob.glob(root + "/bench/results/study-*.json"):
        with open(path, encoding="utf-8") as file:
            for row in json.load(file)["rows"]:
                if row.get("tries"):
                    seen[row["transformation"]] = (row["tries"] - row["right"] + 1) / (row["tries"] + 2)
    return seen


def steps(path):
    """(name, times as fast as the step before) of one recorded sequence: geometric means over input sizes of paired speed-ups."""
    gains = collections.OrderedDict()
    with open(path, encoding="utf-8") as file:
        for row in json.load(file)["rows"]:
            if row.get("validated") and row.get("speedup"):
                gains.setdefault(row["step"], []).append(math.log(row["speedup"]))
    logs = [(name, sum(v) / len(v)) for name, v in gains.items()]
    return [(name, math.exp(log - before)) for (_, before), (name, log) in zip(logs, logs[1:])]


def simulate(what, calls):
    command = [peakd, "optimize", "--simulate", what, "--calls", str(calls), "--seeds", seeds, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


fails, results, ratios = failures(), [], []
results.append(simulate("made", 24))
for path in sorted(glob.glob(root + "/bench/results/*-h200.json")):
    name = os.path.basename(path)[:-len("-h200.json")]
    if not name.endswith(("cuda", "hip")):
        continue
    line = steps(path)
    if len(line) < 2:
        continue
    ratios += [r for _, r in line]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines("%s %.4f %.4f\n" % (step, ratio, fails.get(step, 0.15)) for step, ratio in line)
        file.flush()
        result = simulate(file.name, 2 * len(line) + 8)
    result["landscape"] = "recorded: %s on an H200, %d steps" % (name, len(line))
    results.append(result)
report = {"command": "bench/optimize.py build/peakd %s" % seeds, "date": datetime.date.today().isoformat(),
          "recorded_steps": len(ratios), "recorded_steps_above_2x": sum(r > 2 for r in ratios), "results": results}
with open(root + "/bench/results/optimize-simulate.json", "w", encoding="utf-8") as file:
    json.dump(report, file, indent=1)
    file.write("\n")
for result in results:
    print(result["landscape"], "calls", result["calls"])
    last = "regret_%d" % result["calls"]
    for row in result["rows"]:
        print("   %-12s %5.1f %% regret, best found in %5.1f %%" % (row["policy"], 100 * row[last]["mean"], 100 * row["found"]))
print(report["recorded_steps_above_2x"], "of", report["recorded_steps"], "recorded steps above 2x")
