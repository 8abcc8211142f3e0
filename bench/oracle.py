#!/usr/bin/env python3
"""Whether the oracle answers alike on a GPU and on the CPU, and how long each takes. One command, from a checkout:

    PEAKD_PYTHON=/path/to/python-with-torch bench/oracle.py [PEAKD] [MIB …]

It asks core/judge/oracle.py as the daemon does: with PEAKD, inside of peakd's sandbox; without, as a plain process. Sizes are those
of the largest input (1 and 64 MiB when missing). Exit status 1: answers differ by more than 1e-12 of their scale, or CUDA was not
used."""
import array
import json
import os
import pathlib
import subprocess
import sys
import time

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "core/judge/oracle.py"
SOURCES = {
    "layer norm": "import torch\ndef reference(a, b):\n    return torch.nn.functional.layer_norm(a, a.shape[-1:]) * b\n",
    "softmax": "import torch\ndef reference(a, b):\n    return torch.softmax(a, -1) + b\n",
    "product": "def reference(a, b):\n    return a @ a[:1024].T[:, :512] + b\n",
}
COLUMNS = 512


class Oracle:
    def __init__(self, peakd, device):
        python = os.environ.get("PEAKD_PYTHON", "python3")
        command = ([peakd, "worker", "--"] if peakd else []) + [python, "-IBc", ORACLE.read_text()]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "PEAKD_ORACLE_DEVICE": device})

    def ask(self, source, rows, a, b):
        """The answer's line, its outputs in double, how far they moved, and seconds."""
        shapes = {"a": [rows, COLUMNS], "b": [COLUMNS], "y": [rows, COLUMNS]}
        x = {n: {"name": n, "type": "f32", "declared": "f32", "shape": s} for n, s in shapes.items()}
        question = {"protocol": 1, "ask": "reference", "source": source, "double": True, "plain": True, "params": {},
                    "inputs": [x["a"], x["b"]],
                    "outputs": [{**x["y"], "type": "f64"}], "moves": {"count": 4, "amplitude": 2.0 ** -16, "seed": 1}}
        start = time.monotonic()
        self.process.stdin.write(json.dumps(question).encode() + b"\n" + a + b)
        self.process.stdin.flush()
        head, n = json.loads(self.process.stdout.readline() or '{"error": "it ended"}'), rows * COLUMNS
        if "error" in head:
            return head, [], [], 0
        y, moved = (array.array(kind, self.process.stdout.read(n * size)) for kind, size in (("d", 8), ("f", 4)))
        self.process.stdout.read(n * 4 if head["plain"] else 0)
        return head, y, moved, time.monotonic() - start


def main():
    words = sys.argv[1:]
    peakd = words.pop(0) if words and not words[0].isdigit() else None
    bad = 0
    for mib in [int(w) for w in words] or [1, 64]:
        rows = max(COLUMNS, mib * 2 ** 20 // (4 * COLUMNS))
        a = array.array("f", [((i * 2654435761) % 4294967296) / 2 ** 31 - 1 for i in range(min(rows, 4096) * COLUMNS)]).tobytes()
        a = (a * (rows * COLUMNS * 4 // len(a) + 1))[:rows * COLUMNS * 4]
        b = array.array("f", [i / COLUMNS for i in range(COLUMNS)]).tobytes()
        for name, source in SOURCES.items():
            found = {}
            for device in "auto", "cpu":
                oracle = Oracle(peakd, device)
                oracle.ask(source, rows, a, b)  # with the start of Python and of the driver
                found[device] = oracle.ask(source, rows, a, b)
                oracle.process.stdin.close()
                oracle.process.wait()
            (head, y, moved, seconds), (cpu_head, cpu_y, cpu_moved, cpu_seconds) = found["auto"], found["cpu"]
            if not y or not cpu_y:
                print(f"{name}, {mib} MiB: {head} and {cpu_head}")
                bad += 1
                continue
            scale = max(map(abs, cpu_y))
            off = max(abs(p - q) for p, q in zip(y, cpu_y)) / scale
            spread = sum(moved) / max(sum(cpu_moved), 1e-300)
            cuda = "CPU" not in head["by"]
            bad += off > 1e-12 or not 0.8 < spread < 1.25 or not cuda
            print(f"{name}, {mib} MiB: {head['by']} {seconds:.3f} s, the CPU {cpu_seconds:.3f} s; they differ by {off:.1e} of the scale, "
                  f"moves are {spread:.3f} times as far{'' if cuda else '; CUDA WAS NOT USED'}")
    sys.exit(bad > 0)


main()
