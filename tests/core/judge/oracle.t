#!/bin/sh
# The oracle's answers to a question with perturbed inputs, over its own protocol: how far outputs move, and what never does.
root=$(cd "$(dirname "$0")/../../.." && pwd)
for python in ${PEAKD_PYTHON:-/usr/bin/python3 python3}; do
	"$python" -c 'import torch' 2>/dev/null && break
	python=
done
if [ -z "$python" ]; then
	echo "1..0 # SKIP no Python with torch: apt-get install python3-torch, or name one in PEAKD_PYTHON"
	exit 0
fi
exec "$python" - "$root/core/judge/oracle.py" "$python" <<'PYTHON'
import array
import json
import math
import subprocess
import sys

SOURCE = """
def reference(a, b, i):
    return a - b, (a > 0).int() + i
"""
MODULE = """
import sys
def reference(a, i):
    assert sys.modules[__name__].reference is reference
    return a + 0, i + 0
"""
N, AMPLITUDE = 6, 2.0 ** -16
asked = subprocess.Popen([sys.argv[2], "-IBc", open(sys.argv[1]).read()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
count = 0


def is_true(good, name):
    global count
    count += 1
    print(f"{'ok' if good else 'not ok'} {count} - {name}")


def x(name, kind, **more):
    return {"name": name, "type": kind, "declared": kind, "shape": [N], **more}


def ask(a, b, arrays=True, sends=True, **more):
    """The answer's line, and its arrays: doubles, then floats, then what is plain."""
    outputs = [{**x("y", "f64"), "declared": "f32"}, x("z", "i32")]
    question = {"protocol": 1, "ask": "reference", "source": SOURCE, "double": True, "params": {}, "outputs": outputs,
                "inputs": [x("a", "f32"), x("b", "f32", closed=[0.0, 1.0]), x("i", "i32")], **more}
    asked.stdin.write(json.dumps(question).encode() + b"\n")
    if sends:
        asked.stdin.write(array.array("f", a).tobytes() + array.array("f", b).tobytes() + array.array("i", range(N)).tobytes())
    asked.stdin.flush()
    head = json.loads(asked.stdout.readline() or '{"error": "the process is gone"}')
    if not arrays:
        return head, None
    kinds = "di" + ("ff" if "moves" in more else "") + ("fi" if head.get("plain") else "")
    return head, [list(array.array(k, asked.stdout.read(N * array.array(k).itemsize))) for k in kinds]


moves = {"count": 4, "amplitude": AMPLITUDE, "seed": 7}
a, b = [4.0, 0.0, math.inf, -math.inf, math.nan, 1e-3], [0.0, 0.0, 0.5, 0.5, 0.5, 1.0]
head, (y, z, y_moved, z_moved, y_plain, z_plain) = ask(a, b, moves=moves, plain=True)
is_true("in double" in head["by"] and y[0] == 4 and z == [1, 1, 3, 3, 4, 6], "the outputs are those of the unperturbed inputs")
is_true(0 < y_moved[0] <= 4 * AMPLITUDE * 1.01, "an output moves as far as its input")
is_true(y_moved[1:5] == [0, 0, 0, 0], "zeros, infinities and NaN do not move")
is_true(0 < y_moved[5] <= 1.01 * AMPLITUDE * 1.001, "a value at the end of a closed domain moves inside of it")
is_true(z_moved == [0] * N, "integers do not move")
is_true(y_plain[0] == 4 and abs(y_plain[5] + 0.999) < 1e-6 and z_plain == z, "the same exchange answers in the code's own types")
is_true(ask(a, b, moves=moves)[1][2] == y_moved, "the same seed moves alike")
is_true(ask(a, b, moves={**moves, "seed": 8})[1][2] != y_moved, "another seed moves otherwise")
jump = ask([4.0] * N, b, moves=moves, source="def reference(a, i):\n    return 1 / (a - 4), i\n")[1]
is_true(jump[0] == [math.inf] * N and jump[2] == [math.inf] * N, "an infinity that becomes finite has moved infinitely far")
ways = ask(a, b, ask="time", device="cpu", flush=64, double=False, source=MODULE, arrays=False)[0]["ways"]
is_true(ways["eager"] is None, f"code that is timed is a module, as torch.compile needs it: {ways['eager']}")
head = ask(a, b, device="nowhere/cuda:0", arrays=False, sends=False)[0]
is_true("gone" not in head["error"] and ask(a, b)[1][0][0] == 4, f"a device that it cannot use is an answer: {head['error']}")
asked.stdin.close()
is_true(asked.wait(20) == 0, "the process ends with its input")
print(f"1..{count}")
PYTHON
