"""Bench: imports, drafts, optimizes and scores every problem of a folder, by the verbs that people use. daemon/verbs/bench.c runs
it.

Its only state is the database: each step looks there for what is done already, so that the same command continues whatever was
killed. A problem NAME has two workflows. NAME.draft begins with the imported context, which has no kernel; NAME begins with the
first kernel that was right, which everything after is compared with.
"""
import concurrent.futures
import glob
import html
import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys

PEAKD, OPTIONS, QUERIES = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
DB, FOLDER, BATCH = OPTIONS["db"], OPTIONS["folder"], OPTIONS.get("batch")
CALLS, DRAFTS = OPTIONS.get("calls", 12), 3
COSTS = ("calls", "tokens_in", "tokens_out", "attempts", "device_seconds", "pytorch_seconds")
WAYS = ("eager", "compile", "max-autotune")
CHILDREN, SIGNALS = set(), []
STATEMENTS = dict(re.findall(r"-- name: (bench_\w+)\n(.*?;)", QUERIES, re.S))


class Stop(Exception):
    """A problem goes no further now: its state, and why in one line."""

    def __init__(self, state, why):
        super().__init__(why)
        self.state = state


# --- the database, and the verbs --------------------------------------------------------------------------------------------------


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


def peakd(verb, *words, **options):
    """Runs a verb; its exit status and what it said. An option that is None is left out."""
    line = [PEAKD, verb, "--db", DB]
    for name, value in options.items():
        line += ["--" + name.replace("_", "-")] * (value is not None) + [str(value)] * (value is not None and value is not True)
    if SIGNALS:
        raise Stop("open", "interrupted")
    child = subprocess.Popen([*line, "--", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             stdin=subprocess.DEVNULL)
    CHILDREN.add(child)
    said, complaints = child.communicate()
    CHILDREN.discard(child)
    return child.returncode, said, complaints


def interrupt(number, _):
    """The terminal tells the verbs as well; they cancel their jobs, and nothing new begins."""
    SIGNALS.append(number)
    for child in list(CHILDREN) if number == signal.SIGTERM else []:
        child.terminate()


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
    """The result of the newest job of the kind about a checkpoint, once it has ended well. Where there is none, or it failed or was
    cancelled before, start() begins one."""
    began, trouble = False, ""
    while True:
        job = job_of(kind, checkpoint)
        state = job["state"] if job else None
        if state == "done":
            return json.loads(job["result"] or "{}")
        if state == "queued" and job["later"]:
            raise Stop("waiting", f"{kind} waits for {BATCH}{trouble}")
        if state == "interrupted":
            peakd("jobs", "resume", job["id"])
        if state in ("queued", "running", "interrupted"):
            peakd("jobs", "wait", job["id"])
        elif began:
            raise Stop("failed", job["error_text"] or f"{kind} was cancelled")
        else:
            trouble = f", again: {job['error_text']}" if job and job["error_text"] else ""
            status, _, said = start()
            began = True
            if job_of(kind, checkpoint) == job:
                raise Stop("failed", last_line(said) if status else f"{kind} did not start")


def elsewhere():
    """Options of what a device judges or times: here, or in the next batch."""
    return {"device": BATCH or OPTIONS.get("device"), "later": True if BATCH else None}


# --- one problem, step by step ----------------------------------------------------------------------------------------------------


class Problem:
    def __init__(self, path, taken):
        inner = os.path.relpath(path, FOLDER)
        stem = os.path.dirname(inner) if os.path.basename(inner) == "definition.json" else os.path.splitext(inner)[0]
        stem = re.sub(r"[^\w.-]+", ".", stem or os.path.basename(os.path.abspath(FOLDER)), flags=re.ASCII).strip(".")
        self.path, self.name = path, stem if stem not in taken else re.sub(r"[^\w.-]+", ".", inner, flags=re.ASCII)
        taken.add(self.name)
        self.state, self.why, self.best = "open", "", None

    def run(self):
        try:
            self.advance()
            self.state = "scored"
        except Stop as stop:
            self.state, self.why = stop.state, str(stop)
        except Exception as why:  # one problem must not end the others
            self.state, self.why = "failed", f"{type(why).__name__}: {why}"
        self.why = " ".join(re.sub(r"; it is kept as .*", "", self.why, flags=re.S).split())
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
        status, _, said = peakd("import", self.path, self.name + ".draft", **given("backend", "workloads", "mib"))
        if status:
            raise Stop("not imported", last_line(said))

    def spent(self):
        return dict(ask("spent", self.name, self.name + ".draft")[0])

    def draft(self):
        """Up to the first kernel that is right, which the repairs of one transformation may give; what a batch refuses is repaired
        anew."""
        name = self.name + ".draft"
        while True:
            root, *made = self.line(name)
            right = [c for c in made if c["status"] == "accepted"]
            if right:
                self.drafted = right[-1]["id"]
                return
            newest = made[-1] if made else None
            if newest and newest["status"] == "draft":  # it only compiled
                settle("validate", newest["id"], lambda: peakd("validate", str(newest["id"]), **given("samples"), **elsewhere()))
                if self.line(name)[len(made)]["status"] == "draft":
                    raise Stop("failed", "the validation of its first kernel ended without a verdict")
                continue
            tries = ask("tries", name)
            asked = [t for t in tries if t["asked"] and t["state"] in ("failed", "done")]
            if len(asked) >= (DRAFTS if newest else 1):
                refused = ask("refused", asked[-1]["id"])  # the last answers may not have come as far as the judge
                why = f"{refused[0]['message']}; at last: " if refused else ""
                raise Stop("wrong", (newest["note"] if newest else None) or why
                           + (asked[-1]["error_text"] or "no kernel was right"))
            at, what = (str(newest["id"]), repair(newest["note"] or "")) if newest else (name, "first-kernel")
            try:
                settle("transform", (newest or root)["id"], lambda: peakd("transform", at, what,
                                                                          **given("model", "device", "samples")))
            except Stop as stop:  # a kernel that stayed wrong counts as a try
                if stop.state != "failed" or len([t for t in ask("tries", name) if t["asked"]]) == len(asked):
                    raise
            if len(self.line(name)) == 1 + len(made) and len(ask("tries", name)) == len(tries):
                raise Stop("wrong", "its repair changed nothing")

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
        root, tried = self.line(self.name)[0]["id"], False
        while True:
            job, left = job_of("optimize", root), CALLS - self.spent()["calls"]
            state = job["state"] if job else None
            stopped = json.loads(job["result"] or "{}").get("stopped", "") if job else ""
            waits = ask("later", self.name)[0][0]
            more = left > 0 and re.match(r"waiting|budget: \d+ model calls", stopped)
            if state == "done" and waits:
                raise Stop("waiting", f"{waits} job{'' if waits == 1 else 's'} for {BATCH}")
            if state == "done" and not more or state in ("failed", "cancelled") and (tried or left <= 0):
                self.why = job["error_text"] or stopped if state == "failed" or stopped.startswith("two attempts") else ""
                break
            if state in ("failed", "cancelled", "done"):
                tried = state != "done"
                peakd("optimize", str(root), **{"continue": job["id"]}, **self.budget(left))
                if job_of("optimize", root) == job:
                    raise Stop("failed", "its search cannot be continued")
            elif job is None and left <= 0:
                settle("tune", root, lambda: peakd("tune", str(root), **elsewhere()))
                break
            else:
                try:
                    settle("optimize", root, lambda: peakd("optimize", self.name, **self.budget(left)))
                except Stop as stop:  # what was found until then is scored
                    if stop.state != "failed" or job_of("optimize", root) is None:
                        raise
                    tried = True
        if self.line(self.name)[0]["status"] == "failed":
            raise Stop("wrong", self.line(self.name)[0]["note"] or "its first kernel was refuted")

    def budget(self, left):
        return dict(given("model", "reviewer", "policy", "device", "batch", "experiments", "tokens", "seconds", "device_seconds",
                          "money",
                          "price_in", "price_out", "roof", "tune", "samples", "seed", "without"), calls=max(left, 1))

    def choose(self):
        """The checkpoint with the highest pairwise speed-up over the first kernel as it starts, and its configurations at all
        sizes."""
        line, pairs, best = self.line(self.name), {}, (-math.inf, None, {})
        for row in ask("pairs", line[0]["id"]):
            pairs.setdefault(row["b_id"], {})[row["sizes"]] = row["ratio"]
        for c in line:
            tune, timed = job_of("tune", c["id"]), {}
            for row in ask("timed", c["id"]):
                timed.setdefault(row["sizes"], row["params"])
            ratios = [pairs.get(c["id"], {}).get(s, 1 if c is line[0] else None) for s in timed]
            if c["status"] != "failed" and tune and tune["state"] == "done" and ratios and None not in ratios:
                best = max(best, (-sum(map(math.log, ratios)) / len(ratios), c["id"], timed), key=lambda x: x[0])
        return best[1:]

    def compare(self):
        self.best, params = self.choose()
        if not params:
            raise Stop("failed", self.why or ask("trouble", self.name)[0][0] or "nothing of it was timed at every size")
        settle("pytorch", self.best, lambda: peakd("compare", str(self.best), "pytorch", sizes=";".join(params.values()),
                                                   **elsewhere()))

    # --- what came of it ---

    def report(self):
        job = job_of("pytorch", self.best) if self.best else None
        found = json.loads(job["result"] or "{}") if job and job["state"] == "done" else {}
        row = {"name": self.name, "file": os.path.relpath(self.path, FOLDER), "state": self.state, "why": self.why,
               "checkpoint": self.best,
               "device": found.get("device"), "workloads": [workload(s) for s in found.get("sizes", [])]}
        row.update(self.spent() if self.line(self.name + ".draft") else dict.fromkeys(COSTS, 0))
        row["correct"] = self.state == "scored" and all(w["correct"] for w in row["workloads"])
        for key in ("over_eager", "over_compile", "over_fastest", "score"):
            row[key] = mean([w[key] for w in row["workloads"]], key != "score") if row["correct"] else None
        return row


def repair(why):
    """A transformation for one refused kernel: an example of what is wrong is in its words."""
    quoted = "\n".join("> " + x for x in why[:1500].splitlines())
    return ("---\nname: repair\nsummary: Corrects what the judge refused.\n---\nThe judge refused these kernels:\n\n" + quoted +
            "\n\nThe Python reference says what is right: its order of extents, its edges, its constants, its types.\n\n"
            "## Pass 1: Correct the kernels\n"
            "expect: valid\nkernels: may change\nunchanged: allowed\n\n### device\nCorrect the kernels, if the mistake is there.\n\n"
            "### host\nLaunch them as they are now.\n")


def mean(values, geometric):
    values = [v for v in values if v is not None]
    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values)) if geometric else sum(values) / len(values)


def workload(s):
    """One size beside PyTorch: S = 1/(1 + (T - Tsol)/(Tbase - Tsol)) of SOL-ExecBench, with Tbase the fastest of PyTorch's ways
    here."""
    ways = {w["way"]: w for w in s.get("ways", []) if "ns" in w}
    base = min(ways.values(), key=lambda w: w["ns"], default=None)
    light, score = s.get("light_ns"), None
    if base and light and base["ns"] > light:
        score = 1 / (1 + (base["ours_ns"] - light) / (base["ns"] - light)) if base["ours_ns"] > light else 1.0
    one = {"size": s["size"], "correct": bool(s.get("evidence")), "ns": s.get("median_ns"), "light_ns": light, "score": score,
           "fastest": base["way"] if base else None, "over_fastest": base["ratio"] if base else None, "ways": s.get("ways", [])}
    one.update({key: s.get(key) for key in ("by", "evidence", "why", "params")})
    for way in WAYS[:2]:
        one["over_" + way] = ways[way]["ratio"] if way in ways else None
    return one


def summary(rows):
    right = [r for r in rows if r["correct"]]
    count = lambda key, least: sum(1 for r in right if (r[key] or 0) > least)
    scores = sorted(r["score"] for r in right if r["score"] is not None)
    total = {"problems": len(rows), "correct": len(right), "waiting": sum(r["state"] == "waiting" for r in rows)}
    for key in ("over_eager", "over_compile", "over_fastest"):
        total[key] = {"compared": sum(r[key] is not None for r in right), "fast_1": count(key, 1), "fast_2": count(key, 2),
                      "geometric_mean": mean([r[key] for r in right], True)}
    total["score_median"] = scores[len(scores) // 2] if scores else None
    for key in COSTS:
        total[key] = sum(r[key] or 0 for r in rows)
    total["devices"] = sorted({r["device"] for r in right if r["device"]})
    total["pytorch"] = sorted({w["by"] for r in right for w in r["workloads"] if w["by"]})
    return total


# --- reports ----------------------------------------------------------------------------------------------------------------------

HEAD = ("problem", "workload", "correct", "time", "over eager", "over compile", "over fastest", "score", "calls", "tokens",
        "attempts", "device")


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
            lines.append([r["name"] if i == 0 else "", w["size"], "yes" if w["correct"] else "no", time_of(w["ns"]),
                          ratio_of(w, "eager"), ratio_of(w, "compile"), ratio_of(w, w["fastest"]), score]
                         + (cost if i == 0 else [""] * 4))
        if not r["workloads"]:
            lines.append([r["name"], "", "no" if r["state"] in ("wrong", "not imported", "failed") else r["state"]] + ["-"] * 5
                         + cost)
    return lines


def words(total):
    text = [f"{total['correct']} of {total['problems']} problems correct"
            + (f", {total['waiting']} waiting" if total["waiting"] else "")]
    for key, what in (("over_eager", "eager"), ("over_compile", "torch.compile"),
                      ("over_fastest", "the fastest of PyTorch's ways")):
        t = total[key]
        if t["compared"]:
            text.append(f"against {what}: fast_1 {t['fast_1']}/{total['problems']}, fast_2 {t['fast_2']}/{total['problems']}, "
                        f"geometric mean {t['geometric_mean']:.2f} of {t['compared']}")
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
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 780 {height}' width='780' height='{height}' font-family='sans-serif' "
           "font-size='12'>", f"<rect width='780' height='{height}' fill='#fff'/>",
           "<text x='20' y='24' font-size='15'>times as fast as the fastest of PyTorch's ways</text>",
           f"<path d='M{at(1):.1f} 40V{height - 20}' stroke='#333' stroke-dasharray='4 4'/>"]
    for i, (value, name) in enumerate(found):
        y, x, color = 56 + 22 * i, at(value), "#2a7" if value > 1 else "#c33"
        out.append(f"<text x='{left - 12}' y='{y + 4}' text-anchor='end'>{html.escape(name[:30])}</text>"
                   f"<path d='M{at(1):.1f} {y}H{x:.1f}' stroke='{color}' stroke-width='10'/>"
                   f"<text x='{max(x, at(1)) + 8:.1f}' y='{y + 4}'>{value:.2f}</text>")
    return "\n".join(out) + "\n</svg>\n"


STYLE = ("body{font:15px/1.4 sans-serif;margin:2em auto;max-width:1100px;padding:0 1em}table{border-collapse:collapse;font-size:13px}"
         "th,td{text-align:left;padding:3px 10px;border-bottom:1px solid #ddd}svg{max-width:100%;height:auto}")


def page(rows, total):
    cells = lambda texts, tag: "".join(f"<{tag}>{html.escape(x)}</{tag}>" for x in texts)
    whys = [f"{r['name']}: {r['state']}: {r['why']}" for r in rows if r["why"]]
    title = html.escape(os.path.basename(os.path.abspath(FOLDER)))
    return ("<!doctype html>\n<html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
            f"<title>peakd bench: {title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n<ul>{cells(words(total), 'li')}</ul>\n{svg(rows)}"
            f"<table><tr>{cells(HEAD, 'th')}</tr>\n" + "".join(f"<tr>{cells(line, 'td')}</tr>\n" for line in table(rows))
            + "</table>\n" +
            (f"<h2>Notes</h2><ul>{cells(whys, 'li')}</ul>\n" if whys else "") + "</html>\n")


def write(name, text):
    if OPTIONS.get(name):
        with open(OPTIONS[name], "w", encoding="utf-8") as to:
            to.write(text)


def main():
    paths = glob.glob(os.path.join(glob.escape(FOLDER), "**", "*.py"), recursive=True)
    paths += glob.glob(os.path.join(glob.escape(FOLDER), "**", "*.json"), recursive=True)
    # a definition's folder holds nothing else
    beside = {os.path.dirname(p) for p in paths if os.path.basename(p) == "definition.json"}
    paths = sorted(p for p in paths if os.path.basename(p) == "definition.json" or os.path.dirname(p) not in beside)
    if not paths:
        print(f"peakd bench: {FOLDER} holds no problem: *.py, *.json or NAME/definition.json", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    taken = set()
    problems = [Problem(p, taken) for p in paths]
    with concurrent.futures.ThreadPoolExecutor(OPTIONS.get("together", 1)) as pool:
        list(pool.map(Problem.run, problems))
    if SIGNALS:
        print("peakd bench: interrupted: the same command continues", file=sys.stderr)
        return 128 + SIGNALS[0]
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
