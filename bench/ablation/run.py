#!/usr/bin/env python3
"""What a search is worth without its reviewer, its notes, its profiles, or all of them: the same problems, the same number of calls
of a model, one database for each problem, arm and seed, so that no search sees another. The device is reached in batches
(docs/drain.md).

    run.py begin  peakd FOLDER                 a database for each problem, and in it a search whose first tune and profile wait
    run.py export peakd FOLDER                 what waits, as FOLDER/drain/NAME
    run.py drain  peakd FOLDER GPUS            on the machine with the device: runs FOLDER/drain/*, one process a GPU
    run.py merge  peakd FOLDER                 takes the results
    run.py fork   peakd FOLDER SEED            a copy of each problem for each arm
    run.py step   peakd FOLDER CALLS           each search goes on by one experiment, as long as its calls last; PEAKD_MODEL
                                               answers, in which @ stands for arm and seed: a conversation of its own for each
    run.py ends   peakd FOLDER                 a validation of each end waits
    run.py table  peakd FOLDER                 prints the rows as JSON
"""
import concurrent.futures
import glob
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
ARMS = {
    "full": ["--policy", "coder-judge"],
    "no-reviewer": ["--policy", "greedy"],
    "no-knowledge": ["--policy", "coder-judge", "--without", "knowledge"],
    "no-profile": ["--policy", "coder-judge", "--without", "profile"],
    "search": ["--policy", "random", "--without", "profile,knowledge,history"],
}
DEVICE = "cuda:0"
SEARCH = ["--device", "cuda:sm_90a", "--batch", DEVICE, "--tune", "12", "--samples", "4"]


def peakd(*command, check=True, log=None, env=None):
    done = subprocess.run([program, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write("$ peakd %s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    if check and done.returncode:
        sys.exit("peakd %s: %s" % (" ".join(command), done.stderr))
    return done


def databases(pattern):
    return sorted(glob.glob(folder + "/" + pattern + ".peakdb"))


def name_of(db):
    return os.path.basename(db)[:-len(".peakdb")]


def rows(db, query, *values):
    with sqlite3.connect(db) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute(query, values).fetchall()


def begin():
    os.makedirs(folder + "/drain", exist_ok=True)
    for path in sorted(glob.glob(here + "/*-cuda.peak.md")):
        name = os.path.basename(path)[:-len("-cuda.peak.md")]
        db = "%s/%s.peakdb" % (folder, name)
        peakd("workflow", "create", path, name, "--db", db)
        peakd("optimize", "1", *SEARCH, "--seconds", "0.000001", "--db", db)


def waiting(db):
    return rows(db, "SELECT count(*) FROM job WHERE state = 'queued' AND kind IN ('tune', 'profile', 'validate')")[0][0]


def export():
    shutil.rmtree(folder + "/drain", ignore_errors=True)
    os.makedirs(folder + "/drain")
    for db in databases("*"):
        if waiting(db):
            peakd("drain", "export", folder + "/drain/" + name_of(db), "--db", db)


def drain(gpus):
    bundles = sorted(glob.glob(folder + "/drain/*"))
    free = list(range(gpus))

    def one(bundle):
        gpu = free.pop()
        done = subprocess.run([program, "drain", "run", bundle], env={**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        free.append(gpu)
        with open(bundle + "/log", "w", encoding="utf-8") as file:
            file.write(done.stdout)
        print(os.path.basename(bundle), done.returncode, flush=True)

    with concurrent.futures.ThreadPoolExecutor(gpus) as pool:
        list(pool.map(one, bundles))


def merge():
    for bundle in sorted(glob.glob(folder + "/drain/*")):
        db = "%s/%s.peakdb" % (folder, os.path.basename(bundle))
        print(os.path.basename(bundle), peakd("drain", "merge", bundle, "--db", db, check=False).stdout.strip().splitlines()[-1:])


def fork(seed):
    for db in databases("*"):
        if "." in name_of(db):
            continue
        for arm in ARMS:
            copy = "%s/%s.%s.%d.peakdb" % (folder, name_of(db), arm, seed)
            with sqlite3.connect(db) as a, sqlite3.connect(copy) as b:
                a.backup(b)


def calls_of(db):
    return rows(db, "SELECT coalesce(sum(calls), 0) FROM decision")[0][0]


def step(budget):
    def one(db):
        _, arm, seed = name_of(db).split(".")
        left = budget - calls_of(db)
        if left < 1 or waiting(db):
            return
        search = rows(db, "SELECT search FROM decision LIMIT 1")[0][0]
        peakd("optimize", "1", *SEARCH, "--seed", seed, "--calls", str(left), "--experiments", "1", *ARMS[arm],
              "--continue", search, "--db", db,
              check=False, log=folder + "/" + name_of(db) + ".log",
              env={**os.environ, "PEAKD_MODEL": os.environ["PEAKD_MODEL"].replace("@", arm + "." + seed)})

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        list(pool.map(one, databases("*.*.*")))


def best_of(db):
    """(checkpoint, times as fast as the baseline's starting parameters, low, high) of the fastest checkpoint that stands."""
    best = None
    for row in rows(db, "SELECT d.made_id, j.result FROM decision d JOIN job j ON j.id = d.tune_job JOIN checkpoint c ON c.id = d.made_id "
                        "WHERE j.state = 'done' AND c.status <> 'failed'"):
        sizes = json.loads(row["result"])["sizes"]
        if any(size.get("unproven") or not size.get("start_speedup") for size in sizes):
            continue
        ratio = math.exp(sum(math.log(size["start_speedup"]) for size in sizes) / len(sizes))
        if best is None or ratio > best[1]:
            best = (row["made_id"], ratio)
    return best


def ends():
    for db in databases("*.*.*"):
        best = best_of(db)
        if best and not waiting(db):
            peakd("validate", str(best[0]), "--device", DEVICE, "--samples", "8", "--later", "--db", db)


def table():
    answer = []
    for db in databases("*.*.*"):
        problem, arm, seed = name_of(db).split(".")
        best = best_of(db)
        tuned = rows(db, "SELECT result FROM job WHERE kind = 'tune' AND state = 'done' ORDER BY created_ms LIMIT 1")
        # None where the baseline is fastest with its starting parameters.
        start = json.loads(tuned[0][0])["sizes"][0].get("start_speedup") or 1.0 if tuned else None
        if best and start and best[1] < start:
            best = None  # what was made is slower: the search ends with the baseline
        decisions = rows(db, "SELECT * FROM decision ORDER BY seq")
        seen, experiments = 0, []
        for d in decisions:
            seen += d["calls"]
            if d["kind"] in ("experiment", "mend"):
                experiments.append({"what": d["transformation"], "outcome": d["outcome"], "step": d["gain"], "calls_so_far": seen})
        judged = rows(db, "SELECT state FROM job WHERE kind = 'validate' ORDER BY created_ms DESC LIMIT 1")
        answer.append({
            "problem": problem, "arm": arm, "seed": int(seed), "calls": calls_of(db),
            "tokens_in": sum(d["tokens_in"] for d in decisions), "tokens_out": sum(d["tokens_out"] for d in decisions),
            "baseline_tuned": start, "times_as_fast": best[1] if best else start,
            "over_tuned_baseline": (best[1] / start if best else 1.0) if start else None,
            "end": best[0] if best else None, "end_judged": judged[0]["state"] if judged else None, "experiments": experiments,
        })
    print(json.dumps(answer, indent=1))


action, program, folder = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
numbers = [int(n) for n in sys.argv[4:]]
actions = (begin, export, drain, merge, fork, step, ends, table)
{one.__name__: one for one in actions}[action](*numbers)
