#!/usr/bin/env python3
"""A validator for peakd (docs/validators.md): finds shared memory that is written and read without a barrier in between.

It reads the device code from top to bottom, every loop's body twice. It demands a barrier between a write to a groupshared or
__shared__ array and a read of it, and between a read and the next write. It does not track threads, so it also refuses code in
which each thread uses only its own elements: it checks a house rule and proves nothing. It cannot check asynchronous copies and
barriers in assembly, and then says so.
"""
import json
import re
import sys

BARRIER = re.compile(r"\b(\w*MemoryBarrierWithGroupSync|__syncthreads\w*|__syncwarp|sync)\s*\(")
BEYOND = re.compile(r"\basm\b|\bmbarrier|\bcuda::|\bcp_async|__pipeline")
SHARED = re.compile(r"\b(?:groupshared|__shared__)\b([^;{]*);")
LOOP = re.compile(r"\b(?:for|while|do)\b[^;{]*(?:;[^;{]*){0,2}$")


def without_comments(text):
    """Comments and strings become spaces; lines stay lines."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def shared_arrays(text):
    return {name for m in SHARED.finditer(text) for name in re.findall(r"(\w+)\s*\[", m.group(1))}


def past_indices(text, at):
    """The position after [..][..], and whether there was an index."""
    start = at
    while True:
        m = re.compile(r"\s*\[").match(text, at)
        if not m:
            return at, at > start
        depth, at = 1, m.end()
        while at < len(text) and depth:
            depth += {"[": 1, "]": -1}.get(text[at], 0)
            at += 1


def statement_events(text, line, arrays):
    """Barrier, reads, then writes of one statement: (line, what, array)."""
    reads, writes = [], []
    for m in re.finditer(r"\b(%s)\b" % "|".join(map(re.escape, sorted(arrays))), text):
        end, indexed = past_indices(text, m.end())
        where = line + text.count("\n", 0, m.start())
        after = text[end:].lstrip()
        written = indexed and re.match(r"(?:\.\w+\s*)?(?:=(?!=)|[-+*/%&|^]=|<<=|>>=|\+\+|--)", after)
        if written and re.match(r"(?:\.\w+\s*)?=(?!=)", after):
            writes.append((where, "write", m.group()))
        elif written:
            reads.append((where, "read", m.group()))
            writes.append((where, "write", m.group()))
        else:
            reads.append((where, "read", m.group()))
    barrier = [(line, "barrier", "")] if BARRIER.search(text) else []
    return reads + writes + barrier


def events(text, arrays):
    """All statements in order, with loop bodies twice."""
    stack, loops, line, start, depth = [[]], [], 1, 0, 0
    for at, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth > 0 or c not in ";{}":
            continue
        piece = text[start:at]
        if not SHARED.search(piece + ";"):
            stack[-1] += statement_events(piece, line, arrays)
        if c == "{":
            stack.append([])
            loops.append(bool(LOOP.search(piece.strip())))
        elif c == "}" and loops:
            body = stack.pop()
            stack[-1] += body * (2 if loops.pop() else 1)
        line += text.count("\n", start, at + 1)
        start = at + 1
    return [e for level in stack for e in level]


def check(text):
    arrays = shared_arrays(text)
    found, written, read = {}, {}, {}
    for line, what, array in events(text, arrays) if arrays else []:
        if what == "barrier":
            written.clear()
            read.clear()
        elif what == "read":
            if array in written:
                found.setdefault((line, array), "%s is read here and written in line %d without a barrier between"
                                 % (array, written[array]))
            read.setdefault(array, line)
        else:
            if array in read and read[array] != line:
                found.setdefault((line, array), "%s is written here and read in line %d without a barrier between"
                                 % (array, read[array]))
            written.setdefault(array, line)
    return [{"region": "device", "line": line, "message": message} for (line, _), message in sorted(found.items())]


def main():
    question = json.load(sys.stdin)
    if question["protocol"] != 1 or question["ask"] != "validate":
        sys.exit("this validator speaks protocol 1")
    code = without_comments(question["context"]["regions"]["device"])
    if BEYOND.search(code):
        answer = {"verdict": "skipped", "reason": "asynchronous copies or assembly: only plain barriers are understood"}
    else:
        findings = check(code)
        answer = {"verdict": "failed", "findings": findings} if findings else {"verdict": "passed"}
    json.dump(answer, sys.stdout)


main()
