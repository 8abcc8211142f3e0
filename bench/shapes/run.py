#!/usr/bin/env python3
"""Tunes one matrix product of halves, with float sums, for a list of shapes, beside cuBLASLt at its best, and exports one table
that dispatches by shape. On a Hopper GPU, in one command; what was cut off is continued by the same command:

    bench/shapes/run.py PEAKD OUT MxNxK … [--budget 24] [--seconds 3000] [--device cuda:0]
    bench/shapes/run.py PEAKD OUT --grid 64,128,256,512,1024 --every 10      # every tenth, by the size of the product

Shapes are sorted by M·N·K. Sorted by their numbers, every tenth of a grid of ten extents would have the same K.

OUT gets shapes.jsonl (one line a shape: the ratio cuBLASLt's time / ours with its interval, above 1 where ours is faster, or why
there is none), summary.json, the database, and the folder library. A shape where ours is slower counts 1.00, since a caller falls
back to cuBLASLt. Exit statuses: 0, all shapes have a line; 2, some have none yet: run it again; 1, it could not start."""
import argparse
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
NAME = "shapes"


def find(value, key):
    """The first value under this key anywhere in JSON; None."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(value, dict) and key in value:
        return value[key]
    return next((x for x in (find(v, key) for v in inner) if x is not None), None)


class Run:
    def __init__(self):
        parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
        parser.add_argument("peakd")
        parser.add_argument("out", type=pathlib.Path)
        parser.add_argument("shapes", nargs="*")
        parser.add_argument("--grid", help="extents; every combination is a shape")
        parser.add_argument("--every", type=int, default=1, help="takes only every so manyth of the list, which is sorted by M·N·K")
        parser.add_argument("--part", default="1/1", help="K/N: every N-th of what is left, from the K-th on, so that N devices share a list")
        parser.add_argument("--most", type=float, default=math.inf, help="leaves out shapes with more than so many operations, 2*M*N*K")
        parser.add_argument("--budget", type=int, default=24, help="configurations a shape")
        parser.add_argument("--seconds", type=float, default=3000, help="begins no further shape after so many")
        parser.add_argument("--device", default="cuda:0")
        self.given = parser.parse_args()
        self.end = time.monotonic() + self.given.seconds
        self.out, shapes = self.given.out, [tuple(map(int, s.split("x"))) for s in self.given.shapes]
        if self.given.grid:
            shapes += itertools.product(*[sorted(map(int, self.given.grid.split(",")))] * 3)
        part, parts = map(int, self.given.part.split("/"))
        self.shapes = sorted(set(shapes), key=lambda s: (math.prod(s), s))[::self.given.every]
        self.shapes = [s for s in self.shapes if 2 * math.prod(s) <= self.given.most][part - 1::parts]
        if not self.shapes or any(len(s) != 3 or min(s) < 1 for s in self.shapes):
            parser.error("name shapes as 256x512x1024, or --grid")
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = self.out / "shapes.jsonl"

    def call(self, *words):
        done = subprocess.run([self.given.peakd, *map(str, words), "--db", self.out / "shapes.db"], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout, " ".join(done.stderr.split())[-500:]

    def begin(self):
        """The workflow with these shapes and the kernel for Hopper, once."""
        text = (HERE / "root.peak.md").read_text()
        for i, name in enumerate("MNK"):
            values = ", ".join(map(str, sorted({s[i] for s in self.shapes})))
            text = re.sub(rf"^  {name}: int = .*$", f"  {name}: int = {{{values}}}", text, flags=re.M)
        which = " or ".join("(M == %d and N == %d and K == %d)" % s for s in self.shapes)
        text = text.replace("check:\n", f"where:\n  - {which}\ncheck:\n", 1)
        path = self.out / f"{NAME}.peak.md"
        if path.exists() and path.read_text() != text:
            sys.exit(f"{self.out} holds other shapes: name another folder")
        path.write_text(text)
        status, log, why = self.call("workflow", "log", NAME, "--json")
        if status:
            status, log, why = self.call("workflow", "create", path, NAME)
            if status:
                sys.exit(f"the context was not created: {why}")
            log = ""
        if len(re.findall(r'"hash"|"checkpoint"', log)) < 2:
            status, said, why = self.call("edit", NAME, HERE / "hopper.md", "--device", self.given.device, "--samples", 4)
            print(said, end="")
            if status:
                sys.exit(f"the kernel for Hopper was refused: {why}{said[-500:]}")

    def measure(self, shape):
        sizes = "M=%d N=%d K=%d" % shape
        status, said, why = self.call("tune", NAME, "--device", self.given.device, "--sizes", sizes, "--budget", self.given.budget,
                                      "--json")
        try:
            answer = json.loads(said)
        except ValueError:
            answer = {}
        line = {"shape": "%dx%dx%d" % shape, "ratio": find(answer, "library_ratio"), "low": find(answer, "library_low"),
                "high": find(answer, "library_high"), "library": find(answer, "library"), "best": find(answer, "best"),
                "median_ns": find(answer, "median_ns")}
        if line["ratio"] is None:
            line["why"] = why or line["library"] or f"tune ended with status {status}"
        return line

    def summary(self, rows):
        ratios = {r["shape"]: r["ratio"] for r in rows if r["ratio"]}
        counted = [max(x, 1.0) for x in ratios.values()]
        mean = math.exp(sum(map(math.log, counted)) / len(counted)) if counted else None
        return {"device": self.given.device, "shapes": len(self.shapes), "timed": len(ratios), "geometric_mean_with_fallback": mean,
                "geometric_mean": math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else None,
                "fallback": sorted(s for s, x in ratios.items() if x < 1),
                "without": {r["shape"]: r["why"] for r in rows if not r["ratio"]}}

    def main(self):
        self.begin()
        known = [json.loads(x) for x in self.lines.read_text().splitlines()] if self.lines.exists() else []
        have = {r["shape"] for r in known if r["ratio"]}  # what failed is tried again
        for shape in self.shapes:
            if "%dx%dx%d" % shape in have:
                continue
            if time.monotonic() > self.end:
                break
            known.append(self.measure(shape))
            print(json.dumps(known[-1]), flush=True)
            with self.lines.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
        known = list({r["shape"]: r for r in known}.values())  # the newest of each
        said = self.summary(known)
        (self.out / "summary.json").write_text(json.dumps(said, indent=1) + "\n")
        print(json.dumps(said, indent=1))
        if said["timed"]:
            status, _, why = self.call("workflow", "export", NAME, "--device", self.given.device, "--out", self.out / "library",
                                       "--force")
            print(f"exported to {self.out / 'library'}" if status == 0 else f"not exported: {why}")
        sys.exit(0 if len(known) >= len(self.shapes) else 2)


Run().main()
