"""Computes from a ladder's database where its time went: seconds in which the machine was held, and seconds in which a device was
leased.

summary.py calls breakdown(). Both kinds of seconds are split alike: validation (validate jobs, and validation by transformations
and tunes), transforms, tuning, profile, other (between the jobs). The machine is held all the time. A job leases the device only
while something runs or is timed on it, or references are computed for it.
"""
KINDS = {"validate": "validation_s", "transform": "transforms_s", "submit": "transforms_s", "edit": "transforms_s",
         "tune": "tuning_s",
         "profile": "profile_s"}
PARTS = ("validation_s", "transforms_s", "tuning_s", "profile_s", "other_s")
ENDS = ("done", "failed", "cancelled")
# a longer gap between two jobs means that the machine was away; no start of a daemon and its device takes so long
PAUSE_MS = 120000

NOTES = (
    "Seconds on the wall in which the machine was held, by what for: validation_s is what validate jobs, transformations and tunes spent on "
    "validating (compiling, references and waiting for the device too), transforms_s and tuning_s are the rest of those jobs, profile_s the "
    "fresh processes' jobs, other_s lies between jobs (starts of daemons).",
    "device_leased: of these the seconds in which a job had the device leased: device-seconds.",
    "Two jobs more than 120 s apart: the machine was away meanwhile (away_s, in no sum).",
)
NOT_SPLIT = "This database was written before jobs told what they leased: validation_s is validate jobs only, and device_leased is not known."
CUT_OFF = ("What was cut off (cut_off_jobs) has told nothing of its validations and leases: until then such a job is whole in the sum of its kind, and "
           "device_leased lacks it. One that was cancelled, so that its work was done again, is in other_s.")


def fields(text):
    """A job's request or result: lines of "name: value"."""
    return dict(line.split(": ", 1) for line in (text or "").splitlines() if ": " in line)


def milliseconds(result, name):
    return round(1000 * float(result.get(name, 0)))


def stretches(events):
    """When a job ran, as (start, end) in ms: several times when it was interrupted and resumed. A stretch that a dead daemon left
    open ends with its last event. The next daemon writes the interruption, at an unrelated time."""
    found, start, last = [], None, None
    for kind, at in events:
        if kind in ("running", "queued", "interrupted") and start is not None:
            found.append((start, last))
            start = None
        if kind == "running":
            start = at
        if kind in ENDS and start is not None:
            found.append((start, at))
            start = None
        last = at
    return found + ([(start, last)] if start is not None else [])


class Steps:
    """The steps in order, and the step that a job belongs to."""

    def __init__(self, rows):
        self.names, self.ids = [], []
        for row in rows:
            if not self.ids or (row["step"], row["checkpoint"]) != (self.names[-1], self.ids[-1]):
                self.names.append(row["step"])
                self.ids.append(row["checkpoint"])

    def of(self, kind, request, result):
        """The step's number; None for a job outside the ladder."""
        about = int(request.get("checkpoint", 0))
        if KINDS.get(kind) != "transforms_s":
            return self.ids.index(about) if about in self.ids else None
        made = int(result.get("checkpoint", 0))
        if made and made in self.ids:
            return self.ids.index(made)
        after = self.ids.index(about) + 1 if about in self.ids else len(self.ids)
        return after if after < len(self.ids) else None


def read_jobs(record, steps):
    jobs = []
    for job, kind, state, request, text in record.execute("SELECT id, kind, state, request, result FROM job ORDER BY created_ms, rowid"):
        events = record.execute("SELECT kind, created_ms FROM job_event WHERE job_id = ? ORDER BY seq", (job,)).fetchall()
        result, ran = fields(text), stretches(events)
        lost = state == "cancelled" and not result
        jobs.append({"part": "other_s" if lost else KINDS.get(kind, "other_s"), "step": steps.of(kind, fields(request), result),
                     "cut_off": lost or state not in ENDS or len(ran) > 1,
                     "stretches": ran, "leased": milliseconds(result, "leased_seconds"),
                     "validation": milliseconds(result, "validation_seconds"),
                     "validation_leased": milliseconds(result, "validation_leased_seconds")})
    return jobs


def split(into, part, whole, validation):
    """Adds whole to its part, except for the share of validation, which goes to its own part."""
    validation = whole if part == "validation_s" else min(validation, whole)
    into["validation_s"] += validation
    into[part] += whole - validation


def empty():
    return {"held": dict.fromkeys(PARTS, 0), "leased": dict.fromkeys(PARTS, 0), "cut_off": 0}


def add_gaps(jobs, sums):
    """A gap between jobs counts for the job that follows. Returns the sum of the gaps that are too long for that."""
    ran = sorted((start, end, job["step"]) for job in jobs for start, end in job["stretches"])
    away, before = 0, ran[0][0] if ran else 0
    for start, end, step in ran:
        gap = max(0, start - before)
        if gap > PAUSE_MS:
            away += gap
        else:
            sums[step]["held"]["other_s"] += gap
        before = max(before, end)
    return away


def shown(one, leases_known):
    def parts(sums):
        return {part: round(sums[part] / 1e3, 3) for part in PARTS} | {"total_s": round(sum(sums.values()) / 1e3, 3)}
    out = parts(one["held"])
    if leases_known:
        out["device_leased"] = parts(one["leased"])
        del out["device_leased"]["other_s"]
    return out | ({"cut_off_jobs": one["cut_off"]} if one["cut_off"] else {})


def add_up(all_sums):
    total = empty()
    for one in all_sums:
        for key in ("held", "leased"):
            for part in PARTS:
                total[key][part] += one[key][part]
        total["cut_off"] += one["cut_off"]
    return total


def breakdown(record, rows):
    steps = Steps(rows)
    jobs = read_jobs(record, steps)
    sums = {step: empty() for step in list(range(len(steps.ids))) + [None]}
    for job in jobs:
        one, part = sums[job["step"]], job["part"]
        split(one["held"], part, sum(end - start for start, end in job["stretches"]), job["validation"])
        split(one["leased"], part, job["leased"], job["validation_leased"])
        one["cut_off"] += job["cut_off"]
    away = add_gaps(jobs, sums)
    total, known = add_up(sums.values()), any(job["leased"] for job in jobs)
    notes = list(NOTES) + ([] if known else [NOT_SPLIT]) + ([CUT_OFF] if total["cut_off"] else [])
    listed = [{"step": steps.names[i], "checkpoint": steps.ids[i]} | shown(sums[i], known) for i in range(len(steps.ids))]
    beside = [{"step": None} | shown(sums[None], known)] if any(sums[None]["held"].values()) else []
    return {"notes": notes, "steps": listed + beside, "total": shown(total,
                                                                     known) | ({"away_s": round(away / 1e3, 3)} if away else {})}
