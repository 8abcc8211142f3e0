#!/usr/bin/env python3
"""Writes the results of ladders on the H200 into docs/peak-replication.md, beside PEAK's figures.

    replication.py [--results FOLDER] [DOCUMENT]

It reads matmul-{fp16,fp32,fp32-tensor}-cuda-h200.json in bench/results/, those that exist. In the document the comments
`<!-- h200 ladders: from bench/results/…: KIND -->` and `<!-- end -->` enclose each table. KIND is final, steps or time. The script
replaces only the rows of these tables that begin with `| peakd |`.
"""
import argparse
import json
import os
import re
import sys

PRECISIONS = ("fp32", "fp32-tensor", "fp16")
CEILINGS = {"fp32": 63.6, "fp16": 957}  # TFLOP/s, measured: docs/results.md, pipe by pipe
BLOCK = re.compile(r"(<!-- h200 ladders: from bench/results/.*?: (\w+) -->\n)(.*?)(\n<!-- end -->)", re.S)


def figure(value):
    """Four digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def each_size(result):
    """[(n, rows of that size in the order of the steps)], only validated steps."""
    sizes = {}
    for row in result["rows"]:
        if row["validated"] and row.get("median_ms"):
            sizes.setdefault(row["n"], []).append(row)
    return sorted(sizes.items())


def of_ceiling(precision, row):
    reached = row["gflops"] / 1000
    ceiling = CEILINGS.get(precision)
    return f"{figure(reached)} TFLOP/s" + (f", {100 * reached / ceiling:.1f} % of {ceiling}" if ceiling else "")


def of_library(row):
    if "library_ratio" not in row:
        return "not taken"
    low, middle, high = (f"{100 * row[key]:.1f}" for key in ("library_low", "library_ratio", "library_high"))
    return f"{middle} % ({low} to {high})"


def final(precision, result):
    """One row: the last validated step at each size."""
    sizes = [rows for _, rows in each_size(result)]
    last = [rows[-1] for rows in sizes]
    runs = min(row.get("runs_count", 0) for row in last)
    cells = ["H200, CUDA", precision, " / ".join(str(n) for n, _ in each_size(result)),
             " / ".join(f"{row['speedup']:.2f}×" for row in last),
             " / ".join(of_ceiling(precision, row) for row in last), " / ".join(of_library(row) for row in last),
             f"{runs} fresh processes" if runs else "the tuning run's", " / ".join(str(len(rows) - 1) for rows in sizes)]
    return [cells]


def steps(precision, result):
    """A row per size: the gain of each step over the one before, in pairs; of ladders before pairs were kept, both from the tuning
    run."""
    table = []
    for n, rows in each_size(result):
        times = [row.get("tuned", row)["median_ms"] for row in rows]
        gains = ", ".join(f"{row['step']} {row.get('step_speedup', before / after):.2f}"
                          for row, before, after in zip(rows[1:], times, times[1:]))
        table.append([f"H200 {precision}, n = {n}", gains])
    return table


def time(precision, result):
    """One row: wall-clock seconds by what they were spent on."""
    if "time" not in result:
        return []
    spent = result["time"]["total"]
    budget = re.search(r"--budget (\S+)", result["command"])
    note = f"; jobs cut off: {spent['cut_off_jobs']}, see `time.notes`" if spent.get("cut_off_jobs") else ""

    def cell(seconds):
        return f"{figure(seconds)} s ({100 * seconds / spent['total_s']:.2f} %)"
    return [[f"H200 {precision}, {'budget ' + budget.group(1) if budget else 'the default budget'}{note}",
             cell(spent["validation_s"]),
             cell(spent["transforms_s"]), cell(spent["tuning_s"]), cell(spent["profile_s"] + spent["other_s"]),
             f"{figure(spent['total_s'])} s"]]


KINDS = {"final": final, "steps": steps, "time": time}


def load(folder):
    results = []
    for precision in PRECISIONS:
        path = os.path.join(folder, f"matmul-{precision}-cuda-h200.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                results.append((precision, json.load(f)))
    return results


def fill(text, results):
    """The document with our rows replaced, and their number."""
    count = 0

    def block(found):
        nonlocal count
        if found.group(2) not in KINDS:
            sys.exit(f"replication.py: a block of the kind {found.group(2)}: there are {', '.join(KINDS)}")
        kept = [line for line in found.group(3).split("\n") if line and not line.startswith("| peakd |")]
        ours = ["| peakd | " + " | ".join(cells) + " |" for precision, result in results
                for cells in KINDS[found.group(2)](precision, result)]
        count += len(ours)
        return found.group(1) + "\n".join(kept + ours) + found.group(4)
    filled, blocks = BLOCK.subn(block, text)
    if not blocks:
        sys.exit("replication.py: the document has no block \"<!-- h200 ladders: from bench/results/…: KIND -->\" … \"<!-- end -->\"")
    return filled, count


def main():
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--results", default=os.path.join(top, "bench", "results"), help="where the ladders' JSON is")
    parser.add_argument("document", nargs="?", default=os.path.join(top, "docs", "peak-replication.md"))
    arguments = parser.parse_args()
    with open(arguments.document, encoding="utf-8") as f:
        text, count = fill(f.read(), load(arguments.results))
    with open(arguments.document, "w", encoding="utf-8") as f:
        f.write(text)
    print(f"{count} rows")


if __name__ == "__main__":
    main()
