#!/usr/bin/env python3
"""Packs the recordings of a study into one compressed file, which `peakd study` replays, or unpacks them.

    bench/recordings.py pack FOLDER FILE.jsonl.gz      FOLDER and its try-2, try-3, …
    bench/recordings.py unpack FILE.jsonl.gz FOLDER

A line is {"file": path in the folder, "text": the recording}. Lines are sorted, so the same folder gives the same bytes."""
import gzip
import json
import os
import sys


def pack(folder, path):
    lines = []
    for root, _, names in os.walk(folder):
        for name in names:
            file = os.path.relpath(os.path.join(root, name), folder)
            if name.endswith(".md") and name.lower() != "readme.md":
                with open(os.path.join(root, name), encoding="utf-8", newline="") as f:
                    lines.append((name, file, f.read()))
    # All tries of one question stand together, which compresses best.
    lines.sort()
    with open(path, "wb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as f:
        for _, file, text in lines:
            f.write((json.dumps({"file": file, "text": text}, ensure_ascii=False) + "\n").encode())
    print("%s: %d recordings, %d bytes" % (path, len(lines), os.path.getsize(path)))


def unpack(path, folder):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as f:
        for line in f:
            entry = json.loads(line)
            file = os.path.normpath(os.path.join(folder, entry["file"]))
            if not file.startswith(os.path.normpath(folder) + os.sep):
                sys.exit("%s: %s is not in the folder" % (path, entry["file"]))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "w", encoding="utf-8", newline="") as out:
                out.write(entry["text"])


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](sys.argv[2], sys.argv[3])
