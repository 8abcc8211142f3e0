#!/usr/bin/env python3
"""Writes a made-up folder like those of bench/ladder/run.sh: ladder_folder.py SCHEMA_FOLDER FOLDER.

Five steps at two sizes with a library; at n=2048 the fastest step is not the last one. Both sizes end about
as fast, so that the picture has its names close together. One tune was cut off for an hour, one transformation was
cancelled and made again. Five fresh profiles, whose figures are chosen so that their median is no mean.
"""
import glob
import json
import os
import sqlite3
import sys

STEPS = ("baseline", "tma-load", "wgmma", "tma-pipelining", "warp-specialize")
TIMES = {2048: (3.2, 1.0, 0.05, 0.036, 0.04), 4096: (16.6, 7.8, 0.32, 0.26, 0.2)}
FRESH = {2048: ((0.041, 0.91), (0.040, 0.93), (0.042, 0.90), (0.0404, 0.92), (0.0512, 0.75)),
         4096: ((0.201, 0.98), (0.200, 1.00), (0.199, 1.02), (0.202, 0.97), (0.2002, 0.99))}
LIBRARY = {2048: 0.0368, 4096: 0.2}
HOUR = 3600000
schema, folder = sys.argv[1:3]


class Record:
    """Jobs one after the other, half a second apart."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        for file in sorted(glob.glob(os.path.join(schema, "*-*.sql"))):
            with open(file, encoding="utf-8") as f:
                self.db.executescript(f.read())
        self.now, self.count = 1700000000000, 0

    def event(self, job, kind):
        self.db.execute("INSERT INTO job_event SELECT ?, 1 + (SELECT count(*) FROM job_event WHERE job_id = ?), ?, ?, 0, 0, ''",
                        (job, job, self.now, kind))

    def job(self, kind, took, request, result, cut=None, state="done"):
        """took is in seconds. With cut, the daemon died after that many, and the next one continued an hour later."""
        self.count += 1
        job = f"j{self.count}"
        self.now += 500
        self.db.execute("INSERT INTO job (id, kind, request, state, created_ms, result) VALUES (?, ?, ?, ?, ?, ?)",
                        (job, kind, request, state, self.now, result))
        for name in ("queued", "running"):
            self.event(job, name)
        if cut:
            self.now += 1000 * cut
            self.event(job, "progress")
            self.now += HOUR
            for name in ("interrupted", "queued", "running"):
                self.event(job, name)
        self.now += int(1000 * took)
        self.event(job, state)
        return job


def run_rows():
    rows = []
    for i, step in enumerate(STEPS):
        for n, times in TIMES.items():
            ratio = LIBRARY[n] / times[i]
            rows.append({"context": "matmul-fp16-cuda", "step": step, "validated": True, "checkpoint": i + 1, "n": n,
                         "median_ms": times[i], "gflops": 2e-6 * n ** 3 / times[i], "speedup": times[0] / times[i], "evidence": 7,
                         "library_ratio": ratio, "library_low": 0.99 * ratio, "library_high": 1.01 * ratio,
                         "params": f"TILE_N={64 + i}"})
    return rows


def write(name, what):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(what, f)


def main():
    os.makedirs(folder)
    record = Record(os.path.join(folder, "ladder.db"))
    record.job("validate", 4, "checkpoint: 1\n",
               "passed: 1\nleased_seconds: 3\nvalidation_seconds: 4\nvalidation_leased_seconds: 3\n")
    for i, step in enumerate(STEPS):
        if step == "tma-pipelining":
            record.job("transform", 7, f"transformation: {step}\ncheckpoint: {i}\n", None, state="cancelled")
        if i:
            record.job("transform", 6, f"transformation: {step}\ncheckpoint: {i}\n",
                       f"checkpoint: {i + 1}\nleased_seconds: 2\nvalidation_seconds: 2.5\nvalidation_leased_seconds: 2\n")
        record.job("tune", 20, f"checkpoint: {i + 1}\n",
                   "count: 2\nleased_seconds: 15\nvalidation_seconds: 9\nvalidation_leased_seconds: 8\n",
                   cut=30 if step == "wgmma" else None)
    for k in range(5):
        for n, fresh in FRESH.items():
            job = record.job("profile", 3, f"checkpoint: {len(STEPS)}\nsizes: n={n}\n", "leased_seconds: 2\n")
            median, ratio = fresh[k]
            size = {"size": f"n={n}", "params": "TILE_N=68", "cold_ns": 1e6 * median, "warm_ns": 9e5 * median, "rse": 0.001,
                    "samples": 10,
                    "discarded": 0, "library": "cuBLASLt", "library_ratio": ratio, "library_low": ratio - 0.003,
                    "library_high": ratio + 0.003}
            write(f"profile-{k + 1}-n_{n}.json", {"job": job, "kind": "profile", "state": "done",
                                                  "result": {"sizes": [size], "count": 1}})
    record.db.commit()
    write("run.json", {"device": "NVIDIA H200 (cuda:0)", "driver": "driver 580", "date": "2026-11-22T00:00:00Z", "ran": True,
                       "emulated": False,
                       "command": "build/peakd run examples/m.peak.md --budget 24 --db out/ladder.db --json out/run.json",
                       "rows": run_rows()})


main()
