"""A stand-in for a model that solves bench.t's problems: right kernels, wrong ones, one that is right once it is told what is
wrong, and a faster one. FOLDER/asked gets a line for each question; while FOLDER/hold exists, answers wait."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wire

folder = sys.argv[1]
KERNEL = "```hlsl\n[numthreads(64, 1, 1)]\nvoid work(uint3 t : SV_DispatchThreadID)\n{\n\tif (t.x < uint(%s)) {\n\t\t%s\n\t}\n}\n```\n"
HOST = "```lua host\nlaunch(\"work\", %s, 64, {%s})\n```\n"
PLAN = "PLAN 2-4 novelty 1: Compute each element at once, in place of the loop.\n"
SLOW = "float s = a[t.x]; for (int k = 0; k < 2048; k++) s *= (k & 1) ? 0.5 : 2; y[t.x] = 2 * s;"
PROBLEMS = {
    "2.0 * a": ("n", SLOW, "a, y, n"),
    "a * a": ("n", "y[t.x] = a[t.x] + 1;", "a, y, n"),
    "3.0 * a": ("n", "y[t.x] = a[t.x];", "a, y, n"),
    "x * 0.5": ("rows * hidden", "y[t.x] = x[t.x] * 0.5;", "x, y, rows"),
}


def answer(_, body):
    said = json.loads(body)["messages"]
    text = "\n".join(m["content"] for m in said)
    name = next(p for p in PROBLEMS if "return " + p in text)
    with open(folder + "/asked", "a", encoding="utf-8") as log:
        log.write(name + "\n")
    while os.path.exists(folder + "/hold"):
        time.sleep(0.05)
    count, code, arguments = PROBLEMS[name]
    host = HOST % ("cdiv(%s, 64)" % count, arguments)
    if "Speed does" not in text and name == "2.0 * a":  # not the first kernel, but a transformation of it
        code, host = "y[t.x] = 2 * a[t.x];", HOST % ("(%s + 63) // 64" % count, arguments)
    elif "The judge refused these kernels" in text:
        code = "y[t.x] = 3 * a[t.x];"
    device = "The whole new device region" in next(m["content"] for m in said if m["role"] == "user")
    plans = "five lines that begin with PLAN" in text
    content = PLAN if plans else KERNEL % (count, code) if device else host
    return 200, wire.chat(content, len(body) // 4), 0


wire.serve(answer)
