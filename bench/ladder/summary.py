#!/usr/bin/env python3
"""Summarises the folder of bench/ladder/run.sh as the published form of a ladder: NAME.json and NAME.svg in bench/results/.

    summary.py [--into FOLDER] OUTFOLDER NAME

Rows are those of run.json, one per step and size. The last step of each size has `final: true`. Its figures come from the fresh
processes (profile-<i>-<size>.json), and those of the tuning run stay beside them. Profiles of a checkpoint other than the
sequence's last are refused. times.py computes where the time went, plot.py draws.
"""
import argparse
import glob
import json
import os
import re
import sqlite3
import statistics
import sys

import plot
import times

FIGURES = ("median_ms", "library_ratio", "library_low", "library_high")


class Bad(Exception):
    """The folder cannot be summarised; the text says why and what to do."""


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as e:
        raise Bad(f"{path}: {e.strerror}: run bench/ladder/run.sh to its end first") from e
    except ValueError as e:
        raise Bad(f"{path} is not JSON: {e}") from e


def open_record(path):
    if not os.path.exists(path):
        raise Bad(f"{path} does not exist: run bench/ladder/run.sh first")
    return sqlite3.connect(path)


def size_of(row):
    """What a profile calls this row's input size; None for a row without times."""
    return f"n={row['n']}" if "n" in row else row.get("sizes")


def short(value):
    return float(f"{value:.9g}")


def read_profiles(folder, record):
    """{size: [run, ...]} in the order of the fresh processes, and their common checkpoint."""
    runs, checkpoints = {}, set()
    files = glob.glob(os.path.join(folder, "profile-*.json"))
    for path in sorted(files, key=lambda p: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", os.path.basename(p))]):
        answer = load(path)
        name = os.path.basename(path)
        if answer.get("state") != "done":
            raise Bad(f"{name}: the job is {answer.get('state')}: remove the file and run bench/ladder/run.sh again")
        row = record.execute("SELECT request FROM job WHERE id = ?", (answer["job"],)).fetchone()
        if row is None:
            raise Bad(f"{name}: its job {answer['job']} is not in ladder.db: the two belong to different runs")
        checkpoints.add(int(times.fields(row[0])["checkpoint"]))
        for entry in answer["result"]["sizes"]:
            runs.setdefault(entry["size"], []).append(one_run(name, entry))
    if not runs:
        raise Bad(f"{folder} has no profile-*.json: run bench/ladder/run.sh to its end first")
    if len(checkpoints) > 1:
        raise Bad(f"the profiles are of several checkpoints ({sorted(checkpoints)}): remove the old ones and run again")
    return runs, checkpoints.pop()


def one_run(name, entry):
    run = {"file": name, "median_ms": short(entry["cold_ns"] / 1e6), "params": entry["params"]}
    run |= {"warm_ms": short(entry["warm_ns"] / 1e6)} if "warm_ns" in entry else {}
    return run | {key: entry[key] for key in ("samples", "discarded", "rse", "pipe", "pipe_percent", "copy_percent",
                                              "library_ratio", "library_low",
                                          "library_high", "library", "conditions") if key in entry}


def interval(values):
    """The extremes. Whatever the distribution, they enclose the median of such runs unless all runs lie on one side of it."""
    return min(values), max(values)


def coverage(count):
    return 1 - 2 * 0.5 ** count


def final_row(row, runs):
    """The last step's row with the fresh processes' figures in place of the tuning run's."""
    medians = [run["median_ms"] for run in runs]
    ratios = [run["library_ratio"] for run in runs if "library_ratio" in run]
    median = statistics.median(medians)
    low, high = interval(medians)
    params = sorted({run["params"] for run in runs})
    final = row | {"median_ms": short(median), "median_low_ms": low, "median_high_ms": high,
                   "gflops": short(row["gflops"] * row["median_ms"] / median),
                   "params": params[0] if len(params) == 1 else params}
    for key in FIGURES[1:]:
        final.pop(key, None)
    if ratios:
        low, high = interval(ratios) if len(ratios) > 1 else next((run["library_low"], run["library_high"]) for run in runs
                                                                  if "library_ratio" in run)
        final |= {"library_ratio": short(statistics.median(ratios)), "library_low": low, "library_high": high}
    return final | {"final": True, "runs_count": len(runs), "runs": runs,
                    "tuned": {key: row[key] for key in FIGURES + ("params",) if key in row}}


def notes_on(size, rows, final, last_step, counts):
    """What a reader of this size's final row must know besides the figures."""
    notes = []
    tuned = [row for row in rows if row["validated"] and row["median_ms"]]
    fastest = min(tuned, key=lambda row: row["median_ms"])
    if fastest["median_ms"] < final["tuned"]["median_ms"]:
        notes.append(f"{size}: the fastest validated step is {fastest['step']} with {fastest['median_ms']:.4g} ms when it was tuned; "
                     f"the last, {final['step']}, had {final['tuned']['median_ms']:.4g} ms then.")
    if final["step"] != last_step:
        notes.append(f"{size}: the sequence did not get to its end: {last_step} is not validated; final is {final['step']}.")
    if isinstance(final["params"], list):
        notes.append(f"{size}: the fresh processes did not all use the same parameters: see runs.")
    if final["runs_count"] != max(counts):
        notes.append(f"{size}: {final['runs_count']} fresh processes where another size has {max(counts)}.")
    if 0 < sum("library_ratio" in run for run in final["runs"]) < final["runs_count"]:
        notes.append(f"{size}: not every fresh process has a figure of the library: see runs.")
    return notes


def what_is_what(count, has_library):
    """The figures of a final row, in words."""
    if count == 1:
        bounds = "its own figure: a single run has no interval between runs"
    else:
        bounds = (f"the lowest and the highest of the {count} runs' own figures: an interval for the median of such runs, free of "
                  f"assumptions on their distribution, with a coverage of {100 * coverage(count):.4g} % if they are independent (1 - 2 / 2^{count})")
    text = [f"Rows with final: median_ms is the median over {count} fresh processes of each one's cold median; median_low_ms and median_high_ms "
            f"are {bounds}. tuned holds what the tuning run said of the same step."]
    if has_library:
        text.append("library_ratio is the library's time over ours, cold last-level cache, both timed alternately: above 1 ours is faster. In a "
                    "final row it is the median over the fresh processes, and library_low and library_high are " +
                    ("such an interval again" if count > 1 else "the one run's own 95 % interval") + "; "
                    "each run's own 95 % interval, from its pairs, is in runs. In other rows it is one comparison with its own 95 % interval.")
    text.append("Other rows: median_ms of the tuning run, in one process with all other steps. speedup, in final rows too: how many times as fast "
                "as the baseline at its best, timed in pairs after the step's tune, with its 95 % interval (speedup_low, speedup_high).")
    return text


def make_rows(run, runs, checkpoint):
    """(rows, notes): those of run.json, with the final rows replaced."""
    rows, notes, finals = [dict(row) for row in run["rows"]], [], []
    counts = [len(r) for r in runs.values()]
    for size, fresh in runs.items():
        mine = [row for row in rows if size_of(row) == size]
        last = [row for row in mine if row["checkpoint"] == checkpoint and row["validated"]]
        if not last:
            raise Bad(f"the profiles of {size} are of checkpoint {checkpoint}, which is not a validated step of run.json: they belong to "
                      "different runs, or the sequence went wrong (see run.txt)")
        final = final_row(last[-1], fresh)
        notes += notes_on(size, mine, final, rows[-1]["step"], counts)
        rows[next(i for i, row in enumerate(rows) if row is last[-1])] = final
        finals.append(final)
    for size in sorted({size_of(row) for row in rows} - {None} - set(runs)):
        notes.append(f"{size}: no fresh process was run, so no row is final.")
    return rows, what_is_what(max(counts), any("library_ratio" in row for row in rows)) + notes


def clean_command(text):
    """The command as a person would type it, without the paths of the run's own files."""
    words = re.sub(r" --(db|json) \S+", "", text).split(" ")
    return " ".join([os.path.basename(words[0])] + words[1:])


def summary(folder):
    run = load(os.path.join(folder, "run.json"))
    record = open_record(os.path.join(folder, "ladder.db"))
    try:
        runs, checkpoint = read_profiles(folder, record)
        rows, notes = make_rows(run, runs, checkpoint)
        libraries = sorted({run["library"] for fresh in runs.values() for run in fresh if "library_ratio" in run})
        result = {key: run[key] for key in ("device", "driver", "date")} | {"command": clean_command(run["command"]),
                                                                            "ran": run["ran"]}
        result |= {"library": " and ".join(libraries)} if libraries else {}
        result |= {"notes": notes, "rows": rows, "time": times.breakdown(record, rows)}
    except sqlite3.Error as e:
        raise Bad(f"ladder.db: {e}") from e
    finally:
        record.close()
    return result


def say(result):
    for row in (row for row in result["rows"] if row.get("final")):
        library = ""
        if "library_ratio" in row:
            library = f", {result['library']} / ours {row['library_ratio']:.4f} [{row['library_low']:.4f}, {row['library_high']:.4f}]"
        print(f"{size_of(row)}: {row['step']} {row['median_ms']:.5g} ms, {row['gflops']:.5g} GFLOP/s, {row['speedup']:.4g}x{library}, "
              f"{row['runs_count']} runs")
    print("; ".join(f"{key} {value}" for key, value in result["time"]["total"].items() if not isinstance(value, dict)))
    for note in result["notes"]:
        print("note:", note)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--into", default=os.path.join(here, "..", "results"),
                        help="where NAME.json and NAME.svg go (bench/results)")
    parser.add_argument("--note", action="append", default=[], help="one more note, on what the folder does not show")
    parser.add_argument("folder")
    parser.add_argument("name")
    arguments = parser.parse_args()
    try:
        result = summary(arguments.folder)
    except Bad as e:
        sys.exit(f"summary.py: {e}")
    result["notes"] += arguments.note
    with open(os.path.join(arguments.into, arguments.name + ".json"), "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1, ensure_ascii=False)
        f.write("\n")
    with open(os.path.join(arguments.into, arguments.name + ".svg"), "w", encoding="utf-8") as f:
        f.write(plot.draw(result, size_of))
    say(result)


if __name__ == "__main__":
    main()
