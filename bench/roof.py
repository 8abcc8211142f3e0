#!/usr/bin/env python3
"""What stopping near the roof would have saved on the recorded sequences: a model is no longer asked once every size runs at so
many percent of a measured ceiling. Steps and times are those of bench/results/NAME-h200.json, tokens those of the study of the same
sequence.

    bench/roof.py                               # writes bench/results/roof-stop.json"""
import datetime
import itertools
import json
import math
import os

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SEQUENCES = {
    "matmul-fp16-cuda": "h200-fp16", "matmul-fp32-cuda": "h200-fp32", "batched-matmul-fp16-cuda": "h200-batched-fp16",
    "softmax-fp16-cuda": "softmax-fp16-cuda", "rmsnorm-fp16-cuda": "rmsnorm-fp16-cuda",
}


def load(name):
    with open("%s/bench/results/%s.json" % (root, name), encoding="utf-8") as file:
        return json.load(file)


def percent(run):
    return max(run.get("pipe_percent") or 0, run.get("copy_percent") or 0)


def line_of(name, study):
    """(step, tokens, ln of times as fast as the baseline, least percent of a roof over the sizes), in order."""
    rows = load(name + "-h200")["rows"]
    size = lambda row: row.get("sizes") or row.get("n")
    # A final row says how near the roof its time is; other times follow.
    roofs = {size(row): percent(row["runs"][0]) * row["runs"][0]["median_ms"] for row in rows if row.get("final")}
    tokens = {row["transformation"]: (row["tokens_in"] + row["tokens_out"]) / row["tries"]
              for row in load("study-" + study)["rows"] if row.get("tries")}
    steps = []
    for row in rows:
        if not row.get("final") and row["step"] not in [s["step"] for s in steps]:
            steps.append({"step": row["step"], "sizes": {}})
        if not row.get("final") and row.get("validated"):
            steps[-1]["sizes"][size(row)] = (math.log(row.get("speedup") or 1), roofs.get(size(row), 0) / row["median_ms"])
    # The last step was measured again by fresh processes.
    for row in rows:
        if row.get("final"):
            if steps[-1]["step"] != row["step"]:
                steps.append({"step": row["step"], "sizes": {}})
            steps[-1]["sizes"][size(row)] = (math.log(row["speedup"]), percent(row["runs"][0]))
    return [{"step": s["step"], "tokens": round(tokens.get(s["step"], 0)),
             "gain": sum(g for g, _ in s["sizes"].values()) / len(s["sizes"]),
             "percent": min(p for _, p in s["sizes"].values())} for s in steps if s["sizes"]]


lines = {name: line_of(name, study) for name, study in SEQUENCES.items()}
answer = {"command": "bench/roof.py", "date": datetime.date.today().isoformat(), "device": "NVIDIA H200", "lines": lines,
          "stops": []}
for stop in range(50, 96, 5):
    spent = asked = 0
    kept = []
    for line in lines.values():
        best, stopped = 0.0, False
        for step in line:
            asked += step["tokens"]
            if stopped:
                continue
            spent += step["tokens"]
            best = max(best, step["gain"])
            stopped = step["percent"] >= stop
        kept.append(best / max(step["gain"] for step in line))
    answer["stops"].append({"percent": stop, "tokens_saved": round(1 - spent / asked, 3), "least_gain_kept": round(min(kept), 3),
                            "mean_gain_kept": round(sum(kept) / len(kept), 3)})
# What any rule could save that stops each sequence at some step: the most tokens with 95 % of the gain kept, on average and in
# each.
ends = []
for line in lines.values():
    most, all_tokens = max(step["gain"] for step in line), sum(step["tokens"] for step in line)
    ends.append([(all_tokens - sum(s["tokens"] for s in line[:i + 1]), max(s["gain"] for s in line[:i + 1]) / most)
                 for i in range(len(line))])
answer["oracle"] = {
    "tokens_saved_at_95_on_average": round(max(sum(s for s, _ in ways) for ways in itertools.product(*ends)
                                               if sum(kept for _, kept in ways) >= 0.95 * len(ways)) / asked, 3),
    "tokens_saved_at_95_in_each": round(sum(max(s for s, kept in way if kept >= 0.95) for way in ends) / asked, 3)}
with open(root + "/bench/results/roof-stop.json", "w", encoding="utf-8") as file:
    json.dump(answer, file, indent=1)
    file.write("\n")
for row in answer["stops"]:
    print("%d %% of a roof: %.1f %% of the tokens saved, %.1f %% of the gain kept on average, %.1f %% at least" %
          (row["percent"], 100 * row["tokens_saved"], 100 * row["mean_gain_kept"], 100 * row["least_gain_kept"]))
print("the best of all rules, at 95 %% of the gain: %(tokens_saved_at_95_on_average).3f of the tokens on average, "
      "%(tokens_saved_at_95_in_each).3f in each sequence" % answer["oracle"])
