"""Bench: imports, drafts, optimizes and scores every problem of a folder, by the verbs that people use. daemon/verbs/bench.c runs it.

Its only state is the database: each step looks there for what is done already, so that the same command continues whatever was killed. A
problem NAME has two workflows. NAME.draft begins with the imported context, which has no kernel; NAME begins with the first kernel that was
right, which everything after is compared with.
"""
import concurrent.futures
import glob
import html
import json
import math
import os
import re
import sqlite3
import subprocess
import sys

PEAKD, OPTIONS, QUERIES = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
DB, FOLDER, BATCH = OPTIONS["db"], OPTIONS["folder"], OPTIONS.get("batch")
CALLS, DRAFTS = OPTIONS.get("calls", 12), 3
WAYS = ("eager", "compile", "max-autotune")
STATEMENTS = dict(re.findall(r"-- name: (bench_\w+)\n(.*?;)", QUERIES, re.S))


class Stop(Exception):
    """A problem goes no further now: its state, and why in one line."""

    def __init__(self, state, why):
        super().__init__(why)
        self.state = state


# --- the database, and the verbs -----------------------------------------------------------------------------------------------------------


def ask(name, *values):
    """The rows of a statement of schema/queries.sql."""
    if not os.path.exists(DB):
        return []
    handle = sqlite3.connect(f"file:{DB}?mode=ro", uri=True, timeout=30)
    handle.row_factory = sqlite3.Row
    try:
        return handle.execute(STATEMENTS["bench_" + name], values).fetchall()
    except sqlite3.OperationalError as why:
        if "no such table" in str(why):
            return []
        raise
    finally:
        handle.close()


def peakd(*words, **options):
    """Runs a verb; its exit status and what it said. An option that is None is left out."""
    line = [PEAKD, *words, "--db", DB]
    for name, value in options.items():
        line += ["--" + name.replace("_", "-")] * (value is not None) + [str(value)] * (value is not None and value is not True)
    done = subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def last_line(text):
    lines = [x for x in text.strip().splitlines() if not x.startswith("note: ")]
    return re.sub(r"^peakd[\w ]*: ", "", lines[-1]) if lines else "it said nothing"


def given(*names):
    return {n: OPTIONS.get(n) for n in names}


def job_of(kind, checkpoint):
    """The newest of the kind about a checkpoint; None."""
    rows = ask("job", kind, checkpoint)
    return rows[0] if rows else None


def settle(kind, checkpoint, start):
    """The newest job of the kind about a checkpoint, which has ended well; start() begins one where there is none, or it was cancelled."""
    job, began = job_of(kind, checkpoint), False
    while job is None or job["state"] != "done":
        if job and job["later"] and job["state"] == "queued":
            raise Stop("waiting", f"{kind} waits for {BATCH}")
        if job and job["state"] == "interrupted":
            peakd("jobs", "resume", job["id"])
        if job and job["state"] in ("queued", "running", "interrupted"):
            peakd("jobs", "wait", job["id"])
        elif began:
            raise Stop("failed", job["error_text"] or f"{kind} was cancelled")
        else:
            status, _, said = start()
            began = True
            if status and job_of(kind, checkpoint) == job:
                raise Stop("failed", last_line(said))
        if began and job_of(kind, checkpoint) is None:
            raise Stop("failed", f"{kind} did not start")
        job = job_of(kind, checkpoint)
    return json.loads(job["result"] or "{}")


# --- one problem, step by step ---------------------------------------------------------------------------------------------------------------


class Problem:
    def __init__(self, path):
        inner = os.path.relpath(path, FOLDER)
        stem = os.path.dirname(inner) if os.path.basename(inner) == "definition.json" else os.path.splitext(inner)[0]
        stem = stem or os.path.basename(os.path.abspath(FOLDER))
        self.path, self.name = path, re.sub(r"[^\w.-]+", ".", stem, flags=re.ASCII).strip(".")
        self.state, self.why, self.best = "open", "", None

    def run(self):
        try:
            self.advance()
            self.state = "scored"
        except Stop as stop:
            self.state, self.why = stop.state, " ".join(re.sub(r"; it is kept as .*", "", str(stop), flags=re.S).split())
        print(f"{self.name}: {self.state}{': ' + self.why if self.why else ''}", file=sys.stderr, flush=True)
        return self

    def advance(self):
        self.import_it()
        self.draft()
        self.create()
        self.optimize()
        self.compare()

    def line(self, workflow):
        """The checkpoints of a workflow and all that was made of them, oldest first."""
        return ask("line", workflow)

    def import_it(self):
        if self.line(self.name + ".draft"):
            return
        status, _, said = peakd("import", self.path, self.name + ".draft", **given("backend", "workloads"))
        if status:
            raise Stop("not imported", last_line(said))

    def spent(self):
        return dict(ask("spent", self.name, self.name + ".draft")[0])

    def draft(self):
        """Up to the first kernel that is right."""
        while True:
            root, *made = self.line(self.name + ".draft")
            right = [c for c in made if c["status"] == "accepted"]
            if right:
                self.drafted = right[-1]["id"]
                return
            newest = made[-1] if made else None
            if newest and newest["status"] == "draft":  # it only compiled
                settle("validate", newest["id"], lambda: peakd("validate", str(newest["id"]), device=BATCH or OPTIONS.get("device"), later=BATCH and True))
                if self.line(self.name + ".draft")[-1]["status"] == "draft":
                    raise Stop("failed", "the validation of its first kernel ended without a verdict")
                continue
            tries = ask("tries", self.name + ".draft")
            if newest is None and (not tries or not tries[-1]["asked"]) or (tries and tries[-1]["state"] in ("running", "queued", "interrupted")):
                start = lambda: peakd("transform", self.name + ".draft", "first-kernel", **given("model", "device", "samples"))
            elif newest and len(tries) < DRAFTS:
                start = lambda: peakd("transform", str(newest["id"]), repair(newest["note"] or ""), **given("model", "device", "samples"))
            else:
                raise Stop("wrong", (newest or {"note": None})["note"] or tries[-1]["error_text"])
            try:
                settle("transform", newest["id"] if newest else root["id"], start)
            except Stop as stop:
                raise Stop("wrong" if ask("tries", self.name + ".draft")[-1:] and ask("tries", self.name + ".draft")[-1]["asked"] else "failed", str(stop)) from None
            if not self.line(self.name + ".draft")[1:]:
                raise Stop("wrong", "no first kernel was made")

    def create(self):
        """The first kernel is what everything later is compared with."""
        if self.line(self.name):
            return
        status, source, said = peakd("workflow", "show", str(self.drafted), "source")
        file = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"peakd-bench-{os.getpid()}-{self.name}.peak.md")
        with open(file, "w", encoding="utf-8") as to:
            to.write(source)
        if status == 0:
            status, _, said = peakd("workflow", "create", file, self.name)
        os.unlink(file)
        if status:
            raise Stop("failed", last_line(said))

    def optimize(self):
        root = self.line(self.name)[0]["id"]
        tried = False
        while True:
            job = job_of("optimize", root)
            left = CALLS - self.spent()["calls"]
            stopped = json.loads(job["result"] or "{}").get("stopped", "") if job else ""
            waits = ask("later", self.name)[0][0]
            if job and job["state"] == "done" and not stopped.startswith("waiting") or job and left <= 0 and job["state"] not in ("queued", "running", "interrupted"):
                break
            if job and job["state"] == "done" and waits:
                raise Stop("waiting", f"{waits} jobs wait for {BATCH}")
            if job and job["state"] in ("failed", "cancelled", "done"):
                if tried and job["state"] != "done":
                    raise Stop("failed", job["error_text"] or "the search was cancelled")
                tried = True
                peakd("optimize", str(root), **{"continue": job["id"]}, **self.budget(left))
            elif job is None and left <= 0:
                peakd("tune", str(root), device=BATCH or OPTIONS.get("device"), later=BATCH and True, resume=None if BATCH else True)
                break
            else:
                settle("optimize", root, lambda: peakd("optimize", self.name, **self.budget(left)))
        if ask("later", self.name)[0][0]:
            raise Stop("waiting", f"{ask('later', self.name)[0][0]} jobs wait for {BATCH}")
        if self.line(self.name)[0]["status"] == "failed":
            raise Stop("wrong", self.line(self.name)[0]["note"] or "its first kernel was refuted")

    def budget(self, left):
        return dict(given("model", "reviewer", "policy", "device", "batch", "experiments", "tokens", "seconds", "device_seconds", "money",
                          "price_in", "price_out", "roof", "tune", "samples", "seed", "without"), calls=max(left, 1))

    def choose(self):
        """The checkpoint with the highest pairwise speed-up over the first kernel as it starts, and its configurations by size."""
        line = self.line(self.name)
        pairs, root = {}, line[0]["id"]
        for row in ask("pairs", root):
            pairs.setdefault(row["b_id"], {})[row["sizes"]] = row["ratio"]
        best, found = root, {}
        gain = {}
        for c in line:
            timed = {}
            for row in ask("timed", c["id"]):
                timed.setdefault(row["sizes"], row["params"])
            found[c["id"]] = timed
            ratios = [pairs.get(c["id"], {}).get(s, 1 if c["id"] == root else None) for s in timed]
            whole = c["status"] != "failed" and timed and len(timed) >= len(found[root]) and None not in ratios
            gain[c["id"]] = -sum(map(math.log, ratios)) / len(ratios) if whole else -math.inf
        best = max(gain, key=gain.get)
        return best, found[best]

    def compare(self):
        self.best, params = self.choose()
        if not params:
            raise Stop("wrong", ask("trouble", self.name)[0][0] or "nothing of it was timed")
        settle("pytorch", self.best, lambda: peakd("compare", str(self.best), "pytorch", sizes=";".join(params.values()),
                                                  device=BATCH or OPTIONS.get("device"), later=BATCH and True))

    # --- what came of it ---

    def report(self):
        job = job_of("pytorch", self.best) if self.best else None
        found = json.loads(job["result"] or "{}") if job and job["state"] == "done" else {}
        row = {"name": self.name, "file": os.path.relpath(self.path, FOLDER), "state": self.state, "why": self.why, "checkpoint": self.best,
               "device": found.get("device"), "workloads": [workload(s) for s in found.get("sizes", [])]}
        row.update(self.spent() if self.line(self.name + ".draft") else {"calls": 0, "tokens_in": 0, "tokens_out": 0, "attempts": 0, "device_seconds": 0, "pytorch_seconds": 0})
        row["correct"] = self.state == "scored" and all(w["correct"] for w in row["workloads"])
        for key in ("over_eager", "over_compile", "over_fastest", "score"):
            row[key] = mean([w[key] for w in row["workloads"]], key != "score") if row["correct"] else None
        return row


def repair(why):
    """A transformation for one refused kernel: an example of what is wrong is in its words."""
    quoted = "\n".join("> " + x for x in why[:1500].splitlines())
    return ("---\nname: repair\nsummary: Corrects what the judge refused.\n---\nThe judge refused these kernels:\n\n" + quoted +
            "\n\nThe Python reference says what is right: its order of extents, its edges, its constants, its types.\n\n## Pass 1: Correct the kernels\n"
            "expect: valid\nkernels: may change\n\n### device\nCorrect the kernels.\n\n### host\nLaunch them as they are now.\n")


def mean(values, geometric):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values)) if geometric else sum(values) / len(values)


def workload(s):
    """One size beside PyTorch: S = 1/(1 + (T - Tsol)/(Tbase - Tsol)) of SOL-ExecBench, with Tbase the fastest of PyTorch's ways here."""
    ways = {w["way"]: w for w in s.get("ways", []) if "ns" in w}
    base = min(ways.values(), key=lambda w: w["ns"], default=None)
    light, score = s.get("light_ns"), None
    if base and light and base["ns"] > light:
        score = 1 / (1 + (base["ours_ns"] - light) / (base["ns"] - light)) if base["ours_ns"] > light else 1.0
    one = {"size": s["size"], "correct": bool(s.get("evidence")), "ns": s.get("median_ns"), "light_ns": light, "score": score,
           "fastest": base["way"] if base else None, "over_fastest": base["ratio"] if base else None, "by": s.get("by"), "evidence": s.get("evidence"),
           "why": s.get("why"), "params": s.get("params"), "ways": s.get("ways", [])}
    for way in WAYS[:2]:
        one["over_" + way] = ways[way]["ratio"] if way in ways else None
    return one


def summary(rows):
    right = [r for r in rows if r["correct"]]
    count = lambda key, least: sum(1 for r in right if (r[key] or 0) > least)
    scores = sorted(r["score"] for r in right if r["score"] is not None)
    total = {"problems": len(rows), "correct": len(right), "waiting": sum(r["state"] == "waiting" for r in rows)}
    for key in ("over_eager", "over_compile", "over_fastest"):
        total[key] = {"compared": sum(r[key] is not None for r in right), "fast_1": count(key, 1), "fast_2": count(key, 2), "geometric_mean": mean([r[key] for r in right], True)}
    total["score_median"] = scores[len(scores) // 2] if scores else None
    for key in ("calls", "tokens_in", "tokens_out", "attempts", "device_seconds", "pytorch_seconds"):
        total[key] = sum(r[key] or 0 for r in rows)
    total["devices"] = sorted({r["device"] for r in right if r["device"]})
    total["pytorch"] = sorted({w["by"] for r in right for w in r["workloads"] if w["by"]})
    return total


# --- reports -----------------------------------------------------------------------------------------------------------------------------------

HEAD = ("problem", "workload", "correct", "time", "over eager", "over compile", "over fastest", "score", "calls", "tokens", "attempts", "device")


def time_of(ns):
    if ns is None:
        return "-"
    return f"{ns / 1e6:.4g} ms" if ns >= 1e6 else f"{ns / 1e3:.4g} us"


def ratio_of(w, way):
    found = next((x for x in w["ways"] if x["way"] == way and "ratio" in x), None)
    return f"{found['ratio']:.2f} ({found['low']:.2f}-{found['high']:.2f})" if found else "-"


def table(rows):
    lines = []
    for r in rows:
        cost = [str(r["calls"]), str(r["tokens_in"] + r["tokens_out"]), str(r["attempts"]), f"{r['device_seconds']:.1f} s"]
        for i, w in enumerate(r["workloads"]):
            score = "-" if w["score"] is None else f"{w['score']:.2f}"
            lines.append([r["name"] if i == 0 else "", w["size"], "yes" if w["correct"] else "no", time_of(w["ns"]), ratio_of(w, "eager"), ratio_of(w, "compile"),
                          ratio_of(w, w["fastest"]), score] + (cost if i == 0 else [""] * 4))
        if not r["workloads"]:
            lines.append([r["name"], "", "no" if r["state"] in ("wrong", "not imported", "failed") else r["state"]] + ["-"] * 5 + cost)
    return lines


def words(total):
    text = [f"{total['correct']} of {total['problems']} problems correct" + (f", {total['waiting']} waiting" if total["waiting"] else "")]
    for key, what in (("over_eager", "eager"), ("over_compile", "torch.compile"), ("over_fastest", "the fastest of PyTorch's ways")):
        t = total[key]
        if t["compared"]:
            text.append(f"against {what}: fast_1 {t['fast_1']}/{total['problems']}, fast_2 {t['fast_2']}/{total['problems']}, geometric mean {t['geometric_mean']:.2f} of {t['compared']}")
    if total["score_median"] is not None:
        text.append(f"median SOL score {total['score_median']:.2f}")
    text.append(f"{total['calls']} model calls, {total['tokens_in'] + total['tokens_out']} tokens, {total['attempts']} attempts, "
                f"{total['device_seconds']:.1f} device-seconds, and {total['pytorch_seconds']:.1f} beside PyTorch")
    text.append(f"kernels on {', '.join(total['devices']) or 'no device yet'}; PyTorch: {', '.join(total['pytorch']) or 'not timed'}")
    text.append("figures of this machine alone: not to be compared with those of other devices or leaderboards")
    return text


def plain(rows, total):
    lines = [list(HEAD)] + table(rows)
    widths = [max(len(x[i]) for x in lines) for i in range(len(HEAD))]
    out = ["  ".join(x.ljust(n) for x, n in zip(line, widths)).rstrip() for line in lines]
    out += [f"{r['name']}: {r['state']}: {r['why']}" for r in rows if r["why"]]
    return "\n".join(out + [""] + words(total)) + "\n"


def svg(rows):
    """Each problem's speed-up over the fastest of PyTorch's ways, sorted, on a logarithmic axis."""
    found = sorted((r["over_fastest"], r["name"]) for r in rows if r["over_fastest"])
    height, left, wide = 22 * len(found) + 70, 220, 480
    low, high = min([f[0] for f in found] + [0.5]), max([f[0] for f in found] + [2])
    at = lambda v: left + wide * math.log(v / low) / math.log(high / low)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 780 {height}' width='780' height='{height}' font-family='sans-serif' font-size='12'>",
           f"<rect width='780' height='{height}' fill='#fff'/><text x='20' y='24' font-size='15'>times as fast as the fastest of PyTorch's ways</text>",
           f"<path d='M{at(1):.1f} 40V{height - 20}' stroke='#333' stroke-dasharray='4 4'/>"]
    for i, (value, name) in enumerate(found):
        y, x = 56 + 22 * i, at(value)
        out.append(f"<text x='{left - 12}' y='{y + 4}' text-anchor='end'>{html.escape(name[:30])}</text><path d='M{at(1):.1f} {y}H{x:.1f}' stroke='{'#2a7' if value > 1 else '#c33'}' "
                   f"stroke-width='10'/><text x='{max(x, at(1)) + 8:.1f}' y='{y + 4}'>{value:.2f}</text>")
    return "\n".join(out) + "\n</svg>\n"


def page(rows, total):
    cell = lambda text, tag="td": f"<{tag}>{html.escape(text)}</{tag}>"
    body = "".join("<tr>" + "".join(map(cell, line)) + "</tr>\n" for line in table(rows))
    whys = "".join(f"<li>{html.escape(r['name'])}: {html.escape(r['state'])}: {html.escape(r['why'])}</li>\n" for r in rows if r["why"])
    return ("<!doctype html>\n<html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>peakd bench</title>\n"
            "<style>body{font:15px/1.4 sans-serif;margin:2em auto;max-width:1100px;padding:0 1em}table{border-collapse:collapse;font-size:13px}"
            "th,td{text-align:left;padding:3px 10px;border-bottom:1px solid #ddd}svg{max-width:100%;height:auto}</style>\n"
            f"<h1>{html.escape(os.path.basename(os.path.abspath(FOLDER)))}</h1>\n<ul>" + "".join(map(lambda x: cell(x, "li"), words(total))) + "</ul>\n" + svg(rows) +
            "<table><tr>" + "".join(cell(x, "th") for x in HEAD) + "</tr>\n" + body + "</table>\n" + (f"<h2>Not scored</h2><ul>{whys}</ul>\n" if whys else "") + "</html>\n")


def write(name, text):
    if OPTIONS.get(name):
        with open(OPTIONS[name], "w", encoding="utf-8") as to:
            to.write(text)


def main():
    paths = glob.glob(os.path.join(glob.escape(FOLDER), "**", "*.py"), recursive=True)
    paths += glob.glob(os.path.join(glob.escape(FOLDER), "**", "*.json"), recursive=True)
    beside = {os.path.dirname(p) for p in paths if os.path.basename(p) == "definition.json"}  # a definition's folder holds nothing else
    paths = sorted(p for p in paths if os.path.basename(p) == "definition.json" or os.path.dirname(p) not in beside)
    if not paths:
        print(f"peakd bench: {FOLDER} holds no problem: *.py, *.json or NAME/definition.json", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(OPTIONS.get("together", 1)) as pool:
        problems = list(pool.map(Problem.run, map(Problem, paths)))
    rows = [p.report() for p in problems]
    total = summary(rows)
    write("json", json.dumps({"summary": total, "problems": rows}, indent=1) + "\n")
    write("svg", svg(rows))
    write("html", page(rows, total))
    sys.stdout.write(plain(rows, total))
    if total["waiting"]:
        print(f"next: peakd drain export WORK, run it on the machine with {BATCH}, peakd drain merge WORK, then this command again")
    return 0


sys.exit(main())
