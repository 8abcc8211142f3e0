"""A stand-in for a model that solves bench.t's problems: right kernels, wrong ones, and a plan. FOLDER/asked gets a line for each question;
while FOLDER/hold exists, answers wait."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wire

folder = sys.argv[1]
KERNEL = "```hlsl\n[numthreads(64, 1, 1)]\nvoid work(uint3 t : SV_DispatchThreadID)\n{\n\tif (t.x < uint(%s)) {\n\t\t%s\n\t}\n}\n```\n"
HOST = "```lua host\nlaunch(\"work\", cdiv(%s, 64), 64, {%s})\n```\n"
SLOW = "float s = a[t.x]; for (int k = 0; k < 2048; k++) s *= (k & 1) ? 0.5 : 2; y[t.x] = 2 * s;"
PROBLEMS = {
    "2.0 * a": ("n", SLOW, "a, y, n"),
    "a * a": ("n", "y[t.x] = a[t.x] + 1;", "a, y, n"),
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
    if "five lines that begin with PLAN" in said[-1]["content"]:
        content = "PLAN 1.5-20 novelty 2: Multiply by two once in place of the loop.\n"
    elif "Multiply by two once" in text:
        content = KERNEL % (count, "y[t.x] = 2 * a[t.x];")
    elif "The whole new device region" in next(m["content"] for m in said if m["role"] == "user"):
        content = KERNEL % (count, code)
    else:
        content = HOST % (count, arguments)
    return 200, wire.chat(content, len(body) // 4), 0


wire.serve(answer)
